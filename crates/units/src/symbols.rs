//! The table of unit symbols and prefixes.
//!
//! Factors follow the SI brochure (9th edition) and NIST SP 811, appendix B;
//! those that are exact by definition are written with all their digits.

use crate::Dimension;
use crate::scale::Scale;
use std::f64::consts::{PI, TAU};

type D = Dimension;

/// The scale of a symbol, prefix included; `None` when it is not a unit.
///
/// A symbol that stands in the table itself wins over prefix and unit, so `min`
/// is the minute and `cd` the candela.
pub(crate) fn lookup(symbol: &str) -> Option<Scale> {
    if let Some(scale) = prefixable(symbol).or_else(|| plain(symbol)) {
        return Some(scale);
    }
    let first = symbol.chars().next()?;
    let rest = &symbol[first.len_utf8()..];
    let ten = match first {
        'G' => 9,
        'M' => 6,
        'k' => 3,
        // Used in the field with few units only; elsewhere more likely a typing slip.
        'h' | 'd' | 'c' => {
            if !matches!(rest, "m" | "l" | "L" | "g" | "N" | "Pa" | "bar" | "P" | "St" | "Nm") {
                return None;
            }
            match first {
                'h' => 2,
                'd' => -1,
                _ => -2,
            }
        }
        'm' => -3,
        'µ' | 'μ' | 'u' => -6,
        'n' => -9,
        'p' => -12,
        _ => return None,
    };
    let mut scale = prefixable(rest)?;
    scale.ten += ten;
    Some(scale)
}

/// Units that take a prefix.
fn prefixable(symbol: &str) -> Option<Scale> {
    let one = |dimension| Scale::of(1.0, 0, dimension);
    Some(match symbol {
        "m" => one(D::LENGTH),
        "s" => one(D::TIME),
        "g" => Scale::of(1.0, -3, D::MASS),
        "A" => one(D::CURRENT),
        "K" => one(D::TEMPERATURE),
        "mol" => one(D::AMOUNT),
        "cd" => one(D::LUMINOUS_INTENSITY),
        "Pa" => one(D::PRESSURE),
        "bar" => Scale::of(1.0, 5, D::PRESSURE),
        "N" => one(D::FORCE),
        "Nm" | "J" => one(D::TORQUE),
        "W" => one(D::POWER),
        "Wh" => Scale::of(3600.0, 0, D::TORQUE),
        "Hz" => one(D::ROTATIONAL_SPEED),
        "rad" => one(D::DIMENSIONLESS),
        "l" | "L" => Scale::of(1.0, -3, D::VOLUME),
        "St" => Scale::of(1.0, -4, D::KINEMATIC_VISCOSITY),
        "P" => Scale::of(1.0, -1, D::DYNAMIC_VISCOSITY),
        "V" => one(D::VOLTAGE),
        // The Greek letter and the older "ohm sign" look the same.
        "Ohm" | "ohm" | "\u{3a9}" | "\u{2126}" => one(D::RESISTANCE),
        "S" => one(D::ELECTRICAL_CONDUCTANCE),
        "F" => one(D::CAPACITANCE),
        "H" => one(D::INDUCTANCE),
        "C" => one(D::CHARGE),
        "Ah" => Scale::of(3600.0, 0, D::CHARGE),
        "T" => one(D::MAGNETIC_FLUX_DENSITY),
        "Wb" => one(D::MAGNETIC_FLUX),
        _ => return None,
    })
}

/// Units that take no prefix.
fn plain(symbol: &str) -> Option<Scale> {
    Some(match symbol {
        "min" => Scale::of(60.0, 0, D::TIME),
        "h" => Scale::of(3600.0, 0, D::TIME),
        "d" => Scale::of(86400.0, 0, D::TIME),
        "rpm" => Scale::of(TAU, 0, D::ROTATIONAL_SPEED).over(60.0),
        "rev" => Scale::of(TAU, 0, D::DIMENSIONLESS),
        "deg" | "°" => Scale::of(PI, 0, D::DIMENSIONLESS).over(180.0),
        "%" => Scale::of(1.0, -2, D::DIMENSIONLESS),
        "‰" => Scale::of(1.0, -3, D::DIMENSIONLESS),
        "ppm" => Scale::of(1.0, -6, D::DIMENSIONLESS),
        "lpm" => Scale::of(1.0, -3, D::VOLUME_FLOW).over(60.0),
        "cc" => Scale::of(1.0, -6, D::VOLUME),
        "degC" | "°C" | "℃" => Scale::of(1.0, 0, D::TEMPERATURE).with_offset(273.15),
        "degF" | "°F" | "℉" => Scale::of(5.0, 0, D::TEMPERATURE).over(9.0).with_offset(459.67),
        "t" => Scale::of(1.0, 3, D::MASS),
        "daN" => Scale::of(1.0, 1, D::FORCE),
        // kgf and lbf rest on the standard gravity 9.80665 m/s².
        "kgf" => Scale::of(980_665.0, -5, D::FORCE),
        "PS" => Scale::of(73_549_875.0, -5, D::POWER), // 75 kgf·m/s
        "atm" => Scale::of(101_325.0, 0, D::PRESSURE),
        "Torr" => Scale::of(101_325.0, 0, D::PRESSURE).over(760.0),
        "mmHg" => Scale::of(133_322_387_415.0, -9, D::PRESSURE),
        "in" => Scale::of(254.0, -4, D::LENGTH),
        "ft" => Scale::of(3_048.0, -4, D::LENGTH),
        "lb" => Scale::of(45_359_237.0, -8, D::MASS),
        "lbf" => Scale::of(44_482_216_152_605.0, -13, D::FORCE),
        // lbf/in², with in² = 64516e-8 m².
        "psi" => Scale::of(44_482_216_152_605.0, -5, D::PRESSURE).over(64_516.0),
        "hp" => Scale::of(745.699_871_582_270_2, 0, D::POWER), // 550 ft·lbf/s
        // The US gallon, 231 in³.
        "gal" => Scale::of(3_785_411_784.0, -12, D::VOLUME),
        "gpm" => Scale::of(3_785_411_784.0, -12, D::VOLUME_FLOW).over(60.0),
        _ => return None,
    })
}

/// The symbols worth listing and suggesting: every unit, and the prefixed forms in common use.
///
/// Other prefixed forms are read as well: the prefixes are G, M, k, m, µ (also
/// written u), n, p, and for some units h, d and c.
pub fn unit_symbols() -> &'static [&'static str] {
    &[
        "bar", "mbar", "Pa", "hPa", "kPa", "MPa", "GPa", "psi", "atm", "Torr", "mmHg", //
        "l", "ml", "cc", "gal", "lpm", "gpm", "m", "km", "dm", "cm", "mm", "µm", "um", "nm", "in",
        "ft", //
        "s", "ms", "µs", "us", "ns", "min", "h", "d", "kg", "g", "mg", "t", "lb", //
        "N", "kN", "MN", "mN", "daN", "kgf", "lbf", "Nm", "kNm", "J", "kJ", "MJ", "W", "kW", "MW",
        "mW", "kWh", "Wh", "hp", "PS", //
        "rpm", "Hz", "kHz", "MHz", "rad", "mrad", "deg", "°", "rev", "St", "cSt", "P", "cP", "K",
        "degC", "°C", "degF", "°F", //
        "A", "mA", "µA", "kA", "V", "mV", "kV", "Ohm", "Ω", "kOhm", "MOhm", "mOhm", "S", "F", "mF",
        "µF", "uF", "nF", "pF", "H", "mH", "µH", "C", "Ah", "mAh", "T", "mT", "Wb", "mol",
        "cd", //
        "%", "‰", "ppm",
    ]
}

/// Spellings from other tools and languages that no edit distance finds.
pub(crate) fn other_spelling(symbol: &str) -> Option<&'static [&'static str]> {
    Some(match symbol.to_ascii_lowercase().as_str() {
        "sec" | "second" | "seconds" => &["s"],
        "minute" | "minutes" | "mn" | "mins" => &["min"],
        "hr" | "hour" | "hours" => &["h"],
        "day" | "days" => &["d"],
        "liter" | "litre" | "liters" | "litres" | "ltr" => &["l"],
        "meter" | "metre" | "meters" | "metres" => &["m"],
        "inch" | "inches" => &["in"],
        "foot" | "feet" => &["ft"],
        "celsius" | "deg_c" | "degree_celsius" => &["degC"],
        "fahrenheit" | "deg_f" => &["degF"],
        "kelvin" => &["K"],
        "degree" | "degrees" => &["deg"],
        "turn" | "turns" | "revolution" | "revolutions" | "u" => &["rev"],
        "rps" => &["rev/s"],
        "ccm" | "qcm" => &["cm^3", "cc"],
        "newton" => &["N"],
        "volt" | "volts" => &["V"],
        "amp" | "amps" | "ampere" => &["A"],
        "percent" | "pct" => &["%"],
        "pound" | "pounds" | "lbs" | "lbm" => &["lb", "lbf"],
        "psig" | "psia" => &["psi"],
        "bara" | "barg" | "bar_a" | "bar_g" => &["bar"],
        "gallon" | "gallons" => &["gal"],
        "mmh2o" | "mh2o" => &["mbar", "bar"],
        "micron" | "microns" => &["µm"],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASES: [&str; 27] = [
        "m", "s", "g", "A", "K", "mol", "cd", "Pa", "bar", "N", "Nm", "J", "W", "Wh", "Hz", "rad",
        "l", "L", "St", "P", "V", "Ohm", "S", "F", "H", "C", "T",
    ];

    #[test]
    fn no_prefixed_unit_reads_as_another_unit() {
        for base in BASES {
            assert!(prefixable(base).is_some(), "{base}");
            for prefix in ["G", "M", "k", "h", "d", "c", "m", "u", "µ", "n", "p"] {
                let text = format!("{prefix}{base}");
                assert!(plain(&text).is_none(), "{text} has two readings");
                assert!(prefixable(&text).is_none(), "{text} has two readings");
            }
        }
    }

    #[test]
    fn every_listed_symbol_is_a_unit() {
        for symbol in unit_symbols() {
            assert!(lookup(symbol).is_some(), "{symbol}");
        }
    }

    #[test]
    fn other_spellings_lead_to_units_and_are_no_units_themselves() {
        assert!(lookup("sec").is_none());
        assert_eq!(other_spelling("Liter"), Some(["l"].as_slice()));
    }
}
