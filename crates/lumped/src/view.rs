//! A circuit as x' = f(t, x).

use crate::build::{self, Home, Parts};
use crate::frame::{self, Op};
use crate::layout::{Block, Place};
use crate::schedule::{self, Cluster, Schedule, Undetermined};
use crate::sparsity::{self, Sweep};
use fluxline_core::component::{Clock, Settle};
use fluxline_core::declare::Causality;
use fluxline_core::domain::Domain;
use fluxline_core::gradient::{DIRECTIONS, Gradient};
use fluxline_core::plan::Plan;
use fluxline_core::state::State;
use fluxline_diagnostics::Diagnostic;
use fluxline_ode::matrix::dense::Dense;
use fluxline_ode::{Pattern, System, Trouble};
use std::cell::Cell;

/// A state of the lumped view.
#[derive(Clone, Debug, PartialEq)]
pub struct StateInfo {
    /// `component.state`.
    pub name: String,
    /// SI unit.
    pub unit: &'static str,
    /// Component index.
    pub component: u32,
    /// What it is.
    pub meaning: &'static str,
    /// The size of change that matters.
    pub nominal: f64,
}

/// A state that is the pressure of a volume of oil.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeInfo {
    /// Which state.
    pub state: usize,
    /// Its volume at the start, m³.
    pub volume: f64,
}

/// How far a stop may be overrun before the step is taken again, as part of the size of change that
/// matters: 10 µm, 1 mbar.
const OVERRUN: f64 = 0.01;

/// The lumped view of a plan.
pub struct View<'p> {
    plan: &'p Plan,
    parts: Parts,
    schedule: Schedule,
    ops: Vec<Op>,
    pattern: Pattern,
    sweeps: Vec<Sweep>,
    /// States by name.
    pub states: Vec<StateInfo>,
    /// States that are pressures of volumes.
    pub volumes: Vec<VolumeInfo>,
    /// Where neighbouring pressures of each such state stand.
    neighbours: Vec<Vec<Place>>,
    state_places: Vec<Place>,
    rate_places: Vec<Place>,
    values: Vec<f64>,
    gradients: Vec<Gradient>,
    solvers: Vec<ClusterSolver>,
    /// The state of the plan: discrete parts live there, and what is recorded is read from it.
    pub state: State<f64>,
    discrete: Vec<(Home, u32)>,
    has_ticks: bool,
    /// Components whose law may change states or memory after a step.
    settling: Vec<u32>,
    selections: Vec<Selection>,
    /// Components that count limits or vapour.
    counting: Vec<u32>,
    /// Flows over the edge of the circuit, and the sign that makes inflow positive.
    edge: Vec<(Place, f64)>,
    shown: Vec<f64>,
    /// Signal components that nothing drives.
    sources: Vec<u32>,
    /// From, until, and whether all sources stand still there.
    steadiness: Cell<(f64, f64, bool)>,
    /// Gradients no longer hold what is given between steps.
    is_stale: bool,
    /// Time for which all values hold.
    valid_at: Option<f64>,
}

/// Operations that give the rates of some states.
struct Selection {
    which: Vec<usize>,
    ops: Vec<Op>,
}

/// Memory of a cluster's iteration.
struct ClusterSolver {
    factors: Dense,
    step: Vec<f64>,
    old: Vec<f64>,
    small: Vec<f64>,
    scale: Vec<f64>,
    residual: Vec<f64>,
}

impl<'p> View<'p> {
    /// The lumped view of a plan, at its start.
    pub fn of(plan: &'p Plan) -> Result<Self, Diagnostic> {
        let parts = build::parts(plan)?;
        let schedule = schedule::schedule(&parts.graph)
            .map_err(|places| undetermined(plan, &parts, &places))?;
        let layout = &parts.layout;
        let pattern = sparsity::pattern(&parts.graph, &schedule, layout);
        let sweeps = sparsity::sweeps(&pattern);
        let place_of = |&(component, state): &(u32, u32), rate: bool| {
            let block = &layout.blocks[component as usize];
            if rate { block.rate(state as usize) } else { block.state(state as usize) }
        };
        let state_places: Vec<Place> = layout.states.iter().map(|s| place_of(s, false)).collect();
        let rate_places: Vec<Place> = layout.states.iter().map(|s| place_of(s, true)).collect();
        let size = (layout.size + schedule.scratch) as usize;
        let mut values = vec![0.0; size];
        for (component, block) in layout.blocks.iter().enumerate() {
            values[block.range()].copy_from_slice(&build::initial_values(plan, component, block));
        }
        let states = layout
            .states
            .iter()
            .map(|&(component, state)| {
                let entry = &plan.variables.entries[component as usize];
                let declared = &entry.declaration.states[state as usize];
                StateInfo {
                    name: format!("{}.{}", entry.name, declared.name),
                    unit: declared.unit,
                    component,
                    meaning: declared.meaning,
                    nominal: nominal(declared.unit),
                }
            })
            .collect();
        let mut volumes = Vec::new();
        for (component, law) in parts.laws.iter().enumerate() {
            let Some(law) = law else { continue };
            if parts.discrete[component] {
                continue;
            }
            let first = layout.blocks[component].first_state as usize;
            let own = law.volumes().into_iter();
            volumes.extend(own.map(|(s, volume)| VolumeInfo { state: first + s, volume }));
        }
        let neighbours = volumes.iter().map(|v| neighbours(plan, &parts, v.state)).collect();
        let solvers =
            schedule.clusters.iter().map(|c| ClusterSolver::new(plan, &parts, c)).collect();
        let mut discrete: Vec<(Home, u32)> = (0..parts.laws.len())
            .filter(|&c| parts.discrete[c])
            .filter_map(|c| Some((parts.homes[c]?, c as u32)))
            .collect();
        // In the order of a step: signals, then stores, then the rest.
        let phase = |home: &Home| match home.phase {
            Causality::S => 0,
            Causality::C => 1,
            Causality::Q => 2,
        };
        discrete.sort_by_key(|(home, component)| (phase(home), home.group, *component));
        let settling = (0..parts.laws.len() as u32)
            .filter(|&c| parts.laws[c as usize].is_some() && !parts.discrete[c as usize])
            .filter(|&c| parts.laws[c as usize].as_ref().is_some_and(|law| law.settles()))
            .collect();
        let mut counting: Vec<u32> = plan
            .watch
            .counters
            .iter()
            .map(|&(component, ..)| component)
            .filter(|&c| !parts.discrete[c as usize])
            .collect();
        counting.dedup();
        let boundary = plan.watch.boundary.iter().flatten();
        let edge = boundary
            .filter_map(|&(bond, sign)| {
                let ends = &parts.bonds[bond as usize];
                let end = ends.q.or(ends.c)?;
                Some((layout.blocks[end.component as usize].flow(end.port), sign))
            })
            .collect();
        let sources = (0..parts.laws.len() as u32)
            .filter(|&c| {
                let declaration = plan.variables.entries[c as usize].declaration;
                declaration.causality == Causality::S
                    && declaration.ports.is_empty()
                    && !parts.discrete[c as usize]
            })
            .collect();
        let has_ticks = !discrete.is_empty() || plan.thermal.is_some();
        let mut view = Self {
            ops: schedule.items.iter().map(|item| item.op.clone()).collect(),
            gradients: vec![Gradient::constant(0.0); size],
            state: plan.initial.clone(),
            plan,
            schedule,
            pattern,
            sweeps,
            states,
            volumes,
            neighbours,
            state_places,
            rate_places,
            values,
            solvers,
            discrete,
            has_ticks,
            settling,
            selections: Vec::new(),
            counting,
            edge,
            shown: Vec::new(),
            sources,
            steadiness: Cell::new((f64::INFINITY, f64::NEG_INFINITY, false)),
            is_stale: true,
            valid_at: None,
            parts,
        };
        view.restart_from(&plan.initial);
        Ok(view)
    }

    /// Takes the states and all that is remembered from a state of the plan.
    pub fn restart_from(&mut self, state: &State<f64>) {
        self.state.copy_from(state);
        for (component, block) in self.parts.layout.blocks.iter().enumerate() {
            let entry = &self.plan.variables.entries[component];
            let (first, states) = (entry.states as usize, block.states as usize);
            for k in 0..states {
                self.values[block.state(k) as usize] = state.states[first + k];
            }
            for k in 0..block.memory as usize {
                self.values[block.memory(k) as usize] = state.states[first + 2 * states + k];
            }
            for (k, &bond) in entry.bonds.iter().enumerate() {
                let b = &state.bonds[bond as usize];
                self.values[block.effort(k) as usize] = b.effort;
                self.values[block.flow(k) as usize] = b.flow;
                self.values[block.displacement(k) as usize] = b.displacement;
            }
            let outputs = entry.outputs as usize;
            for k in 0..block.outputs as usize {
                self.values[block.output(k) as usize] = state.signals[outputs + k];
            }
        }
        for (component, block) in self.parts.layout.blocks.iter().enumerate() {
            let entry = &self.plan.variables.entries[component];
            for (k, &signal) in entry.inputs.iter().enumerate() {
                self.values[block.input(k) as usize] = state.signals[signal as usize];
            }
        }
        self.equalise_joined();
        self.load_viscosity();
        // What holds, holds as it did: with the efforts of that state.
        self.settle_components(state.time);
        self.lines_at(self.plan.start + state.step as f64 * self.plan.step);
        for (end, &bond) in self.parts.lines.ends.iter_mut().zip(&self.parts.end_bonds) {
            let b = &state.bonds[bond as usize];
            *end = frame::LineEnd { wave: [b.wave; 2], impedance: b.impedance };
        }
    }

    /// Stores that share a pressure start with their mean.
    fn equalise_joined(&mut self) {
        // Each pair in turn, often enough for chains of them.
        for _ in 0..self.parts.joined.len() {
            for &(a, b) in &self.parts.joined {
                let (a, b) = (self.state_places[a as usize], self.state_places[b as usize]);
                let mean = 0.5 * (self.values[a as usize] + self.values[b as usize]);
                (self.values[a as usize], self.values[b as usize]) = (mean, mean);
            }
        }
    }

    fn load_viscosity(&mut self) {
        for (entry, block) in self.plan.variables.entries.iter().zip(&self.parts.layout.blocks) {
            for (k, &bond) in entry.bonds.iter().enumerate() {
                let viscosity = self.state.viscosity[bond as usize];
                self.values[block.viscosity(k) as usize] = viscosity;
            }
        }
        self.changed();
    }

    /// What is given between steps has changed.
    fn changed(&mut self) {
        self.is_stale = true;
        self.valid_at = None;
        self.steadiness.set((f64::INFINITY, f64::NEG_INFINITY, false));
    }

    /// Gradients keep what does not change during a step.
    fn refresh_gradients(&mut self) {
        if self.is_stale {
            for (gradient, &value) in self.gradients.iter_mut().zip(&self.values) {
                *gradient = Gradient::constant(value);
            }
            self.is_stale = false;
        }
    }

    fn lines_at(&mut self, begin: f64) {
        self.parts.lines.begin = begin;
        self.parts.lines.per_step = 1.0 / self.plan.step;
    }

    /// The states as they stand.
    pub fn x(&self) -> Vec<f64> {
        self.state_places.iter().map(|&p| self.values[p as usize]).collect()
    }

    /// The plan it was made from.
    pub fn plan(&self) -> &'p Plan {
        self.plan
    }

    /// True when some parts advance in main steps: lines with delay, blocks with memory, heat.
    pub fn has_discrete_parts(&self) -> bool {
        self.has_ticks
    }

    /// Number of sets of equations that are solved within each evaluation.
    pub fn cluster_count(&self) -> usize {
        self.schedule.clusters.len()
    }

    /// Names of what a cluster solves for, for messages.
    pub fn cluster_name(&self, cluster: usize) -> String {
        let cluster = &self.schedule.clusters[cluster];
        let names = cluster.components.iter().map(|&c| format!("`{}`", self.plan.name(c)));
        names.collect::<Vec<_>>().join(", ")
    }

    /// A state of the plan with what an evaluation found, for recording and saving.
    pub fn write(&mut self, time: f64, x: &[f64]) -> Result<(), Trouble> {
        self.evaluate(time, x)?;
        self.state.time = time;
        for (component, block) in self.parts.layout.blocks.iter().enumerate() {
            let entry = &self.plan.variables.entries[component];
            let (first, states) = (entry.states as usize, block.states as usize);
            if let (Some(law), false) =
                (&self.parts.laws[component], self.parts.discrete[component])
                && states > 0
            {
                // Results show some states as the law does not keep them; what is counted, is not
                // counted here.
                let mut copy = std::mem::take(&mut self.shown);
                copy.clear();
                copy.extend_from_slice(&self.values[block.range()]);
                let local = Block { begin: 0, ..*block };
                law.show(&mut settle_view(&mut copy, &local, time));
                self.state.states[first..first + states]
                    .copy_from_slice(&copy[local.state(0) as usize..local.rate(0) as usize]);
                self.shown = copy;
            } else {
                for k in 0..states {
                    self.state.states[first + k] = self.values[block.state(k) as usize];
                }
            }
            for k in 0..states {
                self.state.states[first + states + k] = self.values[block.rate(k) as usize];
            }
            // Discrete parts keep their memory in the state of the plan itself.
            if !self.parts.discrete[component] {
                for k in 0..block.memory as usize {
                    self.state.states[first + 2 * states + k] =
                        self.values[block.memory(k) as usize];
                }
            }
            for k in 0..block.outputs as usize {
                let value = self.values[block.output(k) as usize];
                self.state.signals[entry.written as usize + k] = value;
                self.state.signals[entry.outputs as usize + k] = value;
            }
            for (k, &signal) in entry.inputs.iter().enumerate() {
                self.state.signals[signal as usize] = self.values[block.input(k) as usize];
            }
        }
        for (bond, ends) in self.parts.bonds.iter().enumerate() {
            let Some(end) = ends.q.or(ends.c) else { continue };
            let block = &self.parts.layout.blocks[end.component as usize];
            let effort = self.parts.bond_effort.get(&(bond as u32)).copied();
            let effort = effort.unwrap_or(block.effort(end.port));
            let b = &mut self.state.bonds[bond];
            b.effort = self.values[effort as usize];
            b.flow = self.values[block.flow(end.port) as usize];
            b.displacement = self.values[block.displacement(end.port) as usize];
        }
        // Lumped stores show their pressure as a wave without impedance.
        for (bond, ends) in self.parts.bonds.iter().enumerate() {
            let is_line = ends.c.is_some_and(|c| self.parts.discrete[c.component as usize]);
            if !is_line {
                let b = &mut self.state.bonds[bond];
                b.wave = b.effort;
            }
        }
        Ok(())
    }

    fn load(&mut self, x: &[f64]) {
        self.valid_at = None;
        for (&place, &value) in self.state_places.iter().zip(x) {
            self.values[place as usize] = value;
        }
    }

    /// Fills all values for a time and states.
    fn evaluate(&mut self, time: f64, x: &[f64]) -> Result<(), Trouble> {
        let holds = |(&place, value): (&Place, &f64)| self.values[place as usize] == *value;
        if self.valid_at == Some(time) && self.state_places.iter().zip(x).all(holds) {
            return Ok(());
        }
        self.load(x);
        let ops = std::mem::take(&mut self.ops);
        let result = self.execute(&ops, time, false);
        self.ops = ops;
        self.valid_at = result.is_ok().then_some(time);
        result
    }

    fn execute(&mut self, ops: &[Op], time: f64, keep_factors: bool) -> Result<(), Trouble> {
        for op in ops {
            match op {
                Op::Solve(cluster) => self.solve(*cluster as usize, time, keep_factors)?,
                op => {
                    let parts = &self.parts;
                    let (blocks, laws) = (&parts.layout.blocks, &parts.laws);
                    frame::apply(op, &mut self.values, blocks, laws, &parts.lines, time);
                }
            }
        }
        Ok(())
    }

    fn execute_gradients(&mut self, ops: &[Op], time: f64) {
        for op in ops {
            let parts = &self.parts;
            let (blocks, laws) = (&parts.layout.blocks, &parts.laws);
            match op {
                Op::Solve(index) => {
                    // dy/dx = −(∂r/∂y)⁻¹·∂r/∂x, then once more with it.
                    let cluster = &self.schedule.clusters[*index as usize];
                    let solver = &mut self.solvers[*index as usize];
                    for &place in &cluster.unknowns {
                        let value = self.values[place as usize];
                        self.gradients[place as usize] = Gradient::constant(value);
                    }
                    for op in &cluster.ops {
                        frame::apply(op, &mut self.gradients, blocks, laws, &parts.lines, time);
                    }
                    for direction in 0..DIRECTIONS {
                        for (r, &(a, b)) in solver.step.iter_mut().zip(&cluster.equal) {
                            let (a, b) = (self.gradients[a as usize], self.gradients[b as usize]);
                            *r = a.slope[direction] - b.slope[direction];
                        }
                        solver.factors.solve(&mut solver.step);
                        for (&place, d) in cluster.unknowns.iter().zip(&solver.step) {
                            self.gradients[place as usize].slope[direction] = -d;
                        }
                    }
                    for op in &cluster.ops {
                        frame::apply(op, &mut self.gradients, blocks, laws, &parts.lines, time);
                    }
                }
                op => frame::apply(op, &mut self.gradients, blocks, laws, &parts.lines, time),
            }
        }
    }

    /// Newton for the unknowns of a cluster, from where they stand.
    fn solve(&mut self, index: usize, time: f64, keep_factors: bool) -> Result<(), Trouble> {
        const MAX_ITERATIONS: usize = 60;
        let cluster = &self.schedule.clusters[index];
        let solver = &mut self.solvers[index];
        let parts = &self.parts;
        let (blocks, laws, lines) = (&parts.layout.blocks, &parts.laws, &parts.lines);
        let (values, gradients) = (&mut self.values, &mut self.gradients);
        for &component in &cluster.components {
            for place in blocks[component as usize].range() {
                gradients[place] = Gradient::constant(values[place]);
            }
        }
        for &place in &cluster.reads {
            gradients[place as usize] = Gradient::constant(values[place as usize]);
        }
        let count = cluster.unknowns.len();
        let mut last_size = f64::INFINITY;
        let mut fraction = 1.0;
        let mut converged = false;
        for _ in 0..MAX_ITERATIONS {
            for first in (0..count).step_by(DIRECTIONS) {
                for (i, &place) in cluster.unknowns.iter().enumerate() {
                    let mut unknown = Gradient::constant(values[place as usize]);
                    if (first..first + DIRECTIONS).contains(&i) {
                        unknown.slope[i - first] = 1.0;
                    }
                    gradients[place as usize] = unknown;
                }
                for op in &cluster.ops {
                    frame::apply(op, gradients, blocks, laws, lines, time);
                }
                for (row, &(a, b)) in cluster.equal.iter().enumerate() {
                    let difference = gradients[a as usize] - gradients[b as usize];
                    solver.residual[row] = difference.value;
                    let size =
                        gradients[a as usize].value.abs() + gradients[b as usize].value.abs();
                    solver.scale[row] = size.max(1e-300);
                    for column in first..count.min(first + DIRECTIONS) {
                        solver.factors.entries()[row * count + column] =
                            difference.slope[column - first];
                    }
                }
            }
            let size = solver.size();
            if size > last_size && fraction > 1e-4 {
                // Not that far.
                fraction *= 0.5;
                for (i, &place) in cluster.unknowns.iter().enumerate() {
                    values[place as usize] = solver.old[i] - fraction * solver.step[i];
                }
                continue;
            }
            if !size.is_finite() || solver.factors.factorise().is_err() {
                break;
            }
            // Solved; the factors are those at the solution.
            if size == 0.0 || converged {
                converged = true;
                break;
            }
            (last_size, fraction) = (size, 1.0);
            solver.step.copy_from_slice(&solver.residual);
            solver.factors.solve(&mut solver.step);
            converged = true;
            for (i, &place) in cluster.unknowns.iter().enumerate() {
                let value = &mut values[place as usize];
                solver.old[i] = *value;
                *value -= solver.step[i];
                converged &= solver.step[i].abs() <= 1e-12 * (value.abs() + solver.small[i]);
            }
            if converged && !keep_factors {
                break;
            }
            if converged {
                // Once more, for the derivatives at the solution.
                last_size = f64::INFINITY;
            }
        }
        if !converged {
            let residual = solver.residual.iter().fold(0.0, |worst: f64, r| worst.max(r.abs()));
            return Err(Trouble::NoSolution { equation: index, residual });
        }
        for op in &cluster.ops {
            frame::apply(op, values, blocks, laws, lines, time);
        }
        Ok(())
    }

    /// Operations that some rates need.
    fn selection(&mut self, which: &[usize]) -> usize {
        if let Some(found) = self.selections.iter().position(|s| s.which == which) {
            return found;
        }
        let mut needed = vec![false; self.values.len()];
        for &state in which {
            needed[self.rate_places[state] as usize] = true;
        }
        let mut ops = Vec::new();
        for item in self.schedule.items.iter().rev() {
            if !item.provides.iter().any(|&p| needed[p as usize]) {
                continue;
            }
            match item.op {
                Op::Solve(cluster) => {
                    for &place in &self.schedule.clusters[cluster as usize].needs {
                        needed[place as usize] = true;
                    }
                }
                _ => {
                    let provided: Vec<Place> =
                        item.provides.iter().copied().filter(|&p| needed[p as usize]).collect();
                    for place in provided {
                        for &need in &self.parts.graph.needs[place as usize] {
                            needed[need as usize] = true;
                        }
                    }
                }
            }
            ops.push(item.op.clone());
        }
        ops.reverse();
        self.selections.push(Selection { which: which.to_vec(), ops });
        self.selections.len() - 1
    }

    /// Runs what only exists in main steps, at the begin of one.
    fn tick(&mut self, time: f64) {
        let plan = self.plan;
        let tick = self.state.step + self.state.rest_steps + 1;
        let end = plan.start + (self.state.step + 1) as f64 * plan.step;
        for (end, &bond) in self.parts.lines.ends.iter_mut().zip(&self.parts.end_bonds) {
            end.wave[0] = self.state.bonds[bond as usize].wave;
        }
        for (home, _) in &self.discrete {
            let rate = &plan.rates[home.rate as usize];
            // Signals hold what they are at the begin; waves are those that arrive at the end.
            let time = if home.phase == Causality::S { time } else { end };
            let clock = Clock { time, dt: plan.step / f64::from(rate.divisor), tick };
            build::group_of(plan, home).step_one(home.member as usize, &mut self.state, clock);
        }
        for (end, &bond) in self.parts.lines.ends.iter_mut().zip(&self.parts.end_bonds) {
            let b = &self.state.bonds[bond as usize];
            end.wave[1] = b.wave;
            end.impedance = b.impedance;
        }
        for &(_, component) in &self.discrete {
            let entry = &plan.variables.entries[component as usize];
            let block = &self.parts.layout.blocks[component as usize];
            for k in 0..block.outputs as usize {
                let value = self.state.signals[entry.written as usize + k];
                self.values[block.output(k) as usize] = value;
            }
        }
        if let Some(thermal) = &plan.thermal {
            thermal.step(&mut self.state, plan.step);
            self.load_viscosity();
        }
        self.state.step += 1;
        self.lines_at(time);
        self.changed();
    }

    fn settle_components(&mut self, time: f64) -> bool {
        let (mut moved, mut remembers) = (false, false);
        for &component in &self.settling {
            let block = &self.parts.layout.blocks[component as usize];
            let Some(law) = &self.parts.laws[component as usize] else { continue };
            let mut before = std::mem::take(&mut self.shown);
            before.clear();
            before.extend_from_slice(&self.values[block.range()]);
            law.settle(&mut settle_view(&mut self.values, block, time));
            let after = &self.values[block.range()];
            let local = Block { begin: 0, ..*block };
            let differ = |from: Place, to: Place| {
                let range = from as usize..to as usize;
                before[range.clone()] != after[range]
            };
            moved |= differ(local.state(0), local.rate(0));
            remembers |= differ(local.memory(0), local.viscosity(0));
            self.shown = before;
        }
        if moved || remembers {
            self.changed();
        }
        moved
    }

    /// Counts limits and vapour after a step that is kept.
    pub fn count(&mut self, time: f64, x: &[f64]) -> Result<(), Trouble> {
        self.evaluate(time, x)?;
        for &component in &self.counting {
            let block = &self.parts.layout.blocks[component as usize];
            let Some(law) = &self.parts.laws[component as usize] else { continue };
            let mut copy = std::mem::take(&mut self.shown);
            copy.clear();
            copy.extend_from_slice(&self.values[block.range()]);
            let local = Block { begin: 0, ..*block };
            law.show(&mut settle_view(&mut copy, &local, time));
            let memory = local.memory(0) as usize..local.viscosity(0) as usize;
            self.values[block.memory(0) as usize..block.viscosity(0) as usize]
                .copy_from_slice(&copy[memory]);
            self.shown = copy;
        }
        Ok(())
    }

    /// What enters and what leaves over the edge of the circuit at the last evaluation, m³/s.
    pub fn edge_flows(&self) -> (f64, f64) {
        let (mut inflow, mut outflow) = (0.0, 0.0);
        for &(place, sign) in &self.edge {
            let flow = self.values[place as usize] * sign;
            if flow > 0.0 {
                inflow += flow;
            } else {
                outflow -= flow;
            }
        }
        (inflow, outflow)
    }

    fn check(&self, rates: &[f64]) -> Result<(), Trouble> {
        match rates.iter().position(|rate| !rate.is_finite()) {
            None => Ok(()),
            Some(state) => Err(Trouble::NotFinite(state)),
        }
    }
}

/// Lends a component what it settles.
fn settle_view<'v>(values: &'v mut [f64], block: &Block, time: f64) -> Settle<'v> {
    let (ports, states) = (block.ports as usize, block.states as usize);
    let rest = &mut values[block.range()];
    let (effort, rest) = rest.split_at_mut(ports);
    let (flow, rest) = rest.split_at_mut(ports);
    let (displacement, rest) = rest.split_at_mut(ports);
    let (input, rest) = rest.split_at_mut(block.inputs as usize);
    let (output, rest) = rest.split_at_mut(block.outputs as usize);
    let (state, rest) = rest.split_at_mut(states);
    let (_, rest) = rest.split_at_mut(states);
    let memory = &mut rest[..block.memory as usize];
    Settle { state, memory, effort, flow, displacement, input, output, time }
}

impl System for View<'_> {
    fn size(&self) -> usize {
        self.state_places.len()
    }

    fn rates(&mut self, time: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
        self.evaluate(time, x)?;
        for (rate, &place) in rates.iter_mut().zip(&self.rate_places) {
            *rate = self.values[place as usize];
        }
        self.check(rates)
    }

    fn some_rates(
        &mut self,
        time: f64,
        x: &[f64],
        which: &[usize],
        rates: &mut [f64],
    ) -> Result<(), Trouble> {
        let selection = self.selection(which);
        self.load(x);
        let ops = std::mem::take(&mut self.selections[selection].ops);
        let result = self.execute(&ops, time, false);
        self.selections[selection].ops = ops;
        result?;
        for (rate, &state) in rates.iter_mut().zip(which) {
            *rate = self.values[self.rate_places[state] as usize];
            if !rate.is_finite() {
                return Err(Trouble::NotFinite(state));
            }
        }
        Ok(())
    }

    fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    fn jacobian(&mut self, time: f64, x: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
        self.load(x);
        let ops = std::mem::take(&mut self.ops);
        // Clusters need their solution and its factors before they can be differentiated.
        let mut result = Ok(());
        if !self.schedule.clusters.is_empty() {
            result = self.execute(&ops, time, true);
        }
        if result.is_ok() {
            self.refresh_gradients();
            for sweep in 0..self.sweeps.len() {
                for &place in &self.state_places {
                    let value = self.values[place as usize];
                    self.gradients[place as usize] = Gradient::constant(value);
                }
                for &(state, direction) in &self.sweeps[sweep].seeds {
                    let place = self.state_places[state as usize] as usize;
                    self.gradients[place].slope[direction as usize] = 1.0;
                }
                self.execute_gradients(&ops, time);
                for &(entry, row, direction) in &self.sweeps[sweep].entries {
                    let rate = self.rate_places[row as usize] as usize;
                    values[entry as usize] = self.gradients[rate].slope[direction as usize];
                }
            }
        }
        self.ops = ops;
        result?;
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(()),
            Some(entry) => Err(Trouble::NotFinite(self.pattern.rows()[entry])),
        }
    }

    fn some_jacobian(
        &mut self,
        time: f64,
        x: &[f64],
        which: &[usize],
        block: &mut [f64],
    ) -> Result<(), Trouble> {
        let selection = self.selection(which);
        self.load(x);
        let ops = std::mem::take(&mut self.selections[selection].ops);
        let mut result = Ok(());
        if !self.schedule.clusters.is_empty() {
            result = self.execute(&ops, time, true);
        }
        if result.is_ok() {
            self.refresh_gradients();
            let count = which.len();
            for first in (0..count).step_by(DIRECTIONS) {
                for &place in &self.state_places {
                    let value = self.values[place as usize];
                    self.gradients[place as usize] = Gradient::constant(value);
                }
                let chunk = first..count.min(first + DIRECTIONS);
                for column in chunk.clone() {
                    let place = self.state_places[which[column]] as usize;
                    self.gradients[place].slope[column - first] = 1.0;
                }
                self.execute_gradients(&ops, time);
                for (row, &state) in which.iter().enumerate() {
                    let rate = self.gradients[self.rate_places[state] as usize];
                    for column in chunk.clone() {
                        block[row * count + column] = rate.slope[column - first];
                    }
                }
            }
        }
        self.selections[selection].ops = ops;
        result
    }

    fn nominal(&self, state: usize) -> f64 {
        self.states[state].nominal
    }

    fn bounds(&mut self, _: f64, _: &[f64], state: usize) -> (f64, f64) {
        let everywhere = (f64::NEG_INFINITY, f64::INFINITY);
        let Some(index) = self.volumes.iter().position(|v| v.state == state) else {
            return everywhere;
        };
        let pressures = self.neighbours[index].iter().map(|&place| self.values[place as usize]);
        let (low, high) = pressures
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p), high.max(p)));
        if low <= high { (low, high) } else { everywhere }
    }

    fn next_event(&self, time: f64) -> f64 {
        let mut next = f64::INFINITY;
        for (component, law) in self.parts.laws.iter().enumerate() {
            if let Some(law) = law
                && !self.parts.discrete[component]
            {
                next = next.min(law.next_event(time));
            }
        }
        if self.has_ticks {
            let mut tick = self.plan.start + self.state.step as f64 * self.plan.step;
            if tick <= time {
                tick = self.plan.start + (self.state.step + 1) as f64 * self.plan.step;
            }
            next = next.min(tick);
        }
        next
    }

    fn is_autonomous(&self, time: f64) -> bool {
        if !self.parts.lines.ends.is_empty() {
            return false;
        }
        let (from, until, steady) = self.steadiness.get();
        if time >= from && time < until {
            return steady;
        }
        // Sources of signals are what reads the clock: do they stand still until the next event?
        let event = self.next_event(time);
        let span = (event - time).min(1.0);
        let steady = self.sources.iter().all(|&component| {
            let block = &self.parts.layout.blocks[component as usize];
            let Some(law) = &self.parts.laws[component as usize] else { return true };
            let local = Block { begin: 0, ..*block };
            let at = |share: f64| {
                let mut copy = self.values[block.range()].to_vec();
                frame::evaluate(&mut copy, &local, law.as_ref(), time + share * span);
                copy[local.output(0) as usize..local.state(0) as usize].to_vec()
            };
            let now = at(0.0);
            [0.137, 0.311, 0.728].into_iter().all(|share| at(share) == now)
        });
        self.steadiness.set((time, event, steady));
        steady
    }

    fn settle(&mut self, time: f64, x: &mut [f64]) -> bool {
        if self.settling.is_empty() && !self.has_ticks {
            return false;
        }
        // Components settle with what ports and signals are now.
        if self.evaluate(time, x).is_err() {
            return false;
        }
        let mut changed = self.settle_components(time);
        for (value, &place) in x.iter_mut().zip(&self.state_places) {
            *value = self.values[place as usize];
        }
        let due = self.plan.start + self.state.step as f64 * self.plan.step;
        if self.has_ticks && time >= due - 1e-9 * self.plan.step {
            if self.write(time, x).is_ok() {
                self.tick(time);
            }
            changed = true;
        }
        changed
    }

    fn overrun(&mut self, time: f64, x: &[f64]) -> f64 {
        if self.settling.is_empty() || self.evaluate(time, x).is_err() {
            return 0.0;
        }
        // Settles a copy: memory is renewed only with the step that is kept.
        let mut copy = std::mem::take(&mut self.shown);
        let mut worst = 0.0f64;
        for &component in &self.settling {
            let block = &self.parts.layout.blocks[component as usize];
            let Some(law) = &self.parts.laws[component as usize] else { continue };
            copy.clear();
            copy.extend_from_slice(&self.values[block.range()]);
            let local = Block { begin: 0, ..*block };
            law.settle(&mut settle_view(&mut copy, &local, time));
            for k in 0..block.states as usize {
                let state = block.first_state as usize + k;
                let moved = (copy[local.state(k) as usize] - x[state]).abs();
                worst = worst.max(moved / (OVERRUN * self.states[state].nominal));
            }
        }
        self.shown = copy;
        worst
    }
}

impl ClusterSolver {
    fn new(plan: &Plan, parts: &Parts, cluster: &Cluster) -> Self {
        let count = cluster.unknowns.len();
        Self {
            factors: Dense::new(count),
            step: vec![0.0; count],
            old: vec![0.0; count],
            small: cluster.unknowns.iter().map(|&place| small(plan, parts, place)).collect(),
            scale: vec![1.0; count],
            residual: vec![0.0; count],
        }
    }

    fn size(&self) -> f64 {
        let terms = self.residual.iter().zip(&self.scale);
        terms.map(|(r, scale)| (r / scale).powi(2)).sum()
    }
}

/// The size of a number below which changes are rounding.
fn small(plan: &Plan, parts: &Parts, place: Place) -> f64 {
    let blocks = &parts.layout.blocks;
    let component = blocks.partition_point(|block| block.begin <= place) - 1;
    let (block, entry) = (&blocks[component], &plan.variables.entries[component]);
    let at = (place - block.begin) as usize;
    let ports = block.ports as usize;
    if at >= 2 * ports {
        return 1e-3;
    }
    let domain = entry.declaration.ports[entry.port_of(at % ports).0].domain;
    if at < ports { domain.small_effort() } else { domain.small_flow() }
}

/// Pressures next to the volume of a state.
fn neighbours(plan: &Plan, parts: &Parts, state: usize) -> Vec<Place> {
    let (component, _) = parts.layout.states[state];
    let entry = &plan.variables.entries[component as usize];
    let oil_ports = |component: u32| {
        let entry = &plan.variables.entries[component as usize];
        (0..entry.bonds.len()).filter(move |&port| {
            entry.declaration.ports[entry.port_of(port).0].domain == Domain::Hydraulic
        })
    };
    let block = |component: u32| parts.layout.blocks[component as usize];
    if entry.declaration.causality == Causality::Q {
        return oil_ports(component).map(|port| block(component).effort(port)).collect();
    }
    let mut found = Vec::new();
    for port in oil_ports(component) {
        let bond = entry.bonds[port] as usize;
        let Some(q) = parts.bonds[bond].q else { continue };
        let others = oil_ports(q.component).filter(|&other| other != q.port);
        found.extend(others.map(|other| block(q.component).effort(other)));
    }
    found
}

/// The size of change that matters, by unit.
fn nominal(unit: &str) -> f64 {
    match unit {
        "Pa" => 1e5,
        "m" => 1e-3,
        "m/s" => 1e-2,
        "rad" => 1e-2,
        "rad/s" => 1.0,
        "N" | "N*m" => 10.0,
        "m^3" | "m³" => 1e-6,
        "m^3/s" | "m³/s" => 1e-6,
        "m^3/(s*sqrt(Pa))" => 1e-8,
        "m^3/(s^2*sqrt(Pa))" => 1e-6,
        _ => 1e-2,
    }
}

fn undetermined(plan: &Plan, parts: &Parts, places: &Undetermined) -> Diagnostic {
    let blocks = &parts.layout.blocks;
    let mut components: Vec<usize> = places
        .0
        .iter()
        .map(|&place| blocks.partition_point(|block| block.begin <= place) - 1)
        .collect();
    components.dedup();
    let names = components.iter().take(6).map(|&c| format!("`{}`", plan.name(c as u32)));
    let message = format!(
        "without waves nothing determines what happens between {}",
        names.collect::<Vec<_>>().join(", ")
    );
    let first = components.first().map_or("", |&c| plan.name(c as u32));
    build::refusal(&message)
        .on(fluxline_diagnostics::Place::component(first))
        .help("put a volume or a mass between them, or run the circuit with `solver = \"tlm\"`")
}
