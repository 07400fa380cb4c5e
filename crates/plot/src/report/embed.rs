//! The data of a report's figures as JSON that is safe inside a script element.
//!
//! Arrays of numbers travel as base64 of little-endian floats. Evenly spaced arrays (most time
//! axes) are three numbers. Ordinates are 32-bit floats, good to seven digits, unless a small
//! ripple rides on a large offset or the exponent does not fit: then they are 64-bit floats.

use std::collections::HashMap;
use std::fmt::Write;

use crate::axis::is_drawable;
use crate::decimate::indices_within;
use crate::figure::{Figure, ReferenceLine, Series, SeriesStyle};
use crate::palette;

pub(crate) struct Data {
    most_points: usize,
    figures: Vec<String>,
    arrays: Vec<String>,
    /// Encoded array → its number: panels that show the same signal share it.
    known: HashMap<String, usize>,
    /// Shared abscissae (address, length) → number, to encode each once. Addresses stay valid
    /// keys since the report owns the figures while this lives.
    known_x: HashMap<(usize, usize), usize>,
}

impl Data {
    pub fn new(most_points: usize) -> Self {
        Self {
            most_points,
            figures: Vec::new(),
            arrays: Vec::new(),
            known: HashMap::new(),
            known_x: HashMap::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.figures.is_empty()
    }

    /// Adds a figure and returns its number.
    pub fn add(&mut self, figure: &Figure) -> usize {
        let mut reduced = 0;
        let panels: Vec<String> = figure
            .panels
            .iter()
            .map(|panel| {
                let series: Vec<String> =
                    panel.series.iter().map(|series| self.series(series, &mut reduced)).collect();
                format!(
                    "{{\"title\":{},\"label\":{},\"log\":{},\"limits\":{},\"lines\":{},\
                     \"series\":[{}]}}",
                    string(&panel.title),
                    string(&panel.y_label),
                    panel.y_is_log,
                    limits(panel.y_limits),
                    lines(&panel.reference_lines),
                    series.join(",")
                )
            })
            .collect();
        self.figures.push(format!(
            "{{\"title\":{},\"label\":{},\"log\":{},\"limits\":{},\"lines\":{},\
             \"reduced\":{reduced},\"panels\":[{}]}}",
            string(&figure.title),
            string(&figure.x_label),
            figure.x_is_log,
            limits(figure.x_limits),
            lines(&figure.markers),
            panels.join(",")
        ));
        self.figures.len() - 1
    }

    pub fn into_json(self) -> String {
        let quoted = |colours: Vec<&str>| {
            let colours: Vec<String> = colours.into_iter().map(string).collect();
            colours.join(",")
        };
        let light = quoted(palette::COLOURS.iter().map(|c| c.0).collect());
        let dark = quoted(palette::COLOURS.iter().map(|c| c.1).collect());
        format!(
            "{{\"light\":[{light}],\"dark\":[{dark}],\"dashes\":{:?},\"arrays\":[{}],\
             \"figures\":[{}]}}",
            palette::DASHES,
            self.arrays.join(",\n"),
            self.figures.join(",\n")
        )
    }

    /// `reduced` becomes the number of samples of the longest series that had to be thinned.
    fn series(&mut self, series: &Series, reduced: &mut usize) -> String {
        let length = series.x.len().min(series.y.len());
        let (x, y) = (&series.x[..length], &series.y[..length]);
        let (x, y) = match indices_within(y, self.most_points) {
            Some(kept) => {
                *reduced = (*reduced).max(length);
                let x: Vec<f64> = kept.iter().map(|&i| x[i]).collect();
                let y: Vec<f64> = kept.iter().map(|&i| y[i]).collect();
                (self.array(abscissae(&x)), self.array(ordinates(&y)))
            }
            None => {
                let key = (x.as_ptr() as usize, length);
                let number = match self.known_x.get(&key) {
                    Some(&number) => number,
                    None => {
                        let number = self.array(abscissae(x));
                        self.known_x.insert(key, number);
                        number
                    }
                };
                (number, self.array(ordinates(y)))
            }
        };
        let style = match series.style {
            // The interactive plot shows samples under the pointer.
            SeriesStyle::Line | SeriesStyle::Marked => "line",
            SeriesStyle::Steps => "steps",
            SeriesStyle::Points => "points",
        };
        format!("{{\"name\":{},\"x\":{x},\"y\":{y},\"style\":\"{style}\"}}", string(&series.name))
    }

    fn array(&mut self, encoded: String) -> usize {
        let next = self.arrays.len();
        let number = *self.known.entry(encoded.clone()).or_insert(next);
        if number == next {
            self.arrays.push(encoded);
        }
        number
    }
}

fn abscissae(x: &[f64]) -> String {
    evenly_spaced(x).unwrap_or_else(|| wide(x))
}

/// `{"even":[first, step, count]}` if that reproduces all values to a billionth of the step.
fn evenly_spaced(x: &[f64]) -> Option<String> {
    let (&first, &last) = (x.first()?, x.last()?);
    let step = (last - first) / (x.len().checked_sub(1).filter(|&n| n > 1)? as f64);
    if !(is_drawable(first) && is_drawable(step) && step > 0.0) {
        return None;
    }
    x.iter()
        .enumerate()
        .all(|(i, &value)| (first + i as f64 * step - value).abs() <= 1e-9 * step)
        .then(|| format!("{{\"even\":[{first:e},{step:e},{}]}}", x.len()))
}

fn ordinates(y: &[f64]) -> String {
    let (mut low, mut high, mut smallest) = (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY);
    for &value in y.iter().filter(|v| is_drawable(**v)) {
        low = low.min(value);
        high = high.max(value);
        if value != 0.0 {
            smallest = smallest.min(value.abs());
        }
    }
    let largest = low.abs().max(high.abs());
    let exponents_fit = smallest >= f64::from(f32::MIN_POSITIVE) && largest <= f64::from(f32::MAX);
    // A ripple of 1 % of the offset still has 2¹⁷ levels in 32 bits; a smaller one shows stairs.
    let ripple = high > low && high - low < 0.01 * largest;
    if !exponents_fit || ripple {
        return wide(y);
    }
    let bytes =
        y.iter().flat_map(|&v| if is_drawable(v) { v as f32 } else { f32::NAN }.to_le_bytes());
    format!("{{\"f32\":\"{}\"}}", base64(bytes))
}

fn wide(values: &[f64]) -> String {
    let bytes =
        values.iter().flat_map(|&v| if is_drawable(v) { v } else { f64::NAN }.to_le_bytes());
    format!("{{\"f64\":\"{}\"}}", base64(bytes))
}

fn base64(bytes: impl Iterator<Item = u8>) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    let mut bytes = bytes.fuse();
    while let Some(first) = bytes.next() {
        let (second, third) = (bytes.next(), bytes.next());
        let group = u32::from(first) << 16
            | u32::from(second.unwrap_or(0)) << 8
            | u32::from(third.unwrap_or(0));
        let digit = |shift: u32| char::from(DIGITS[(group >> shift) as usize & 63]);
        out.push(digit(18));
        out.push(digit(12));
        out.push(if second.is_some() { digit(6) } else { '=' });
        out.push(if third.is_some() { digit(0) } else { '=' });
    }
    out
}

fn limits(limits: Option<(f64, f64)>) -> String {
    match limits {
        Some((low, high)) if is_drawable(low) && is_drawable(high) => format!("[{low:e},{high:e}]"),
        _ => "null".to_owned(),
    }
}

fn lines(lines: &[ReferenceLine]) -> String {
    let lines: Vec<String> = lines
        .iter()
        .filter(|line| is_drawable(line.value))
        .map(|line| {
            let label = string(&line.label);
            format!("{{\"label\":{label},\"value\":{:e}}}", line.value)
        })
        .collect();
    format!("[{}]", lines.join(","))
}

/// A JSON string. `<`, `>` and `&` are written as escapes, so that no text can end the script
/// element or open a comment in it.
fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\x1f' | '\x7f' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_follows_the_test_vectors_of_rfc_4648() {
        for (plain, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.bytes()), encoded);
        }
    }

    #[test]
    fn a_script_element_cannot_be_left() {
        let hostile = string("</script><!-- \"\\ & \u{2028}\n");
        assert!(!hostile.contains(['<', '>', '&', '\n', '\u{2028}']));
    }

    #[test]
    fn a_fixed_step_time_axis_is_three_numbers() {
        let time: Vec<f64> = (0..100_000).map(|i| f64::from(i) * 1e-4).collect();
        assert!(abscissae(&time).len() < 60);
        let mut uneven = time.clone();
        uneven[500] += 1e-6;
        assert!(abscissae(&uneven).starts_with("{\"f64\""));
        assert!(abscissae(&[]).starts_with("{\"f64\""));
        assert!(abscissae(&[1.0, 1.0, 1.0]).starts_with("{\"f64\""));
    }

    #[test]
    fn a_small_ripple_on_a_large_offset_keeps_all_its_digits() {
        assert!(ordinates(&[0.0, 160.0, f64::NAN]).starts_with("{\"f32\""));
        assert!(ordinates(&[160.0, 160.001]).starts_with("{\"f64\""));
        assert!(ordinates(&[1e-50, 1.0]).starts_with("{\"f64\""));
        assert!(ordinates(&[0.0, 1e40]).starts_with("{\"f64\""));
        assert!(ordinates(&[7.0, 7.0]).starts_with("{\"f32\""));
    }

    #[test]
    fn series_over_the_same_time_share_it() {
        let time: std::sync::Arc<[f64]> = [0.0, 1.0, 5.0].into();
        let panel = crate::Panel::new("")
            .series(Series::new("a", time.clone(), [1.0, 2.0, 3.0]))
            .series(Series::new("b", time, [4.0, 2.0, 3.0]));
        let mut data = Data::new(1000);
        data.add(&Figure::new("", "").panel(panel));
        assert_eq!(data.arrays.len(), 3);
    }
}
