//! Steps do not allocate: counted by the allocator, for the thread that steps.

mod problems;

use fluxline_ode::{Driver, Method, Options, Pattern, Samples, System as Rates, Trouble, build};
use problems::two_throttles::{START, TwoThrottles};

/// A chain of 200 lags, each driven by the one before and held by the one after: large enough for
/// the sparse factorisation.
struct Chain(Pattern);

impl Chain {
    const SIZE: usize = 200;

    fn new() -> Self {
        let ties = (0..Self::SIZE).flat_map(|i| [(i, i), (i, i.saturating_sub(1))]);
        let back = (1..Self::SIZE).map(|i| (i - 1, i));
        Self(Pattern::new(Self::SIZE, ties.chain(back)))
    }
}

impl Rates for Chain {
    fn size(&self) -> usize {
        Self::SIZE
    }

    fn rates(&mut self, time: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
        for i in 0..Self::SIZE {
            let before = if i == 0 { time.sin() } else { x[i - 1] };
            let after = if i + 1 < Self::SIZE { x[i + 1] } else { 0.0 };
            rates[i] = 1e3 * (before - 2.0 * x[i] + after);
        }
        Ok(())
    }

    fn pattern(&self) -> &Pattern {
        &self.0
    }

    fn jacobian(&mut self, _: f64, _: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
        for column in 0..Self::SIZE {
            for place in self.0.column(column) {
                values[place] = if self.0.rows()[place] == column { -2e3 } else { 1e3 };
            }
        }
        Ok(())
    }
}

fn allocations_of<S: Rates>(system: &mut S, method: Method, x: &[f64], until: f64) -> u64 {
    let options = Options { step: 1e-4, ..Options::default() };
    let mut driver = Driver::new(build(method, system, &options), 0.0, x);
    let mut samples = Samples::every(0.0, 1e-3);
    let mut sum = 0.0;
    let mut observer = |_: f64, x: &[f64]| sum += x[0];
    let during = allocation_counter::measure(|| {
        driver.advance(system, until, &mut samples, &mut observer).unwrap();
    });
    assert!(driver.work().steps > 10, "{method}: {:?}", driver.work());
    during.count_total
}

#[test]
fn no_method_allocates_while_it_steps() {
    for &method in Method::ALL {
        let mut system = TwoThrottles::new(1e-4, 1, 1.0);
        assert_eq!(allocations_of(&mut system, method, &START, 1.0), 0, "{method}");
        let x = [0.0; Chain::SIZE];
        assert_eq!(allocations_of(&mut Chain::new(), method, &x, 1.0), 0, "{method}, sparse");
    }
}
