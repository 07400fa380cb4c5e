//! Numbers as people of the trade read them: bar, l/min, mm, rpm, °C.

use fluxline_units::{Unit, display_unit};

/// How a variable in SI units is shown.
#[derive(Clone, Debug)]
pub struct Shown {
    unit: Option<Unit>,
}

impl Shown {
    /// For a variable with this SI unit.
    ///
    /// A dimension alone cannot tell torque from energy or a speed from a frequency, so the text of
    /// the unit decides where it matters.
    pub fn new(si: &str) -> Self {
        let symbol = match si {
            "rad" => Some("deg"),
            "rad/s" => Some("rpm"),
            "K" => Some("degC"),
            "m^3/rad" | "m³/rad" => Some("cm^3/rev"),
            "J" => Some("J"),
            "s" => Some("s"),
            "m/s" => Some("m/s"),
            "Hz" => Some("Hz"),
            "1/s" => Some("1/s"),
            "" | "1" | "-" | "–" | "any" => None,
            _ => Unit::parse(si).ok().and_then(|unit| display_unit(unit.dimension())),
        };
        let unit = symbol.or(Some(si)).filter(|symbol| *symbol != "1");
        Self { unit: unit.and_then(|symbol| Unit::parse(symbol).ok()) }
    }

    /// The unit shown; empty for a plain number.
    pub fn symbol(&self) -> &str {
        self.unit.as_ref().map_or("", Unit::symbol)
    }

    /// The value in the unit shown.
    pub fn of(&self, si: f64) -> f64 {
        self.unit.as_ref().map_or(si, |unit| unit.from_si(si))
    }

    /// Value and unit, rounded: `120.3 bar`.
    pub fn text(&self, si: f64) -> String {
        let number = number(self.of(si));
        if self.symbol().is_empty() { number } else { format!("{number} {}", self.symbol()) }
    }
}

/// A value in SI units with the unit it is shown in.
pub fn quantity(si: f64, unit: &str) -> String {
    Shown::new(unit).text(si)
}

/// A time in the unit that suits its size: `0.1 ms`, `3 s`.
pub fn time(seconds: f64) -> String {
    let size = seconds.abs();
    let (factor, symbol) = match size {
        _ if size == 0.0 || size >= 1.0 => (1.0, "s"),
        _ if size >= 0.99e-4 => (1e3, "ms"),
        _ if size >= 1e-6 => (1e6, "µs"),
        _ => (1e9, "ns"),
    };
    format!("{} {symbol}", number(seconds * factor))
}

/// An energy in the unit that suits its size.
pub fn energy(joule: f64) -> String {
    if joule.abs() < 1e3 {
        format!("{} J", number(joule))
    } else {
        format!("{} kJ", number(joule / 1e3))
    }
}

/// A number with five digits that count, without trailing zeros.
pub fn number(x: f64) -> String {
    rounded(x, 5)
}

/// A number with so many digits that count.
pub fn rounded(x: f64, digits: usize) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() {
        return x.to_string();
    }
    let rounded: f64 = format!("{:.*e}", digits.max(1) - 1, x).parse().unwrap_or(x);
    if (1e-4..1e7).contains(&rounded.abs()) { format!("{rounded}") } else { format!("{rounded:e}") }
}

/// A whole number in groups of three: `30 000`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// One or many: `1 step`, `2 steps`.
pub fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Rows as columns of even width, two blanks in front of each; `left` says which columns begin at
/// the same place, the others end there.
pub fn columns(rows: &[Vec<String>], left: &[bool]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            match left.get(column) {
                Some(true) => line.push_str(&format!("  {cell:<width$}")),
                _ => line.push_str(&format!("  {cell:>width$}")),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_the_trade() {
        assert_eq!(quantity(1.2034e7, "Pa"), "120.34 bar");
        assert_eq!(quantity(1e-3, "m^3/s"), "60 l/min");
        assert_eq!(quantity(0.1, "m"), "100 mm");
        assert_eq!(quantity(std::f64::consts::TAU, "rad/s"), "60 rpm");
        assert_eq!(quantity(323.15, "K"), "50 degC");
        assert_eq!(quantity(0.5, "–"), "0.5");
        assert_eq!(quantity(2.5, "Hz"), "2.5 Hz");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(1.0 / 3.0), "0.33333");
        assert_eq!(number(-1234567.0), "-1234600");
        assert_eq!(number(3.2e-15), "3.2e-15");
        assert_eq!(time(1e-4), "0.1 ms");
        assert_eq!(time(5e-5), "50 µs");
        assert_eq!(time(3.0), "3 s");
        assert_eq!(counted(30_000, "step"), "30\u{202f}000 steps");
    }
}
