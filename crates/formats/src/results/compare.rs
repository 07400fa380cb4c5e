//! A circuit run against a reference: any table of results or measurements.

use super::ResultTable;
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::{self, Ended};
use fluxline_core::state::State;
use fluxline_core::variables::{Slot, Variable};
use fluxline_units::Unit;

/// How one variable agrees with its reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Deviation {
    /// Name of the variable.
    pub name: String,
    /// SI unit.
    pub unit: &'static str,
    /// Largest difference over the run.
    pub largest_difference: f64,
    /// What it is divided by: the largest magnitude of the reference, or the floor.
    pub scale: f64,
    /// The one over the other.
    pub deviation: f64,
    /// Time of the largest difference, s.
    pub time: f64,
    /// What the circuit gave then.
    pub value: f64,
    /// What the reference says.
    pub reference: f64,
}

/// What came of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Every variable that was compared, the worst first.
    pub deviations: Vec<Deviation>,
    /// Columns of the reference that the circuit does not have.
    pub missing: Vec<String>,
    /// Samples of the reference within the run.
    pub samples: usize,
    /// Samples of the reference before the start or behind the stop of the run.
    pub outside: usize,
    /// How the run ended.
    pub ended: Ended,
}

impl Comparison {
    /// The largest deviation; what is not a number counts as infinite.
    pub fn worst(&self) -> f64 {
        self.deviations.first().map_or(0.0, |d| d.deviation)
    }
}

/// Below this a reference of the given unit is numerical noise, in SI units.
///
/// Twelve digits below what machines of this field work with: hundreds of bar, l/s, metres, tonnes.
pub fn noise_floor(unit: &str) -> f64 {
    match unit {
        "Pa" => 1e-4,
        "m^3/s" => 1e-13,
        "N" | "N*m" => 1e-6,
        "Pa*s/m^3" => 1.0,
        _ => 1e-12,
    }
}

/// One column of the reference and the variable it belongs to.
struct Pair<'r> {
    variable: Variable,
    factor: (f64, f64),
    reference: &'r [f64],
    worst: (f64, usize, f64),
}

/// A column's name and the unit in brackets behind it.
pub fn name_and_unit(header: &str) -> (&str, Option<&str>) {
    match header.trim().strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        Some((name, unit)) => (name.trim(), Some(unit.trim())),
        None => (header.trim(), None),
    }
}

/// Factor and offset from a unit to SI; a unit that is not known counts as SI.
fn to_si(unit: Option<&str>) -> (f64, f64) {
    let unit = unit.and_then(|unit| Unit::parse(unit).ok());
    unit.map_or((1.0, 0.0), |unit| (unit.to_si(1.0) - unit.to_si(0.0), unit.to_si(0.0)))
}

/// Runs a plan and compares it with a reference at the times of the reference.
///
/// Columns are matched by name; a unit in brackets behind the name is converted. Where a time of the
/// reference is that of a step (within the digits that tables are written with) the step's values
/// are compared, otherwise those interpolated between two steps.
pub fn compare(
    plan: &Plan,
    steps: u64,
    reference: &ResultTable,
    mut go_on: impl FnMut() -> bool,
) -> Comparison {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut missing = Vec::new();
    for (index, header) in reference.names.iter().enumerate() {
        if index == reference.time {
            continue;
        }
        let (name, unit) = name_and_unit(header);
        let found = plan.variables.find(header).or_else(|| plan.variables.find(name));
        let Some(variable) = found else {
            missing.push(header.clone());
            continue;
        };
        let factor = to_si(unit);
        let reference = &reference.columns[index][..];
        pairs.push(Pair { variable, factor, reference, worst: (0.0, usize::MAX, f64::NAN) });
    }
    let unit = reference.names.get(reference.time).and_then(|header| name_and_unit(header).1);
    let (scale, offset) = to_si(unit);
    let times = reference.columns.get(reference.time).map_or(&[][..], |times| times);
    let times: Vec<f64> = times.iter().map(|time| time * scale + offset).collect();
    let mut walk = Walk::new(plan, pairs.iter().map(|pair| pair.variable.slot).collect());
    let (mut samples, mut outside) = (0, 0);
    let mut order: Vec<usize> = (0..times.len()).filter(|&i| times[i].is_finite()).collect();
    order.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
    for row in order {
        let position = (times[row] - plan.start) / plan.step;
        // Tables have six or seven digits of time.
        let nearest = position.round();
        let blur = 0.01 + 2e-6 * times[row].abs() / plan.step;
        let position = if (position - nearest).abs() <= blur { nearest } else { position };
        if position < 0.0 || position > steps as f64 + 1e-6 {
            outside += 1;
            continue;
        }
        let below = position.floor();
        if !walk.go_to(below as u64, steps, &mut go_on) {
            break;
        }
        samples += 1;
        let part = position - below;
        let before = walk.values();
        let values = if part > 0.0 && walk.go_to(below as u64 + 1, steps, &mut go_on) {
            let after = walk.values();
            before.iter().zip(&after).map(|(a, b)| a + part * (b - a)).collect()
        } else {
            before
        };
        for (pair, value) in pairs.iter_mut().zip(values) {
            let wanted = pair.reference.get(row).copied().unwrap_or(f64::NAN);
            if wanted.is_nan() {
                continue;
            }
            let difference = (value - (wanted * pair.factor.0 + pair.factor.1)).abs();
            let difference = if difference.is_nan() { f64::INFINITY } else { difference };
            if pair.worst.1 == usize::MAX || difference > pair.worst.0 {
                pair.worst = (difference, row, value);
            }
        }
    }
    let mut deviations: Vec<Deviation> = pairs.iter().map(|pair| pair.result(&times)).collect();
    deviations.sort_by(|a, b| b.deviation.total_cmp(&a.deviation));
    let ended = walk.ended;
    Comparison { deviations, missing, samples, outside, ended }
}

impl Pair<'_> {
    fn result(&self, times: &[f64]) -> Deviation {
        let si = |x: f64| x * self.factor.0 + self.factor.1;
        let known = self.reference.iter().copied().filter(|x| !x.is_nan());
        let largest = known.map(|x| si(x).abs()).fold(0.0, f64::max);
        let scale = largest.max(noise_floor(self.variable.unit));
        let (difference, row, value) = self.worst;
        Deviation {
            name: self.variable.name.clone(),
            unit: self.variable.unit,
            largest_difference: difference,
            scale,
            deviation: difference / scale,
            time: times.get(row).copied().unwrap_or(f64::NAN),
            value,
            reference: self.reference.get(row).map_or(f64::NAN, |&x| si(x)),
        }
    }
}

/// A run that stops wherever it is looked at.
struct Walk<'p> {
    plan: &'p Plan,
    state: State<f64>,
    slots: Vec<Slot>,
    recorder: Recorder<'p>,
    ended: Ended,
}

impl<'p> Walk<'p> {
    fn new(plan: &'p Plan, slots: Vec<Slot>) -> Self {
        let recorder = Recorder::new(Vec::new(), Sampling::Every(u64::MAX), 0);
        Self { plan, state: plan.initial.clone(), slots, recorder, ended: Ended::Done }
    }

    /// Steps on; false when the run does not get there.
    fn go_to(&mut self, step: u64, steps: u64, go_on: &mut impl FnMut() -> bool) -> bool {
        if self.ended != Ended::Done {
            return false;
        }
        let target = step.min(steps);
        if self.state.step < target {
            let outcome =
                run::run(self.plan, &mut self.state, target, &mut self.recorder, false, |_| {
                    go_on()
                });
            self.ended = outcome.ended;
        }
        self.ended == Ended::Done
    }

    fn values(&self) -> Vec<f64> {
        self.slots.iter().map(|slot| slot.read(&self.state)).collect()
    }
}
