//! The wave pipe: the kernel of lines and hoses.
//!
//! A pipe with N ends is N equal arms that meet in a point. A wave takes τ = L/a from any end to any
//! other, and the arms hold the whole volume V:
//!
//! a = √(β_e/ρ),  Z = (N/2)·ρ·a/A = N·β_e·τ/(2·V)
//! w_i = c_i + 2·Z·q_i leaves end i,  c_i(t) = 2·w̄(t−τ) − w_i(t−τ) arrives
//!
//! With two ends this is the exact line without losses. A pipe with τ < T is a lumped store of one
//! step, Z = N·β_e·T/(2·V). Otherwise τ = (n + f)·T: n whole steps in a ring buffer and the fraction by
//! linear interpolation between two neighbours, which keeps the mean delay exactly τ, damps (never
//! amplifies) what changes from step to step, and conserves oil: with S the sum of the waves over
//! all ends, (T/2Z)·(S₋₁ + … + S₋ₙ + f·S₋ₙ₋₁) + T·Σq changes by T·Σq alone.
//!
//! Friction stands half at the end of each arm and half where the arms meet (¼, ½, ¼ of a pipe with
//! two ends): exact in steady state, and exact in the first order of damping for all modes of a
//! pipe that is closed at one end and for the fundamental of one that is open or closed at both.
//! Friction in the middle is solved with the arriving waves; that at the ends is part of the wave
//! and the impedance that the neighbours see.
//!
//! Column separation: an end whose pressure falls below the vapour pressure is held there from the
//! next step on, and the oil that parts from it leaves a cavity that must be filled before pressure
//! can rise again (discrete vapour cavity; Wylie and Streeter, Fluid Transients in Systems, 1993). Whether an end that a low wave reaches will part is for its neighbour to decide, so
//! it shows the pressure of unbroken oil for the one step in which it parts.
//!
//! In the lumped view a pipe with τ < T and a wall without delay is a store with steady friction at its
//! ends; its pressure may run below the vapour pressure p_v, which stands for a cavity of (p_v − p)·C,
//! and then it shows p_v inside. All other pipes keep their delay and advance in main steps.

use super::friction::{Bore, PipeFriction, PipeFrictionModel};
use fluxline_core::Constants;
use fluxline_core::component::{Environment, Law, Settle, Step};
use fluxline_core::fluid::Stiffness;
use fluxline_core::number::{Mask, Num};
use fluxline_core::wave::Store;
use fluxline_core::wide;

/// Index of the state `pressure` in every component that is a pipe.
pub const PRESSURE: usize = 0;
/// Index of the memory `cavity`.
pub const CAVITY: usize = 0;
/// Index of the memory `cavitated`.
pub const CAVITATED: usize = 1;

// History: pressure filter (one per end, lumped only), header, block per end, ring buffer.
const WALL_PRESSURE: usize = 0;
const PACKED: usize = 1;
const HEADER: usize = 2;
const LINE_WAVE: usize = 0;
const OLDER: usize = 1;
const END_CAVITY: usize = 2;
const BLOCK: usize = 3;

/// What distinguishes one pipe from another.
#[derive(Clone, Copy, Debug)]
pub struct PipeParameters {
    /// Length, bore and roughness.
    pub bore: Bore,
    /// Extra compliance of the wall, as 1/β_w, 1/Pa.
    pub wall_compliance: f64,
    /// Part of the wall's compliance that follows with a delay, as 1/β, 1/Pa.
    pub slow_compliance: f64,
    /// Time constant of the delayed part, s.
    pub relaxation_time: f64,
    /// Friction of the oil.
    pub friction: PipeFrictionModel,
    /// Pressure at the start, Pa.
    pub start_pressure: Option<f64>,
}

/// Constants of a pipe.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Pipe<T> {
    /// The lumped store; also holds C and the filter.
    store: Store<T>,
    stiffness: Stiffness<T>,
    wall_compliance: T,
    volume: T,
    start_pressure: T,
    vapour_pressure: T,
    /// Z of an arm.
    impedance: T,
    /// f.
    fraction: T,
    /// Friction of one resistance.
    friction: PipeFriction<T>,
    /// Conductance and compliance of the branch that stands for the slow part of the wall.
    wall_conductance: T,
    wall_capacitance: T,
    /// T/C.
    step_per_capacitance: T,
    /// n.
    steps: usize,
    ends: usize,
    /// Shorter than a step and without a slow wall.
    is_store: bool,
    /// Shorter than a step.
    is_short: bool,
    has_slow_wall: bool,
    dt: f64,
}

/// Arms of a pipe that are kept between the two passes over them.
const KEPT_ARMS: usize = 4;

impl Pipe<f64> {
    /// Without friction and without a wall that gives back late.
    pub fn is_lossless(&self) -> bool {
        self.friction.is_none() && !self.has_slow_wall
    }

    /// Prepares a pipe for its surroundings.
    pub fn new(p: &PipeParameters, environment: &Environment) -> Self {
        let (dt, ends, fluid) = (environment.step, environment.bonds, environment.fluid);
        let start_pressure = p.start_pressure.unwrap_or(environment.start_pressure);
        let stiffness = fluid.stiffness();
        let bulk_modulus = 1.0 / (1.0 / stiffness.at(start_pressure) + p.wall_compliance);
        let volume = p.bore.volume();
        let capacitance = volume / bulk_modulus;
        let delay = p.bore.length / (bulk_modulus / fluid.density).sqrt();
        // A delay of a whole number of steps must not become one less by rounding.
        let in_steps = delay / dt * (1.0 + 1e-12);
        let is_short = in_steps < 1.0;
        let has_slow_wall = p.slow_compliance > 0.0;
        let is_store = is_short && !has_slow_wall;
        // As many as can be counted; the plan refuses a history of that size.
        let whole = in_steps.min(1e15).floor() as usize;
        let (steps, delay) = if is_short { (1, dt) } else { (whole, delay) };
        let share = if is_store { 0.5 } else { 0.25 };
        let friction =
            PipeFriction::new(p.friction, &p.bore, share, fluid.density, fluid.viscosity, dt);
        let wall_capacitance = p.slow_compliance * volume;
        let wall_resistance =
            if has_slow_wall { p.relaxation_time / wall_capacitance } else { 1.0 };
        let half_step = if has_slow_wall { 0.5 * dt / wall_capacitance } else { 0.0 };
        Self {
            store: Store::new(capacitance, ends, environment),
            stiffness,
            wall_compliance: p.wall_compliance,
            volume,
            start_pressure,
            vapour_pressure: fluid.vapour_pressure,
            impedance: ends as f64 * delay / (2.0 * capacitance),
            fraction: (delay / dt - steps as f64).clamp(0.0, 1.0),
            friction,
            wall_conductance: if has_slow_wall { 1.0 / (wall_resistance + half_step) } else { 0.0 },
            wall_capacitance,
            step_per_capacitance: dt / (capacitance + wall_capacitance),
            steps,
            ends,
            is_store,
            is_short,
            has_slow_wall,
            dt,
        }
    }

    /// Numbers of history.
    pub fn history(&self) -> usize {
        self.store.history() + HEADER + self.ends * (self.block() + self.steps)
    }

    /// True when it keeps its delay, or a wall that gives back late, also in the lumped view.
    pub fn is_discrete(&self) -> bool {
        !self.is_store
    }

    /// The volume of a lumped store.
    pub fn volumes(&self) -> Vec<(usize, f64)> {
        if self.is_store { vec![(PRESSURE, self.volume)] } else { Vec::new() }
    }

    /// Renews the cavity of a lumped store.
    pub fn show(&self, settle: &mut Settle<'_>) {
        if !self.is_store {
            return;
        }
        let missing = (self.vapour_pressure - settle.state[PRESSURE]).max(0.0);
        let capacitance = self.store_at(self.vapour_pressure).capacitance;
        settle.memory[CAVITY] = missing * capacitance;
        settle.count(CAVITATED, missing > 0.0);
    }

    /// True when it is a lumped store.
    pub fn is_lumped(&self) -> bool {
        self.is_short
    }

    /// τ in steps: whole steps and the fraction; (1, 0) for a lumped pipe.
    pub fn delay(&self) -> (usize, f64) {
        (self.steps, self.fraction)
    }
}

impl<T: Num> Pipe<T> {
    #[inline(always)]
    fn header(&self) -> usize {
        if self.store.filters_pressure { self.ends } else { 0 }
    }
    /// Numbers per end: the same at any step.
    #[inline(always)]
    fn block(&self) -> usize {
        BLOCK + 2 * self.friction.size()
    }
    #[inline(always)]
    fn end(&self, i: usize) -> usize {
        self.header() + HEADER + i * self.block()
    }
    /// What the friction at an end remembers.
    #[inline(always)]
    fn end_friction(&self, i: usize) -> std::ops::Range<usize> {
        let first = self.end(i) + BLOCK;
        first..first + self.friction.size()
    }
    /// What the friction in the middle of the pipe remembers.
    #[inline(always)]
    fn arm_friction(&self, i: usize) -> std::ops::Range<usize> {
        let first = self.end(i) + BLOCK + self.friction.size();
        first..first + self.friction.size()
    }
    #[inline(always)]
    fn ring(&self) -> usize {
        self.end(self.ends)
    }
    /// Steps of delay that fit: a pipe whose step was made smaller during a run cannot have more of
    /// them than at the start.
    #[inline(always)]
    fn steps_that_fit(&self, io: &Step<'_, T>) -> usize {
        let room = io.history_len() - self.ring();
        // The division is for the rare case only.
        if self.steps * self.ends <= room { self.steps } else { (room / self.ends).max(1) }
    }

    /// The store at a pressure: the same where stiffness is constant.
    #[inline(always)]
    fn store_at(&self, pressure: T) -> Store<T> {
        if self.stiffness.is_constant() {
            return self.store;
        }
        let compliance = self.stiffness.at(pressure).recip() + self.wall_compliance;
        let ratio = self.volume * compliance / self.store.capacitance;
        Store {
            capacitance: self.store.capacitance * ratio,
            impedance: self.store.impedance / ratio,
            ..self.store
        }
    }

    /// All efforts, and the rate of the mean pressure, of the pipe without wave travel.
    pub fn law(&self, law: &mut Law<'_, T>) {
        let pressure = law.state[PRESSURE].max(self.vapour_pressure);
        let per_arm = if self.is_store { 1.0 } else { 2.0 };
        let mut inflow = T::zero();
        for i in 0..law.flow.len() {
            let q = law.flow[i];
            let resistance = self.friction.resistance(q, law.viscosity[i]) * per_arm;
            law.effort[i] = pressure + resistance * q;
            inflow += q;
        }
        let slow = self.wall_capacitance;
        law.rate[PRESSURE] = inflow / (self.store_at(pressure).capacitance + slow);
    }

    /// Everything at one pressure.
    pub fn start(&self, io: &mut Step<'_, T>) {
        let pressure = self.start_pressure;
        self.fill(io, pressure);
        let z = self.present_impedance(pressure);
        for i in 0..self.ends {
            let line_wave = self.end(i) + LINE_WAVE;
            let (drop, resistance) = self.end_drop(io, i);
            io.start_effort(i, pressure + drop, z + resistance);
            let inner = pressure - z * io.flow(i);
            io.history()[line_wave] = inner;
        }
        io.set_memory(CAVITY, T::zero());
        io.set_memory(CAVITATED, T::zero());
    }

    #[inline(always)]
    fn present_impedance(&self, pressure: T) -> T {
        if self.is_store { self.store_at(pressure).impedance } else { self.impedance }
    }

    /// Friction at an end in the coming step: Δp = wave + resistance·q.
    #[inline(always)]
    fn end_drop(&self, io: &mut Step<'_, T>, i: usize) -> (T, T) {
        let viscosity = io.viscosity(i);
        let memory = self.end_friction(i);
        self.friction.drop(&io.history()[memory], viscosity)
    }

    /// Fills all buffers with oil at rest.
    fn fill(&self, io: &mut Step<'_, T>, pressure: T) {
        let (header, ring) = (self.header(), self.ring());
        let history = io.history();
        history.fill(T::zero());
        history[..header].fill(pressure);
        history[header + WALL_PRESSURE] = pressure;
        history[header + PACKED] = self.store.capacitance * pressure;
        history[ring..].fill(pressure);
        for i in 0..self.ends {
            history[self.end(i) + LINE_WAVE] = pressure;
            history[self.end(i) + OLDER] = pressure;
        }
        io.set_state(PRESSURE, pressure);
    }

    /// One step: what entered with the last flows, and what arrives now.
    #[inline(always)]
    pub fn step(&self, io: &mut Step<'_, T>) {
        if self.is_store {
            if self.friction.is_none() && self.stiffness.is_constant() {
                self.store.scatter(io);
                self.store.cavitate(io, self.vapour_pressure, CAVITY, CAVITATED);
                let pressure = self.store.mean_wave(io);
                io.set_state(PRESSURE, pressure);
            } else {
                self.step_store(io);
            }
        } else {
            self.step_waves(io);
        }
    }

    /// The store with friction at its ends, or with a stiffness that varies.
    #[inline(always)]
    fn step_store(&self, io: &mut Step<'_, T>) {
        let (rubs, stiffens) = (!self.friction.is_none(), !self.stiffness.is_constant());
        let cavity = io.memory(CAVITY);
        let old = self.store_at(io.state(PRESSURE));
        for i in 0..self.ends {
            let (flow, viscosity, memory) = (io.flow(i), io.viscosity(i), self.end_friction(i));
            self.friction.settle(&mut io.history()[memory], flow, viscosity);
            let wave = io.history_at(self.end(i) + LINE_WAVE);
            io.set_wave(i, wave, old.impedance);
        }
        let before = self.level(io);
        old.scatter(io);
        // A cavity opens and closes with the stiffness of this step, so that no oil is lost.
        old.cavitate(io, self.vapour_pressure, CAVITY, CAVITATED);
        if stiffens {
            let gained = old.capacitance * (self.level(io) - before) - (io.memory(CAVITY) - cavity);
            let packed = self.header() + PACKED;
            io.history()[packed] += gained;
            let mean = old.mean_wave(io);
            let new = self.store_at(mean);
            let open = io.memory(CAVITY).gt(T::zero());
            let ratio = new.impedance / old.impedance;
            for i in 0..self.ends {
                let wave = mean + (io.wave(i) - mean) * ratio;
                let wave = T::select(open, io.wave(i), wave);
                io.set_wave(i, wave, T::select(open, T::zero(), new.impedance));
            }
        }
        let pressure = self.store.mean_wave(io);
        io.set_state(PRESSURE, pressure);
        for i in 0..self.ends {
            let (wave, impedance, line_wave) =
                (io.wave(i), io.impedance(i), self.end(i) + LINE_WAVE);
            io.history()[line_wave] = wave;
            if rubs {
                let (drop, resistance) = self.end_drop(io, i);
                io.set_wave(i, wave + drop, impedance + resistance);
            }
        }
    }

    /// What the store holds over its capacitance, with the waves of the line on the bonds.
    #[inline(always)]
    fn level(&self, io: &Step<'_, T>) -> T {
        let mean = self.store.mean_wave(io);
        if !self.store.filters_pressure {
            return mean;
        }
        let mut filtered = T::zero();
        for i in 0..self.ends {
            filtered += io.history_at(i);
        }
        let filtered = filtered * (1.0 / self.ends as f64);
        mean + (filtered - mean) * self.store.pressure_filter
    }

    /// The pipe with true delay.
    #[inline(always)]
    fn step_waves(&self, io: &mut Step<'_, T>) {
        let (z, vapour) = (self.impedance, self.vapour_pressure);
        let rubs = !self.friction.is_none();
        let (mut inflow, mut leaving) = (T::zero(), T::zero());
        for i in 0..self.ends {
            let end = self.end(i);
            let flow = io.flow(i);
            if rubs {
                let (viscosity, memory) = (io.viscosity(i), self.end_friction(i));
                self.friction.settle(&mut io.history()[memory], flow, viscosity);
            }
            let wave = io.history_at(end + LINE_WAVE);
            let open = io.history_at(end + END_CAVITY).gt(T::zero());
            let mut through = flow;
            if (open | (wave + z * flow).lt(vapour)).any() {
                through = self.part(io, i, wave, flow);
            }
            let wave = wave + z * through * 2.0;
            io.history()[end + LINE_WAVE] = wave;
            inflow += through;
            leaving += wave;
        }
        if rubs || self.has_slow_wall {
            self.meet(io);
        } else {
            let twice_mean = leaving * (2.0 / self.ends as f64);
            for i in 0..self.ends {
                let at = self.end(i) + LINE_WAVE;
                let scattered = twice_mean - io.history_at(at);
                io.history()[at] = scattered;
            }
        }
        let pressure = io.state(PRESSURE) + inflow * self.step_per_capacitance;
        io.set_state(PRESSURE, pressure);

        let (steps, tick) = (self.steps_that_fit(io), io.tick() as usize);
        let place = tick % steps;
        let before = if place == 0 { steps - 1 } else { place - 1 };
        let (written, arriving) =
            (self.ring() + before * self.ends, self.ring() + place * self.ends);
        let mut volume = T::zero();
        let mut parted = T::zero().lt(T::zero());
        for i in 0..self.ends {
            let end = self.end(i);
            let history = io.history();
            let older = history[written + i];
            history[written + i] = history[end + LINE_WAVE];
            let newer = history[arriving + i];
            let wave = newer + (older - newer) * self.fraction;
            history[end + OLDER] = older;
            history[end + LINE_WAVE] = wave;
            let cavity = history[end + END_CAVITY];
            let (mut seen, mut impedance) = (wave, z);
            let open = cavity.gt(T::zero());
            if open.any() {
                // p = max(p_v, c + Z·(q − V_c/T)): the last flow tells which of the two applies, so
                // that a cavity which is about to close meets the line and not a void.
                let closed = wave - z * cavity * (1.0 / self.dt);
                let held = open & (closed + z * io.flow(i)).lt(vapour);
                seen = T::select(held, vapour, closed);
                impedance = T::select(held, T::zero(), z);
            }
            if rubs {
                let (drop, resistance) = self.end_drop(io, i);
                seen += drop;
                impedance += resistance;
            }
            io.set_wave(i, seen, impedance);
            io.bond_mut(i).dry = z;
            volume += cavity;
            parted = parted | open;
        }
        io.set_memory(CAVITY, volume);
        if parted.any() {
            io.count(CAVITATED, parted);
        }
    }

    /// Column separation at an end: the flow into the line itself, while the difference to the flow
    /// at the port fills or empties the cavity.
    #[wide]
    #[cold]
    fn part(&self, io: &mut Step<'_, T>, i: usize, wave: T, flow: T) -> T {
        let (z, vapour) = (self.impedance, self.vapour_pressure);
        let at = self.end(i) + END_CAVITY;
        let cavity = io.history_at(at);
        let parting = cavity.gt(T::zero()) | (wave + z * flow).lt(vapour);
        let into_line = (vapour - wave) / z;
        let volume = cavity + (into_line - flow) * self.dt;
        let open = parting & volume.gt(T::zero());
        // The last of a cavity is filled before the line feels the flow.
        let closing = flow - cavity * (1.0 / self.dt);
        io.history()[at] = T::select(open, volume, T::zero());
        T::select(open, into_line, closing)
    }

    /// Where the arms meet: friction of each arm and the slow part of the wall.
    #[inline(always)]
    fn meet(&self, io: &mut Step<'_, T>) {
        let wall = self.header() + WALL_PRESSURE;
        let mut conductance = self.wall_conductance;
        let mut sum = self.wall_conductance * io.history_at(wall);
        // Most pipes have two or three ends: what was computed for those is kept.
        let mut arms = [(T::zero(), T::zero()); KEPT_ARMS];
        for i in 0..self.ends {
            let (wave, g) = self.arm(io, i);
            if let Some(kept) = arms.get_mut(i) {
                *kept = (wave, g);
            }
            conductance += g;
            sum += wave * g;
        }
        let pressure = sum / conductance;
        if self.has_slow_wall {
            let into_wall = self.wall_conductance * (pressure - io.history_at(wall));
            io.history()[wall] += into_wall * self.dt / self.wall_capacitance;
        }
        for i in 0..self.ends {
            let (wave, g) = match arms.get(i) {
                Some(kept) => *kept,
                None => self.arm(io, i),
            };
            let flow = (wave - pressure) * g;
            let (viscosity, memory) = (io.viscosity(i), self.arm_friction(i));
            self.friction.settle(&mut io.history()[memory], flow, viscosity);
            let line_wave = self.end(i) + LINE_WAVE;
            io.history()[line_wave] -= self.impedance * flow * 2.0;
        }
    }

    /// Wave that arrives in the middle behind the friction of an arm, and the conductance there.
    #[inline(always)]
    fn arm(&self, io: &mut Step<'_, T>, i: usize) -> (T, T) {
        let (viscosity, memory) = (io.viscosity(i), self.arm_friction(i));
        let (drop, resistance) = self.friction.drop(&io.history()[memory], viscosity);
        let wave = io.history_at(self.end(i) + LINE_WAVE) - drop;
        (wave, (self.impedance + resistance).recip())
    }

    /// A lumped pipe corrects its waves. Waves in flight do not fit another step: the oil is kept,
    /// the waves are spread evenly.
    pub fn change_step(old: &Self, new: &Self, io: &mut Step<'_, T>) {
        if old.dt == new.dt {
            return;
        }
        let plain = old.is_store && old.friction.is_none() && old.stiffness.is_constant();
        if plain && new.is_store {
            new.store.change_step(&old.store, io, Some(CAVITY));
            return;
        }
        let cavity = io.memory(CAVITY);
        let mut held = old.packed(io) + cavity;
        for i in 0..new.ends {
            held -= io.flow(i) * (0.5 * (old.dt + new.dt));
        }
        let capacitance = if new.is_store {
            new.store.capacitance
        } else {
            let steps = new.fraction + new.steps_that_fit(io) as f64;
            let per_pressure = new.dt * 0.5 * new.ends as f64;
            steps * per_pressure / new.impedance + new.wall_capacitance
        };
        let pressure = held / capacitance;
        new.fill(io, pressure);
        if new.ends > 0 && !new.is_store {
            let first = new.end(0) + END_CAVITY;
            io.history()[first] = cavity;
        }
        let z = new.present_impedance(pressure);
        for i in 0..new.ends {
            let (_, resistance) = new.end_drop(io, i);
            io.set_wave(i, pressure, z + resistance);
        }
    }

    /// Energy of compressed and moving oil, J.
    pub fn energy(&self, io: &Step<'_, T>) -> T {
        if self.is_store {
            return self.store.mean_effort(io).squared() * self.store.capacitance * 0.5;
        }
        let mut squares = T::zero();
        for i in 0..self.ends {
            squares += self.fraction * io.history_at(self.end(i) + OLDER).squared();
            for m in 0..self.steps_that_fit(io) {
                squares += io.history_at(self.ring() + m * self.ends + i).squared();
            }
        }
        let wall = io.history_at(self.header() + WALL_PRESSURE).squared() * self.wall_capacitance;
        squares * self.dt / (self.impedance * 4.0) + wall * 0.5
    }

    /// V — the pipe's own volume, m³.
    pub fn volume(&self) -> T {
        self.volume
    }

    /// Oil packed beyond the pipe's own volume, m³; changes by T·Σq in every step, to rounding.
    pub fn packed(&self, io: &Step<'_, T>) -> T {
        let cavity = io.memory(CAVITY);
        let mut flow = T::zero();
        for i in 0..self.ends {
            flow += io.flow(i);
        }
        if self.is_store {
            if !self.stiffness.is_constant() {
                return io.history_at(self.header() + PACKED) + flow * self.dt;
            }
            // The drop at the ends is part of the waves on the bonds but holds no oil.
            let mut drop = T::zero();
            if !self.friction.is_none() {
                for i in 0..self.ends {
                    drop += io.wave(i) - io.history_at(self.end(i) + LINE_WAVE);
                }
            }
            let unfiltered = T::one() - self.store.pressure_filter;
            let drop = drop * (1.0 / self.ends as f64) * unfiltered * self.store.capacitance;
            return self.store.content(io) - drop - cavity;
        }
        let mut waves = T::zero();
        for i in 0..self.ends {
            waves += self.fraction * io.history_at(self.end(i) + OLDER);
            for m in 0..self.steps_that_fit(io) {
                waves += io.history_at(self.ring() + m * self.ends + i);
            }
        }
        let wall = io.history_at(self.header() + WALL_PRESSURE) * self.wall_capacitance;
        waves * self.dt / (self.impedance * 2.0) + wall + flow * self.dt - cavity
    }
}
