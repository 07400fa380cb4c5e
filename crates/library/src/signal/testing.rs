//! Benches that the tests of signal blocks share.

use fluxline_core::component::{Physics, Refusal};
use fluxline_core::number::Lanes;
use fluxline_core::testing::{Bench, Surroundings};

/// A component with constant inputs.
pub struct Source<M: Physics>(pub Bench<M>);

impl<M: Physics> Source<M> {
    /// Mounts a component with these inputs.
    pub fn with(component: &M, inputs: &[f64], dt: f64) -> Self {
        let mut bench = Bench::new(component, dt);
        for (i, &input) in inputs.iter().enumerate() {
            bench.input(i, input);
        }
        Self(bench)
    }
    /// The output at the start and after each of `steps` steps.
    pub fn values(mut self, steps: usize) -> Vec<f64> {
        let first = self.0.start().settle().output(0);
        std::iter::once(first).chain((0..steps).map(|_| self.0.step().output(0))).collect()
    }
}

/// The output at the start and after each step for an input that changes: `u(t)` at input 0.
pub fn respond<M: Physics>(
    component: &M,
    dt: f64,
    steps: usize,
    u: impl Fn(f64) -> f64,
) -> Vec<f64> {
    let mut bench = Bench::new(component, dt);
    let first = bench.input(0, u(0.0)).start().settle().output(0);
    std::iter::once(first)
        .chain((1..=steps).map(|n| bench.input(0, u(n as f64 * dt)).step().output(0)))
        .collect()
}

/// The output for a row of inputs at each step, the first of them at the start.
pub fn sequence<M: Physics, const N: usize>(component: &M, dt: f64, rows: &[[f64; N]]) -> Vec<f64> {
    let mut bench = Bench::new(component, dt);
    let mut values = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        for (i, &input) in row.iter().enumerate() {
            bench.input(i, input);
        }
        if n == 0 {
            bench.start().settle()
        } else {
            bench.step()
        };
        values.push(bench.output(0));
    }
    values
}

/// Why a component is refused.
pub fn refusal<M: Physics>(component: &M) -> Refusal {
    match Bench::within(component, &Surroundings::of::<M>(1e-3)) {
        Ok(_) => panic!("{} is not refused", M::DECLARATION.name),
        Err(refusal) => refusal,
    }
}

/// A number between −1 and 1 that looks random; some are repeated so that ties occur.
fn scatter(n: usize) -> f64 {
    let x = ((n as f64) * 12.9898).sin() * 43758.5453;
    let x = 2.0 * (x - x.floor()) - 1.0;
    if n.is_multiple_of(7) { (x * 2.0).round() } else { x }
}

/// Four variants side by side give the bits of four alone, whatever drives them.
pub fn lanes_match<M: Physics>(components: [M; 4]) {
    let dt = 0.01;
    let around = Surroundings::of::<M>(dt);
    let each = [0, 1, 2, 3].map(|i| &components[i]);
    let mut lanes: Bench<M, Lanes<4>> = Bench::lanes(each, &around).expect("accepted");
    let mut alone = each.map(|component| Bench::new(component, dt));
    let inputs = M::DECLARATION.input_count();
    for n in 0..200 {
        for i in 0..inputs {
            let values = [0, 1, 2, 3].map(|lane| scatter(n * 40 + i * 4 + lane));
            lanes.input(i, Lanes(values));
            for (bench, value) in alone.iter_mut().zip(values) {
                bench.input(i, value);
            }
        }
        if n == 0 {
            lanes.start().settle()
        } else {
            lanes.step()
        };
        for (lane, bench) in alone.iter_mut().enumerate() {
            if n == 0 {
                bench.start().settle()
            } else {
                bench.step()
            };
            let together = lanes.state.signals.iter().chain(&lanes.state.states);
            let scalar = bench.state.signals.iter().chain(&bench.state.states);
            for (a, b) in together.zip(scalar) {
                let (a, name) = (a.0[lane], M::DECLARATION.name);
                assert_eq!(a.to_bits(), b.to_bits(), "{name}: {a} and {b} in step {n}");
            }
        }
    }
}

/// The component's own step is the generic one, along a run with scattered inputs. Tolerance: Newton
/// stops at 10⁻¹³ of the unknowns, and rates hold differences of them over the time constant.
pub fn closed_form_is_generic<M: Physics>(component: &M, dt: f64, stiffness: f64) {
    let mut closed = Bench::new(component, dt);
    let mut generic = Bench::new(component, dt);
    for n in 0..200 {
        for i in 0..M::DECLARATION.input_count() {
            // Within ±½: conditions stay false.
            closed.input(i, 0.24 * scatter(n * 40 + i));
        }
        if n == 0 {
            closed.start().settle();
            continue;
        }
        generic.state = closed.state.clone();
        closed.step();
        generic.step_generic();
        assert_eq!(generic.state.faults.unconverged, 0);
        // States and rates; what is remembered besides is the step's own business.
        let count = 2 * M::DECLARATION.states.len();
        let mine = closed.state.signals.iter().chain(&closed.state.states[..count]);
        let others = generic.state.signals.iter().chain(&generic.state.states[..count]);
        for (a, b) in mine.zip(others) {
            let tolerance = 1e-11 * (1.0 + stiffness) * (1.0 + b.abs());
            assert!((a - b).abs() <= tolerance, "{}: {a} {b}", M::DECLARATION.name);
        }
    }
}

/// The order of convergence at a fixed time, from three steps that are halved.
pub fn order<M: Physics>(component: &M, time: f64, u: impl Fn(f64) -> f64, exact: f64) -> f64 {
    let error = |steps: usize| {
        let values = respond(component, time / steps as f64, steps, &u);
        (values[steps] - exact).abs()
    };
    (error(500) / error(2000)).log2() / 2.0
}
