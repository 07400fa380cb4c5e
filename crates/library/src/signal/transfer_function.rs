//! Transfer function.

use fluxline_core::component::{Environment, Law, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// The highest order.
const ORDER: usize = 8;

/// A proper transfer function up to order eight.
///
/// y = (b_m·sᵐ + … + b₀)/(a_n·sⁿ + … + a₀)·u,  m ≤ n ≤ 8
///
/// Controllable canonical form with time scaled by λ = max |a_i/a_n|^(1/(n−i)), which keeps all
/// coefficients within 1: dx_i/dt = λ·x_(i+1), dx_n/dt = λ·(u − Σ α_i·x_i). Trapezoidal rule; starts
/// at rest with its first input, or from zero when it integrates (a₀ = 0).
#[component("signal.transfer_function", s, constants = TransferConstants)]
pub struct TransferFunction {
    /// u — signal [any]
    #[input(default = 0)]
    pub input: f64,
    /// b — numerator, highest power of s first [any]
    #[parameter]
    pub numerator: Vec<f64>,
    /// a — denominator, highest power of s first [any]
    #[parameter]
    pub denominator: Vec<f64>,
    /// y — answer [any]
    #[output]
    out: Output,
    /// x₁ — state of the canonical form [any]
    #[state]
    x1: State,
    /// x₂ — state of the canonical form [any]
    #[state]
    x2: State,
    /// x₃ — state of the canonical form [any]
    #[state]
    x3: State,
    /// x₄ — state of the canonical form [any]
    #[state]
    x4: State,
    /// x₅ — state of the canonical form [any]
    #[state]
    x5: State,
    /// x₆ — state of the canonical form [any]
    #[state]
    x6: State,
    /// x₇ — state of the canonical form [any]
    #[state]
    x7: State,
    /// x₈ — state of the canonical form [any]
    #[state]
    x8: State,
}

/// Constants of [`TransferFunction`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct TransferConstants<T> {
    order: usize,
    /// λ.
    scale: T,
    /// λ·T/2.
    ratio: T,
    /// α_i.
    feedback: [T; ORDER],
    /// What each state adds to the output.
    output: [T; ORDER],
    /// What the input adds to the output.
    direct: T,
    /// 1/(1 + Σ α_i·(λT/2)^(n−i)).
    inverse: T,
    /// x₁ at rest for u = 1; 0 when the block integrates.
    rest: T,
    half_step: f64,
}

/// Coefficients from the lowest power up, without leading zeros.
fn ascending(list: &[f64]) -> Vec<f64> {
    let mut up: Vec<f64> = list.iter().copied().skip_while(|&x| x == 0.0).collect();
    up.reverse();
    up
}

impl Physics for TransferFunction {
    fn prepare(&self, environment: &Environment) -> Result<TransferConstants<f64>, Refusal> {
        let (b, a) = (ascending(&self.numerator), ascending(&self.denominator));
        let Some(&leading) = a.last() else {
            return Err(Refusal::new(
                "denominator",
                "the denominator is zero",
                "give its coefficients from the highest power of s down, such as [0.1, 1]",
            ));
        };
        let n = a.len() - 1;
        if n > ORDER {
            return Err(Refusal::new(
                "denominator",
                format!("the order is {n}, the highest possible is {ORDER}"),
                "write it as a product of transfer functions in a row",
            ));
        }
        if b.len() > a.len() {
            return Err(Refusal::new(
                "numerator",
                format!(
                    "the numerator is of order {}, the denominator of order {n}: such a block would differentiate",
                    b.len() - 1
                ),
                "add poles to the denominator, or use signal.derivative",
            ));
        }
        let root = |i: usize| (a[i] / leading).abs().powf(1.0 / (n - i) as f64);
        let largest = (0..n).map(root).fold(0.0, f64::max);
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let unit = |i: usize| leading * scale.powi((n - i) as i32);
        let numerator = |i: usize| b.get(i).copied().unwrap_or(0.0);
        let direct = numerator(n) / leading;
        let half_step = 0.5 * environment.step;
        let mut k = TransferConstants {
            order: n,
            scale,
            ratio: half_step * scale,
            feedback: [0.0; ORDER],
            output: [0.0; ORDER],
            direct,
            inverse: 1.0,
            rest: 0.0,
            half_step,
        };
        for (i, &coefficient) in a.iter().enumerate().take(n) {
            k.feedback[i] = coefficient / unit(i);
            k.output[i] = (numerator(i) - direct * coefficient) / unit(i);
        }
        let implicit = 1.0 + (0..n).fold(0.0, |sum, i| (sum + k.feedback[i]) * k.ratio);
        if implicit <= 0.0 {
            return Err(Refusal::new(
                "denominator",
                format!(
                    "an unstable pole is faster than the time step of {} s can follow",
                    environment.step
                ),
                "take a smaller step, or correct the sign of the coefficients",
            ));
        }
        k.inverse = 1.0 / implicit;
        if n > 0 && a[0] != 0.0 {
            k.rest = 1.0 / k.feedback[0];
        }
        Ok(k)
    }

    #[wide]
    fn law<T: Num>(k: &TransferConstants<T>, law: &mut Law<'_, T>) {
        let (u, x) = (law.input[Self::INPUT], law.state);
        law.rate.fill(T::zero());
        for i in 0..k.order {
            law.rate[i] = k.rate(i, u, |i| x[i]);
        }
        law.output[Self::OUT] = k.answer(u, |i| x[i]);
    }

    fn start<T: Num>(k: &TransferConstants<T>, io: &mut Step<'_, T>) {
        let rest = k.rest * io.input(Self::INPUT);
        io.set_state(Self::X1, rest);
        for i in 1..ORDER {
            io.set_state(i, T::zero());
        }
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &TransferConstants<T>, io: &mut Step<'_, T>) {
        let (n, u) = (k.order, io.input(Self::INPUT));
        if n > 0 {
            // x_i = p_i + λh·x_(i+1) up the chain, all linear in x_n: first with x_n = 0.
            let known: [T; ORDER] = std::array::from_fn(|i| io.state(i) + io.rate(i) * k.half_step);
            let mut x = [T::zero(); ORDER];
            let mut fed = T::zero();
            for i in (0..n - 1).rev() {
                x[i] = known[i] + k.ratio * x[i + 1];
                fed += k.feedback[i] * x[i];
            }
            x[n - 1] = (known[n - 1] + k.ratio * (u - fed)) * k.inverse;
            for i in (0..n - 1).rev() {
                x[i] = known[i] + k.ratio * x[i + 1];
            }
            for i in 0..n {
                io.set_state(i, x[i]);
                io.set_rate(i, k.rate(i, u, |i| x[i]));
            }
        }
        let answer = k.answer(u, |i| io.state(i));
        io.set_output(Self::OUT, answer);
    }
}

impl<T: Num> TransferConstants<T> {
    #[wide]
    #[inline(always)]
    fn rate(&self, i: usize, u: T, x: impl Fn(usize) -> T) -> T {
        if i + 1 < self.order {
            return self.scale * x(i + 1);
        }
        let fed = (0..self.order).fold(T::zero(), |sum, i| sum + self.feedback[i] * x(i));
        self.scale * (u - fed)
    }
    #[wide]
    #[inline(always)]
    fn answer(&self, u: T, x: impl Fn(usize) -> T) -> T {
        (0..self.order).fold(self.direct * u, |sum, i| sum + self.output[i] * x(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::first_order::{FirstOrder, LeadLag};
    use crate::signal::integrator::Integrator;
    use crate::signal::second_order::SecondOrder;
    use crate::signal::testing::{closed_form_is_generic, lanes_match, order, refusal, respond};

    fn transfer(numerator: &[f64], denominator: &[f64]) -> TransferFunction {
        TransferFunction {
            input: 0.0,
            numerator: numerator.to_vec(),
            denominator: denominator.to_vec(),
        }
    }
    fn wobble(t: f64) -> f64 {
        0.3 + (7.0 * t).sin() + if t > 0.5 { 1.0 } else { 0.0 }
    }
    fn assert_same(a: &[f64], b: &[f64]) {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }

    #[test]
    fn equals_the_blocks_it_contains() {
        let (dt, n) = (1e-3, 2000);
        let (tau, omega, zeta) = (0.05, 40.0, 0.3);
        let first = FirstOrder {
            input: 0.0,
            gain: 2.0,
            time_constant: Some(tau),
            corner_frequency: None,
            start_value: None,
            minimum: -1e300,
            maximum: 1e300,
        };
        let same = transfer(&[2.0], &[tau, 1.0]);
        assert_same(&respond(&first, dt, n, wobble), &respond(&same, dt, n, wobble));
        let second = SecondOrder {
            input: 0.0,
            gain: 2.0,
            natural_frequency: omega,
            damping: zeta,
            start_value: None,
            minimum: -1e300,
            maximum: 1e300,
        };
        let same = transfer(&[2.0], &[1.0 / omega / omega, 2.0 * zeta / omega, 1.0]);
        assert_same(&respond(&second, dt, n, wobble), &respond(&same, dt, n, wobble));
        let lead = LeadLag { input: 0.0, gain: 3.0, lead_time: 0.1, lag_time: 0.01 };
        let same = transfer(&[0.3, 3.0], &[0.01, 1.0]);
        assert_same(&respond(&lead, dt, n, wobble), &respond(&same, dt, n, wobble));
        let integrator = Integrator {
            input: 0.0,
            reset: 0.0,
            gain: 4.0,
            start_value: 0.0,
            minimum: -1e300,
            maximum: 1e300,
        };
        let same = transfer(&[0.0, 4.0], &[1.0, 0.0]);
        assert_same(&respond(&integrator, dt, n, wobble), &respond(&same, dt, n, wobble));
        let gain = transfer(&[6.0], &[2.0]);
        assert_eq!(respond(&gain, dt, 2, |_| 1.5), [4.5; 3]);
    }

    /// Eight equal lags in a row, 5·(1 + τs)⁻⁸.
    #[test]
    fn eighth_order_chain_converges_to_second_order_with_exact_gain() {
        let tau: f64 = 1e-3;
        let binomial = [1.0, 8.0, 28.0, 56.0, 70.0, 56.0, 28.0, 8.0, 1.0];
        let a: Vec<f64> = (0..9).map(|i| binomial[i] * tau.powi(8 - i as i32)).collect();
        let chain = transfer(&[5.0], &a);
        assert!(respond(&chain, 1e-4, 100, |_| 2.0).iter().all(|y| (y - 10.0).abs() < 1e-13));
        // For t ≫ τ the answer to t³ follows from the moments of the impulse response, which is the
        // gamma density of shape 8: t³ − 3·8τ·t² + 3·8·9·τ²·t − 8·9·10·τ³.
        let t = 0.1;
        let moments =
            t * t * t - 24.0 * tau * t * t + 216.0 * tau * tau * t - 720.0 * tau * tau * tau;
        let exact = 5.0 * moments;
        let order = order(&chain, t, |t| t * t * t, exact);
        assert!((order - 2.0).abs() < 0.01, "{order}");
    }

    #[test]
    fn improper_empty_and_too_large_ones_are_refused() {
        let improper = refusal(&transfer(&[1.0, 0.0, 0.0], &[1.0, 1.0]));
        assert_eq!(improper.parameter, "numerator");
        assert!(improper.message.contains("order 2") && improper.message.contains("order 1"));
        assert_eq!(refusal(&transfer(&[1.0], &[0.0])).parameter, "denominator");
        assert!(refusal(&transfer(&[1.0], &[1.0; 10])).message.contains('9'));
        let unstable = refusal(&transfer(&[1.0], &[1.0, -3e3]));
        assert!(unstable.message.contains("0.001 s"));
    }

    #[test]
    fn step_is_the_generic_step_and_lanes_give_the_bits_of_scalars() {
        closed_form_is_generic(&transfer(&[2.0], &[0.01, 1.0]), 1e-2, 1e2);
        closed_form_is_generic(&transfer(&[1.0, 2.0, 3.0], &[0.1, 1.0, 2.0]), 1e-2, 1e2);
        closed_form_is_generic(&transfer(&[1.0, 2.0], &[1.0, 3.0, 5.0, 4.0, 2.0, 0.0]), 1e-2, 1e1);
        lanes_match([1.0, 2.0, 3.0, 4.0].map(|b| transfer(&[b, 1.0], &[0.1, b, 2.0, b])));
    }
}
