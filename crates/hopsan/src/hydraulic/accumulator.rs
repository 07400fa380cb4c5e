//! Accumulators: gas that oil compresses.

use crate::blocks::{
    End, Iterations, limit, limit_slope, on_positive, positive_slope, solve, weights,
};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Mask, Num};
use fluxline_core::wide;

/// The types of this file.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<Accumulator>(), ComponentType::of::<PistonAccumulator>()];

/// Gas accumulator with a loss at its inlet.
///
/// x' = v = K_ca·(p₁ − p_a)/V₀,  0 ≤ x ≤ 1;  q₁ = −V₀·v;  p_a = p₀/clip(1 − x, 0.1, 1)^κ;
/// V_a = V₀·(1 − x);  p₁ ≥ 0
///
/// By the trapezoidal rule. At a limit v is 10⁻⁹ of what drives it, which the rule goes on adding
/// up. The start value of x is the charge; that of p_a is taken as it is given.
#[component("hopsan.HydraulicAckumulator", q, constants = Iterations)]
pub struct Accumulator {
    /// oil side
    #[port(name = "P1")]
    p1: Hydraulic,
    /// V₀ — volume of the gas when empty of oil [m^3]
    #[input(name = "V0", default = "1e-3 m^3")]
    pub gas_volume: f64,
    /// K_ca — flow per pressure difference at the inlet [m^3/(s*Pa)]
    #[input(name = "Kca", default = "1e-8 m^3/(s*Pa)")]
    pub inlet: f64,
    /// κ — polytropic exponent of the gas [–]
    #[input(name = "kappa", default = 1.2)]
    pub exponent: f64,
    /// p₀ — pressure of the gas when empty of oil [Pa]
    #[input(name = "p0", default = "1e7 Pa")]
    pub precharge: f64,
    /// – — Newton iterations per step as Hopsan does them; 0 solves to convergence [–]
    #[parameter(default = 0)]
    pub iterations: usize,
    /// V_a — volume of the gas [m^3]
    #[output(name = "Va", start = "0.001 m^3")]
    volume: Output,
    /// p_a — pressure of the gas [Pa]
    #[output(name = "pa", start = "1e7 Pa")]
    pressure: Output,
    /// x — charge: share of the volume that is oil [–]
    #[output(name = "xmp")]
    charge: Output,
    /// v — rate of the charge [1/s]
    #[output(name = "vmp")]
    rate: Output,
    /// – — what the rule carries over from the last step [–]
    #[memory]
    carried: Memory,
}

/// Accumulator with a piston that has mass and friction.
///
/// M·x'' = A·(p₁ − p_a) − B·x',  0 ≤ x ≤ L;  q₁ = −A·x';  p_a = p₀·(L/clip(L − x, L/1000, L))^κ;
/// V_a = A·(L − x);  p₁ ≥ 0
///
/// By the bilinear rule, for position and speed apart. At a stop the speed is 10⁻⁹ of its own rule.
#[component("hopsan.HydraulicPistonAckumulator", q, constants = Iterations)]
pub struct PistonAccumulator {
    /// oil side
    #[port(name = "P1")]
    p1: Hydraulic,
    /// A — area of the piston [m^2]
    #[input(name = "Ap", default = "1e-3 m^2")]
    pub area: f64,
    /// L — stroke [m]
    #[input(name = "SL", default = "0.5 m")]
    pub stroke: f64,
    /// B — viscous friction [N*s/m]
    #[input(name = "Bp", default = "10 N*s/m")]
    pub friction: f64,
    /// M — mass of the piston [kg]
    #[input(name = "ML", default = "1 kg")]
    pub mass: f64,
    /// κ — polytropic exponent of the gas [–]
    #[input(name = "kappa", default = 1.2)]
    pub exponent: f64,
    /// p₀ — pressure of the gas at x = 0 [Pa]
    #[input(name = "p0", default = "1e7 Pa")]
    pub precharge: f64,
    /// – — Newton iterations per step as Hopsan does them; 0 solves to convergence [–]
    #[parameter(default = 0)]
    pub iterations: usize,
    /// V_a — volume of the gas [m^3]
    #[output(name = "Va", start = "0.001 m^3")]
    volume: Output,
    /// p_a — pressure of the gas [Pa]
    #[output(name = "pa", start = "1e7 Pa")]
    pressure: Output,
    /// x — position of the piston [m]
    #[output(name = "xmp")]
    position: Output,
    /// v — speed of the piston [m/s]
    #[output(name = "vmp")]
    speed: Output,
    /// – — what the rule of the position takes from one step ago [m]
    #[memory]
    position_1: Memory,
    /// – — what it will take from this step after the next [m]
    #[memory]
    position_2: Memory,
    /// – — what it takes from two steps ago [m]
    #[memory]
    position_3: Memory,
    /// – — what the rule of the speed takes from one step ago [m/s]
    #[memory]
    speed_1: Memory,
}

/// One step of a gas spring that oil charges: x = clip(x₀ + x₁·Δp, 0, L), v = v₀ + v₁·Δp,
/// q = −A·v, Δp = p₁ − p_a(x).
#[derive(Clone, Copy, Debug)]
struct Charge<T> {
    /// Position without and per pressure difference.
    position: [T; 2],
    /// Speed without and per pressure difference.
    speed: [T; 2],
    /// L — position at which no gas is left.
    stroke: T,
    /// Least gas that is counted with, as part of L.
    least: f64,
    /// A — oil per position.
    area: T,
    precharge: T,
    exponent: T,
    end: End<T>,
    /// Where nothing is left of the pressure of the oil, an iteration takes it for that of the line.
    stays_dry: bool,
}

/// What [`Charge`] gives.
#[derive(Clone, Copy, Debug)]
struct Charged<T> {
    position: T,
    speed: T,
    oil: T,
    gas: T,
}

impl<T: Num> Charge<T> {
    #[inline(always)]
    fn constant(&self) -> Charge<Dual<T>> {
        let c = Dual::constant;
        Charge {
            position: self.position.map(c),
            speed: self.speed.map(c),
            stroke: c(self.stroke),
            least: self.least,
            area: c(self.area),
            precharge: c(self.precharge),
            exponent: c(self.exponent),
            end: End { wave: c(self.end.wave), impedance: c(self.end.impedance) },
            stays_dry: self.stays_dry,
        }
    }

    #[inline(always)]
    fn free_position(&self, drop: T) -> T {
        self.position[0] + self.position[1] * drop
    }

    /// The step at a pressure difference, with a share of the speed.
    #[inline(always)]
    fn at(&self, drop: T, share: T) -> Charged<T> {
        let position = limit(self.free_position(drop), T::zero(), self.stroke);
        let speed = (self.speed[0] + self.speed[1] * drop) * share;
        let rest = limit(self.stroke - position, self.stroke * self.least, self.stroke);
        Charged {
            position,
            speed,
            oil: self.end.effort(-self.area * speed).max(T::zero()),
            gas: self.precharge * (self.stroke / rest).powf(self.exponent),
        }
    }

    /// The step, from what was before it.
    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>, iterations: usize, before: Charged<T>) -> Charged<T> {
        if iterations == 0 { self.solve(io, before) } else { self.iterate(io, iterations, before) }
    }

    /// Hopsan's iterations: position, speed, pressure of the oil and of the gas are unknowns of their
    /// own, and rules that bend are left where the last iteration took them to be straight.
    #[wide]
    fn iterate(&self, io: &Step<'_, T>, iterations: usize, before: Charged<T>) -> Charged<T> {
        let (zero, one) = (T::zero(), T::one());
        let (mut now, mut flow) = (before, io.flow(0));
        for weight in weights(iterations) {
            // Each rule as a straight line through what is now, over the new pressure difference.
            let drop = now.oil - now.gas;
            let free = self.free_position(drop);
            let share = limit_slope(free, zero, self.stroke);
            let reach = self.position[1] * share;
            let position = limit(free, zero, self.stroke) - reach * drop;
            let speed = self.speed.map(|part| part * share);
            let (rest, least) = (self.stroke - now.position, self.stroke * self.least);
            let held = limit(rest, least, self.stroke);
            let gas = self.precharge * (self.stroke / held).powf(self.exponent);
            let stiffness = self.exponent * gas / held * limit_slope(rest, least, self.stroke);
            let wet = if self.stays_dry { on_positive(now.oil) } else { one };
            let impedance = self.end.impedance * wet;
            let line = self.end.wave + impedance * flow;
            let impedance = impedance * positive_slope(line);
            let oil = line.max(zero) - impedance * flow;
            let drop = (oil
                - impedance * self.area * speed[0]
                - gas
                - stiffness * (position - now.position))
                / (one + impedance * self.area * speed[1] + stiffness * reach);
            let (position, speed) = (position + reach * drop, speed[0] + speed[1] * drop);
            let next = Charged {
                position,
                speed,
                oil: oil - impedance * self.area * speed,
                gas: gas + stiffness * (position - now.position),
            };
            now = now.towards(next, weight);
            flow = -self.area * now.speed;
        }
        now
    }

    /// Solves for the pressure difference.
    ///
    /// Between the limits the speed is the whole, at a limit next to nothing. Where both would do,
    /// a body between the limits stays there and one at a limit stays at it.
    #[wide]
    fn solve(&self, io: &mut Step<'_, T>, before: Charged<T>) -> Charged<T> {
        let k = self.constant();
        let guess = before.oil - before.gas;
        let was_free = before.position.gt(T::zero()) & before.position.lt(self.stroke);
        let [drop] = solve(io, [guess], [1e5], |&[drop]| {
            let Charged { oil, gas, .. } = k.at(drop, Dual::one());
            [drop - (oil - gas)]
        });
        let free = self.at(drop, T::one());
        let is_within = limit_slope(free.position, T::zero(), self.stroke).ge(T::one());
        if (is_within & was_free).all() {
            return free;
        }
        let small = T::of(1e-9);
        // At a limit next to nothing flows: the pressure is that of the line end.
        let oil = self.end.wave.max(T::zero());
        let [low, high] = [T::zero(), self.stroke].map(|stop| {
            let rest = limit(self.stroke - stop, self.stroke * self.least, self.stroke);
            let gas = self.precharge * (self.stroke / rest).powf(self.exponent);
            self.at(oil - gas, small)
        });
        let is_low = low.position.le(T::zero());
        let is_high = high.position.ge(self.stroke);
        let stopped = Charged::select(is_high & !is_low, high, low);
        let stays = is_within & (was_free | !(is_low | is_high));
        // Neither: oil would flow back in the moment it flows out. It waits at the nearer stop.
        let near_high = free.position.gt(self.stroke * 0.5) & !is_low;
        let stopped = Charged::select(near_high, high, stopped);
        Charged::select(stays, free, stopped)
    }
}

impl<T: Num> Charged<T> {
    #[inline(always)]
    fn select(mask: T::Mask, yes: Self, no: Self) -> Self {
        Self {
            position: T::select(mask, yes.position, no.position),
            speed: T::select(mask, yes.speed, no.speed),
            oil: T::select(mask, yes.oil, no.oil),
            gas: T::select(mask, yes.gas, no.gas),
        }
    }

    /// Part of the way from here to there.
    #[wide]
    fn towards(self, there: Self, weight: f64) -> Self {
        let between = |here: T, there: T| here + (there - here) * weight;
        Self {
            position: between(self.position, there.position),
            speed: between(self.speed, there.speed),
            oil: between(self.oil, there.oil),
            gas: between(self.gas, there.gas),
        }
    }
}

impl Accumulator {
    /// Half a step of charging per pressure difference.
    #[inline(always)]
    fn half_step<T: Num>(io: &Step<'_, T>) -> T {
        io.input(Self::INLET) / io.input(Self::GAS_VOLUME) * (0.5 * io.dt)
    }

    #[inline(always)]
    fn carry<T: Num>(io: &mut Step<'_, T>, drop: T) {
        let carried = io.output(Self::CHARGE) + Self::half_step(io) * drop;
        io.set_memory(Self::CARRIED, carried);
    }
}

impl Physics for Accumulator {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Iterations<f64>, Refusal> {
        Ok(Iterations::new(self.iterations))
    }

    fn start<T: Num>(k: &Iterations<T>, io: &mut Step<'_, T>) {
        let drop = io.effort(Self::P1) - io.output(Self::PRESSURE);
        Self::carry(io, drop);
        Self::step(k, io);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Iterations<T>, io: &mut Step<'_, T>) {
        let volume = io.input(Self::GAS_VOLUME);
        let charge = Charge {
            position: [io.memory(Self::CARRIED), Self::half_step(io)],
            speed: [T::zero(), io.input(Self::INLET) / volume],
            stroke: T::one(),
            least: 0.1,
            area: volume,
            precharge: io.input(Self::PRECHARGE),
            exponent: io.input(Self::EXPONENT),
            end: End::at(io, Self::P1),
            stays_dry: true,
        };
        let before = Charged {
            position: io.output(Self::CHARGE),
            speed: io.output(Self::RATE),
            oil: io.effort(Self::P1),
            gas: io.output(Self::PRESSURE),
        };
        let after = charge.step(io, k.count, before);
        let bond = io.bond_mut(Self::P1);
        (bond.flow, bond.effort) = (-volume * after.speed, after.oil);
        io.set_output(Self::VOLUME, volume * (T::one() - after.position));
        io.set_output(Self::PRESSURE, after.gas);
        io.set_output(Self::CHARGE, after.position);
        io.set_output(Self::RATE, after.speed);
        Self::carry(io, after.oil - after.gas);
    }
}

impl PistonAccumulator {
    /// Twice the mass, and the friction over a step.
    #[inline(always)]
    fn inertia<T: Num>(io: &Step<'_, T>) -> (T, T) {
        (io.input(Self::MASS) * 2.0, io.input(Self::FRICTION) * io.dt)
    }

    /// Position and speed per pressure difference.
    #[inline(always)]
    fn reach<T: Num>(io: &Step<'_, T>) -> (T, T) {
        let (m, b) = Self::inertia(io);
        let speed = io.input(Self::AREA) * io.dt / (m + b);
        (speed * (0.5 * io.dt), speed)
    }

    /// What the rules take from this step later: from position one and two steps on, and from
    /// speed.
    #[wide]
    fn parts<T: Num>(io: &Step<'_, T>, drop: T) -> [T; 3] {
        let (m, b) = Self::inertia(io);
        let (x, v) = (io.output(Self::POSITION), io.output(Self::SPEED));
        let (reach, speed) = Self::reach(io);
        [
            reach * drop * 2.0 + x * m * 2.0 / (m + b),
            reach * drop - x * (m - b) / (m + b),
            speed * drop + v * (m - b) / (m + b),
        ]
    }
}

impl Physics for PistonAccumulator {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Iterations<f64>, Refusal> {
        Ok(Iterations::new(self.iterations))
    }

    fn start<T: Num>(k: &Iterations<T>, io: &mut Step<'_, T>) {
        let drop = io.effort(Self::P1) - io.output(Self::PRESSURE);
        let [one, two, speed] = Self::parts(io, drop);
        for (at, value) in [
            (Self::POSITION_1, one),
            (Self::POSITION_2, two),
            (Self::POSITION_3, two),
            (Self::SPEED_1, speed),
        ] {
            io.set_memory(at, value);
        }
        Self::step(k, io);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Iterations<T>, io: &mut Step<'_, T>) {
        let (area, stroke) = (io.input(Self::AREA), io.input(Self::STROKE));
        let (reach, speed) = Self::reach(io);
        let charge = Charge {
            position: [io.memory(Self::POSITION_1) + io.memory(Self::POSITION_3), reach],
            speed: [io.memory(Self::SPEED_1), speed],
            stroke,
            least: 0.001,
            area,
            precharge: io.input(Self::PRECHARGE),
            exponent: io.input(Self::EXPONENT),
            end: End::at(io, Self::P1),
            stays_dry: false,
        };
        let before = Charged {
            position: io.output(Self::POSITION),
            speed: io.output(Self::SPEED),
            oil: io.effort(Self::P1),
            gas: io.output(Self::PRESSURE),
        };
        let after = charge.step(io, k.count, before);
        let bond = io.bond_mut(Self::P1);
        (bond.flow, bond.effort) = (-area * after.speed, after.oil);
        io.set_output(Self::VOLUME, area * (stroke - after.position));
        io.set_output(Self::PRESSURE, after.gas);
        io.set_output(Self::POSITION, after.position);
        io.set_output(Self::SPEED, after.speed);
        let [one, two, speed] = Self::parts(io, after.oil - after.gas);
        io.set_memory(Self::POSITION_3, io.memory(Self::POSITION_2));
        io.set_memory(Self::POSITION_1, one);
        io.set_memory(Self::POSITION_2, two);
        io.set_memory(Self::SPEED_1, speed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::spool::tests::{STEP, bench};
    use super::*;
    use crate::testing::assert_iterations_lead_to_the_solution;
    use fluxline_core::testing::Bench;

    /// Steps with a wave at the oil side.
    fn charge<M: Physics>(bench: &mut Bench<M>, wave: f64, steps: usize) {
        for _ in 0..steps {
            bench.line(0, wave, 1e9).step();
        }
    }

    /// p₀·V₀^κ = p·V^κ.
    fn share_of_gas(pressure: f64) -> f64 {
        (1e7 / pressure).powf(1.0 / 1.2)
    }

    #[test]
    fn gas_is_compressed_until_it_has_the_pressure_of_the_oil() {
        let mut plain = bench::<Accumulator>();
        let mut piston = bench::<PistonAccumulator>();
        plain.line(0, 2e7, 1e9).start();
        piston.line(0, 2e7, 1e9).start();
        charge(&mut plain, 2e7, 20_000);
        charge(&mut piston, 2e7, 20_000);
        let gas = share_of_gas(2e7);
        assert!((plain.output(Accumulator::VOLUME) - 1e-3 * gas).abs() < 1e-9);
        assert!((plain.output(Accumulator::PRESSURE) - 2e7).abs() < 1.0);
        assert!((piston.output(PistonAccumulator::VOLUME) - 0.5e-3 * gas).abs() < 1e-9);
        assert_eq!(plain.state.faults.unconverged + piston.state.faults.unconverged, 0);
    }

    #[test]
    fn the_charge_is_the_oil_that_has_flowed_in() {
        let mut bench = bench::<Accumulator>();
        bench.state.signals[Accumulator::CHARGE + 4] = 0.2;
        bench.line(0, 1.5e7, 1e9).start();
        let (mut oil, mut flow) = (0.0, bench.flow(0));
        let start = bench.output(Accumulator::CHARGE);
        for n in 0..300 {
            charge(&mut bench, 1.2e7 + 2e4 * f64::from(n), 1);
            oil -= 0.5 * STEP * (flow + bench.flow(0));
            flow = bench.flow(0);
            let bond = bench.state.bonds[0];
            assert!((bond.effort - bond.wave - bond.impedance * bond.flow).abs() < 1e-6);
        }
        let charged = 1e-3 * (bench.output(Accumulator::CHARGE) - start);
        assert!((charged - oil).abs() < 1e-15 && charged.abs() > 1e-6, "{charged} {oil}");
    }

    #[test]
    fn below_the_precharge_no_oil_flows_and_above_it_it_does_again() {
        fn check<M: Physics>() {
            let mut bench = bench::<M>();
            bench.line(0, 5e6, 1e9).start();
            charge(&mut bench, 5e6, 100);
            assert_eq!(bench.output(2), 0.0, "charge");
            assert!(bench.flow(0).abs() < 1e-9);
            assert!((bench.effort(0) - 5e6).abs() < 1.0);
            charge(&mut bench, 1.2e7, 3000);
            assert!(bench.output(2) > 0.0);
            charge(&mut bench, 5e6, 20_000);
            assert_eq!(bench.output(2), 0.0, "charge");
        }
        check::<Accumulator>();
        check::<PistonAccumulator>();
    }

    #[test]
    fn iterations_lead_to_the_pressure_of_the_gas() {
        // A fifth is charged; in a long step the gas stiffens.
        fn push<M: Physics>(bench: &mut Bench<M>, charge: f64) {
            let p = 1e7 * 0.8f64.powf(-1.2);
            let outputs = M::DECLARATION.input_count();
            bench.state.signals[outputs + 1] = p;
            bench.state.signals[outputs + 2] = charge;
            bench.state.bonds[0].effort = p;
            bench.line(0, p, 1e9).start();
            bench.line(0, 3e7, 1e9);
        }
        assert_iterations_lead_to_the_solution::<Accumulator>(0.02, |bench| push(bench, 0.2));
        assert_iterations_lead_to_the_solution::<PistonAccumulator>(0.02, |bench| push(bench, 0.1));
    }

    /// (4M + 2BT)·x = 8M·x₋ − (4M − 2BT)·x₋₋ + A·T²·(Δp + 2Δp₋ + Δp₋₋) and
    /// (2M + BT)·v = (2M − BT)·v₋ + A·T·(Δp + Δp₋), worked out beside the component.
    #[test]
    fn the_piston_moves_by_the_bilinear_rule() {
        let (m, b, area) = (1.0, 10.0, 1e-3);
        let mut bench = bench::<PistonAccumulator>();
        bench.state.signals[PistonAccumulator::POSITION + 6] = 0.1;
        bench.line(0, 1.5e7, 1e9).start();
        let now = |bench: &Bench<PistonAccumulator>| {
            let drop = bench.effort(0) - bench.output(PistonAccumulator::PRESSURE);
            let speed = bench.output(PistonAccumulator::SPEED);
            [bench.output(PistonAccumulator::POSITION), speed, drop]
        };
        let mut past = [now(&bench); 2];
        for n in 0..100 {
            charge(&mut bench, 1.5e7 + 1e6 * (0.1 * f64::from(n)).cos(), 1);
            let [x, v, drop] = now(&bench);
            let [[x1, v1, drop1], [x2, _, drop2]] = past;
            let push = area * STEP * STEP * (drop + 2.0 * drop1 + drop2);
            let x0 = (8.0 * m * x1 - (4.0 * m - 2.0 * b * STEP) * x2 + push)
                / (4.0 * m + 2.0 * b * STEP);
            let push = area * STEP * (drop + drop1);
            let v0 = ((2.0 * m - b * STEP) * v1 + push) / (2.0 * m + b * STEP);
            if n > 0 {
                assert!((x - x0).abs() < 1e-12 && (v - v0).abs() < 1e-10, "step {n}: {x} {x0}");
            }
            assert!((bench.flow(0) + area * v).abs() < 1e-15);
            past = [[x, v, drop], past[0]];
        }
    }
}
