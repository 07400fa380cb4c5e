//! The pseudo-dynamic cylinder drive of Åman (thesis, Lappeenranta University of Technology, 2011),
//! section 3.3 and Table 3.3: valve – V₁ – orifice – V₂ – cylinder with mass, spring and damper.

mod support;

use fluxline_ode::small::{Fast, InnerMethod, Reduced, Settings, SmallVolumes};
use fluxline_ode::{Pattern, System, Trouble};
use support::rk4;

const BULK: f64 = 1e9;
const SUPPLY: f64 = 100e5;
/// C_d·π·d_v·s·√(2/ρ): the slot of the valve.
const VALVE: f64 = 4.443e-7;
/// C_d·π/4·(1 mm)²·√(2/ρ).
const ORIFICE: f64 = 0.6 * std::f64::consts::FRAC_PI_4 * 1e-6 * 0.047_140_452_079_103_17;
const AREA: f64 = std::f64::consts::FRAC_PI_4 * 3.6e-3;
const MASS: f64 = 5000.0;
const SPRING: f64 = 18e6;
const DAMPING: f64 = 500.0;
const FIRST: f64 = 1e-3;
const SECOND: f64 = 1e-5;

/// p₁, p₂, speed, position; orifices are turbulent to zero.
#[derive(Clone)]
struct Drive(Pattern);

impl Drive {
    fn new() -> Self {
        let entries = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2)];
        Self(Pattern::new(4, entries))
    }
}

fn root(drop: f64) -> f64 {
    drop.abs().sqrt().copysign(drop)
}

impl System for Drive {
    fn size(&self) -> usize {
        4
    }

    fn rates(&mut self, _: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
        let through = ORIFICE * root(x[0] - x[1]);
        rates[0] = BULK / FIRST * (VALVE * root(SUPPLY - x[0]) - through);
        rates[1] = BULK / SECOND * (through - AREA * x[2]);
        rates[2] = (x[1] * AREA - DAMPING * x[2] - SPRING * x[3]) / MASS;
        rates[3] = x[2];
        Ok(())
    }

    fn pattern(&self) -> &Pattern {
        &self.0
    }

    fn jacobian(&mut self, _: f64, x: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
        let through = 0.5 * ORIFICE / (x[0] - x[1]).abs().sqrt();
        let inlet = 0.5 * VALVE / (SUPPLY - x[0]).abs().sqrt();
        let (first, second) = (BULK / FIRST, BULK / SECOND);
        // Column by column.
        values.copy_from_slice(&[
            -first * (inlet + through),
            second * through,
            first * through,
            -second * through,
            AREA / MASS,
            -second * AREA,
            -DAMPING / MASS,
            1.0,
            -SPRING / MASS,
        ]);
        Ok(())
    }
}

/// Positions every 10 ms for a second.
fn positions(system: &mut Reduced<Drive>, step: f64) -> Vec<f64> {
    let mut x = vec![0.0; system.size()];
    let mut room = vec![0.0; 5 * x.len()];
    let per_sample = (1e-2 / step).round() as usize;
    let mut curve = Vec::new();
    for sample in 0..100 {
        for part in 0..per_sample {
            let time = f64::from(sample) * 1e-2 + part as f64 * step;
            system.prepare_step(time, &x).unwrap();
            rk4(system, time, step, &mut x, &mut room);
            system.settle(time + step, &mut x);
        }
        curve.push(x[x.len() - 1]);
    }
    curve
}

fn run(settings: Settings, step: f64) -> Vec<f64> {
    let fast = [Fast { state: 1, volume: SECOND }];
    let mut system = Reduced::new(Drive::new(), settings, &fast, &[0, 1], &[0.0; 4]).unwrap();
    positions(&mut system, step)
}

/// The bar: 2e-5 m at 0.1 and at 1 ms, against the whole system by RK4 at 2 µs. With the published
/// artificial volume, pseudo-time has a time constant of up to V·2√Δp/(β·K) = 0.3 s, so a change of
/// 20 Pa in an inner step of 1 ms leaves 6e3 Pa, 0.06 % of the pressure and so of the 1.6 mm of stroke.
#[test]
fn the_piston_follows_within_20_micrometres() {
    let truth = run(Settings::default(), 2e-6);
    let stroke = SUPPLY * AREA / SPRING;
    assert!((truth[99] / stroke - 1.0).abs() < 0.02, "{}", truth[99]);
    let pds = Settings {
        inner_method: InnerMethod::RungeKutta4,
        inner_step: 1e-3,
        tolerance_high: 20.0,
        ..Settings::with(SmallVolumes::Pds)
    };
    for settings in [
        pds,
        Settings { pseudo_volume: None, ..pds },
        Settings { strategy: SmallVolumes::AdvPds, ..pds },
        Settings::with(SmallVolumes::Algebraic),
    ] {
        for step in [1e-4, 1e-3] {
            let curve = run(settings, step);
            let largest = curve.iter().zip(&truth).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(largest < 2e-5, "{largest} m at {step} s with {settings:?}");
        }
    }
}
