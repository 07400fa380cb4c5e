//! Laws that hold for all inputs.

use fluxline_units::{Dimension, Expr, Quantity, Unit, nearest};
use proptest::prelude::*;

fn dimension() -> impl Strategy<Value = Dimension> {
    prop_oneof![
        prop::array::uniform7(-4i8..=4).prop_map(Dimension::new),
        prop::array::uniform7(-60i16..=60).prop_map(Dimension::from_twelfths),
        prop::sample::select(vec![
            Dimension::PRESSURE,
            Dimension::VOLUME_FLOW,
            Dimension::LENGTH,
            Dimension::TIME,
            Dimension::FLOW_PER_ROOT_PRESSURE,
            Dimension::ROTATIONAL_SPEED,
            Dimension::DIMENSIONLESS,
        ]),
    ]
}

fn finite() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |value| value.is_finite())
}

/// Text that looks like expressions more often than random letters do.
fn near_miss() -> impl Strategy<Value = String> {
    let pieces = vec![
        "1", "2.5", "1e9", "10 bar", "l/min", "mm^2", "sqrt(", "max(", "if(", ")", "(", "+", "-",
        "*", "/", "^", ",", " ", "x", "pump.q", "m", "and", "or", "not ", "<", "==", "²", "·",
        "°C", "√", "µ", "degC", "1/", ".", "Ω", "%",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..40).prop_map(|pieces| pieces.concat())
}

/// The number of doubles between two values of one sign.
fn steps_apart(a: f64, b: f64) -> u64 {
    a.to_bits().abs_diff(b.to_bits())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exact_text_reads_back_as_the_same_bits(value in finite(), dimension in dimension()) {
        let quantity = Quantity::new(value, dimension);
        let text = quantity.to_exact_string();
        let read = Quantity::parse(&text).unwrap();
        prop_assert_eq!(read.value.to_bits(), value.to_bits(), "{}", text);
        prop_assert_eq!(read.dimension, dimension);
        let expr = Expr::parse(&text, &|_| false).unwrap().as_quantity().unwrap();
        prop_assert_eq!(expr.value.to_bits(), value.to_bits(), "{}", text);
    }

    #[test]
    fn display_text_reads_back_within_two_steps(
        size in -12.0f64..12.0,
        negative: bool,
        dimension in dimension(),
    ) {
        let value = if negative { -(10f64.powf(size)) } else { 10f64.powf(size) };
        let text = Quantity::new(value, dimension).to_string();
        let read = Quantity::parse(&text).unwrap();
        prop_assert_eq!(read.dimension, dimension);
        prop_assert!(steps_apart(read.value, value) <= 2, "{} read as {:e}, not {:e}", text, read.value, value);
    }

    #[test]
    fn a_number_as_written_survives_its_unit(digits in 1u32..100_000, scale in -3i32..3) {
        let number: f64 = format!("{digits}e{scale}").parse().unwrap();
        for symbol in ["bar", "l/min", "rpm", "mm", "cSt", "psi", "cm^3/rev", "l/min/sqrt(bar)", "degC"] {
            let unit = Unit::parse(symbol).unwrap();
            let text = fluxline_units::format_in(unit.to_si(number), &unit);
            let read: f64 = text.split(' ').next().unwrap().parse().unwrap();
            prop_assert_eq!(unit.to_si(read), unit.to_si(number), "{}", text);
            prop_assert!(text.len() <= symbol.len() + 14, "{number} {symbol} printed as {text}");
        }
    }

    #[test]
    fn dimensions_form_a_commutative_group(a in dimension(), b in dimension(), c in dimension()) {
        let one = Dimension::DIMENSIONLESS;
        let mul = |x: Dimension, y: Dimension| x.checked_mul(y).unwrap();
        prop_assert_eq!(mul(mul(a, b), c), mul(a, mul(b, c)));
        prop_assert_eq!(mul(a, b), mul(b, a));
        prop_assert_eq!(mul(a, one), a);
        let inverse = one.checked_div(a).unwrap();
        prop_assert_eq!(mul(a, inverse), one);
        prop_assert_eq!(mul(a.checked_div(b).unwrap(), b), a);
        prop_assert_eq!(a.checked_pow(24).unwrap(), mul(a, a));
        prop_assert_eq!(a.checked_pow(24).unwrap().checked_pow(6).unwrap(), a);
    }

    #[test]
    fn an_angle_counts_in_revolutions(rpm in 0.0f64..1e5) {
        let speed = Quantity::parse(&format!("{rpm} rpm")).unwrap().value;
        let expected = rpm * std::f64::consts::TAU / 60.0;
        prop_assert!((speed - expected).abs() <= 2.0 * f64::EPSILON * expected);
    }

    #[test]
    fn any_text_is_answered_without_panic(text in any::<String>()) {
        read_everything(&text);
    }

    #[test]
    fn text_close_to_an_expression_is_answered_without_panic(text in near_miss()) {
        read_everything(&text);
    }

    #[test]
    fn whatever_is_a_quantity_is_the_same_expression(text in near_miss()) {
        if let Ok(quantity) = Quantity::parse(&text) {
            let expr = Expr::parse(&text, &|_| false).unwrap();
            prop_assert_eq!(expr.as_quantity(), Some(quantity));
        }
    }
}

/// Reads `text` in every way; spans must lie on letter boundaries of the text.
fn read_everything(text: &str) {
    if let Err(error) = Unit::parse(text) {
        let _ = (&text[error.span()], error.to_string(), error.suggestion());
    }
    if let Err(error) = Quantity::parse(text) {
        let _ = (&text[error.span()], error.to_string(), error.suggestion());
    }
    let value =
        |name: &str| name.starts_with('x').then_some(Quantity::new(2.0, Dimension::PRESSURE));
    match Expr::parse(text, &|name| value(name).is_some()) {
        Ok(expr) => {
            for (name, span) in expr.names() {
                assert_eq!(name, &text[span]);
            }
            match expr.evaluate(&value) {
                Ok(result) => assert!(result.value.is_finite()),
                Err(error) => {
                    let _ = (&text[error.span()], error.to_string(), error.suggestion());
                }
            }
        }
        Err(error) => {
            let _ = (&text[error.span()], error.to_string(), error.suggestion());
        }
    }
    let _ = nearest(text, ["bar", "pressure"]);
}
