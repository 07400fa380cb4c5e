//! The linearised step: x(k+1) = A·x(k) + B·u(k), y = C·x + D·u, with delays kept as delays.
//!
//! The step of the wave method is taken once with numbers that carry derivatives. Every number of the
//! state that the step reads before it writes it is an old value: of the step before, or, in the ring
//! of a line with delay, of as many steps before as the ring is long. With X the numbers after a step
//! and r the old values that it reads,
//!
//! X = J·r + b·u,   r_j(k) = X_s(j)(k − a_j),
//!
//! where s(j) is where old value j was written and a_j how many steps ago. So with z = exp(iωT)
//!
//! (diag(z^a_j) − J_s)·r = b_s·u,
//!
//! which is exact at every frequency below the Nyquist frequency 1/(2T): waves travel as they do in
//! the simulation. Old values that the input does not reach, or that do not reach the outputs, are
//! left out.

use crate::place::{Input, Output, name_of};
use crate::system::System;
use fluxline_core::circuit::Registry;
use fluxline_core::plan::Plan;
use fluxline_core::probe::{Probed, Touch, When, count_numbers, lifted, number_mut, numbers};
use fluxline_core::start::longest_history;
use fluxline_core::state::State;
use fluxline_core::tangent::{DIRECTIONS, Tangent};
use fluxline_diagnostics::{Code, Diagnostic, Place};
use std::collections::BTreeMap;

/// Numbers of a state beyond which a circuit is not linearised: the work grows with their square.
pub const MOST_NUMBERS: usize = 60_000;

/// An operating point.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// The circuit.
    pub plan: &'a Plan,
    /// The component types.
    pub registry: &'a Registry,
    /// The state, at rest or wherever it is; time stands still.
    pub state: &'a State<f64>,
    /// Time, s.
    pub time: f64,
}

/// A sparse column: rows and values.
type Column = Vec<(usize, f64)>;

/// Derivatives of one step.
struct Jacobian {
    /// By number of the state.
    columns: Vec<Column>,
    /// Of the outputs, by number of the state.
    outputs: Vec<Column>,
    /// By the input.
    input: Column,
    direct: Vec<f64>,
}

struct Step<'a> {
    probed: Probed<'a, Tangent>,
    base: State<Tangent>,
    work: State<Tangent>,
    begin: f64,
    outputs: &'a [Output],
    /// The input too is a little beside the point: a valve may be open exactly as far as it goes.
    nudge: f64,
}

impl Step<'_> {
    /// Takes the step from the working state: the outputs after it.
    fn take(&mut self, tick: u64, push: Tangent) -> Vec<Tangent> {
        let push = push + self.nudge;
        let when = When::held(self.begin, tick);
        let seen = self.probed.step(&mut self.work, when, push);
        let read = |output: &Output| output.slot.map_or(seen, |slot| slot.read(&self.work));
        self.outputs.iter().map(read).collect()
    }
}

/// The signal that is found in front of an input.
pub fn signal_at(point: Point, input: &Input) -> f64 {
    let mut state = point.state.clone();
    let tick = state.step + state.rest_steps + 1;
    let when = When::held(point.time, tick);
    Probed::plain(point.plan, &input.spots, Touch::Add).step(&mut state, when, 0.0)
}

/// Which side of a point: where a law bends exactly there, they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A little above.
    Above,
    /// A little below.
    Below,
}

/// How far beside a point, in parts of what is small for efforts and flows.
const BESIDE: f64 = 1e-9;

/// The state right beside a point. Exactly at rest, a body without friction is held by the forces that
/// cancel, and what begins to slide, to open or to lift off is in between; nothing real stands there.
fn beside(plan: &Plan, state: &State<f64>, side: Side) -> State<f64> {
    let mut state = state.clone();
    let sign = if side == Side::Above { BESIDE } else { -BESIDE };
    let mut is_done = vec![false; state.bonds.len()];
    for entry in &plan.variables.entries {
        for (i, &bond) in entry.bonds.iter().enumerate() {
            let domain = entry.declaration.ports[entry.port_of(i).0].domain;
            let place = bond as usize;
            if std::mem::replace(&mut is_done[place], true) {
                continue;
            }
            // By a different amount each, so that no difference of two of them stays zero.
            let [a, b, c, ..] = tag(place).map(|part| part * sign);
            let bond = &mut state.bonds[place];
            bond.wave += a * domain.small_effort();
            bond.effort += b * domain.small_effort();
            bond.flow += c * domain.small_flow();
        }
    }
    for entry in &plan.variables.entries {
        // What is remembered beside states may be counts.
        let begin = entry.states as usize;
        for place in begin..begin + entry.declaration.states.len() {
            let x = &mut state.states[place];
            *x += tag(place)[3] * sign * x.abs().max(1e-3);
        }
    }
    state
}

/// Linearises a circuit at a point, from an input to outputs.
pub fn linearise(
    point: Point,
    side: Side,
    input: &Input,
    touch: Touch,
    outputs: &[Output],
) -> Result<System, Diagnostic> {
    let Point { plan, registry, state, time } = point;
    let count = count_numbers(state);
    if count > MOST_NUMBERS {
        let message = format!(
            "the circuit keeps {count} numbers from step to step; linearisation takes at most {MOST_NUMBERS}"
        );
        return Err(Diagnostic::error(Code::NoLinearisation, message)
            .help("long lines keep a number for each step of their delay: take a larger step, or measure the response: --measure multisine"));
    }
    let probed = Probed::following(plan, registry, &input.spots, touch, &mut Tangent::constant)
        .map_err(|component| {
            let message = format!("`{}` is of a type without derivatives", plan.name(component));
            Diagnostic::error(Code::NoLinearisation, message)
                .on(Place::component(plan.name(component)))
                .help("measure the response: --measure multisine")
        })?;
    // Rings count steps; where the run has just begun, they look back to before it.
    let ring = longest_history(plan);
    let tick = (state.step + state.rest_steps + 1).max(ring + 3);
    let base = lifted(&beside(plan, state, side), Tangent::constant);
    let work = base.clone();
    // Of a plain signal that is zero, it is known what is small; of a conductance it is not.
    let least = if input.unit == "1" { 1e-3 } else { 0.0 };
    let size = signal_at(point, input).abs().max(least);
    let nudge = match side {
        Side::Above => BESIDE * size,
        Side::Below => -BESIDE * size,
    };
    let mut step = Step { probed, base, work, begin: time, outputs, nudge };
    let jacobian = differentiate(plan, &mut step, tick, count)?;
    let sources = sources(plan, &mut step, tick, &jacobian)?;
    Ok(assemble(plan, jacobian, &sources, outputs))
}

/// All derivatives of a step, eight columns at a time.
fn differentiate(
    plan: &Plan,
    step: &mut Step,
    tick: u64,
    count: usize,
) -> Result<Jacobian, Diagnostic> {
    let mut jacobian = Jacobian {
        columns: vec![Column::new(); count],
        outputs: vec![Column::new(); step.outputs.len()],
        input: Column::new(),
        direct: vec![0.0; step.outputs.len()],
    };
    // The input comes behind the numbers of the state.
    for first in (0..=count).step_by(DIRECTIONS) {
        let last = (first + DIRECTIONS).min(count + 1);
        step.work.copy_from(&step.base);
        let mut push = Tangent::constant(0.0);
        for column in first..last {
            match column == count {
                true => push.slope[column - first] = 1.0,
                false => number_mut(&mut step.work, column).slope[column - first] = 1.0,
            }
        }
        let outputs = step.take(tick, push);
        for (row, number) in numbers(&step.work) {
            if !number.moves() {
                continue;
            }
            for column in first..last {
                let slope = number.slope[column - first];
                if slope == 0.0 {
                    continue;
                }
                if !slope.is_finite() {
                    return Err(no_derivative(plan, row, column));
                }
                match column == count {
                    true => jacobian.input.push((row, slope)),
                    false => jacobian.columns[column].push((row, slope)),
                }
            }
        }
        for (output, number) in outputs.into_iter().enumerate() {
            for column in first..last {
                match number.slope[column - first] {
                    0.0 => {}
                    slope if column == count => jacobian.direct[output] = slope,
                    slope => jacobian.outputs[output].push((column, slope)),
                }
            }
        }
    }
    Ok(jacobian)
}

fn no_derivative(plan: &Plan, row: usize, column: usize) -> Diagnostic {
    let (what, by) = (
        name_of(plan, row),
        match column < count_numbers(&plan.blank) {
            true => name_of(plan, column),
            false => "the input".to_owned(),
        },
    );
    Diagnostic::error(
        Code::NoLinearisation,
        format!("the derivative of `{what}` by `{by}` is infinite at this point"),
    )
    .help("look at another point: --at TIME, or one a little beside this one; or measure the response: --measure multisine")
}

/// Where an old value was written, and how many steps ago.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Source {
    row: usize,
    age: u32,
}

/// A number that is different for every place and direction, so that what was written there can be
/// told from what was not: the golden ratio spreads them.
fn tag(place: usize) -> [f64; DIRECTIONS] {
    std::array::from_fn(|i| {
        0.5 + ((place * DIRECTIONS + i + 1) as f64 * 0.618_033_988_749_894_8).fract()
    })
}

/// The source of each old value. Most numbers are written in every step, so that old ones are one
/// step old. Rings are found by looking at earlier steps: which place was written then, and with what.
fn sources(
    plan: &Plan,
    step: &mut Step,
    tick: u64,
    jacobian: &Jacobian,
) -> Result<Vec<Option<Source>>, Diagnostic> {
    let count = jacobian.columns.len();
    let mut sources: Vec<Option<Source>> =
        (0..count).map(|row| Some(Source { row, age: 1 })).collect();
    let offset = 6 * plan.blank.bonds.len() + plan.blank.signals.len();
    let histories: Vec<std::ops::Range<usize>> = plan
        .variables
        .entries
        .iter()
        .map(|entry| {
            let declared = 2 * entry.declaration.states.len() + entry.declaration.memory.len();
            let begin = offset + entry.states as usize;
            begin + declared..begin + (entry.block as usize).max(declared)
        })
        .filter(|history| !history.is_empty())
        .collect();
    if histories.is_empty() {
        return Ok(sources);
    }
    // Written in this step: what is left as it was depends on itself alone.
    let mut is_written = vec![false; count];
    let mut others = vec![0u32; count];
    for (column, entries) in jacobian.columns.iter().enumerate() {
        for &(row, slope) in entries {
            if row != column || slope != 1.0 {
                others[row] += 1;
            }
        }
    }
    let stays = |row: usize| jacobian.columns[row].contains(&(row, 1.0));
    for history in &histories {
        for row in history.clone() {
            is_written[row] = others[row] > 0 || !stays(row);
        }
    }
    // And in the one before.
    let set =
        |state: &mut State<Tangent>, place: usize| number_mut(state, place).slope = tag(place);
    step.work.copy_from(&step.base);
    (0..count).for_each(|place| set(&mut step.work, place));
    step.take(tick - 1, Tangent::constant(0.0));
    let mut moves_on = vec![false; count];
    for history in &histories {
        for place in history.clone() {
            let was_written = number_mut(&mut step.work, place).slope != tag(place);
            moves_on[place] = !(was_written && is_written[place]);
        }
    }
    let mut open: Vec<(usize, usize)> = Vec::new();
    for history in &histories {
        for place in history.clone().filter(|&place| moves_on[place]) {
            sources[place] = None;
            let mut effects = jacobian.columns[place].iter();
            let matters = effects.any(|&(row, slope)| row != place || slope != 1.0)
                || jacobian.outputs.iter().flatten().any(|&(column, _)| column == place);
            if matters {
                open.push((place, history.len()));
            }
        }
    }
    if open.is_empty() {
        return Ok(sources);
    }
    let mut tagged = step.base.clone();
    for place in (0..count).filter(|&place| !moves_on[place]) {
        set(&mut tagged, place);
    }
    let written = |step: &mut Step, ago: u64| {
        step.work.copy_from(&tagged);
        step.take(tick - ago, Tangent::constant(0.0));
    };
    written(step, 0);
    let roles: Vec<(usize, [f64; DIRECTIONS])> = histories
        .iter()
        .flat_map(Clone::clone)
        .filter(|&place| moves_on[place])
        .map(|place| (place, number_mut(&mut step.work, place).slope))
        .filter(|(_, slope)| slope.iter().any(|&s| s != 0.0))
        .collect();
    let longest = open.iter().map(|&(_, length)| length as u64 + 1).max().unwrap_or(0);
    for ago in 1..=longest.min(tick - 1) {
        if open.is_empty() {
            break;
        }
        written(step, ago);
        open.retain(|&(place, length)| {
            let slope = number_mut(&mut step.work, place).slope;
            if slope.iter().all(|&s| s == 0.0) {
                return ago <= length as u64;
            }
            let distance = |other: &[f64; DIRECTIONS]| -> f64 {
                slope.iter().zip(other).map(|(a, b)| (a - b).abs()).sum()
            };
            let nearest = roles.iter().min_by(|a, b| distance(&a.1).total_cmp(&distance(&b.1)));
            sources[place] = nearest.map(|&(row, _)| Source { row, age: ago as u32 });
            false
        });
    }
    Ok(sources)
}

/// Leaves out what the input does not reach and what does not reach the outputs.
fn assemble(
    plan: &Plan,
    jacobian: Jacobian,
    sources: &[Option<Source>],
    outputs: &[Output],
) -> System {
    let count = jacobian.columns.len();
    let mut by_row: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (column, source) in sources.iter().enumerate() {
        if let Some(source) = source
            && !(jacobian.columns[column].is_empty()
                && jacobian.outputs.iter().flatten().all(|&(c, _)| c != column))
        {
            by_row.entry(source.row).or_default().push(column);
        }
    }
    // A place in a ring that this step leaves alone is no motion of its own.
    let effects = |column: usize| {
        let is_ring = sources[column].is_none_or(|source| source.row != column);
        jacobian.columns[column].iter().filter(move |&&(row, _)| !(is_ring && row == column))
    };
    let mut is_reached = vec![false; count];
    let mut next: Vec<usize> = jacobian.input.iter().map(|&(row, _)| row).collect();
    while let Some(row) = next.pop() {
        for &column in by_row.get(&row).into_iter().flatten() {
            if !std::mem::replace(&mut is_reached[column], true) {
                next.extend(effects(column).map(|&(row, _)| row));
            }
        }
    }
    let mut readers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for column in (0..count).filter(|&column| is_reached[column]) {
        for &(row, _) in effects(column) {
            readers.entry(row).or_default().push(column);
        }
    }
    let mut matters = vec![false; count];
    let mut next: Vec<usize> =
        jacobian.outputs.iter().flatten().map(|&(c, _)| c).filter(|&c| is_reached[c]).collect();
    while let Some(column) = next.pop() {
        if !std::mem::replace(&mut matters[column], true)
            && let Some(source) = sources[column]
        {
            next.extend(readers.get(&source.row).into_iter().flatten());
        }
    }
    let kept: Vec<usize> = (0..count).filter(|&c| is_reached[c] && matters[c]).collect();
    let mut place = vec![usize::MAX; count];
    let mut by_row: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, &column) in kept.iter().enumerate() {
        place[column] = i;
        if let Some(source) = sources[column] {
            by_row.entry(source.row).or_default().push(i);
        }
    }
    let mut system = System {
        step: plan.step,
        ages: kept.iter().map(|&c| sources[c].map_or(1, |source| source.age)).collect(),
        rows: kept.iter().map(|&c| sources[c].map_or(c, |source| source.row)).collect(),
        entries: Vec::new(),
        input: vec![0.0; kept.len()],
        outputs: outputs.iter().map(|_| Vec::new()).collect(),
        direct: jacobian.direct.clone(),
    };
    for (i, &column) in kept.iter().enumerate() {
        for &(row, slope) in effects(column) {
            for &reader in by_row.get(&row).into_iter().flatten() {
                system.entries.push((reader, i, slope));
            }
        }
    }
    for &(row, slope) in &jacobian.input {
        for &reader in by_row.get(&row).into_iter().flatten() {
            system.input[reader] = slope;
        }
    }
    for (output, entries) in jacobian.outputs.iter().enumerate() {
        let entries = entries.iter().filter(|&&(column, _)| place[column] != usize::MAX);
        system.outputs[output] = entries.map(|&(column, slope)| (place[column], slope)).collect();
    }
    system
}
