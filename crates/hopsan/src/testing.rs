//! What tests of component types share.

use fluxline_core::component::Physics;
use fluxline_core::declare::Value;
use fluxline_core::testing::Bench;
use fluxline_core::values::defaults;

/// A component with its default values on a bench, but for some inputs.
pub fn bench<M: Physics>(dt: f64, set: &[(usize, f64)]) -> Bench<M> {
    let values = defaults(M::DECLARATION).expect("defaults can be read");
    let component = M::from_values(&values).expect("defaults suit the type");
    let mut bench = Bench::new(&component, dt);
    for (parameter, value) in M::DECLARATION.parameters.iter().zip(&values) {
        if let (Some(input), &Value::Number(value)) = (parameter.input, value) {
            bench.input(input, value);
        }
    }
    for &(input, value) in set {
        bench.input(input, value);
    }
    bench
}

/// Asserts that two numbers agree, relative to their size.
#[track_caller]
pub fn assert_near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * a.abs().max(b.abs()), "{a} for {b}");
}
