//! Values as a circuit file writes them.

use fluxline_core::declare::ANY_UNIT;
use fluxline_units::{Quantity, Unit, format_in};
use std::collections::HashMap;
use std::fmt::Write;

/// Units that people of the trade like to read, by SI unit.
const USUAL: &[(&str, &[&str])] = &[
    ("Pa", &["bar", "Pa"]),
    ("m^3/s", &["l/min", "m^3/s"]),
    ("m³/s", &["l/min", "m^3/s"]),
    ("m", &["mm", "m"]),
    ("m^2", &["mm^2", "m^2"]),
    ("m²", &["mm^2", "m^2"]),
    ("m^3", &["cm^3", "l", "m^3"]),
    ("m³", &["cm^3", "l", "m^3"]),
    ("s", &["ms", "s"]),
];

/// Writes values; remembers the units it has parsed.
#[derive(Debug, Default)]
pub(super) struct Values {
    units: HashMap<String, Vec<Unit>>,
}

impl Values {
    /// A number in SI units as a circuit file writes it: in a usual unit where that reads back as
    /// the same bits, otherwise in the SI unit, otherwise as a plain number.
    pub fn number(&mut self, value: f64, unit: &str) -> String {
        if unit == "1" || unit == ANY_UNIT || !value.is_finite() {
            return plain(value);
        }
        let candidates = self.units.entry(unit.to_owned()).or_insert_with(|| {
            let usual = USUAL.iter().find(|(si, _)| *si == unit).map_or(&[][..], |(_, all)| all);
            usual.iter().copied().chain([unit]).filter_map(|u| Unit::parse(u).ok()).collect()
        });
        let same = |text: &str| {
            Quantity::parse(text).is_ok_and(|read| read.value.to_bits() == value.to_bits())
        };
        let texts = candidates.iter().map(|unit| format_in(value, unit)).enumerate();
        // An earlier unit is preferred unless a later one is clearly shorter: 500 mm, but 1 m.
        let cost = |(index, text): &(usize, String)| text.len() + 3 * index;
        let best = texts.filter(|(_, text)| same(text)).min_by_key(cost).map(|(_, text)| text);
        best.map_or_else(|| plain(value), |text| quoted(&text))
    }
}

/// A number without a unit. Infinity is not a value of circuit files: the largest limit stands for
/// it.
pub(super) fn plain(value: f64) -> String {
    if value.is_nan() {
        return "0".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "1.5e300".to_owned() } else { "-1.5e300".to_owned() };
    }
    if value.fract() == 0.0 && value.abs() < 1e15 && !(value == 0.0 && value.is_sign_negative()) {
        return format!("{value:.0}");
    }
    format!("{value:?}")
}

/// A text in quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A key of a table, in quotes where it needs them.
pub(super) fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_units_of_the_trade_and_read_back_as_the_same_bits() {
        let mut values = Values::default();
        assert_eq!(values.number(1e7, "Pa"), "\"100 bar\"");
        assert_eq!(values.number(0.0005, "m^3/s"), "\"30 l/min\"");
        assert_eq!(values.number(1e-3, "m^2"), "\"1000 mm^2\"");
        assert_eq!(values.number(1.0, "m"), "\"1 m\"");
        assert_eq!(values.number(0.1 + 0.2, "any"), "0.30000000000000004");
        assert_eq!(plain(f64::INFINITY), "1.5e300");
        for x in [1.0 / 3.0, 6.7e-12, 1e9 / 7.0] {
            let text = values.number(x, "Pa");
            let read = Quantity::parse(text.trim_matches('"')).unwrap();
            assert_eq!(read.value.to_bits(), x.to_bits());
        }
    }
}
