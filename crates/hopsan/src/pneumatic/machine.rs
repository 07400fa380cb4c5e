//! Machines between gas and a shaft.

use super::set_gas;
use crate::blocks::{
    End, Iterations, positive_slope, signed_root_inverse, solve, solve_in, weights,
};
use crate::hydraulic::piston_load::{Past, Shaft};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;
use std::f64::consts::TAU;

/// The types of this file.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<Machine>(), ComponentType::of::<TurboMachine>()];

/// Displacement machine for gas with the inertia of its shaft.
///
/// J·ω̇ = D·(p₁ − p₂) − M − B·ω, D = D_m/2π;  q_m2 = −q_m1 = ρ·(D·ω + C·(p₁ − p₂)) with the density
/// upstream, p₁/(R·(T₁ + 1 K)) forwards and p₂/(R·T₂) backwards;  energy flows c_p·q_m·T_u, less the
/// shaft power M·ω where the gas leaves
///
/// Angle and speed are two recursions of their own. Pressures are not below 0.
#[component("hopsan.PneumaticMachine", q, constants = Iterations)]
pub struct Machine {
    /// inlet
    #[port(name = "Pp1")]
    p1: Pneumatic,
    /// outlet
    #[port(name = "Pp2")]
    p2: Pneumatic,
    /// shaft
    #[port(name = "Pmr1")]
    shaft: Rotational,
    /// D_m — displacement per revolution, read at the start [m³]
    #[input(name = "Dm", default = "5e-5 m^3")]
    pub displacement: f64,
    /// C — leakage, read at the start [m³/(s*Pa)]
    #[input(name = "Cim", default = "0 m^3/(s*Pa)")]
    pub leakage: f64,
    /// B — viscous friction, read at the start [N*m*s]
    #[input(name = "Bm", default = "0 N*m*s")]
    pub friction: f64,
    /// J — inertia, read at the start [kg*m^2]
    #[input(name = "Jm", default = "0.1 kg*m^2")]
    pub inertia: f64,
    /// R — gas constant, read at the start [J/(kg*K)]
    #[input(name = "R", default = "287 J/(kg*K)")]
    pub gas_constant: f64,
    /// c_v — heat capacity at constant volume, read at the start [J/(kg*K)]
    #[input(name = "cv", default = "718 J/(kg*K)")]
    pub heat_capacity: f64,
    /// – — Newton iterations per step as Hopsan does them; 0 solves to convergence [–]
    #[parameter(default = 0)]
    pub iterations: usize,
    /// D — displacement per radian [m³]
    #[memory]
    kept_displacement: Memory,
    /// C — leakage [m³/(s*Pa)]
    #[memory]
    kept_leakage: Memory,
    /// B — viscous friction [N*m*s]
    #[memory]
    kept_friction: Memory,
    /// J — inertia [kg*m^2]
    #[memory]
    kept_inertia: Memory,
    /// R — gas constant [J/(kg*K)]
    #[memory]
    kept_gas: Memory,
    /// c_p — heat capacity at constant pressure [J/(kg*K)]
    #[memory]
    kept_capacity: Memory,
    /// – — part of the angle that the last step decides, negated [rad]
    #[memory]
    delayed_1: Memory,
    /// – — part of the angle that the step before it decides, negated [rad]
    #[memory]
    delayed_2: Memory,
    /// – — what `delayed_2` becomes after the next step [rad]
    #[memory]
    waiting: Memory,
    /// – — part of the speed that the last step decides, negated [rad/s]
    #[memory]
    delayed_speed: Memory,
}

impl Machine {
    fn rotor<T: Num>(io: &Step<'_, T>) -> Shaft<T> {
        Shaft {
            past: Past(Self::DELAYED_1),
            inertia: io.memory(Self::KEPT_INERTIA),
            friction: io.memory(Self::KEPT_FRICTION),
        }
    }
}

impl Physics for Machine {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Iterations<f64>, Refusal> {
        Ok(Iterations::new(self.iterations))
    }

    fn start<T: Num>(_: &Iterations<T>, io: &mut Step<'_, T>) {
        let d = io.input(Self::DISPLACEMENT) / TAU;
        let capacity = io.input(Self::HEAT_CAPACITY) + io.input(Self::GAS_CONSTANT);
        for (kept, value) in [
            (Self::KEPT_DISPLACEMENT, d),
            (Self::KEPT_LEAKAGE, io.input(Self::LEAKAGE)),
            (Self::KEPT_FRICTION, io.input(Self::FRICTION)),
            (Self::KEPT_INERTIA, io.input(Self::INERTIA)),
            (Self::KEPT_GAS, io.input(Self::GAS_CONSTANT)),
            (Self::KEPT_CAPACITY, capacity),
        ] {
            io.set_memory(kept, value);
        }
        let moment = io.effort(Self::SHAFT) - d * (io.effort(Self::P1) - io.effort(Self::P2));
        let (angle, speed) = (io.displacement(Self::SHAFT), io.flow(Self::SHAFT));
        Self::rotor(io).start(io, moment, angle, speed);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Iterations<T>, io: &mut Step<'_, T>) {
        let drive = Drive::at(io);
        let now = if k.count == 0 { drive.solve(io) } else { drive.iterate(io, k.count) };
        let (p, w) = (now.pressures, now.speed);
        set_gas(io, Self::P1, now.energies[0], -now.mass, p[0]);
        set_gas(io, Self::P2, now.energies[1], now.mass, p[1]);
        let torque = drive.shaft.effort(w);
        let angle = Self::rotor(io).finish(io, torque - drive.displacement * (p[0] - p[1]), w);
        io.set_motion(Self::SHAFT, w, angle, torque);
    }
}

/// The displacement machine's numbers in a step.
struct Drive<T> {
    ends: [End<T>; 2],
    shaft: End<T>,
    temperatures: [T; 2],
    displacement: T,
    leakage: T,
    capacity: T,
    /// Density per pressure upstream, forwards and backwards.
    densities: [T; 2],
    /// Speed without and per pressure difference.
    speed: [T; 2],
}

/// What a step of the displacement machine gives.
#[derive(Clone, Copy)]
struct Driven<T> {
    speed: T,
    /// Mass flow into the second port.
    mass: T,
    /// Energy flows into both ports.
    energies: [T; 2],
    pressures: [T; 2],
}

impl<T: Num> Drive<T> {
    fn at(io: &Step<'_, T>) -> Self {
        type K = Machine;
        let (t1, t2) = (io.dry(K::P1), io.dry(K::P2));
        let (d, gas) = (io.memory(K::KEPT_DISPLACEMENT), io.memory(K::KEPT_GAS));
        let shaft = End::at(io, K::SHAFT);
        // ω = given − gain·(c₃ + Z₃·ω − D·Δp), solved for ω.
        let (given, gain) = K::rotor(io).speed(io);
        let share = (T::one() + gain * shaft.impedance).recip();
        Self {
            ends: [End::at(io, K::P1), End::at(io, K::P2)],
            shaft,
            temperatures: [t1, t2],
            displacement: d,
            leakage: io.memory(K::KEPT_LEAKAGE),
            capacity: io.memory(K::KEPT_CAPACITY),
            densities: [((t1 + 1.0) * gas).recip(), (t2 * gas).recip()],
            speed: [(given - gain * shaft.wave) * share, gain * d * share],
        }
    }

    /// Speed and volume flow for pressures.
    #[inline(always)]
    fn moved(&self, p: &[Dual<T>; 2]) -> (Dual<T>, Dual<T>) {
        let (c, drop) = (Dual::constant, p[0] - p[1]);
        let w = c(self.speed[0]) + c(self.speed[1]) * drop;
        (w, c(self.displacement) * w + c(self.leakage) * drop)
    }

    #[wide]
    fn solve(&self, io: &mut Step<'_, T>) -> Driven<T> {
        let (c, zero) = (Dual::constant, Dual::<T>::zero());
        // Mass flow and energy flows.
        let flows = |p: &[Dual<T>; 2]| {
            let (w, volume) = self.moved(p);
            let forwards = volume.gt(zero);
            let [first, second] = self.densities;
            let density = Dual::select(forwards, c(first) * p[0], c(second) * p[1]);
            let q = density * volume;
            let [t1, t2] = self.temperatures;
            let heat = c(self.capacity) * q * Dual::select(forwards, c(t1), c(t2));
            let power = (c(self.shaft.wave) + c(self.shaft.impedance) * w) * w;
            let backwards = volume.lt(zero);
            let out1 = -heat - Dual::select(backwards, power, zero);
            let out2 = heat - Dual::select(forwards, power, zero);
            (q, [out1, out2])
        };
        let pressure = |i: usize, energy: Dual<T>| {
            (c(self.ends[i].wave) + c(self.ends[i].impedance) * energy).max(zero)
        };
        let guess = [io.effort(Machine::P1), io.effort(Machine::P2)];
        let p = solve(io, guess, [1e3; 2], |p| {
            let (_, energy) = flows(p);
            [p[0] - pressure(0, energy[0]), p[1] - pressure(1, energy[1])]
        });
        let known = p.map(c);
        let (q, energy) = flows(&known);
        Driven {
            speed: self.moved(&known).0.value,
            mass: q.value,
            energies: energy.map(|energy| energy.value),
            pressures: p,
        }
    }

    /// Hopsan's iterations: speed, torque, flows and pressures are unknowns of their own, and the
    /// mass flow of the iteration before says which side is upstream.
    #[wide]
    fn iterate(&self, io: &mut Step<'_, T>, iterations: usize) -> Driven<T> {
        type K = Machine;
        let (c, zero) = (Dual::constant, T::zero());
        let mut torque = io.effort(K::SHAFT);
        let mut now = Driven {
            speed: io.flow(K::SHAFT),
            mass: io.displacement(K::P2),
            energies: [io.flow(K::P1), io.flow(K::P2)],
            pressures: [io.effort(K::P1), io.effort(K::P2)],
        };
        for weight in weights(iterations) {
            let Driven { speed, mass, energies, pressures: p } = now;
            let (forwards, backwards) = (mass.gt(zero), mass.lt(zero));
            let of_upstream = |[first, second]: [T; 2]| T::select(forwards, first, second);
            let (density, upstream) = (of_upstream(self.densities), of_upstream(p));
            let volume = self.displacement * speed + self.leakage * (p[0] - p[1]);
            // Energy per mass; without flow, each side has its own.
            let [h1, h2] = self.temperatures.map(|t| self.capacity * t);
            let heats = [T::select(backwards, h2, h1), T::select(forwards, h1, h2)];
            // Everything as a straight line through what is now, over the new pressures.
            let straight = |new: &[Dual<T>; 2]| {
                let (w, moved) = self.moved(new);
                let pressing = Dual::select(forwards, new[0], new[1]);
                let q = c(density) * (c(upstream) * moved + c(volume) * (pressing - c(upstream)));
                let moment = c(self.shaft.wave) + c(self.shaft.impedance) * w;
                let power = c(torque) * w + c(speed) * (moment - c(torque));
                let out1 = -(c(heats[0]) * q) - Dual::select(backwards, power, Dual::zero());
                let out2 = c(heats[1]) * q - Dual::select(forwards, power, Dual::zero());
                (q, [out1, out2])
            };
            // p = line + give·(Ė − Ė of now), which bends at 0.
            let lines = [0, 1].map(|i| self.ends[i].effort(energies[i]));
            let gives = [0, 1].map(|i| self.ends[i].impedance * positive_slope(lines[i]));
            let pressures = solve_in(io, 1, p, [1e3; 2], |new| {
                let (_, out) = straight(new);
                [0, 1].map(|i| {
                    let line = c(lines[i].max(zero));
                    new[i] - line - c(gives[i]) * (out[i] - c(energies[i]))
                })
            });
            let known = pressures.map(c);
            let (q, energies) = straight(&known);
            let next = Driven {
                speed: self.moved(&known).0.value,
                mass: q.value,
                energies: energies.map(|energy| energy.value),
                pressures,
            };
            now = now.towards(next, weight);
            torque = self.shaft.effort(now.speed);
        }
        now
    }
}

impl<T: Num> Driven<T> {
    /// Part of the way from here to there.
    #[wide]
    fn towards(self, there: Self, weight: f64) -> Self {
        let between = |here: T, there: T| here + (there - here) * weight;
        let both = |here: [T; 2], there: [T; 2]| [0, 1].map(|i| between(here[i], there[i]));
        Self {
            speed: between(self.speed, there.speed),
            mass: between(self.mass, there.mass),
            energies: both(self.energies, there.energies),
            pressures: both(self.pressures, there.pressures),
        }
    }
}

/// Turbo machine for gas with the inertia of its shaft.
///
/// q_m = A₂·ρ·s(2·(Δp + h)/(k_l·ρ₂)), Δp = p₁ − p₂, with the density ρ upstream, the smooth root
/// s(x) = x/(10⁶ m⁴/s⁴ + x²)^¼ and the head h = ρ·|ω|·(−d²/4·ω − q_m·cot β₂·ρ/(2π·b·ρ₂));
/// J·ω̇ = −M − B·ω − (q_m − K·ρ·Δp)·(k_l/2·ρ₁·q_m·|q_m|/(ρ₂·A₂)² − Δp)/(|ω| + 0.001 rad/s);
/// ρ_i = p_i/(R·(T_i + 1 K));  energy flows c_p·q_m·T_u, less q_m·Δp where the gas leaves
///
/// The angle of the shaft is not computed. Pressures are not below 0.
#[component("hopsan.PneumaticTurboMachineJ", q)]
pub struct TurboMachine {
    /// inlet
    #[port(name = "Pp1")]
    p1: Pneumatic,
    /// outlet
    #[port(name = "Pp2")]
    p2: Pneumatic,
    /// shaft
    #[port(name = "Pmr1")]
    shaft: Rotational,
    /// q₂ — volume flow at the outlet [m³/s]
    #[output(name = "q2")]
    volume_flow: Signal,
    /// k_l — loss coefficient, read at the start [–]
    #[input(name = "kl", default = 1)]
    pub loss: f64,
    /// b — width of the wheel, read at the start [m]
    #[input(name = "b", default = "0.02 m")]
    pub width: f64,
    /// d — diameter of the wheel, read at the start [m]
    #[input(name = "d", default = "0.26 m")]
    pub diameter: f64,
    /// β₂ — angle of the blades at the outlet, read at the start [rad]
    #[input(name = "beta2", default = "1.59 rad")]
    pub blade_angle: f64,
    /// A₁ — area of the inlet, without effect [m²]
    #[input(name = "A1", default = "4e-4 m^2")]
    pub inlet_area: f64,
    /// A₂ — area of the outlet, read at the start [m²]
    #[input(name = "A2", default = "4e-4 m^2")]
    pub outlet_area: f64,
    /// – — density, without effect [kg/m³]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// K — leakage, read at the start [m³/(s*Pa)]
    #[input(name = "Kcp", default = "1e-9 m^3/(s*Pa)")]
    pub leakage: f64,
    /// B — viscous friction, read at the start [N*m*s]
    #[input(name = "Bm", default = "1 N*m*s")]
    pub friction: f64,
    /// J — inertia, read at the start [kg*m^2]
    #[input(name = "Jm", default = "0.1 kg*m^2")]
    pub inertia: f64,
    /// R — gas constant, read at the start [J/(kg*K)]
    #[input(name = "R", default = "287 J/(kg*K)")]
    pub gas_constant: f64,
    /// c_v — heat capacity at constant volume, read at the start [J/(kg*K)]
    #[input(name = "cv", default = "718 J/(kg*K)")]
    pub heat_capacity: f64,
    /// k_l — loss coefficient [–]
    #[memory]
    kept_loss: Memory,
    /// – — head of the rim, d²/4 [m²]
    #[memory]
    kept_rim: Memory,
    /// – — slip of the blades, cot β₂/(2π·b) [1/m]
    #[memory]
    kept_slip: Memory,
    /// A₂ — area of the outlet [m²]
    #[memory]
    kept_area: Memory,
    /// K — leakage [m³/(s*Pa)]
    #[memory]
    kept_leakage: Memory,
    /// B — viscous friction [N*m*s]
    #[memory]
    kept_friction: Memory,
    /// J — inertia [kg*m^2]
    #[memory]
    kept_inertia: Memory,
    /// R — gas constant [J/(kg*K)]
    #[memory]
    kept_gas: Memory,
    /// c_p — heat capacity at constant pressure [J/(kg*K)]
    #[memory]
    kept_capacity: Memory,
    /// – — part of the speed that the last step decides, negated [rad/s]
    #[memory]
    delayed_speed: Memory,
}

/// Square of speed at which the flow of the turbo machine turns turbulent, m²/s².
const LAMINAR: f64 = 1000.0;

/// The turbo machine's numbers in a step.
struct Wheel<T> {
    loss: T,
    rim: T,
    slip: T,
    area: T,
    leakage: T,
    /// Density per pressure at both ports.
    densities: [T; 2],
}

impl<T: Num> Wheel<T> {
    #[wide]
    fn at(io: &Step<'_, T>) -> Self {
        type Turbo = TurboMachine;
        let m = |i| io.memory(i);
        Self {
            loss: m(Turbo::KEPT_LOSS),
            rim: m(Turbo::KEPT_RIM),
            slip: m(Turbo::KEPT_SLIP),
            area: m(Turbo::KEPT_AREA),
            leakage: m(Turbo::KEPT_LEAKAGE),
            densities: [Turbo::P1, Turbo::P2]
                .map(|port| ((io.dry(port) + 1.0) * m(Turbo::KEPT_GAS)).recip()),
        }
    }

    /// Densities at both ports.
    #[wide]
    #[inline(always)]
    fn densities(&self, p: [Dual<T>; 2]) -> [Dual<T>; 2] {
        std::array::from_fn(|i| Dual::constant(self.densities[i]) * p[i])
    }

    /// Moment of the gas against the shaft, for a mass flow and the density upstream.
    #[inline(always)]
    fn moment(&self, q: Dual<T>, upstream: Dual<T>, w: Dual<T>, p: [Dual<T>; 2]) -> Dual<T> {
        let (c, drop) = (Dual::constant, p[0] - p[1]);
        let density = self.densities(p);
        let outlet = q / (density[1] * c(self.area));
        let loss = c(self.loss * 0.5) * density[0] * outlet * outlet.abs();
        (q - c(self.leakage) * upstream * drop) * (loss - drop) / (w.abs() + 0.001)
    }

    /// Pressure that the wheel adds to the drop.
    #[inline(always)]
    fn head(&self, q: Dual<T>, upstream: Dual<T>, w: Dual<T>, outlet: Dual<T>) -> Dual<T> {
        let c = Dual::constant;
        -(upstream * w.abs() * (c(self.rim) * w + q * c(self.slip) * upstream / outlet))
    }
}

impl TurboMachine {
    fn remember<T: Num>(io: &mut Step<'_, T>, moment: T, w: T) {
        let (j, b) = (io.memory(Self::KEPT_INERTIA), io.memory(Self::KEPT_FRICTION) * io.dt);
        io.set_memory(Self::DELAYED_SPEED, (moment * io.dt - (j * 2.0 - b) * w) / (j * 2.0 + b));
    }
}

impl Physics for TurboMachine {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[wide]
    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let u = |i| io.input(i);
        let angle = u(Self::BLADE_ANGLE);
        for (kept, value) in [
            (Self::KEPT_LOSS, u(Self::LOSS)),
            (Self::KEPT_RIM, u(Self::DIAMETER).squared() * 0.25),
            (Self::KEPT_SLIP, angle.cos() / (angle.sin() * u(Self::WIDTH) * TAU)),
            (Self::KEPT_AREA, u(Self::OUTLET_AREA)),
            (Self::KEPT_LEAKAGE, u(Self::LEAKAGE)),
            (Self::KEPT_FRICTION, u(Self::FRICTION)),
            (Self::KEPT_INERTIA, u(Self::INERTIA)),
            (Self::KEPT_GAS, u(Self::GAS_CONSTANT)),
            (Self::KEPT_CAPACITY, u(Self::HEAT_CAPACITY) + u(Self::GAS_CONSTANT)),
        ] {
            io.set_memory(kept, value);
        }
        let (wheel, c) = (Wheel::at(io), Dual::constant);
        let p = [c(io.effort(Self::P1)), c(io.effort(Self::P2))];
        let (q, w) = (c(io.displacement(Self::P2)), c(io.flow(Self::SHAFT)));
        let density = wheel.densities(p);
        let upstream = Dual::select(q.gt(Dual::zero()), density[0], density[1]);
        let moment = wheel.moment(q, upstream, w, p).value + io.effort(Self::SHAFT);
        Self::remember(io, moment, w.value);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (c, zero) = (Dual::constant, Dual::<T>::zero());
        let wheel = Wheel::at(io);
        let ends = [End::at(io, Self::P1), End::at(io, Self::P2)];
        let shaft = End::at(io, Self::SHAFT);
        let temperatures = [io.dry(Self::P1), io.dry(Self::P2)];
        let capacity = io.memory(Self::KEPT_CAPACITY);
        let (j, b) = (io.memory(Self::KEPT_INERTIA), io.memory(Self::KEPT_FRICTION));
        let gain = (j * 2.0 + b * io.dt).recip() * io.dt;
        let delayed = io.memory(Self::DELAYED_SPEED);
        // Mass flow and density upstream, for the speed y = q_m/(A₂·ρ).
        let flow = |y: Dual<T>, p: [Dual<T>; 2]| {
            let density = wheel.densities(p);
            let upstream = Dual::select(y.gt(zero), density[0], density[1]);
            (c(wheel.area) * upstream * y, upstream)
        };
        let energies = |q: Dual<T>, p: [Dual<T>; 2]| {
            let drop = p[0] - p[1];
            let [h1, h2] = temperatures.map(|t| c(capacity * t));
            [
                -(q * Dual::select(q.ge(zero), h1, h2 + drop)),
                q * Dual::select(q.le(zero), h2, h1 - drop),
            ]
        };
        let pressure =
            |i: usize, energy: Dual<T>| (c(ends[i].wave) + c(ends[i].impedance) * energy).max(zero);
        let moment = |q: Dual<T>, upstream: Dual<T>, w: Dual<T>, p: [Dual<T>; 2]| {
            c(shaft.wave) + c(shaft.impedance) * w + wheel.moment(q, upstream, w, p)
        };
        let old = [io.effort(Self::P1), io.effort(Self::P2)];
        let q = io.displacement(Self::P2);
        let upstream = T::select(q.gt(T::zero()), old[0], old[1])
            * T::select(q.gt(T::zero()), wheel.densities[0], wheel.densities[1]);
        let guess = [q / (wheel.area * upstream), io.flow(Self::SHAFT), old[0], old[1]];
        let [y, w, p1, p2] = solve(io, guess, [1.0, 1.0, 1e3, 1e3], |&[y, w, p1, p2]| {
            let p = [p1, p2];
            let (q, upstream) = flow(y, p);
            let outlet = c(wheel.densities[1]) * p2;
            let needed = signed_root_inverse(y, c(T::of(LAMINAR))) * c(wheel.loss * 0.5) * outlet;
            let energy = energies(q, p);
            [
                needed - (p1 - p2) - wheel.head(q, upstream, w, outlet),
                w + c(delayed) + c(gain) * moment(q, upstream, w, p),
                p1 - pressure(0, energy[0]),
                p2 - pressure(1, energy[1]),
            ]
        });
        let p = [c(p1), c(p2)];
        let (q, upstream) = flow(c(y), p);
        let energy = energies(q, p);
        let moment = moment(q, upstream, c(w), p).value;
        let q = q.value;
        set_gas(io, Self::P1, energy[0].value, -q, p1);
        set_gas(io, Self::P2, energy[1].value, q, p2);
        Self::remember(io, moment, w);
        let angle = io.displacement(Self::SHAFT);
        io.set_motion(Self::SHAFT, w, angle, shaft.effort(w));
        io.set_output(Self::VOLUME_FLOW, q / (wheel.densities[1] * p2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_iterations_lead_to_the_solution, assert_near, bench};
    use fluxline_core::testing::Bench;

    const DT: f64 = 1e-4;

    fn driven<M: Physics>(set: &[(usize, f64)], waves: [f64; 2], speed: f64) -> Bench<M> {
        let mut machine = bench::<M>(DT, set);
        for port in 0..2 {
            machine.line(port, waves[port], 0.2).impose_flow(port, 0.0);
            machine.state.bonds[port].dry = [350.0, 300.0][port];
        }
        machine.line(2, 1.0, 0.5);
        machine.state.bonds[2].flow = speed;
        machine.start();
        machine.step();
        assert_eq!(machine.state.faults.unconverged, 0);
        machine
    }

    #[test]
    fn iterations_lead_to_the_flows_of_energy() {
        assert_iterations_lead_to_the_solution::<Machine>(DT, |machine| {
            for (port, wave) in [(0, 6e5), (1, 1e5)] {
                machine.line(port, wave, 20.0).impose_flow(port, 0.0);
                machine.state.bonds[port].dry = 300.0;
            }
            machine.line(2, 1.0, 0.5);
            (machine.state.bonds[2].flow, machine.state.bonds[1].displacement) = (100.0, 1e-3);
            machine.start();
        });
    }

    #[test]
    fn a_machine_turns_energy_of_the_gas_into_power_of_the_shaft() {
        for (waves, speed) in [([6e5, 1e5], 100.0), ([1e5, 4e5], -100.0)] {
            let machine = driven::<Machine>(&[(Machine::LEAKAGE, 1e-9)], waves, speed);
            let bonds = &machine.state.bonds;
            let (w, moment) = (bonds[2].flow, bonds[2].effort);
            assert_near(moment, 1.0 + 0.5 * w, 1e-12);
            assert_near(bonds[0].flow + bonds[1].flow, -moment * w, 1e-6);
            let drop = machine.effort(0) - machine.effort(1);
            let volume = 5e-5 / TAU * w + 1e-9 * drop;
            let density = if speed > 0.0 {
                machine.effort(0) / (287.0 * 351.0)
            } else {
                machine.effort(1) / (287.0 * 300.0)
            };
            assert_near(bonds[1].displacement, density * volume, 1e-9);
            assert_near(bonds[0].displacement, -bonds[1].displacement, 1e-12);
            for port in 0..2 {
                assert_near(bonds[port].effort, waves[port] + 0.2 * bonds[port].flow, 1e-9);
            }
            // The mean torque of both ends of the step.
            let start = 5e-5 / TAU * (waves[0] - waves[1]) - 0.0;
            let torque = 5e-5 / TAU * drop - moment;
            assert_near(w - speed, DT / 0.1 * (start + torque) / 2.0, 1e-8);
        }
    }

    #[test]
    fn a_turbo_machine_meets_its_head_and_its_power() {
        let machine = driven::<TurboMachine>(&[], [2e5, 1.5e5], -500.0);
        let bonds = &machine.state.bonds;
        let (p, w) = ([machine.effort(0), machine.effort(1)], bonds[2].flow);
        let q = bonds[1].displacement;
        assert!(q > 0.0);
        let density = [p[0] / (287.0 * 351.0), p[1] / (287.0 * 301.0)];
        let slip = q / 1.59f64.tan() * density[0] / (TAU * 0.02 * density[1]);
        let head = density[0] * w.abs() * (0.26 * 0.26 / 4.0 * w.abs() - slip);
        let x = 2.0 * (p[0] - p[1] + head) / density[1];
        assert_near(q, 4e-4 * density[0] * x / (1e6 + x * x).powf(0.25), 1e-8);
        assert_near(machine.output(TurboMachine::VOLUME_FLOW), q / density[1], 1e-12);
        let drop = p[0] - p[1];
        assert_near(bonds[0].flow, -1005.0 * q * 350.0, 1e-9);
        assert_near(bonds[1].flow, q * (1005.0 * 350.0 - drop), 1e-9);
        let loss = 0.5 * density[0] * (q / (density[1] * 4e-4)).powi(2);
        let gas = |q: f64, density: f64, drop: f64, loss: f64, w: f64| {
            (q - 1e-9 * density * drop) * (loss - drop) / (w.abs() + 0.001)
        };
        let now = gas(q, density[0], drop, loss, w) + bonds[2].effort + w;
        let start = gas(0.0, 1.5e5 / (287.0 * 301.0), 5e4, 0.0, -500.0) - 500.0;
        assert_near(w + 500.0, -DT / 0.1 * (now + start) / 2.0, 1e-7);
    }
}
