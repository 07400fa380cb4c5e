//! Fast states replaced by their balance: closed forms, conservation, failures.

use fluxline_ode::small::{Fast, InnerMethod, Reduced, Settings, SmallVolumes, Unsuitable};
use fluxline_ode::{Pattern, System, Trouble};

/// Volumes in a row with orifices Q = K√|Δp|·sign Δp between them; the ends may be given pressures
/// instead of volumes, and a flow may be fed into each volume.
struct Row {
    /// One more than volumes.
    conductances: Vec<f64>,
    /// Bulk modulus over volume.
    stiffnesses: Vec<f64>,
    feeds: Vec<f64>,
    ends: [f64; 2],
    pattern: Pattern,
}

impl Row {
    fn new(conductances: &[f64], volumes: &[f64], ends: [f64; 2]) -> Self {
        let size = volumes.len();
        let entries =
            (0..size).flat_map(|i| (i.saturating_sub(1)..(i + 2).min(size)).map(move |j| (i, j)));
        Self {
            conductances: conductances.to_vec(),
            stiffnesses: volumes.iter().map(|volume| 1.5e9 / volume).collect(),
            feeds: vec![0.0; size],
            ends,
            pattern: Pattern::new(size, entries),
        }
    }

    fn pressure(&self, x: &[f64], at: usize) -> f64 {
        match at {
            0 => self.ends[0],
            at if at == x.len() + 1 => self.ends[1],
            at => x[at - 1],
        }
    }

    /// Through the orifice before volume `at`, and its slope.
    fn flow(&self, x: &[f64], at: usize) -> (f64, f64) {
        let drop = self.pressure(x, at) - self.pressure(x, at + 1);
        let (conductance, root) = (self.conductances[at], drop.abs().sqrt());
        if conductance == 0.0 {
            return (0.0, 0.0);
        }
        let sign = if drop == 0.0 { 0.0 } else { drop.signum() };
        (conductance * root * sign, 0.5 * conductance / root)
    }
}

impl System for Row {
    fn size(&self) -> usize {
        self.stiffnesses.len()
    }

    fn rates(&mut self, _: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
        for i in 0..x.len() {
            let net = self.flow(x, i).0 - self.flow(x, i + 1).0 + self.feeds[i];
            rates[i] = self.stiffnesses[i] * net;
        }
        Ok(())
    }

    fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    fn jacobian(&mut self, _: f64, x: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
        for column in 0..x.len() {
            for place in self.pattern.column(column) {
                let row = self.pattern.rows()[place];
                let (before, after) = (self.flow(x, row).1, self.flow(x, row + 1).1);
                values[place] = self.stiffnesses[row]
                    * match column as isize - row as isize {
                        0 => -before - after,
                        -1 => before,
                        _ => after,
                    };
            }
        }
        Ok(())
    }

    fn nominal(&self, _: usize) -> f64 {
        1e5
    }

    fn bounds(&mut self, _: f64, x: &[f64], state: usize) -> (f64, f64) {
        let (before, after) = (self.pressure(x, state), self.pressure(x, state + 2));
        (before.min(after), before.max(after))
    }
}

fn all_fast(volumes: &[f64]) -> Vec<Fast> {
    (0..volumes.len()).map(|state| Fast { state, volume: volumes[state] }).collect()
}

/// Solves a row whose volumes are all fast.
fn solve(row: Row, volumes: &[f64], start: &[f64]) -> Result<(Vec<f64>, usize), Trouble> {
    let settings = Settings::with(SmallVolumes::Algebraic);
    let mut system = Reduced::new(row, settings, &all_fast(volumes), &[], start).unwrap();
    let mut whole = vec![0.0; volumes.len()];
    system.expand(0.0, &[], &mut whole)?;
    Ok((whole, system.work().iterations))
}

/// (K₁²·p_s + K₂²·p₂)/(K₁² + K₂²) for orifices from 10⁻⁴ to 10⁴ times each other, forward and
/// backward, from starts inside, at and beyond the neighbours. What is left may be 1e-3 Pa, and near a
/// neighbour 1e-4 of the distance to it, both squared by the last step of Newton.
#[test]
fn two_orifices_in_series_balance_at_the_closed_form() {
    let mut most = 0;
    for exponent in -8..=8 {
        let (first, second) = (1e-7 * 10_f64.powf(0.5 * f64::from(exponent)), 1e-7);
        for ends in [[20e6, 1e6], [1e5, 14e6], [5e6, 5e6 + 1.0], [0.0, -1e5]] {
            let (a, b) = (first * first, second * second);
            let exact = (a * ends[0] + b * ends[1]) / (a + b);
            let middle = 0.5 * (ends[0] + ends[1]);
            for start in [middle, ends[0], ends[1], exact, -1e7, 1e8] {
                for volume in [1e-5, 1e-9] {
                    let row = Row::new(&[first, second], &[volume], ends);
                    let (found, iterations) = solve(row, &[volume], &[start]).unwrap();
                    let nearest = (exact - ends[0]).abs().min((exact - ends[1]).abs());
                    let tolerance = 1e-6_f64.max(1e-15 * exact.abs()).max(1e-7 * nearest.min(10.0));
                    assert!(
                        (found[0] - exact).abs() < tolerance.max(1e-15 * ends[0].abs()),
                        "{first} {ends:?} from {start}: {} for {exact}",
                        found[0]
                    );
                    most = most.max(iterations);
                }
            }
        }
    }
    // Bounded work, from the worst of starts.
    assert!(most <= 40, "{most} iterations");
}

/// n orifices in series carry Q² = (p_s − p_t)/Σ1/K², whichever the volumes between.
#[test]
fn small_volumes_in_a_row_are_solved_together() {
    let conductances = [1e-6, 3e-8, 4e-7, 2e-6, 5e-8];
    let volumes = [1e-6, 1e-9, 1e-5, 1e-7];
    let ends = [18e6, 1e5];
    let resistance: f64 = conductances.iter().map(|k: &f64| k.powi(-2)).sum();
    let square = (ends[0] - ends[1]) / resistance;
    for start in [[1e5; 4], [9e6; 4], [0.0, 18e6, 0.0, 18e6], [17e6, 12e6, 6e6, 1e6]] {
        let row = Row::new(&conductances, &volumes, ends);
        let (found, iterations) = solve(row, &volumes, &start).unwrap();
        let mut exact = ends[0];
        for (found, conductance) in found.iter().zip(conductances) {
            exact -= square / (conductance * conductance);
            assert!((found - exact).abs() < 1e-5, "{found} for {exact} from {start:?}");
        }
        assert!(iterations < 400, "{iterations}");
    }
}

#[test]
fn fast_states_apart_from_each_other_are_groups_of_their_own() {
    let volumes = [1e-6, 1e-6, 1e-3, 1e-6, 1e-3, 1e-6];
    let row = Row::new(&[1e-7; 7], &volumes, [1e7, 0.0]);
    let fast: Vec<Fast> =
        [0, 5, 3, 1].map(|state| Fast { state, volume: 1e-6 }).into_iter().collect();
    let settings = Settings::with(SmallVolumes::Algebraic);
    let system = Reduced::new(row, settings, &fast, &[], &[0.0; 6]).unwrap();
    let groups: Vec<Vec<usize>> = system.groups().map(<[usize]>::to_vec).collect();
    assert_eq!(groups, [vec![0, 1], vec![5], vec![3]]);
    assert_eq!(system.slow_states(), [2, 4]);
    // Each slow volume reads the other through the small one between them.
    assert_eq!(system.pattern().len(), 4);
}

/// A flow fed into a volume lifts it above both neighbours, to p + (Q/2K)² between equal orifices.
#[test]
fn a_fed_volume_balances_beyond_its_neighbours() {
    let mut row = Row::new(&[1e-7, 1e-7], &[1e-6], [1e5, 1e5]);
    row.feeds[0] = 2e-4;
    let (found, _) = solve(row, &[1e-6], &[1e5]).unwrap();
    assert!((found[0] - (1e5 + 1e6)).abs() < 1e-5, "{}", found[0]);
}

#[test]
fn a_fed_volume_without_outlet_has_no_balance_and_is_named() {
    let mut row = Row::new(&[1e-7, 1e-7, 0.0, 0.0], &[1e-3, 1e-6, 1e-6], [1e7, 0.0]);
    row.feeds[2] = 1e-5;
    let settings = Settings::with(SmallVolumes::Algebraic);
    let fast = [Fast { state: 2, volume: 1e-6 }];
    let mut system = Reduced::new(row, settings, &fast, &[], &[1e6; 3]).unwrap();
    let trouble = system.rates(0.0, &[1e6; 2], &mut [0.0; 2]).unwrap_err();
    let Trouble::NoSolution { equation, residual } = trouble else { panic!("{trouble:?}") };
    assert_eq!(equation, 2);
    assert!((residual / (1.5e15 * 1e-5) - 1.0).abs() < 1e-12);
}

#[test]
fn a_volume_closed_off_keeps_its_pressure() {
    let row = Row::new(&[0.0, 0.0], &[1e-6], [1e7, 0.0]);
    assert_eq!(solve(row, &[1e-6], &[3e6]).unwrap().0, [3e6]);
}

/// One inner step multiplies the distance from balance by R(z), z = h·(V/V_pseudo)·J: 1 + z (Euler),
/// Σ z^k/k! to the fourth (RK4), (1 + z/2)/(1 − z/2) (modified Heun on a linear law).
#[test]
fn an_inner_step_shrinks_a_linear_imbalance_by_the_stability_function() {
    struct Linear(Pattern);
    impl System for Linear {
        fn size(&self) -> usize {
            1
        }
        fn rates(&mut self, _: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
            rates[0] = -7e4 * (x[0] - 3e6);
            Ok(())
        }
        fn pattern(&self) -> &Pattern {
            &self.0
        }
        fn jacobian(&mut self, _: f64, _: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
            values[0] = -7e4;
            Ok(())
        }
    }
    let z: f64 = -7e4 * 1e-5 / 4e-4 * 1e-3;
    for (inner_method, factor) in [
        (InnerMethod::Euler, 1.0 + z),
        (InnerMethod::RungeKutta4, 1.0 + z + z * z / 2.0 + z.powi(3) / 6.0 + z.powi(4) / 24.0),
        (InnerMethod::ModifiedHeun, (1.0 + z / 2.0) / (1.0 - z / 2.0)),
    ] {
        let settings = Settings {
            inner_method,
            inner_step: 1e-3,
            pseudo_volume: Some(4e-4),
            longest_inner_time: 1e-3,
            ..Settings::with(SmallVolumes::AdvPds)
        };
        let base = Linear(Pattern::dense(1));
        let fast = [Fast { state: 0, volume: 1e-5 }];
        let mut system = Reduced::new(base, settings, &fast, &[], &[4e6]).unwrap();
        let mut whole = [0.0];
        system.expand(0.0, &[], &mut whole).unwrap();
        let expected = 3e6 + 1e6 * factor;
        assert!((whole[0] - expected).abs() < 1e-6, "{inner_method:?}: {} {expected}", whole[0]);
        assert_eq!(system.work().unfinished, 1);
    }
}

/// Two closed volumes that exchange through a small one: what leaves one enters the other, since the
/// flows on both sides of the small volume are held equal. V₁p₁ + V₂p₂ moves by the imbalance that the
/// inner tolerance leaves: a change below 1e-6 Pa per inner step at a scale that halves the imbalance
/// leaves about 1e-6 Pa, whose flow at slopes below 1e-9 m³/s/Pa over 10 ms is below 1e-17 m³. A
/// thousand roundings of 7e-6 m³ stay below 1e-18 m³.
#[test]
fn held_flows_conserve_mass() {
    let volumes = [1e-3, 1e-7, 2e-3];
    let row = Row::new(&[0.0, 3e-7, 1e-7, 0.0], &volumes, [0.0, 0.0]);
    let settings = Settings {
        pseudo_volume: None,
        tolerance_high: 1e-6,
        tolerance_low: 1e-6,
        ..Settings::with(SmallVolumes::AdvPds)
    };
    let fast = [Fast { state: 1, volume: 1e-7 }];
    let mut system = Reduced::new(row, settings, &fast, &[0, 1, 2], &[10e6, 5e6, 1e6]).unwrap();
    let mut x = [10e6, 1e6];
    let stored = |x: &[f64; 2]| (volumes[0] * x[0] + volumes[2] * x[1]) / 1.5e9;
    let before = stored(&x);
    let (mut k1, mut k2) = ([0.0; 2], [0.0; 2]);
    for step in 0..1000 {
        // Heun's method, so that a stage within the step is seen too.
        let time = f64::from(step) * 1e-5;
        system.rates(time, &x, &mut k1).unwrap();
        let y = [x[0] + 1e-5 * k1[0], x[1] + 1e-5 * k1[1]];
        system.rates(time + 1e-5, &y, &mut k2).unwrap();
        for i in 0..2 {
            x[i] += 0.5e-5 * (k1[i] + k2[i]);
        }
        system.settle(time + 1e-5, &mut x);
    }
    assert!(x[0] - x[1] < 8e6 && x[0] > x[1], "{x:?}");
    assert!((stored(&x) - before).abs() < 1e-17, "{}", stored(&x) - before);
}

/// x' = y − x, y' = (x/2 − y)/ε: the slow eigenvalue is −½ + ε/4 + O(ε²), without y it is −½. So the
/// error of replacing a fast state is proportional to its time constant.
#[test]
fn what_is_lost_is_of_the_order_of_the_time_constant() {
    struct Pair(f64, Pattern);
    impl System for Pair {
        fn size(&self) -> usize {
            2
        }
        fn rates(&mut self, _: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
            rates[0] = x[1] - x[0];
            rates[1] = (0.5 * x[0] - x[1]) / self.0;
            Ok(())
        }
        fn pattern(&self) -> &Pattern {
            &self.1
        }
        fn jacobian(&mut self, _: f64, _: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
            values.copy_from_slice(&[-1.0, 0.5 / self.0, 1.0, -1.0 / self.0]);
            Ok(())
        }
    }
    for epsilon in [1e-2, 1e-3, 1e-4] {
        let base = Pair(epsilon, Pattern::dense(2));
        let settings = Settings::with(SmallVolumes::Algebraic);
        let fast = [Fast { state: 1, volume: 1.0 }];
        let mut system = Reduced::new(base, settings, &fast, &[], &[1.0, 0.0]).unwrap();
        let mut value = [0.0];
        system.jacobian(0.0, &[1.0], &mut value).unwrap();
        assert!((value[0] + 0.5).abs() < 1e-12);
        let half: f64 = 0.5 * (1.0 + 1.0 / epsilon);
        let slow = -(0.5 / epsilon) / (half + (half * half - 0.5 / epsilon).sqrt());
        let lost = (slow - value[0]) / epsilon;
        assert!((lost - 0.25).abs() < epsilon, "{lost}");
    }
}

#[test]
fn what_cannot_be_reduced_is_refused_with_the_culprit() {
    let build = |settings: Settings, fast: &[Fast]| {
        let row = Row::new(&[1e-7; 3], &[1e-6; 2], [1e7, 0.0]);
        Reduced::new(row, settings, fast, &[], &[0.0; 2]).err()
    };
    let settings = Settings::with(SmallVolumes::AdvPds);
    let one = Fast { state: 1, volume: 1e-6 };
    assert_eq!(build(settings, &[one]), None);
    assert_eq!(build(settings, &[one, one]), Some(Unsuitable::Twice(1)));
    let none = Fast { state: 2, volume: 1e-6 };
    assert_eq!(build(settings, &[none]), Some(Unsuitable::NoState(2)));
    let empty = Fast { state: 1, volume: 0.0 };
    assert_eq!(build(settings, &[empty]), Some(Unsuitable::Volume(1, 0.0)));
    let still = Settings { inner_step: 0.0, ..settings };
    assert_eq!(build(still, &[one]), Some(Unsuitable::Setting("inner_step", 0.0)));
}

#[test]
fn a_borrowed_system_can_be_reduced() {
    let mut row = Row::new(&[1e-7; 3], &[1e-3, 1e-6], [1e7, 0.0]);
    let base: &mut dyn System = &mut row;
    let fast = [Fast { state: 1, volume: 1e-6 }];
    let settings = Settings::with(SmallVolumes::Algebraic);
    let mut system = Reduced::new(base, settings, &fast, &[0, 1], &[1e6, 1e6]).unwrap();
    let (mut rate, mut one) = ([0.0], [0.0]);
    system.rates(0.0, &[4e6], &mut rate).unwrap();
    system.some_rates(0.0, &[4e6], &[0], &mut one).unwrap();
    // Out through two orifices in series, K/√2.
    let expected = 1.5e12 * 1e-7 * (6e6_f64.sqrt() - (4e6_f64 / 2.0).sqrt());
    assert!((rate[0] / expected - 1.0).abs() < 1e-12, "{} {expected}", rate[0]);
    assert_eq!(rate, one);
}
