//! The generic step: a component's own law, its line ends and the trapezoidal rule, solved together.
//!
//! Unknowns are the port flows q and the new states s:
//!
//! q = flow(c + Z·q, s),   s = s₀ + T/2·(rate₀ + rate(c + Z·q, s))
//!
//! Newton with the exact Jacobian (dual numbers), to convergence; a step that makes the residual
//! larger is halved.

use crate::component::{Law, Physics, Step};
use crate::number::{Dual, Mask, Num};

/// The most unknowns (flows and states) a component solved generically may have.
pub const MAX_UNKNOWNS: usize = 16;
/// The most inputs or outputs such a component may have.
const MAX_SIGNALS: usize = 16;
const MAX_MEMORY: usize = 16;
const MAX_ITERATIONS: usize = 60;
const RELATIVE_TOLERANCE: f64 = 1e-13;

struct Problem<T> {
    ports: usize,
    states: usize,
    inputs: usize,
    outputs: usize,
    memory_count: usize,
    wave: [T; MAX_UNKNOWNS],
    impedance: [T; MAX_UNKNOWNS],
    dry: [T; MAX_UNKNOWNS],
    viscosity: [T; MAX_UNKNOWNS],
    displacement: [T; MAX_UNKNOWNS],
    old: [T; MAX_UNKNOWNS],
    old_rate: [T; MAX_UNKNOWNS],
    input: [T; MAX_SIGNALS],
    memory: [T; MAX_MEMORY],
    small: [f64; MAX_UNKNOWNS],
    time: f64,
    half_dt: f64,
}

struct Evaluation<T> {
    effort: [T; MAX_UNKNOWNS],
    flow: [T; MAX_UNKNOWNS],
    displacement: [T; MAX_UNKNOWNS],
    rate: [T; MAX_UNKNOWNS],
    output: [T; MAX_SIGNALS],
}

/// Velocity below which dry friction of a line is taken as proportional to velocity; only for
/// components solved generically, masses solve sticking exactly.
const STICK_VELOCITY: f64 = 1e-5;

impl<T: Num> Problem<T> {
    fn gather<M: Physics>(io: &Step<'_, T>) -> Self {
        let declaration = M::DECLARATION;
        let (ports, states) = (io.port_count(), declaration.states.len());
        let (inputs, outputs) = (io.input_count(), declaration.outputs.len());
        let memory_count = declaration.memory.len();
        assert!(
            ports + states <= MAX_UNKNOWNS
                && inputs <= MAX_SIGNALS
                && outputs <= MAX_SIGNALS
                && memory_count <= MAX_MEMORY,
            "{} is too large to be solved generically: give it a step of its own",
            declaration.name
        );
        let zero = [T::zero(); MAX_UNKNOWNS];
        let mut p = Self {
            ports,
            states,
            inputs,
            outputs,
            memory_count,
            wave: zero,
            impedance: zero,
            dry: zero,
            viscosity: zero,
            displacement: zero,
            old: zero,
            old_rate: zero,
            input: [T::zero(); MAX_SIGNALS],
            memory: [T::zero(); MAX_MEMORY],
            small: [1e-3; MAX_UNKNOWNS],
            time: io.untold_time(),
            half_dt: 0.5 * io.dt,
        };
        let last = declaration.ports.len().saturating_sub(1);
        for i in 0..ports {
            p.wave[i] = io.wave(i);
            p.impedance[i] = io.impedance(i);
            p.viscosity[i] = io.viscosity(i);
            p.displacement[i] = io.displacement(i);
            let domain = declaration.ports[i.min(last)].domain;
            p.small[i] = domain.small_flow();
            if domain.is_mechanical() {
                p.dry[i] = io.dry(i);
            }
        }
        for i in 0..states {
            p.old[i] = io.state(i);
            p.old_rate[i] = io.rate(i);
        }
        for i in 0..inputs {
            p.input[i] = io.input(i);
        }
        for i in 0..memory_count {
            p.memory[i] = io.memory(i);
        }
        p
    }

    fn lift<U: Num>(&self, f: fn(T) -> U) -> Problem<U> {
        Problem {
            ports: self.ports,
            states: self.states,
            inputs: self.inputs,
            outputs: self.outputs,
            memory_count: self.memory_count,
            wave: self.wave.map(f),
            impedance: self.impedance.map(f),
            dry: self.dry.map(f),
            viscosity: self.viscosity.map(f),
            displacement: self.displacement.map(f),
            old: self.old.map(f),
            old_rate: self.old_rate.map(f),
            input: self.input.map(f),
            memory: self.memory.map(f),
            small: self.small,
            time: self.time,
            half_dt: self.half_dt,
        }
    }

    fn evaluate<M: Physics>(&self, k: &M::Constants<T>, y: &[T; MAX_UNKNOWNS]) -> Evaluation<T> {
        self.evaluate_with(y, |law| M::law(k, law))
    }

    fn evaluate_with(
        &self,
        y: &[T; MAX_UNKNOWNS],
        law: impl FnOnce(&mut Law<'_, T>),
    ) -> Evaluation<T> {
        let zero = [T::zero(); MAX_UNKNOWNS];
        let mut e = Evaluation {
            effort: zero,
            flow: zero,
            displacement: self.displacement,
            rate: zero,
            output: [T::zero(); MAX_SIGNALS],
        };
        let (n, s) = (self.ports, self.states);
        for i in 0..n {
            let direction = (y[i] / STICK_VELOCITY).clamp_to(-1.0, 1.0);
            e.flow[i] = y[i];
            e.effort[i] = self.wave[i] + self.impedance[i] * y[i] + self.dry[i] * direction;
        }
        law(&mut Law {
            effort: &mut e.effort[..n],
            flow: &mut e.flow[..n],
            displacement: &mut e.displacement[..n],
            state: &y[n..n + s],
            rate: &mut e.rate[..s],
            memory: &self.memory[..self.memory_count],
            input: &self.input[..self.inputs],
            output: &mut e.output[..self.outputs],
            viscosity: &self.viscosity[..n],
            time: self.time.into(),
        });
        e
    }

    fn residual(&self, y: &[T; MAX_UNKNOWNS], e: &Evaluation<T>) -> [T; MAX_UNKNOWNS] {
        let mut r = [T::zero(); MAX_UNKNOWNS];
        for i in 0..self.ports {
            r[i] = y[i] - e.flow[i];
        }
        for i in 0..self.states {
            r[self.ports + i] =
                y[self.ports + i] - self.old[i] - (self.old_rate[i] + e.rate[i]) * self.half_dt;
        }
        r
    }

    /// Residual weighed by the size of the unknowns.
    fn size(&self, r: &[T; MAX_UNKNOWNS], y: &[T; MAX_UNKNOWNS]) -> T {
        (0..self.ports + self.states)
            .fold(T::zero(), |sum, i| sum + (r[i] / (y[i].abs() + self.small[i])).squared())
    }
}

/// One step of a Q- or S-component by Newton.
pub fn step<M: Physics, T: Num>(constants: &M::Constants<T>, io: &mut Step<'_, T>) {
    let problem = Problem::gather::<M>(io);
    let (ports, states) = (problem.ports, problem.states);
    let n = ports + states;
    let mut y = [T::zero(); MAX_UNKNOWNS];
    for (i, unknown) in y.iter_mut().enumerate().take(n) {
        *unknown = if i < ports { io.flow(i) } else { problem.old[i - ports] };
    }

    let lifted = problem.lift(Dual::constant);
    let dual_constants = M::lift(constants, &mut Dual::constant);
    let mut evaluation = problem.evaluate::<M>(constants, &y);
    let mut residual = problem.residual(&y, &evaluation);
    // A lane that has converged stays as it is, so that lanes give the bits of scalars.
    let never = T::zero().lt(T::zero());
    let mut converged = if n == 0 { !never } else { never };
    for _ in 0..MAX_ITERATIONS {
        if converged.all() {
            break;
        }
        let mut jacobian = [[T::zero(); MAX_UNKNOWNS]; MAX_UNKNOWNS];
        for column in 0..n {
            let mut direction = y.map(Dual::constant);
            direction[column].slope = T::one();
            let e = lifted.evaluate::<M>(&dual_constants, &direction);
            let r = lifted.residual(&direction, &e);
            for row in 0..n {
                jacobian[row][column] = r[row].slope;
            }
        }
        let correction =
            solve(&mut jacobian, residual, n).map(|d| T::select(converged, T::zero(), d));
        let before = problem.size(&residual, &y);
        let mut fraction = T::one();
        let mut halvings = 0;
        let (new_y, new_evaluation, new_residual) = loop {
            let mut trial = y;
            for i in 0..n {
                trial[i] = y[i] - correction[i] * fraction;
            }
            let e = problem.evaluate::<M>(constants, &trial);
            let r = problem.residual(&trial, &e);
            let worse = problem.size(&r, &trial).gt(before);
            halvings += 1;
            if !worse.any() || halvings > 12 {
                break (trial, e, r);
            }
            fraction = T::select(worse, fraction * 0.5, fraction);
        };
        converged = (0..n).fold(!never, |all, i| {
            let tolerance = (new_y[i].abs() + problem.small[i]) * RELATIVE_TOLERANCE;
            all & (new_y[i] - y[i]).abs().le(tolerance)
        });
        (y, evaluation, residual) = (new_y, new_evaluation, new_residual);
    }
    // A last step within rounding of a large residual is not a solution.
    let unsolved = !converged & problem.size(&residual, &y).gt(T::of(1e-16));
    if unsolved.any() {
        io.unconverged(unsolved);
    }
    for i in 0..ports {
        io.set_motion(i, y[i], evaluation.displacement[i], evaluation.effort[i]);
    }
    for i in 0..states {
        io.set_state(i, y[ports + i]);
        io.set_rate(i, evaluation.rate[i]);
    }
    for i in 0..problem.outputs {
        io.set_output(i, evaluation.output[i]);
    }
}

/// Rates, displacements and outputs at the start, from the law with the waves as efforts.
pub fn start<M: Physics, T: Num>(constants: &M::Constants<T>, io: &mut Step<'_, T>) {
    if io.port_count() + M::DECLARATION.states.len() > MAX_UNKNOWNS
        || io.input_count() > MAX_SIGNALS
        || M::DECLARATION.outputs.len() > MAX_SIGNALS
        || M::DECLARATION.memory.len() > MAX_MEMORY
    {
        return;
    }
    let problem = Problem::gather::<M>(io);
    let mut y = [T::zero(); MAX_UNKNOWNS];
    for i in 0..problem.ports {
        y[i] = io.flow(i);
    }
    for i in 0..problem.states {
        y[problem.ports + i] = problem.old[i];
    }
    let e = problem.evaluate_with(&y, |law| M::start_law(constants, law));
    for i in 0..problem.states {
        io.set_rate(i, e.rate[i]);
    }
    for i in 0..problem.outputs {
        io.set_output(i, e.output[i]);
    }
}

/// Gaussian elimination with partial pivoting; lanes pivot independently.
fn solve<T: Num>(
    a: &mut [[T; MAX_UNKNOWNS]; MAX_UNKNOWNS],
    mut b: [T; MAX_UNKNOWNS],
    n: usize,
) -> [T; MAX_UNKNOWNS] {
    for column in 0..n {
        for row in column + 1..n {
            let swap = a[row][column].abs().gt(a[column][column].abs());
            if swap.any() {
                for j in column..n {
                    let (upper, lower) = (a[column][j], a[row][j]);
                    a[column][j] = T::select(swap, lower, upper);
                    a[row][j] = T::select(swap, upper, lower);
                }
                let (upper, lower) = (b[column], b[row]);
                b[column] = T::select(swap, lower, upper);
                b[row] = T::select(swap, upper, lower);
            }
        }
        let pivot = a[column][column].recip();
        for row in column + 1..n {
            let factor = a[row][column] * pivot;
            for j in column..n {
                let above = a[column][j];
                a[row][j] -= factor * above;
            }
            let above = b[column];
            b[row] -= factor * above;
        }
    }
    let mut x = [T::zero(); MAX_UNKNOWNS];
    for row in (0..n).rev() {
        let mut sum = b[row];
        for j in row + 1..n {
            sum -= a[row][j] * x[j];
        }
        x[row] = sum / a[row][row];
    }
    x
}
