//! Small volumes on circuit 2 of Malysheva (thesis, LUT University, 2021).

mod support;

use std::time::Instant;

use fluxline_ode::small::{Fast, InnerMethod, Reduced, Settings, SmallVolumes, Work};
use fluxline_ode::{Method, Options, Samples, System, build, integrate};
use support::{CircuitTwo, rk4};

/// Results are compared every 0.1 ms.
const SAMPLE: f64 = 1e-4;

/// p₁ and p₂ every 0.1 ms by plain RK4.
fn integrated(mut circuit: CircuitTwo, samples: usize, per_sample: usize) -> Vec<[f64; 2]> {
    let mut x = CircuitTwo::INITIAL;
    let mut room = [0.0; 25];
    let step = SAMPLE / per_sample as f64;
    let mut curve = Vec::with_capacity(samples);
    for sample in 0..samples {
        for part in 0..per_sample {
            let time = sample as f64 * SAMPLE + part as f64 * step;
            rk4(&mut circuit, time, step, &mut x, &mut room);
            x[2] = x[2].clamp(0.0, 1e-6);
        }
        curve.push([x[0], x[1]]);
        circuit.settle((sample + 1) as f64 * SAMPLE, &mut x);
    }
    curve
}

/// The same with p₁ replaced and RK4 at 0.1 ms for the rest.
fn reduced(circuit: CircuitTwo, samples: usize, settings: Settings) -> (Vec<[f64; 2]>, Work) {
    let fast = [Fast { state: 0, volume: circuit.small_volume }];
    let initial = CircuitTwo::INITIAL;
    let mut system = Reduced::new(circuit, settings, &fast, &[0, 1], &initial).unwrap();
    let (mut x, mut whole, mut room) = ([0.0; 4], [0.0; 5], [0.0; 20]);
    system.gather(&initial, &mut x);
    let mut curve = Vec::with_capacity(samples);
    for sample in 0..samples {
        let time = sample as f64 * SAMPLE;
        system.prepare_step(time, &x).unwrap();
        rk4(&mut system, time, SAMPLE, &mut x, &mut room);
        let end = (sample + 1) as f64 * SAMPLE;
        system.expand(end, &x, &mut whole).unwrap();
        curve.push([whole[0], whole[1]]);
        system.settle(end, &mut x);
    }
    (curve, system.work())
}

fn rmse(curve: &[[f64; 2]], truth: &[[f64; 2]], which: usize) -> f64 {
    let sum: f64 = curve.iter().zip(truth).map(|(a, b)| (a[which] - b[which]).powi(2)).sum();
    (sum / truth.len() as f64).sqrt()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    0.5 * (values[(values.len() - 1) / 2] + values[values.len() / 2])
}

fn advpds(inner_method: InnerMethod, inner_step: f64) -> Settings {
    Settings { inner_method, inner_step, ..Settings::with(SmallVolumes::AdvPds) }
}

/// Two seconds with a change of every input, against RK4 at 2.5e-7 s. Published are 1.06e4 Pa with
/// Euler inside, 1.08e4 Pa with RK4 and 6.8e3 Pa with modified Heun, for inputs that are not; for inputs
/// like these an independent program gives medians of 2.5e4, 2.5e4 and 5.7e3 Pa, and the runs of the long
/// comparison below lie between 2.2e4 and 3.3e4 and between 5.3e3 and 7.9e3 Pa.
///
/// A balance solved at every evaluation leaves out the lag of p₁ as well, so after a jump its p₁ is no
/// better than that of modified Heun (1.8e3 to 7.7e3 Pa in the long comparison, now above, now below it);
/// but it does not hold flows over a step, and p₂ is some four times closer in every run.
#[test]
fn errors_of_pseudo_time_are_those_published_and_a_balance_has_less_downstream() {
    let circuit = || CircuitTwo::new(1, 1e-5);
    let truth = integrated(circuit(), 20_000, 400);
    let errors = |settings: Settings| {
        let (curve, work) = reduced(circuit(), 20_000, settings);
        assert_eq!(work.unfinished, 0);
        (rmse(&curve, &truth, 0), rmse(&curve, &truth, 1))
    };
    for method in [InnerMethod::Euler, InnerMethod::RungeKutta4] {
        let (error, _) = errors(advpds(method, 1e-5));
        assert!((1.5e4..3.5e4).contains(&error), "{error} Pa with {method:?}");
    }
    let settings = advpds(InnerMethod::ModifiedHeun, 1e-4);
    let (heun, heun_downstream) = errors(settings);
    assert!((3e3..8e3).contains(&heun), "{heun} Pa");
    let (chosen, _) = errors(Settings { pseudo_volume: None, ..settings });
    assert!(chosen < 8e3, "{chosen} Pa");
    let (balance, downstream) = errors(Settings::with(SmallVolumes::Algebraic));
    assert!(balance < 8e3, "{balance} Pa");
    assert!(downstream < 0.5 * heun_downstream, "{downstream} and {heun_downstream} Pa");
}

/// The size of a volume drops out of the balance of its flows: the same curves, to what Newton's
/// tolerance leaves, and no failure at 1e-9 m³. The correction that ends a solution is below 1e-3 Pa
/// and convergence is quadratic, so 1e-3 Pa bounds what differs per solution.
#[test]
fn a_balance_does_not_know_the_size_of_its_volume() {
    let settings = Settings::with(SmallVolumes::Algebraic);
    let (reference, _) = reduced(CircuitTwo::new(3, 1e-5), 20_000, settings);
    for volume in [1e-6, 1e-9, 1e-12] {
        let (curve, work) = reduced(CircuitTwo::new(3, volume), 20_000, settings);
        let largest = curve
            .iter()
            .zip(&reference)
            .map(|(a, b)| (a[0] - b[0]).abs().max((a[1] - b[1]).abs()))
            .fold(0.0, f64::max);
        assert!(largest < 1e-3, "{largest} Pa at {volume} m³");
        // Bounded work: a warm start needs a few iterations.
        assert!(work.iterations < 3 * work.solves, "{work:?}");
    }
    let other = Settings::with(SmallVolumes::SingularPerturbation);
    assert_eq!(reduced(CircuitTwo::new(3, 1e-5), 20_000, other).0, reference);
}

/// Pseudo-time replaces the volume by its own: at 1e-9 m³ the same curves to rounding of the ratio.
#[test]
fn pseudo_time_does_not_know_the_size_of_its_volume() {
    let settings = advpds(InnerMethod::Euler, 1e-5);
    let (reference, _) = reduced(CircuitTwo::new(3, 1e-5), 20_000, settings);
    let (curve, _) = reduced(CircuitTwo::new(3, 1e-9), 20_000, settings);
    assert!(rmse(&curve, &reference, 0) < 1.0);
}

/// p₂ every 0.1 ms from the solvers of this crate, which know nothing of preparing steps.
fn driven(circuit: CircuitTwo, samples: usize, settings: Settings, method: Method) -> Vec<f64> {
    let fast = [Fast { state: 0, volume: circuit.small_volume }];
    let initial = CircuitTwo::INITIAL;
    let mut system = Reduced::new(circuit, settings, &fast, &[0, 1], &initial).unwrap();
    let mut x = [0.0; 4];
    system.gather(&initial, &mut x);
    let options = Options { step: SAMPLE, relative_tolerance: 1e-6, ..Options::default() };
    let solver = build(method, &system, &options);
    let mut curve = Vec::with_capacity(samples);
    let mut observer = |_: f64, x: &[f64]| curve.push(x[0]);
    let end = samples as f64 * SAMPLE;
    let times = Samples::every(SAMPLE, SAMPLE);
    let (ending, _) = integrate(&mut system, solver, 0.0, end, &mut x, times, &mut observer);
    ending.unwrap();
    curve
}

fn rms_difference(curve: &[f64], other: &[[f64; 2]]) -> f64 {
    let sum: f64 = curve.iter().zip(other).map(|(a, b)| (a - b[1]).powi(2)).sum();
    (sum / other.len() as f64).sqrt()
}

/// Without a call to prepare, held values are renewed after each kept step all the same: the curves of
/// RK4 differ by rounding only. And solved balances leave a problem that no longer depends on the
/// solver: what implicit and adaptive methods differ by is less than what leaving the lag out costs.
#[test]
fn any_solver_can_drive_the_slow_part() {
    let circuit = || CircuitTwo::new(1, 1e-5);
    let samples = 12_000;
    let settings = advpds(InnerMethod::Euler, 1e-5);
    let (by_hand, _) = reduced(circuit(), samples, settings);
    let curve = driven(circuit(), samples, settings, Method::Rk4);
    assert_eq!(curve.len(), samples);
    assert!(rms_difference(&curve, &by_hand) < 1.0);

    let settings = Settings::with(SmallVolumes::Algebraic);
    let truth = integrated(circuit(), samples, 400);
    let (by_hand, _) = reduced(circuit(), samples, settings);
    let cost = rmse(&by_hand, &truth, 1);
    for method in [Method::Rk4, Method::Sdirk2, Method::Rosenbrock] {
        let curve = driven(circuit(), samples, settings, method);
        let difference = rms_difference(&curve, &by_hand);
        assert!(difference < cost, "{method}: {difference} Pa where the lag costs {cost} Pa");
    }
}

/// Jacobians against differences: entries from 1e-12 to 1e9 are compared in nominal sizes, with the
/// error of a central difference (curvature of the root law over 10 Pa, below 1e-6 here).
#[test]
fn the_jacobian_of_the_slow_part_is_exact() {
    for (strategy, voltage_time) in [
        (SmallVolumes::Algebraic, 0.0),
        (SmallVolumes::AdvPds, 0.0),
        (SmallVolumes::Integrate, 0.0),
    ] {
        let circuit = CircuitTwo::new(5, 1e-5);
        let fast = [Fast { state: 0, volume: 1e-5 }];
        let whole = [12e6, 1.5e6, 3e-7, 8e-7, 1e-5];
        let settings = Settings { pseudo_volume: None, ..Settings::with(strategy) };
        let mut system = Reduced::new(circuit, settings, &fast, &[0, 1], &whole).unwrap();
        let size = system.size();
        assert_eq!(size, if strategy == SmallVolumes::Integrate { 5 } else { 4 });
        let mut x = vec![0.0; size];
        system.gather(&whole, &mut x);
        system.prepare_step(voltage_time, &x).unwrap();
        let mut values = vec![0.0; system.pattern().len()];
        system.jacobian(0.0, &x, &mut values).unwrap();
        let (mut up, mut down) = (vec![0.0; size], vec![0.0; size]);
        for column in 0..size {
            let (value, change) = (x[column], 1e-4 * system.nominal(column));
            x[column] = value + change;
            system.rates(0.0, &x, &mut up).unwrap();
            x[column] = value - change;
            system.rates(0.0, &x, &mut down).unwrap();
            x[column] = value;
            for row in 0..size {
                let place = system.pattern().find(row, column);
                let exact = place.map_or(0.0, |place| values[place]);
                let difference = (up[row] - down[row]) / (2.0 * change);
                let measure = system.nominal(column) / system.nominal(row);
                let scale = (exact.abs() * measure).max(1.0);
                assert!(
                    (difference - exact).abs() * measure < 1e-5 * scale,
                    "{strategy:?} ({row}, {column}): {exact} and {difference}"
                );
            }
        }
    }
}

/// Ten seeds of 40.5 s, errors and times as ratios to RK4 at 1e-6 s: minutes.
#[test]
#[ignore = "takes minutes; prints the table of the published comparison"]
fn the_published_comparison() {
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let samples = 405_000;
    let methods = [
        ("AdvPDS RK4 1e-5", advpds(InnerMethod::RungeKutta4, 1e-5)),
        ("AdvPDS Euler 1e-5", advpds(InnerMethod::Euler, 1e-5)),
        ("AdvPDS modified Heun 1e-4", advpds(InnerMethod::ModifiedHeun, 1e-4)),
        (
            "AdvPDS modified Heun, chosen volume",
            Settings { pseudo_volume: None, ..advpds(InnerMethod::ModifiedHeun, 1e-4) },
        ),
        (
            "PDS RK4 1e-5",
            Settings {
                inner_method: InnerMethod::RungeKutta4,
                ..Settings::with(SmallVolumes::Pds)
            },
        ),
        ("algebraic", Settings::with(SmallVolumes::Algebraic)),
    ];
    let mut table = vec![Vec::new(); methods.len()];
    for seed in 1..=seeds {
        let circuit = || CircuitTwo::new(seed, 1e-5);
        let truth = integrated(circuit(), samples, 400);
        let start = Instant::now();
        let reference = integrated(circuit(), samples, 100);
        let reference_time = start.elapsed().as_secs_f64();
        println!("seed {seed}: RK4 1e-6 is {:.0} Pa off", rmse(&reference, &truth, 0));
        for (row, (name, settings)) in table.iter_mut().zip(&methods) {
            let start = Instant::now();
            let (curve, work) = reduced(circuit(), samples, *settings);
            let ratio = reference_time / start.elapsed().as_secs_f64();
            let (first, second) = (rmse(&curve, &truth, 0), rmse(&curve, &truth, 1));
            println!("  {name:36} p₁ {first:9.0} p₂ {second:9.0} Pa {ratio:6.1}x {work:?}");
            row.push((first, ratio));
        }
    }
    for (row, (name, _)) in table.iter().zip(&methods) {
        let mut errors: Vec<f64> = row.iter().map(|run| run.0).collect();
        let mut ratios: Vec<f64> = row.iter().map(|run| run.1).collect();
        let (error, ratio) = (median(&mut errors), median(&mut ratios));
        println!("{name:36} median {error:9.0} Pa {ratio:6.1}x");
    }
}
