//! Large circuits: components of one type side by side in the lanes of vector registers.
//!
//! Members of a group do not see each other's results within a step. So eight of them are computed
//! at once, by the code that computes eight variants of a circuit ([`crate::lanes`]): what others
//! write is gathered into lanes before, what they write is handed out after. Their memory, and what
//! nobody else touches, stays in lanes from step to step. Every lane gives the bits of its member
//! computed alone.
//!
//! What passes over a line is known: a C-component writes waves and impedances, a Q-component flows,
//! efforts and motion (see [`sides`]). A type that writes more is found out when the lanes are put
//! back, and computed one by one from then on; so is a step in which equations did not converge or a
//! component asked to stop, because the order of such events counts.

use crate::component::{Clock, Group, Kernel, Wiring};
use crate::declare::Causality;
use crate::domain::Domain;
use crate::instructions::{Eight, Instructions, Work};
use crate::lanes::{LaneGroup, Packing, pack_group};
use crate::monitor::Tally;
use crate::number::{Lanes, Num};
use crate::plan::Plan;
use crate::settings::Convention;
use crate::state::{Bond, Faults, State};
use crate::step::{BOND, Wires, numbers, numbers_mut};
use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

/// Members that are computed at once.
pub const WIDTH: usize = 8;
/// Longer memories, such as those of delays, are not carried over.
const LONGEST_BLOCK: usize = 64;

type Wide = Lanes<WIDTH>;

/// Numbers of a bond, in the order of its fields, that its C- and its Q-component write.
fn sides(convention: Convention, domain: Domain) -> (&'static [usize], &'static [usize]) {
    const FLOW: usize = 0;
    const EFFORT: usize = 1;
    const WAVE: usize = 2;
    const IMPEDANCE: usize = 3;
    const DISPLACEMENT: usize = 4;
    const DRY: usize = 5;
    match (convention, domain) {
        (Convention::Fluxline, Domain::Hydraulic) => (&[WAVE, IMPEDANCE, DRY], &[FLOW, EFFORT]),
        (Convention::Fluxline, _) => (&[WAVE, IMPEDANCE, DRY], &[FLOW, EFFORT, DISPLACEMENT]),
        (Convention::Hopsan, Domain::Hydraulic) => (&[WAVE, IMPEDANCE], &[FLOW, EFFORT]),
        // Gas: mass flow, and temperature.
        (Convention::Hopsan, Domain::Pneumatic) => {
            (&[WAVE, IMPEDANCE, DRY], &[FLOW, EFFORT, DISPLACEMENT])
        }
        // Bodies tell their mass.
        (Convention::Hopsan, _) => (&[WAVE, IMPEDANCE], &[FLOW, EFFORT, DISPLACEMENT, DRY]),
    }
}

/// Members of a group in lanes.
struct Batch {
    members: usize,
    group: Box<dyn LaneGroup<WIDTH>>,
    lanes: State<Wide>,
    /// Numbers of bonds that others write.
    taken: Wires<WIDTH>,
    /// Numbers of bonds that they write.
    given: Wires<WIDTH>,
    /// Numbers of bonds that they must leave as they are.
    untouched: Wires<WIDTH>,
    /// Inputs that signals drive.
    read: Wires<WIDTH>,
    /// Outputs.
    written: Wires<WIDTH>,
    /// States and memory.
    kept: Wires<WIDTH>,
    /// All numbers of bonds, and all inputs and outputs: for the beginning.
    bonds: Wires<WIDTH>,
    signals: Wires<WIDTH>,
}

/// What moves numbers between a state and lanes.
enum Move {
    /// All numbers, before the first step.
    Load,
    /// What others have written.
    Take,
    /// What they have written.
    Give,
    /// States and memory, after the last step.
    Unload,
}

struct Moving<'a>(&'a mut Batch, &'a mut State<f64>, Move);

impl Work for Moving<'_> {
    #[inline(always)]
    fn run(self) {
        let Moving(batch, state, what) = self;
        let lanes = &mut batch.lanes;
        match what {
            Move::Load => {
                batch.bonds.gather(numbers(&state.bonds), numbers_mut(&mut lanes.bonds));
                batch.signals.gather(&state.signals, &mut lanes.signals);
                batch.kept.gather(&state.states, &mut lanes.states);
            }
            Move::Take => {
                batch.taken.gather(numbers(&state.bonds), numbers_mut(&mut lanes.bonds));
                batch.read.gather(&state.signals, &mut lanes.signals);
            }
            Move::Give => {
                batch.given.scatter(numbers(&lanes.bonds), numbers_mut(&mut state.bonds));
                batch.written.scatter(&lanes.signals, &mut state.signals);
            }
            Move::Unload => batch.kept.scatter(&lanes.states, &mut state.states),
        }
    }
}

impl Batch {
    #[inline]
    fn step(&mut self, state: &mut State<f64>, clock: &Clock, instructions: Eight) {
        instructions.run(Moving(self, state, Move::Take));
        self.group.step(&mut self.lanes, clock);
        instructions.run(Moving(self, state, Move::Give));
    }
}

/// What takes its turn in a phase.
enum Turn<'p> {
    /// Members that are computed one by one.
    Alone(Kernel<'p, f64>),
    /// Members that are computed side by side.
    Together(Box<Batch>),
}

/// A circuit whose larger groups are computed side by side.
pub struct Batches<'p> {
    plan: &'p Plan,
    /// Signals, C- and Q-components.
    phases: [Vec<Turn<'p>>; 3],
    instructions: Eight,
    before: State<f64>,
    /// The figures before the last steps.
    figures: Option<Tally>,
    /// A type writes more than its side of a line: nothing is computed side by side any more.
    is_refuted: bool,
}

impl<'p> Batches<'p> {
    /// Arranges a circuit; `None` where nothing can be computed side by side, or where that is not
    /// faster, which is tried out: the bits are the same.
    pub fn of(plan: &'p Plan) -> Option<Self> {
        Self::arranged(plan, true)
    }

    /// The same, also where it is slower: for tests.
    pub fn wherever_possible(plan: &'p Plan) -> Option<Self> {
        Self::arranged(plan, false)
    }

    fn arranged(plan: &'p Plan, must_pay: bool) -> Option<Self> {
        let instructions = Eight::all().pop()?;
        let [main] = &plan.rates[..] else { return None };
        if plan.thermal.is_some() {
            return None;
        }
        let largest = [&main.s, &main.c, &main.q].into_iter().flat_map(|phase| phase.iter());
        if largest.map(|group| group.len()).max()? < WIDTH {
            return None;
        }
        let around = Around::of(plan, must_pay);
        let phases = [&main.s, &main.c, &main.q].map(|phase| {
            let mut turns = Vec::new();
            for group in phase.iter() {
                around.arrange(group.as_ref(), instructions, &mut turns);
            }
            turns
        });
        let is_wide = |turn: &Turn| matches!(turn, Turn::Together(_));
        phases.iter().flatten().any(is_wide).then(|| Self {
            plan,
            phases,
            instructions,
            before: plan.initial.clone(),
            figures: None,
            is_refuted: false,
        })
    }

    /// Whether a type was found to write more than its side of a line, so that all are computed one
    /// by one.
    pub fn is_refuted(&self) -> bool {
        self.is_refuted
    }

    /// How many components are computed side by side.
    pub fn members(&self) -> usize {
        let count = |turn: &Turn| match turn {
            Turn::Alone(_) => 0,
            Turn::Together(batch) => batch.members,
        };
        self.phases.iter().flatten().map(count).sum()
    }

    /// Takes steps, as [`crate::engine::step`] does.
    pub fn advance(&mut self, state: &mut State<f64>, tally: &mut Tally, steps: u64) {
        if steps == 0 {
            return;
        }
        if !self.is_refuted {
            self.before.copy_from(state);
            let figures = self.figures.get_or_insert_with(|| tally.clone());
            figures.copy_from(tally);
            if self.take_steps(state, tally, steps) {
                return;
            }
            state.copy_from(&self.before);
            if let Some(figures) = &self.figures {
                tally.copy_from(figures);
            }
        }
        for _ in 0..steps {
            crate::engine::step(self.plan, state, tally, false);
        }
    }

    fn each(&mut self, mut f: impl FnMut(&mut Batch, Eight)) {
        for turn in self.phases.iter_mut().flatten() {
            if let Turn::Together(batch) = turn {
                f(batch, self.instructions);
            }
        }
    }

    /// False when the steps must be taken one by one.
    fn take_steps(&mut self, state: &mut State<f64>, tally: &mut Tally, steps: u64) -> bool {
        self.each(|batch, instructions| {
            batch.lanes.faults = Faults::default();
            instructions.run(Moving(batch, state, Move::Load));
        });
        let (plan, main) = (self.plan, &self.plan.rates[0]);
        let faults = state.faults;
        for _ in 0..steps {
            let (_, end) = plan.times(state);
            let tick = state.step + state.rest_steps + 1;
            let clock = Clock { time: end, dt: plan.step, tick };
            main.publish(state);
            for phase in 0..3 {
                if phase == 2 {
                    for junction in &main.junctions {
                        junction.gather(&mut state.bonds, clock.dt);
                    }
                }
                for turn in &mut self.phases[phase] {
                    match turn {
                        Turn::Alone(kernel) => kernel.run(state, &clock),
                        Turn::Together(batch) => batch.step(state, &clock, self.instructions),
                    }
                }
            }
            for junction in &main.junctions {
                junction.scatter(&mut state.bonds);
            }
            tally.after(plan, 0, state, plan.step);
            state.step += 1;
            state.time = end;
        }
        let mut is_quiet = state.faults == faults;
        let mut is_right = true;
        self.each(|batch, instructions| {
            is_quiet &= batch.lanes.faults == Faults::default();
            is_right &= batch.untouched.agree(numbers(&state.bonds), numbers(&batch.lanes.bonds));
            instructions.run(Moving(batch, state, Move::Unload));
        });
        self.is_refuted |= !is_right;
        is_quiet && is_right
    }
}

/// What must be known of a whole circuit.
struct Around<'p> {
    plan: &'p Plan,
    /// Of each bond, how many C- and Q-components are at it.
    users: Vec<[u8; 2]>,
    domains: Vec<Domain>,
    /// Signals that somebody writes.
    driven: HashSet<u32>,
    /// States that the verdict looks at in every step.
    watched: HashSet<u32>,
    /// Only what is faster goes into lanes.
    must_pay: bool,
}

impl<'p> Around<'p> {
    fn of(plan: &'p Plan, must_pay: bool) -> Self {
        let mut users = vec![[0u8; 2]; plan.blank.bonds.len()];
        let mut domains = vec![Domain::Hydraulic; users.len()];
        let mut driven = HashSet::new();
        for entry in &plan.variables.entries {
            let side = match entry.declaration.causality {
                Causality::C => Some(0),
                Causality::Q => Some(1),
                Causality::S => None,
            };
            for (i, &bond) in entry.bonds.iter().enumerate() {
                let port = entry.port_of(i).0;
                domains[bond as usize] = entry.declaration.ports[port].domain;
                if let Some(side) = side {
                    let count = &mut users[bond as usize][side];
                    *count = count.saturating_add(1);
                }
            }
            for output in 0..entry.declaration.outputs.len() as u32 {
                driven.insert(entry.outputs + output);
                driven.insert(entry.written + output);
            }
        }
        for rate in &plan.rates {
            driven.extend(rate.published.iter().flat_map(|&(from, to)| [from, to]));
            driven.extend(rate.probes.iter().map(|(_, to)| *to));
        }
        // Probes of states and chambers read memory in every step.
        let mut watched: HashSet<u32> = plan.watch.chambers.iter().map(|c| c.2).collect();
        for (slot, _) in plan.rates.iter().flat_map(|rate| &rate.probes) {
            if let crate::variables::Location::State(state) = slot.at {
                watched.insert(state);
            }
        }
        Self { plan, users, domains, driven, watched, must_pay }
    }

    /// Puts the members of a group into lanes where they fit and where that is faster.
    fn arrange(&self, group: &'p dyn Group<f64>, instructions: Eight, turns: &mut Vec<Turn<'p>>) {
        let alone = |turns: &mut Vec<Turn<'p>>| {
            turns.push(Turn::Alone(group.kernel(0..usize::MAX)));
        };
        let Some(packing) = group.packing() else { return alone(turns) };
        if group.len() < WIDTH || !group.gates().is_empty() || !self.are_independent(group) {
            return alone(turns);
        }
        // Members of one shape.
        let mut shapes: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for member in 0..group.len() {
            let wiring = group.wiring(member);
            shapes.entry((wiring.ports().len(), wiring.block().len())).or_default().push(member);
        }
        let mut batches = Vec::new();
        let mut rest = Vec::new();
        for ((_, block), members) in shapes {
            let fits = members.len() >= WIDTH && block <= LONGEST_BLOCK;
            let batch = fits.then(|| self.batch(group, &members, &packing, instructions)).flatten();
            match batch {
                Some(batch) => batches.push(batch),
                None => rest.extend(members),
            }
        }
        let pays = !self.must_pay || self.pays(group, &mut batches, instructions);
        if batches.is_empty() || !pays {
            return alone(turns);
        }
        turns.extend(batches.into_iter().map(|batch| Turn::Together(Box::new(batch))));
        turns.extend(rest.into_iter().map(|i| Turn::Alone(group.kernel(i..i + 1))));
    }

    /// No member reads what another writes, nothing else writes their side of a line, and nobody
    /// looks at their memory during a step.
    fn are_independent(&self, group: &dyn Group<f64>) -> bool {
        let entries = &self.plan.variables.entries;
        let entry = |member: usize| &entries[group.wiring(member).component() as usize];
        let mut written = HashSet::new();
        for member in 0..group.len() {
            let begin = group.wiring(member).output_offset() as u32;
            written.extend(begin..begin + entry(member).declaration.outputs.len() as u32);
        }
        let side = match entry(0).declaration.causality {
            Causality::C => Some(0),
            Causality::Q => Some(1),
            Causality::S => None,
        };
        (0..group.len()).all(|member| {
            let wiring = group.wiring(member);
            let has_its_lines = side
                .is_none_or(|side| wiring.ports().all(|bond| self.users[bond as usize][side] == 1));
            let block = wiring.block();
            has_its_lines
                && wiring.inputs().iter().all(|input| !written.contains(input))
                && !(block.start as u32..block.end as u32).any(|at| self.watched.contains(&at))
        })
    }

    fn batch(
        &self,
        group: &dyn Group<f64>,
        members: &[usize],
        packing: &Packing,
        instructions: Eight,
    ) -> Option<Batch> {
        let first = group.wiring(members[0]);
        let component = first.component() as usize;
        let declaration = self.plan.variables.entries[component].declaration;
        let ports = first.ports().len();
        let (inputs, outputs) = (first.inputs().len(), declaration.outputs.len());
        let block = first.block().len();
        let count = members.len().div_ceil(WIDTH);
        // The last batch repeats its last member where lanes are left.
        let member =
            |batch: usize, lane: usize| members[(batch * WIDTH + lane).min(members.len() - 1)];
        let of_lane = |lane: usize| {
            let wirings: Vec<(usize, Wiring)> = (0..count)
                .map(|batch| {
                    let ports: Vec<u32> = (0..ports).map(|i| (batch * ports + i) as u32).collect();
                    let begin = batch * (inputs + outputs);
                    let own: Vec<u32> = (begin..begin + inputs).map(|i| i as u32).collect();
                    let outputs = begin + inputs..begin + inputs + outputs;
                    let states = batch * block..(batch + 1) * block;
                    let wiring = Wiring::new(batch as u32, &ports, &own, outputs, states);
                    (member(batch, lane), wiring)
                })
                .collect();
            group.rewired(wirings)
        };
        let lanes: Vec<Box<dyn Group<f64>>> = (0..WIDTH).map(of_lane).collect::<Option<_>>()?;
        let lanes: [&dyn Group<f64>; WIDTH] = std::array::from_fn(|lane| lanes[lane].as_ref());
        let packed = pack_group(lanes, packing, packing.eight, instructions)?;

        let wiring_of = |batch: usize| -> [&Wiring; WIDTH] {
            std::array::from_fn(|lane| group.wiring(member(batch, lane)))
        };
        let mut batch = Batch {
            members: members.len(),
            group: packed,
            lanes: State {
                bonds: vec![Bond::at_rest(Wide::zero()); count * ports],
                signals: vec![Wide::zero(); count * (inputs + outputs)],
                states: vec![Wide::zero(); count * block],
                viscosity: vec![Wide::zero(); count * ports],
                line_temperature: Vec::new(),
                delivered_temperature: Vec::new(),
                time: 0.0,
                step: 0,
                rest_steps: 0,
                faults: Faults::default(),
            },
            taken: Wires::default(),
            given: Wires::default(),
            untouched: Wires::default(),
            read: Wires::default(),
            written: Wires::default(),
            kept: Wires::default(),
            bonds: Wires::default(),
            signals: Wires::default(),
        };
        for b in 0..count {
            let wirings = wiring_of(b);
            for port in 0..ports {
                let bonds = wirings.map(|w| w.ports().nth(port).unwrap_or(0));
                let domain = self.domains[bonds[0] as usize];
                if bonds.iter().any(|&bond| self.domains[bond as usize] != domain) {
                    return None;
                }
                let (from_c, from_q) = sides(self.plan.convention, domain);
                let (taken, given): (&[usize], &[usize]) = match declaration.causality {
                    Causality::C => (from_q, from_c),
                    Causality::Q => (from_c, from_q),
                    Causality::S => (&[0, 1, 2, 3, 4, 5], &[]),
                };
                let place = b * ports + port;
                for field in 0..BOND {
                    let at = bonds.map(|bond| bond * BOND as u32 + field as u32);
                    let lane_at = place * BOND + field;
                    batch.bonds.push(lane_at, at);
                    if taken.contains(&field) {
                        batch.taken.push(lane_at, at);
                    }
                    if given.contains(&field) {
                        batch.given.push(lane_at, at);
                    }
                    let is_known = match declaration.causality {
                        Causality::Q => !given.contains(&field),
                        _ => !given.contains(&field) && !taken.contains(&field),
                    };
                    if is_known {
                        batch.untouched.push(lane_at, at);
                    }
                }
                batch.lanes.viscosity[place] =
                    Lanes(bonds.map(|bond| self.plan.initial.viscosity[bond as usize]));
            }
            let begin = b * (inputs + outputs);
            for input in 0..inputs {
                let at = wirings.map(|w| w.inputs()[input]);
                batch.signals.push(begin + input, at);
                if at.iter().any(|signal| self.driven.contains(signal)) {
                    batch.read.push(begin + input, at);
                }
            }
            for output in 0..outputs {
                let at = wirings.map(|w| (w.output_offset() + output) as u32);
                batch.signals.push(begin + inputs + output, at);
                batch.written.push(begin + inputs + output, at);
            }
            for i in 0..block {
                batch.kept.push(b * block + i, wirings.map(|w| (w.block().start + i) as u32));
            }
        }
        Some(batch)
    }

    /// Whether batches take less time than their members one by one.
    fn pays(&self, group: &dyn Group<f64>, batches: &mut [Batch], instructions: Eight) -> bool {
        let plan = self.plan;
        let clock = Clock { time: plan.start + plan.step, dt: plan.step, tick: 1 };
        let mut state = plan.initial.clone();
        let least = |work: &mut dyn FnMut()| {
            let time = |_| {
                let begin = Instant::now();
                (0..3).for_each(|_| work());
                begin.elapsed()
            };
            (0..5).map(time).min()
        };
        let alone = least(&mut || group.step(&mut state, &clock));
        state.copy_from(&plan.initial);
        for batch in &mut *batches {
            instructions.run(Moving(batch, &mut state, Move::Load));
        }
        let together = least(&mut || {
            for batch in &mut *batches {
                batch.step(&mut state, &clock, instructions);
            }
        });
        together < alone
    }
}
