//! The TLM engine: one main step, and what it is made of.
//!
//! In a step signals run first, in order of dependency; then C-components turn the flows of the
//! last step into waves; then Q-components turn waves into flows. Groups with a smaller step run
//! several of their own steps in between. Nothing here allocates, locks or looks up names.

use crate::component::{Clock, Group, Phase};
use crate::domain::Domain;
use crate::monitor::Tally;
use crate::number::{Mask, Num};
use crate::plan::Plan;
use crate::settings::Convention;
use crate::state::{Bond, State};
use crate::step::{Bound, Part};
use crate::variables::Slot;

/// A meeting of ports that is more than one Q-port with one C-port.
#[derive(Clone, Debug)]
pub struct Junction {
    /// Domain: oil shares pressure and splits flow; parts that move together share velocity.
    pub domain: Domain,
    /// Bond of the Q-port, when there is one.
    pub q: Option<u32>,
    /// Bonds of the C-ports.
    pub c: Box<[u32]>,
    /// For a mechanical meeting without a Q-port: direction of each C-end along the axis.
    pub directions: Box<[f64]>,
}

impl Junction {
    /// Before the Q-components: what the Q-port sees of all C-ports together, or, without a
    /// Q-port, the solution of the meeting.
    #[inline]
    pub(crate) fn gather<T: Num>(&self, bonds: &mut [Bond<T>], dt: f64) {
        match (self.q, self.domain.is_mechanical()) {
            (Some(q), true) => {
                let (mut wave, mut impedance, mut dry) = (T::zero(), T::zero(), T::zero());
                for &c in &self.c {
                    let b = &bonds[c as usize];
                    wave += b.wave;
                    impedance += b.impedance;
                    dry += b.dry;
                }
                let b = &mut bonds[q as usize];
                (b.wave, b.impedance, b.dry) = (wave, impedance, dry);
            }
            (Some(q), false) => {
                let (wave, impedance) = parallel(&self.c, bonds);
                let b = &mut bonds[q as usize];
                (b.wave, b.impedance) = (wave, impedance);
            }
            (None, true) => self.move_together(bonds, dt),
            (None, false) => {
                let (pressure, _) = parallel(&self.c, bonds);
                split(&self.c, bonds, pressure, T::zero());
            }
        }
    }

    /// After the Q-components: hands the result of the Q-port on to the C-ports.
    #[inline]
    pub(crate) fn scatter<T: Num>(&self, bonds: &mut [Bond<T>]) {
        let Some(q) = self.q else { return };
        let result = bonds[q as usize];
        if self.domain.is_mechanical() {
            let zero = T::zero();
            let backwards = T::select(result.flow.lt(zero), T::of(-1.0), zero);
            let direction = T::select(result.flow.gt(zero), T::one(), backwards);
            for &c in &self.c {
                let b = &mut bonds[c as usize];
                b.flow = result.flow;
                b.displacement = result.displacement;
                b.effort = b.wave + b.impedance * b.flow + b.dry * direction;
            }
        } else {
            split(&self.c, bonds, result.effort, result.flow);
        }
    }

    /// C-ends without a body between them: Σ s·(c + Z·s·v) = 0.
    fn move_together<T: Num>(&self, bonds: &mut [Bond<T>], dt: f64) {
        let (mut push, mut impedance, mut dry) = (T::zero(), T::zero(), T::zero());
        for (&c, &s) in self.c.iter().zip(&self.directions) {
            let b = &bonds[c as usize];
            push -= b.wave * s;
            impedance += b.impedance;
            dry += b.dry;
        }
        let slides = push.abs().gt(dry);
        let free = T::select(slides, push - dry * push.sign(), T::zero());
        let v = T::select(impedance.gt(T::zero()), free / impedance, T::zero());
        for (&c, &s) in self.c.iter().zip(&self.directions) {
            let b = &mut bonds[c as usize];
            b.displacement += (b.flow + v * s) * (0.5 * dt);
            b.flow = v * s;
            b.effort = b.wave + b.impedance * b.flow;
        }
    }
}

/// Impedance towards another line: a cavitated store keeps its own there, because two lines without
/// impedance would throw oil at each other without end.
#[inline(always)]
fn line_impedance<T: Num>(bond: &Bond<T>) -> T {
    T::select(bond.impedance.gt(T::zero()), bond.impedance, bond.dry)
}

/// Several line ends under one pressure: 1/Z = Σ1/Z_i, c/Z = Σc_i/Z_i; an ideal source decides alone
/// (the plan allows at most one).
fn parallel<T: Num>(ends: &[u32], bonds: &[Bond<T>]) -> (T, T) {
    let (mut admittance, mut inflow) = (T::zero(), T::zero());
    let mut decided = T::zero().lt(T::zero());
    let mut source = T::zero();
    for &c in ends {
        let b = &bonds[c as usize];
        let z = line_impedance(b);
        let decides = z.le(T::zero());
        if decides.any() {
            source = T::select(decides & !decided, b.wave, source);
            decided = decided | decides;
            if decided.all() {
                return (source, T::zero());
            }
        }
        let y = z.recip();
        admittance += y;
        inflow += y * b.wave;
    }
    let (wave, impedance) = (inflow / admittance, admittance.recip());
    match decided.any() {
        false => (wave, impedance),
        true => (T::select(decided, source, wave), T::select(decided, T::zero(), impedance)),
    }
}

/// Shares a flow among line ends under one pressure; an ideal source takes the rest.
fn split<T: Num>(ends: &[u32], bonds: &mut [Bond<T>], pressure: T, flow: T) {
    let mut rest = flow;
    let mut has_source = false;
    for &c in ends {
        let b = &mut bonds[c as usize];
        let z = line_impedance(b);
        let resists = z.gt(T::zero());
        b.effort = pressure;
        if resists.any() {
            b.flow = T::select(resists, (pressure - b.wave) / z, T::zero());
            rest = T::select(resists, rest - b.flow, rest);
        } else {
            b.flow = T::zero();
        }
        has_source |= !resists.all();
    }
    if has_source {
        // Lanes may have theirs at different ends.
        let mut given = T::zero().lt(T::zero());
        for &c in ends.iter().rev() {
            let b = &mut bonds[c as usize];
            let takes = !line_impedance(b).gt(T::zero()) & !given;
            b.flow = T::select(takes, rest, b.flow);
            given = given | takes;
        }
    }
}

/// All that runs at one rate.
#[derive(Default)]
pub struct RateGroup {
    /// Signals, in order.
    pub s: Phase<f64>,
    /// C-components.
    pub c: Phase<f64>,
    /// Q-components.
    pub q: Phase<f64>,
    /// Meetings of more than two ports.
    pub junctions: Vec<Junction>,
    /// Outputs of C- and Q-components: from where they are written to where they are read.
    pub published: Vec<(u32, u32)>,
    /// Port variables and states that drive inputs.
    pub probes: Vec<(Slot, u32)>,
    /// Bonds between Q-components of this rate and C-components of the main step, whose flow is
    /// averaged over the sub-steps.
    pub borders: Vec<u32>,
    /// Sub-steps per main step.
    pub divisor: u32,
}

impl RateGroup {
    /// Makes outputs and port variables visible to those who read them as signals.
    #[inline(always)]
    pub fn publish<T: Num>(&self, state: &mut State<T>) {
        for &(from, to) in &self.published {
            state.signals[to as usize] = state.signals[from as usize];
        }
        for (slot, to) in &self.probes {
            state.signals[*to as usize] = slot.read(state);
        }
    }

    #[inline(always)]
    fn signals_and_waves(&self, state: &mut State<f64>, clock: &Clock, stepper: &mut impl Stepper) {
        stepper.step([self.s.all(), self.c.all()], state, clock);
    }

    #[inline(always)]
    fn gather(&self, state: &mut State<f64>, clock: &Clock) {
        for junction in &self.junctions {
            junction.gather(&mut state.bonds, clock.dt);
        }
    }

    #[inline(always)]
    fn scatter(&self, state: &mut State<f64>) {
        for junction in &self.junctions {
            junction.scatter(&mut state.bonds);
        }
    }

    #[inline(always)]
    fn flows(&self, state: &mut State<f64>, clock: &Clock, stepper: &mut impl Stepper) {
        self.gather(state, clock);
        stepper.step([self.q.all()], state, clock);
        self.scatter(state);
    }
}

/// What a part of a circuit hands to other parts during a main step, and takes from them.
///
/// Components within a phase do not see each other's results. So those that other parts wait for
/// are stepped first, and the rest while the numbers are on their way.
pub trait Exchange {
    /// How much of the main step's groups comes first.
    fn border(&self) -> Border;
    /// Waves of the border are known: hands them on.
    fn post_waves(&mut self, state: &State<f64>);
    /// All own waves are known: takes those of the others.
    fn take_waves(&mut self, state: &mut State<f64>);
    /// Flows of the border are known: hands them on.
    fn post_flows(&mut self, state: &State<f64>);
    /// All own flows are known: takes those of the others.
    fn take_flows(&mut self, state: &mut State<f64>);
}

/// How many groups and meetings of the main step stand at the border of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Border {
    /// Groups of C-components.
    pub c: usize,
    /// Groups of Q-components.
    pub q: usize,
    /// Meetings.
    pub junctions: usize,
}

impl Border {
    /// All at once.
    pub const ALL: Self = Self { c: usize::MAX, q: usize::MAX, junctions: usize::MAX };
}

/// A circuit in one piece.
struct Alone;

impl Exchange for Alone {
    #[inline(always)]
    fn border(&self) -> Border {
        Border::ALL
    }
    #[inline(always)]
    fn post_waves(&mut self, _: &State<f64>) {}
    #[inline(always)]
    fn take_waves(&mut self, _: &mut State<f64>) {}
    #[inline(always)]
    fn post_flows(&mut self, _: &State<f64>) {}
    #[inline(always)]
    fn take_flows(&mut self, _: &mut State<f64>) {}
}

/// How the groups of a phase are stepped: all at once, or in a way that looks on.
trait Stepper {
    fn step<const N: usize>(
        &mut self,
        phases: [Part<'_, f64>; N],
        state: &mut State<f64>,
        clock: &Clock,
    );
}

struct AllAtOnce;

impl Stepper for AllAtOnce {
    #[inline(always)]
    fn step<const N: usize>(
        &mut self,
        phases: [Part<'_, f64>; N],
        state: &mut State<f64>,
        clock: &Clock,
    ) {
        for phase in phases {
            phase.step(state, clock);
        }
    }
}

/// Hands over each group.
struct EachGroup<F>(F);

impl<F: FnMut(&dyn Group<f64>, &mut State<f64>, &Clock)> Stepper for EachGroup<F> {
    fn step<const N: usize>(
        &mut self,
        phases: [Part<'_, f64>; N],
        state: &mut State<f64>,
        clock: &Clock,
    ) {
        for group in phases.into_iter().flat_map(|phase| phase.groups()) {
            (self.0)(group.as_ref(), state, clock);
        }
    }
}

/// One main step. `frozen` holds time at the start, to come to rest.
pub fn step(plan: &Plan, state: &mut State<f64>, tally: &mut Tally, frozen: bool) {
    let times = plan.times(state);
    step_between(plan, state, tally, times, frozen, &mut AllAtOnce);
}

/// So many main steps, each as [`step`] takes it. What is looked for in a step, and rarely there, is
/// looked for once.
pub fn steps(plan: &Plan, state: &mut State<f64>, tally: &mut Tally, count: u64) {
    let general = |state: &mut State<f64>, tally: &mut Tally| {
        for _ in 0..count {
            step(plan, state, tally, false);
        }
    };
    let ([main], None) = (&plan.rates[..], &plan.thermal) else { return general(state, tally) };
    let parts = [main.s.all(), main.c.all(), main.q.all()];
    let Some(mut bound) = Bound::new(parts, state) else { return general(state, tally) };
    let publishes = !main.published.is_empty() || !main.probes.is_empty();
    let (meets, watches) = (!main.junctions.is_empty(), tally.adds_up());
    for _ in 0..count {
        let (begin, end) = plan.times(bound.state());
        let When { clock, .. } = When::of(plan, bound.state(), (begin, end), false);
        if publishes {
            bound.with(|state| main.publish(state));
        }
        bound.step(0, &clock);
        bound.step(1, &clock);
        if meets {
            bound.with(|state| main.gather(state, &clock));
        }
        bound.step(2, &clock);
        if meets {
            bound.with(|state| main.scatter(state));
        }
        if watches {
            bound.with(|state| tally.after(plan, 0, state, plan.step));
        }
        bound.arrive(end);
    }
}

/// The first third of a main step of a part: signals and waves.
pub fn part_waves(plan: &Plan, state: &mut State<f64>, exchange: &mut impl Exchange) {
    let when = When::of(plan, state, plan.times(state), false);
    waves(plan, state, &when, &mut AllAtOnce, exchange);
}

/// The second third: flows, after all neighbours have finished the first.
pub fn part_flows(
    plan: &Plan,
    state: &mut State<f64>,
    tally: &mut Tally,
    exchange: &mut impl Exchange,
) {
    let when = When::of(plan, state, plan.times(state), false);
    flows(plan, state, tally, &when, &mut AllAtOnce, exchange);
}

/// The last third: figures and temperature, after all neighbours have finished the second.
pub fn part_end(
    plan: &Plan,
    state: &mut State<f64>,
    tally: &mut Tally,
    exchange: &mut impl Exchange,
) {
    let when = When::of(plan, state, plan.times(state), false);
    close(plan, state, tally, &when, exchange);
}

/// One step from a given time, for a step that varies.
pub fn step_at(plan: &Plan, state: &mut State<f64>, tally: &mut Tally, begin: f64) {
    let times = (begin, begin + plan.step);
    step_between(plan, state, tally, times, false, &mut AllAtOnce);
}

/// The times of a main step.
struct When {
    begin: f64,
    end: f64,
    /// Time is held at the start, to come to rest.
    frozen: bool,
    clock: Clock,
}

impl When {
    #[inline(always)]
    fn of(plan: &Plan, state: &State<f64>, (begin, end): (f64, f64), frozen: bool) -> Self {
        let tick = state.step + state.rest_steps + 1;
        let time = if frozen { plan.start } else { end };
        Self { begin, end, frozen, clock: Clock { time, dt: plan.step, tick } }
    }
}

#[inline(always)]
fn step_between(
    plan: &Plan,
    state: &mut State<f64>,
    tally: &mut Tally,
    times: (f64, f64),
    frozen: bool,
    stepper: &mut impl Stepper,
) {
    let when = When::of(plan, state, times, frozen);
    waves(plan, state, &when, stepper, &mut Alone);
    flows(plan, state, tally, &when, stepper, &mut Alone);
    close(plan, state, tally, &when, &mut Alone);
}

#[inline(always)]
fn waves(
    plan: &Plan,
    state: &mut State<f64>,
    when: &When,
    stepper: &mut impl Stepper,
    exchange: &mut impl Exchange,
) {
    let main = &plan.rates[0];
    main.publish(state);
    let border = exchange.border();
    if border == Border::ALL {
        main.signals_and_waves(state, &when.clock, stepper);
        exchange.post_waves(state);
        return;
    }
    let (outer, inner) = main.c.split_at(border.c.min(main.c.len()));
    stepper.step([main.s.all(), outer], state, &when.clock);
    exchange.post_waves(state);
    if !inner.is_empty() {
        stepper.step([inner], state, &when.clock);
    }
}

#[inline(always)]
fn flows(
    plan: &Plan,
    state: &mut State<f64>,
    tally: &mut Tally,
    when: &When,
    stepper: &mut impl Stepper,
    exchange: &mut impl Exchange,
) {
    let main = &plan.rates[0];
    let border = exchange.border();
    exchange.take_waves(state);
    if plan.rates.len() > 1 {
        sub_steps(plan, state, tally, when, stepper);
    }
    if border == Border::ALL {
        main.flows(state, &when.clock, stepper);
        if let Some(thermal) = &plan.thermal {
            thermal.pass(state);
        }
        exchange.post_flows(state);
        return;
    }
    for junction in &main.junctions {
        junction.gather(&mut state.bonds, when.clock.dt);
    }
    let (outer, inner) = main.q.split_at(border.q.min(main.q.len()));
    let meetings = main.junctions.split_at(border.junctions.min(main.junctions.len()));
    stepper.step([outer], state, &when.clock);
    for junction in meetings.0 {
        junction.scatter(&mut state.bonds);
    }
    if let Some(thermal) = &plan.thermal {
        thermal.pass(state);
    }
    exchange.post_flows(state);
    if !inner.is_empty() {
        stepper.step([inner], state, &when.clock);
    }
    for junction in meetings.1 {
        junction.scatter(&mut state.bonds);
    }
}

/// What runs at faster rates within a main step.
#[inline(never)]
fn sub_steps(
    plan: &Plan,
    state: &mut State<f64>,
    tally: &mut Tally,
    when: &When,
    stepper: &mut impl Stepper,
) {
    for rate in 1..plan.rates.len() {
        let fast = &plan.rates[rate];
        let n = fast.divisor;
        let dt = plan.step / f64::from(n);
        tally.border_flow[rate].fill(0.0);
        for sub in 0..n {
            let time = match when.frozen {
                true => plan.start,
                false => when.begin + f64::from(sub + 1) * dt,
            };
            let tick = (when.clock.tick - 1) * u64::from(n) + u64::from(sub) + 1;
            let clock = Clock { time, dt, tick };
            fast.publish(state);
            fast.signals_and_waves(state, &clock, stepper);
            fast.flows(state, &clock, stepper);
            for (sum, &bond) in tally.border_flow[rate].iter_mut().zip(&fast.borders) {
                *sum += state.bonds[bond as usize].flow;
            }
            tally.after(plan, rate, state, dt);
        }
        // The line of the main step gets what flowed in all sub-steps together: no oil is lost.
        for (sum, &bond) in tally.border_flow[rate].iter().zip(&fast.borders) {
            state.bonds[bond as usize].flow = sum / f64::from(n);
        }
    }
}

#[inline(always)]
fn close(
    plan: &Plan,
    state: &mut State<f64>,
    tally: &mut Tally,
    when: &When,
    exchange: &mut impl Exchange,
) {
    exchange.take_flows(state);
    tally.after(plan, 0, state, plan.step);
    if let Some(thermal) = &plan.thermal {
        thermal.mix(state, plan.step);
    }
    state.step += 1;
    if !when.frozen {
        state.time = when.end;
    }
}

/// What a group of components cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Any component of the group.
    pub component: u32,
    /// How many there are.
    pub members: usize,
    /// Time spent on them, s.
    pub seconds: f64,
}

/// Takes so many steps and tells what each group cost. Looking at the clock costs too, the same for
/// every group.
pub fn profile(plan: &Plan, state: &mut State<f64>, steps: u64) -> Vec<Cost> {
    let mut tally = Tally::new(plan, state, false);
    let mut costs: Vec<Cost> = Vec::new();
    let clock_takes = time_of_the_clock();
    for _ in 0..steps {
        let mut index = 0;
        let timed = |group: &dyn Group<f64>, state: &mut State<f64>, clock: &Clock| {
            let begin = std::time::Instant::now();
            group.step(state, clock);
            let seconds = begin.elapsed().as_secs_f64();
            match costs.get_mut(index) {
                Some(cost) => cost.seconds += seconds,
                None if !group.is_empty() => costs.push(Cost {
                    component: group.wiring(0).component(),
                    members: group.len(),
                    seconds,
                }),
                None => {}
            }
            index += 1;
        };
        let times = plan.times(state);
        step_between(plan, state, &mut tally, times, false, &mut EachGroup(timed));
    }
    for cost in &mut costs {
        cost.seconds = (cost.seconds - clock_takes * steps as f64).max(0.0);
    }
    costs
}

/// What it takes to look at the clock twice, s: more than many components.
fn time_of_the_clock() -> f64 {
    const TIMES: u32 = 10_000;
    let looked = (0..TIMES).map(|_| std::time::Instant::now().elapsed().as_secs_f64());
    looked.sum::<f64>() / f64::from(TIMES)
}

/// A component step at which something became infinite or not a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offence {
    /// Component index.
    pub component: u32,
    /// Time, s.
    pub time: f64,
}

/// Repeats a main step component by component and names the first whose numbers are not sound.
pub fn trace(
    plan: &Plan,
    state: &mut State<f64>,
    begin: f64,
    sound: &dyn Fn(&Plan, &State<f64>, u32) -> bool,
) -> Option<Offence> {
    let mut found = None;
    let one_by_one = |group: &dyn Group<f64>, state: &mut State<f64>, clock: &Clock| {
        for i in 0..group.len() {
            group.step_one(i, state, *clock);
            let component = group.wiring(i).component();
            if found.is_none() && !sound(plan, state, component) {
                found = Some(Offence { component, time: clock.time });
            }
        }
    };
    let mut tally = Tally::new(plan, state, false);
    let times = match plan.convention {
        Convention::Fluxline => (begin, begin + plan.step),
        Convention::Hopsan => plan.times(state),
    };
    step_between(plan, state, &mut tally, times, false, &mut EachGroup(one_by_one));
    found
}
