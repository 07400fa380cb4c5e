//! Text: escaping for XML and HTML, and the width a string will take.

/// Escapes for XML text, HTML text and double-quoted attributes alike.
///
/// Control characters, which XML 1.0 cannot carry in any form, become U+FFFD; line breaks and
/// tabs become spaces, since labels have one line.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Advance widths of DejaVu Sans for U+0020..=U+007E, in thousandths of the font size. The SVG may
/// be shown in another sans-serif; DejaVu is among the widest, so the layout errs towards room.
#[rustfmt::skip]
const ADVANCE: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];

/// Width of `text` in px at `size` px.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let thousandths: u32 = text
        .chars()
        .map(|c| match c {
            ' '..='~' => u32::from(ADVANCE[c as usize - 32]),
            '−' => 838,
            '⁰'..='⁻' | '²' | '³' | '¹' | '·' => 420,
            '\u{1100}'..='\u{1fff}' | '\u{3000}'.. => 1000, // mostly East Asian: full width
            _ => 700,
        })
        .sum();
    f64::from(thousandths) * size / 1000.0
}

/// Shortens `text` with an ellipsis so that it fits into `limit` px at `size` px.
pub(crate) fn fit(text: &str, size: f64, limit: f64) -> String {
    if width(text, size) <= limit {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if width(&out, size) + size > limit {
            out.pop();
            break;
        }
    }
    out.push('…');
    out
}

/// Shortens an axis label likewise, but keeps its unit: `pressure difference ac… [bar]`.
pub(crate) fn fit_label(label: &str, size: f64, limit: f64) -> String {
    match label.rfind(" [") {
        Some(at) if width(label, size) > limit => {
            let (name, unit) = label.split_at(at);
            fit(name, size, limit - width(unit, size)) + unit
        }
        _ => fit(label, size, limit),
    }
}

/// `-12` → `⁻¹²`.
pub(crate) fn superscript(exponent: i32) -> String {
    exponent
        .to_string()
        .chars()
        .map(|c| match c {
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            '-' => '⁻',
            digit => char::from_u32('⁰' as u32 + digit as u32 - '0' as u32).unwrap_or(digit),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_text_has_no_markup_and_no_control_characters() {
        assert_eq!(escape("<a b='\"'>&\n\0"), "&lt;a b=&#39;&quot;&#39;&gt;&amp; \u{fffd}");
    }

    #[test]
    fn superscripts_read_as_exponents() {
        assert_eq!(superscript(-120), "⁻¹²⁰");
        assert_eq!(superscript(3456789), "³⁴⁵⁶⁷⁸⁹");
    }

    #[test]
    fn a_fitted_label_is_never_wider_than_its_place() {
        let long = "pressure difference across the main stage";
        for limit in [30.0, 80.0, 150.0] {
            let short = fit(long, 12.0, limit);
            assert!(width(&short, 12.0) <= limit, "{short}");
            assert!(short.ends_with('…'));
        }
        assert_eq!(fit("short", 12.0, 100.0), "short");
        let label = fit_label("pressure difference across the main stage [bar]", 12.0, 150.0);
        assert!(label.ends_with("… [bar]") && width(&label, 12.0) <= 150.0);
    }
}
