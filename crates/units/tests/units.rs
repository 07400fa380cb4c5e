//! Units and quantities against published factors, and the messages for wrong ones.

use fluxline_units::{
    Dimension, Quantity, QuantityError, Unit, UnitError, display_unit, format_in,
};
use std::f64::consts::{PI, TAU};

fn si(text: &str) -> f64 {
    quantity(text).value
}

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Conversions round at most twice, so two units in the last place suffice.
fn assert_close(found: f64, expected: f64, what: &str) {
    let tolerance = 2.0 * f64::EPSILON * expected.abs();
    assert!((found - expected).abs() <= tolerance, "{what}: {found} instead of {expected}");
}

#[test]
fn factors_agree_with_the_si_brochure_and_nist_sp_811() {
    // NIST SP 811 (2008), appendix B.8 and B.9; SI brochure, 9th edition, tables 4, 5, 7 and 8.
    let table: &[(&str, f64)] = &[
        ("1 bar", 1e5),
        ("1 mbar", 100.0),
        ("1 MPa", 1e6),
        ("1 hPa", 100.0),
        ("1 GPa", 1e9),
        ("1 psi", 6894.757293168361), // lbf/in², 4.4482216152605 / 0.0254²
        ("1 atm", 101325.0),
        ("1 Torr", 101325.0 / 760.0),
        ("1 mmHg", 133.322387415),
        ("1 in", 0.0254),
        ("1 ft", 0.3048),
        ("1 mm", 1e-3),
        ("1 µm", 1e-6),
        ("1 um", 1e-6),
        ("1 μm", 1e-6),
        ("1 nm", 1e-9),
        ("1 km", 1e3),
        ("1 dm", 0.1),
        ("1 min", 60.0),
        ("1 h", 3600.0),
        ("1 d", 86400.0),
        ("1 ms", 1e-3),
        ("1 kg", 1.0),
        ("1 g", 1e-3),
        ("1 mg", 1e-6),
        ("1 t", 1e3),
        ("1 lb", 0.45359237),
        ("1 lbf", 4.4482216152605),
        ("1 kgf", 9.80665),
        ("1 daN", 10.0),
        ("1 kN", 1e3),
        ("1 Nm", 1.0),
        ("1 J", 1.0),
        ("1 kWh", 3.6e6),
        ("1 hp", 745.6998715822702), // 550 ft·lbf/s
        ("1 PS", 735.49875),         // 75 kgf·m/s
        ("1 Hz", 1.0),
        ("1 kHz", 1e3),
        ("1 rad", 1.0),
        ("180 deg", PI),
        ("180 °", PI),
        ("1 rev", TAU),
        ("60 rpm", TAU),
        ("60 1/min", 1.0),
        ("1 l", 1e-3),
        ("1 L", 1e-3),
        ("1 ml", 1e-6),
        ("1 cc", 1e-6),
        ("1 gal", 3.785411784e-3), // US, 231 in³
        ("1 lpm", 1e-3 / 60.0),
        ("1 gpm", 6.30901964e-5),
        ("1 St", 1e-4),
        ("1 cSt", 1e-6),
        ("1 P", 0.1),
        ("1 cP", 1e-3),
        ("1 mPa*s", 1e-3),
        ("1 K", 1.0),
        ("0 degC", 273.15),
        ("40 °C", 313.15),
        ("-40 degC", 233.15),
        ("-40 degF", 233.15),
        ("212 degF", 373.15),
        ("1 mA", 1e-3),
        ("1 mV", 1e-3),
        ("1 kOhm", 1e3),
        ("1 kΩ", 1e3),
        ("1 k\u{2126}", 1e3),
        ("1 µF", 1e-6),
        ("1 mH", 1e-3),
        ("1 C", 1.0),
        ("1 Ah", 3600.0),
        ("1 mAh", 3.6),
        ("1 T", 1.0),
        ("1 Wb", 1.0),
        ("1 mol", 1.0),
        ("1 cd", 1.0),
        ("1 S", 1.0),
        ("50 %", 0.5),
        ("50%", 0.5),
        ("5 ‰", 5e-3),
        ("5 ppm", 5e-6),
        ("36 km/h", 10.0),
    ];
    for &(text, expected) in table {
        assert_close(si(text), expected, text);
    }
}

#[test]
fn the_quantities_of_the_trade_are_read() {
    let table: &[(&str, f64, Dimension)] = &[
        ("120 bar", 1.2e7, Dimension::PRESSURE),
        ("10 l/min", 10.0 / 60_000.0, Dimension::VOLUME_FLOW),
        ("50 cm^3/rev", 50e-6 / TAU, Dimension::VOLUME),
        ("1500 rpm", 1500.0 * TAU / 60.0, Dimension::ROTATIONAL_SPEED),
        ("0.1 ms", 1e-4, Dimension::TIME),
        ("30 cSt", 30e-6, Dimension::KINEMATIC_VISCOSITY),
        ("5.9 l/min/sqrt(bar)", 5.9 / 60_000.0 / 1e5_f64.sqrt(), Dimension::FLOW_PER_ROOT_PRESSURE),
        ("1e-3", 1e-3, Dimension::DIMENSIONLESS),
        ("-3.5e5 Pa", -3.5e5, Dimension::PRESSURE),
        ("40 degC", 313.15, Dimension::TEMPERATURE),
        ("  7bar ", 7e5, Dimension::PRESSURE),
        (".5 m", 0.5, Dimension::LENGTH),
        ("5. m", 5.0, Dimension::LENGTH),
        ("+2E3 N", 2000.0, Dimension::FORCE),
    ];
    for &(text, value, dimension) in table {
        assert_close(si(text), value, text);
        assert_eq!(quantity(text).dimension, dimension, "{text}");
    }
    assert_eq!(format!("{:.7}", quantity("1500 rpm")), "157.0796 1/s");
}

#[test]
fn one_unit_can_be_written_in_many_ways() {
    let same: &[&[&str]] = &[
        &["N*m", "N·m", "N m", "N⋅m", "Nm", "J", "(N m)", "N * m", "m N"],
        &["mm^2", "mm²", "mm2", "(mm)^2", "mm*mm", "mm ^ 2", "mm^(2)", "mm^2.0"],
        &["s^-1", "s⁻¹", "1/s", "1 / s", "Hz", "rad/s", "s^(-1)"],
        &["Pa^0.5", "Pa^(1/2)", "sqrt(Pa)", "√Pa", "√(Pa)", "sqrt ( Pa )"],
        &["l/min/sqrt(bar)", "l/(min*sqrt(bar))", "l/(min √bar)", "lpm/bar^0.5"],
        &["N/(m/s)", "N*s/m", "kg/s", "N s/m"],
        &["m^3/s", "m³/s", "m3/s"],
        &["J/(kg*K)", "J/kg/K", "J/(kg degC)", "J/(kg K)"],
        &["rev/min", "rpm"],
    ];
    for group in same {
        let first = Unit::parse(group[0]).unwrap();
        for text in *group {
            let unit = Unit::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(unit.dimension(), first.dimension(), "{text}");
            assert_close(unit.to_si(1.0), first.to_si(1.0), text);
        }
    }
}

#[test]
fn look_alikes_are_kept_apart() {
    assert_eq!(quantity("1 min").dimension, Dimension::TIME);
    assert_eq!(quantity("1 h").dimension, Dimension::TIME);
    assert_eq!(quantity("1 H").dimension, Dimension::INDUCTANCE);
    assert_eq!(quantity("1 t").dimension, Dimension::MASS);
    assert_eq!(quantity("1 T").dimension, Dimension::MAGNETIC_FLUX_DENSITY);
    assert_eq!(quantity("1 g").dimension, Dimension::MASS);
    assert_eq!(quantity("1 nm").dimension, Dimension::LENGTH);
    assert_eq!(quantity("1 Nm").dimension, Dimension::TORQUE);
    assert_eq!(quantity("1 mPa").value, 1e-3);
    assert_eq!(quantity("1 MPa").value, 1e6);
    for no_unit in ["mmin", "hs", "cs", "mh", "kin", "krpm", "kk", "m_s"] {
        assert!(
            matches!(Unit::parse(no_unit), Err(UnitError::Unknown { .. })),
            "{no_unit} must not be a unit"
        );
    }
}

#[test]
fn a_temperature_has_its_offset_only_when_it_stands_alone() {
    assert_eq!(si("1 degC/s"), 1.0);
    assert_eq!(si("2 W/degC"), 2.0);
    assert_close(si("9 degF/min"), 5.0 / 60.0, "a rate in °F");
    let celsius = Unit::parse("degC").unwrap();
    assert_eq!(celsius.from_si(313.15), 40.0);
    assert_eq!(format_in(313.15, &celsius), "40 degC");
}

#[test]
fn decimal_fractions_convert_without_noise() {
    // A factor 1e-3 held as a double would give 0.0035000000000000005 and the like.
    for (text, value) in
        [("3.5 mm", 0.0035), ("0.3 ms", 0.0003), ("35 cSt", 35e-6), ("4.7 µF", 4.7e-6)]
    {
        assert_eq!(si(text), value, "{text}");
    }
    assert_eq!(si("60 l/min"), 1e-3);
}

#[test]
fn a_decimal_comma_is_refused_with_the_correction() {
    let error = Quantity::parse("0,5 bar").unwrap_err();
    assert_eq!(error.to_string(), "a comma is no decimal sign; use a point");
    assert_eq!(error.suggestion().unwrap(), "write `0.5 bar`");
    assert_eq!(error.span(), 0..3);
}

#[test]
fn what_is_no_number_is_refused() {
    for text in
        ["", "  ", "bar", "nan", "NaN bar", "inf", "-inf Pa", "-", ".", "e5", "--3", "−3 bar"]
    {
        assert!(matches!(Quantity::parse(text), Err(QuantityError::NoNumber { .. })), "{text}");
    }
    assert!(matches!(Quantity::parse("1 000 bar"), Err(QuantityError::SecondNumber { .. })));
    for text in ["1e400", "1e308 km", "-1e305 MPa"] {
        assert!(matches!(Quantity::parse(text), Err(QuantityError::TooLarge { .. })), "{text}");
    }
}

#[test]
fn an_unknown_unit_is_named_with_its_place_and_neighbours() {
    let error = Quantity::parse("10 l/mni").unwrap_err();
    assert_eq!(error.to_string(), "unknown unit `mni`");
    assert_eq!(error.span(), 5..8);
    assert_eq!(error.suggestion().unwrap(), "did you mean `min`?");

    let suggestions = |text: &str| match Unit::parse(text) {
        Err(UnitError::Unknown { suggestions, .. }) => suggestions,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(suggestions("Bar")[0], "bar");
    assert_eq!(suggestions("PSI")[0], "psi");
    assert_eq!(suggestions("RPM")[0], "rpm");
    assert_eq!(suggestions("liter"), ["l"]);
    assert_eq!(suggestions("sec"), ["s"]);
    assert_eq!(suggestions("kpa")[0], "kPa");
}

#[test]
fn wrong_units_are_refused_where_they_go_wrong() {
    let span = |text: &str| Unit::parse(text).expect_err(text).span();
    assert_eq!(span("m/"), 2..2);
    assert_eq!(span("(m"), 2..2);
    assert_eq!(span("m)"), 1..2);
    assert_eq!(span("m//s"), 2..3);
    assert_eq!(span("m^x"), 1..3);
    assert!(matches!(Unit::parse("J/kg K"), Err(UnitError::AmbiguousProduct { .. })));
    assert!(matches!(Unit::parse("m^0.123"), Err(UnitError::Exponent { .. })));
    assert!(matches!(Unit::parse("m^2^2"), Err(UnitError::Exponent { .. })));
    assert!(matches!(Unit::parse("m^1000"), Err(UnitError::Exponent { .. })));
    assert!(matches!(Unit::parse("km^99*km^99"), Err(UnitError::OutOfRange { .. })));
    assert!(matches!(Unit::parse(""), Err(UnitError::Empty { .. })));
    let deep = format!("{}m{}", "(".repeat(10_000), ")".repeat(10_000));
    assert!(matches!(Unit::parse(&deep), Err(UnitError::TooDeep { .. })));
    assert!(matches!(Unit::parse(&"√".repeat(10_000)), Err(UnitError::TooDeep { .. })));
}

#[test]
fn quantities_print_in_the_unit_of_the_trade() {
    let table = [
        ("12 MPa", "120 bar"),
        ("1e-3 m^3/s", "60 l/min"),
        ("4 cm", "40 mm"),
        ("2500 mm", "2.5 m"),
        ("0.02 s", "20 ms"),
        ("90 s", "90 s"),
        ("0.00003 m^2/s", "30 cSt"),
        ("5.9 l/min/sqrt(bar)", "5.9 l/min/sqrt(bar)"),
        ("300 mm^2", "300 mm^2"),
        ("25 kN", "25 kN"),
        ("7.5e3 W", "7.5 kW"),
        ("0 m", "0 mm"),
        ("0.25", "0.25"),
        ("3 m^3/s^2", "3 m^3/s^2"),
        ("40 degC", "313.15 K"),
    ];
    for (text, printed) in table {
        assert_eq!(quantity(text).to_string(), printed);
    }
    let rpm = Unit::parse("rpm").unwrap();
    assert_eq!(format_in(si("1500 rpm"), &rpm), "1500 rpm");
    assert_eq!(quantity("1500 rpm").in_unit(&Unit::parse("bar").unwrap()), None);
    assert_eq!(display_unit(Dimension::PRESSURE), Some("bar"));
    assert_eq!(display_unit(Dimension::new([5, 0, 0, 0, 0, 0, 0])), None);
}

/// Ten thousand quantities take a few milliseconds; the bound leaves room for a
/// slow, busy machine and still catches a table built anew for every unit.
#[test]
fn reading_ten_thousand_quantities_is_fast() {
    let texts = ["120 bar", "5.9 l/min/sqrt(bar)", "1500 rpm", "3.5e-4 m^2", "40 degC"];
    let fastest = (0..5)
        .map(|_| {
            let start = std::time::Instant::now();
            for i in 0..10_000 {
                std::hint::black_box(Quantity::parse(texts[i % texts.len()]).unwrap());
            }
            start.elapsed()
        })
        .min()
        .unwrap();
    println!("10 000 quantities in {fastest:?}");
    assert!(fastest.as_millis() < 50, "{fastest:?}");
}
