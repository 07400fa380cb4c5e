//! Chambers that a piston moves through: what cylinders and pump pistons are made of.
//!
//! A chamber is a volume with two ports more than are connected to it: the piston and the leakage.
//! All its waves meet in one point, as in a volume with many ports.

use fluxline_core::component::Step;
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;

/// α — filter factor of the waves.
const FILTER: f64 = 0.1;
/// Share of the stiffness at which oil against a mass would become unstable.
const STIFFNESS_SHARE: f64 = 0.1;

/// Which waves are kept from becoming negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    /// None.
    Nowhere,
    /// Those of piston and leakage.
    Inside,
    /// Those at the ports too.
    Everywhere,
}

/// One chamber: where its bonds and its remembered waves are.
#[derive(Clone, Copy, Debug)]
pub struct Chamber {
    /// First of its bonds.
    pub first: usize,
    /// Number of its bonds.
    pub count: usize,
    /// Index of its first remembered wave: that at the piston, then that of the leakage.
    pub waves: usize,
    /// Which waves are kept from becoming negative.
    pub floor: Floor,
}

impl Chamber {
    /// Remembered values it needs.
    pub const MEMORY: usize = 2;

    fn bonds(self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }

    /// The remembered wave of the leakage.
    #[inline(always)]
    pub fn leakage_wave<T: Num>(self, io: &Step<'_, T>) -> T {
        io.memory(self.waves + 1)
    }

    /// Impedance at each of its ports as it was written last.
    #[inline(always)]
    pub fn impedance<T: Num>(self, io: &Step<'_, T>) -> T {
        io.impedance(self.first)
    }

    /// Z = (N + 2)/2·T/(1−α)·β/V of N ports, for β/V.
    #[inline(always)]
    pub fn impedance_of<T: Num>(self, stiffness: T, dt: f64) -> T {
        stiffness * ((self.count + 2) as f64 / 2.0 * dt / (1.0 - FILTER))
    }

    /// True where the pressure at a port is 0: there the chamber has run dry.
    #[wide]
    #[inline(always)]
    pub fn is_dry<T: Num>(self, io: &Step<'_, T>) -> T::Mask {
        let zero = T::zero();
        let is_zero = |i: usize| io.effort(i).le(zero) & io.effort(i).ge(zero);
        self.bonds().skip(1).fold(is_zero(self.first), |dry, i| dry | is_zero(i))
    }

    /// Starts with the pressure of its ports, which share one flow, the flow that the piston
    /// displaces, and the pressure that the leakage adds at its impedance.
    pub fn start<T: Num>(self, io: &mut Step<'_, T>, z: T, displaced: T, leakage_rise: T) {
        let pressure = io.effort(self.first);
        for i in self.bonds() {
            let bond = io.bond_mut(i);
            bond.flow = bond.flow / self.count as f64;
            bond.effort = pressure;
            bond.wave = pressure + z * bond.flow;
            bond.impedance = z;
        }
        io.set_memory(self.waves, pressure + z * displaced);
        io.set_memory(self.waves + 1, pressure + leakage_rise);
    }

    /// Waves after this step for the flow that the piston displaces and that which leaks in; gives
    /// the wave at the piston.
    #[wide]
    #[inline(always)]
    pub fn step<T: Num>(self, io: &mut Step<'_, T>, z: T, displaced: T, leaked: T) -> T {
        let (piston, leakage) = (io.memory(self.waves), io.memory(self.waves + 1));
        // What comes in at an end: c + 2·Z·q.
        let twice_z = z * 2.0;
        let incoming = |wave: T, flow: T| wave + twice_z * flow;
        let at_piston = incoming(piston, displaced);
        let at_leakage = incoming(leakage, leaked);
        let mut sum = at_piston + at_leakage;
        for i in self.bonds() {
            sum += incoming(io.wave(i), io.flow(i));
        }
        let twice_mean = sum * (2.0 / (self.count + 2) as f64);
        let next = |wave: T, incoming: T, floor: bool| {
            let wave = wave * FILTER + (twice_mean - incoming) * (1.0 - FILTER);
            if floor { wave.max(T::zero()) } else { wave }
        };
        for i in self.bonds() {
            let (wave, floor) = (io.wave(i), self.floor == Floor::Everywhere);
            io.set_wave(i, next(wave, incoming(wave, io.flow(i)), floor), z);
        }
        let inside = self.floor != Floor::Nowhere;
        let piston = next(piston, at_piston, inside);
        io.set_memory(self.waves, piston);
        io.set_memory(self.waves + 1, next(leakage, at_leakage, inside));
        piston
    }
}

/// A piston between N chambers: the first, third … push it out, the others in.
#[derive(Clone, Copy, Debug)]
pub struct Piston<T, const N: usize> {
    /// A — its areas.
    pub areas: [T; N],
    /// V₀ — volume of each chamber when it is smallest.
    pub dead_volumes: [T; N],
    /// s — stroke.
    pub stroke: T,
    /// B — viscous friction.
    pub friction: T,
    /// β — bulk modulus.
    pub bulk_modulus: T,
}

impl<T: Num, const N: usize> Piston<T, N> {
    #[inline(always)]
    fn signed(i: usize, x: T) -> T {
        if i.is_multiple_of(2) { x } else { -x }
    }

    /// Impedances of the chambers at a position, where 0 is in and −s is out.
    #[wide]
    #[inline(always)]
    pub fn impedances(&self, chambers: &[Chamber; N], x: T, mass: T, dt: f64) -> [T; N] {
        let volumes = self.volumes(x, mass, dt);
        std::array::from_fn(|i| chambers[i].impedance_of(self.bulk_modulus / volumes[i], dt))
    }

    /// Volumes of the chambers at a position, at least those that keep oil against the mass stable:
    /// V ≥ β·T²·A²/(0.1·m).
    #[wide]
    #[inline(always)]
    pub fn volumes(&self, x: T, mass: T, dt: f64) -> [T; N] {
        std::array::from_fn(|i| {
            let (area, beta) = (self.areas[i], self.bulk_modulus);
            let length = if i.is_multiple_of(2) { -x } else { self.stroke + x };
            let volume = self.dead_volumes[i] + area * length;
            let (stiff, heavy) = (beta * (dt * dt) * area * area, mass * STIFFNESS_SHARE);
            // Far above the smallest volume nobody waits for the division that gives it.
            let is_near = !(volume * heavy).gt(stiff * 1.000_001);
            // Of several variants one is often near, and all would wait for a call.
            let stable = || match T::IS_WIDE {
                true => at_least(volume, stiff, heavy),
                false => at_least_rarely(volume, stiff, heavy),
            };
            T::where_any(is_near, stable, || volume)
        })
    }

    /// Flows that the piston displaces into the chambers.
    #[wide]
    #[inline(always)]
    pub fn displaced(&self, speed: T) -> [T; N] {
        std::array::from_fn(|i| Self::signed(i, speed * self.areas[i]))
    }

    /// Force of the chambers' waves.
    #[wide]
    #[inline(always)]
    pub fn force(&self, waves: [T; N]) -> T {
        let force = |i: usize| Self::signed(i, self.areas[i] * waves[i]);
        (1..N).fold(force(0), |sum, i| sum + force(i))
    }

    /// Impedance of the chambers against the piston, with its friction.
    #[inline(always)]
    pub fn resistance(&self, impedances: [T; N]) -> T {
        let mut resistance = self.friction;
        for (&area, &z) in self.areas.iter().zip(&impedances) {
            resistance += area * area * z;
        }
        resistance
    }

    /// Wave and impedance of the end stops: as stiff as is stable, half of what was kept before.
    #[inline(always)]
    pub fn end_stop(&self, x: T, speed: T, mass: T, kept: T, dt: f64) -> (T, T) {
        let zero = T::zero();
        let (out, inside) = ((-x).gt(self.stroke), x.gt(zero));
        let hit = out | inside;
        if !hit.any() {
            return (zero, zero);
        }
        let beyond = T::select(out, x + self.stroke, x);
        let stiffness = mass * (STIFFNESS_SHARE / dt);
        let impedance = stiffness * 2.0;
        let wave = (kept + stiffness * beyond / dt + impedance * speed) * 0.5;
        (T::select(hit, wave, zero), T::select(hit, impedance, zero))
    }
}

/// The volume, or the smallest one that is stable.
#[inline(always)]
fn at_least<T: Num>(volume: T, stiff: T, heavy: T) -> T {
    let smallest = stiff / heavy;
    T::select(volume.lt(smallest), smallest, volume)
}

/// The same, kept out of the way of the usual case.
#[cold]
#[inline(never)]
fn at_least_rarely<T: Num>(volume: T, stiff: T, heavy: T) -> T {
    at_least(volume, stiff, heavy)
}

/// Equivalent mass at a port; one that is missing counts as 1 kg in the first step and stops the
/// run later.
#[inline(always)]
pub fn equivalent_mass<T: Num>(io: &mut Step<'_, T>, port: usize) -> T {
    let mass = io.dry(port);
    let missing = mass.le(T::zero());
    if missing.any() {
        let too_long = missing & T::of(io.time()).gt(T::of(1.5 * io.dt));
        if too_long.any() {
            io.request_stop(too_long);
        }
        return T::select(missing, T::one(), mass);
    }
    mass
}
