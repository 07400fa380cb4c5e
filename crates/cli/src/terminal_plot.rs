//! Curves in the terminal, eight dots to a character.

use crate::display::rounded;
use fluxline_plot::Panel;

const COLORS: [&str; 6] = ["36", "33", "35", "32", "34", "31"];
const HEIGHT: usize = 10;
/// Dots of a Braille character by column and row.
const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

struct Canvas {
    columns: usize,
    dots: Vec<u8>,
    /// Which curve was drawn last in a cell.
    owner: Vec<usize>,
}

impl Canvas {
    fn dot(&mut self, x: usize, y: usize, curve: usize) {
        let cell = (y / 4) * self.columns + x / 2;
        self.dots[cell] |= DOTS[x % 2][y % 4];
        self.owner[cell] = curve;
    }
}

/// Draws a panel in at most `width` characters.
pub fn draw(title: &str, panel: &Panel, width: usize, color: bool) -> String {
    let finite = |x: f64| x.is_finite() && x.abs() < 1e300;
    let values = || panel.series.iter().flat_map(|s| s.y.iter().copied()).filter(|x| finite(*x));
    let times = || panel.series.iter().flat_map(|s| s.x.iter().copied()).filter(|x| finite(*x));
    let range = |all: &mut dyn Iterator<Item = f64>| {
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    };
    let (mut low, mut high) = range(&mut values());
    let (begin, end) = range(&mut times());
    if low > high || begin >= end {
        return String::new();
    }
    // A constant is drawn in the middle, not as noise.
    if high - low <= 1e-9 * high.abs().max(low.abs()).max(1e-12) {
        let margin = (0.05 * high.abs()).max(1e-12);
        (low, high) = (low - margin, high + margin);
    }
    let labels = [rounded(high, 4), rounded(0.5 * (low + high), 4), rounded(low, 4)];
    let margin = labels.iter().map(String::len).max().unwrap_or(0);
    let columns = width.saturating_sub(margin + 2).clamp(16, 120);
    let mut canvas =
        Canvas { columns, dots: vec![0; columns * HEIGHT], owner: vec![0; columns * HEIGHT] };
    let (most_x, most_y) = (columns * 2 - 1, HEIGHT * 4 - 1);
    let place = |t: f64, y: f64| {
        let x = (t - begin) / (end - begin) * most_x as f64;
        let y = (high - y) / (high - low) * most_y as f64;
        (x.round() as usize, y.round() as usize)
    };
    for (curve, series) in panel.series.iter().enumerate() {
        let mut last: Option<(usize, usize)> = None;
        for (&t, &y) in series.x.iter().zip(&series.y) {
            if !finite(t) || !finite(y) {
                last = None;
                continue;
            }
            let (x, y) = place(t, y);
            let (from_x, from_y) = last.unwrap_or((x, y));
            let length = x.abs_diff(from_x).max(y.abs_diff(from_y)).max(1);
            let between = |a: usize, b: usize, i: usize| {
                (a as f64 + (b as f64 - a as f64) * i as f64 / length as f64).round() as usize
            };
            for i in 0..=length {
                canvas.dot(between(from_x, x, i), between(from_y, y, i), curve);
            }
            last = Some((x, y));
        }
    }
    let paint = |text: &str, curve: usize| match color {
        true => format!("\x1b[{}m{text}\x1b[0m", COLORS[curve % COLORS.len()]),
        false => text.to_owned(),
    };
    let mut out = String::new();
    let heading = if title.is_empty() {
        panel.y_label.clone()
    } else {
        format!("{title}: {}", panel.y_label)
    };
    out.push_str(&format!("{:margin$}  {heading}\n", ""));
    for row in 0..HEIGHT {
        let label = match row {
            0 => &labels[0],
            r if r == HEIGHT / 2 => &labels[1],
            r if r == HEIGHT - 1 => &labels[2],
            _ => "",
        };
        out.push_str(&format!("{label:>margin$} ┤"));
        for cell in row * columns..(row + 1) * columns {
            let glyph = char::from_u32(0x2800 + u32::from(canvas.dots[cell])).unwrap_or(' ');
            match canvas.dots[cell] {
                0 => out.push(' '),
                _ => out.push_str(&paint(glyph.encode_utf8(&mut [0; 4]), canvas.owner[cell])),
            }
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    let (first, last) = (rounded(begin, 4), format!("{} s", rounded(end, 4)));
    let gap = columns.saturating_sub(first.len() + last.len());
    out.push_str(&format!("{:margin$}  {first}{:gap$}{last}\n", "", ""));
    let names = panel.series.iter().enumerate();
    let legend: Vec<String> =
        names.map(|(i, series)| paint(&format!("── {}", series.name), i)).collect();
    out.push_str(&format!("{:margin$}  {}\n", "", legend.join("  ")));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_plot::Series;

    #[test]
    fn a_ramp_rises_from_the_lower_left_to_the_upper_right() {
        let x: Vec<f64> = (0..100).map(f64::from).collect();
        let panel = Panel::new("p [bar]").series(Series::new("p", x.clone(), x));
        let text = draw("Ramp", &panel, 60, false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), HEIGHT + 3);
        assert!(lines.iter().all(|line| line.chars().count() <= 60), "{text}");
        assert!(
            lines[1].starts_with("  99 ┤ ") && lines[1].ends_with('⠉')
                || lines[1].trim_end().len() > 20
        );
        assert!(!lines[HEIGHT].contains("┤ "), "the curve begins at the lower left: {text}");
    }

    #[test]
    fn nothing_to_draw_is_nothing() {
        assert_eq!(draw("", &Panel::new("p"), 60, false), "");
        let flat = Panel::new("p").series(Series::new("p", vec![0.0, 1.0], vec![5.0, 5.0]));
        assert!(draw("", &flat, 20, true).contains("┤"));
        let gap = Panel::new("p").series(Series::new("p", vec![0.0, 1.0], vec![f64::NAN, 5.0]));
        draw("", &gap, 0, true);
    }
}
