//! Quantities, units and expressions: any text is read or refused, errors point into the text, and
//! what is printed reads back.
#![no_main]

use fluxline_units::{Dimension, Expr, Quantity, Unit};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let within = |span: std::ops::Range<usize>| {
        assert!(span.start <= span.end && span.end <= text.len().max(1), "{span:?} of {text:?}");
    };
    match Unit::parse(text) {
        Ok(unit) => assert!(unit.to_si(1.0).is_finite() || unit.to_si(1.0).is_infinite()),
        Err(error) => within(error.span()),
    }
    match Quantity::parse(text) {
        Ok(quantity) => {
            let again = Quantity::parse(&quantity.to_exact_string()).expect("reads back");
            assert_eq!(again.value.to_bits(), quantity.value.to_bits());
            let shown = Quantity::parse(&quantity.to_string()).expect("reads back");
            assert_eq!(shown.dimension, quantity.dimension);
        }
        Err(error) => {
            within(error.span());
            let _ = (error.to_string(), error.suggestion());
        }
    }
    let known = |name: &str| matches!(name, "a" | "supply");
    match Expr::parse(text, &known) {
        Ok(expression) => {
            let value = |name: &str| match name {
                "a" => Some(Quantity::dimensionless(2.0)),
                "supply" => Some(Quantity::new(1.2e7, Dimension::PRESSURE)),
                _ => None,
            };
            match expression.evaluate(&value) {
                Ok(quantity) => assert!(quantity.value.is_finite(), "{text:?}"),
                Err(error) => {
                    within(error.span());
                    let _ = (error.to_string(), error.suggestion());
                }
            }
        }
        Err(error) => {
            within(error.span());
            let _ = (error.to_string(), error.suggestion());
        }
    }
});
