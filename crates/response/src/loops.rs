//! What loops are judged by: margins, bandwidth, resonance.

use nalgebra::Complex;

/// A loop gain of size 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GainCrossover {
    /// Hz.
    pub frequency: f64,
    /// 180° + ∠L, between −180° and 180°: so much later may the loop answer.
    pub phase_margin: f64,
    /// The delay that would use it up, s.
    pub delay_margin: f64,
}

/// A loop gain that is real and negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseCrossover {
    /// Hz.
    pub frequency: f64,
    /// 1/|L|: by this factor the loop may be stronger, or, below 1, must not be weaker.
    pub gain_margin: f64,
}

/// The margins of a loop with gain L and negative feedback.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Margins {
    /// Where |L| = 1, in order of frequency.
    pub gain_crossovers: Vec<GainCrossover>,
    /// Where ∠L = −180°, in order of frequency.
    pub phase_crossovers: Vec<PhaseCrossover>,
    /// The least distance of L from −1, and where: 1/‖S‖∞.
    pub modulus_margin: Option<(f64, f64)>,
}

impl Margins {
    /// The smallest phase margin.
    pub fn phase(&self) -> Option<GainCrossover> {
        let size = |one: &GainCrossover| one.phase_margin.abs();
        self.gain_crossovers.iter().copied().min_by(|a, b| size(a).total_cmp(&size(b)))
    }

    /// The gain margin nearest to 1.
    pub fn gain(&self) -> Option<PhaseCrossover> {
        let size = |one: &PhaseCrossover| one.gain_margin.ln().abs();
        self.phase_crossovers.iter().copied().min_by(|a, b| size(a).total_cmp(&size(b)))
    }
}

/// Frequencies from one to another, evenly spaced on a logarithmic axis, with others in between.
pub fn grid(from: f64, to: f64, count: usize, more: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let ratio = (to / from).ln();
    let mut all: Vec<f64> = (0..count)
        .map(|i| match i {
            0 => from,
            i if i + 1 == count => to,
            i => from * (ratio * i as f64 / (count - 1) as f64).exp(),
        })
        .chain(more.into_iter().filter(|f| (from..=to).contains(f)))
        .collect();
    all.sort_by(f64::total_cmp);
    all.dedup_by(|a, b| *a <= *b * (1.0 + 1e-12));
    all
}

/// Frequencies where a score changes its sign between neighbours of a grid, found by bisection.
fn crossings(
    grid: &[(f64, Complex<f64>)],
    response: &mut dyn FnMut(f64) -> Complex<f64>,
    score: impl Fn(Complex<f64>) -> f64,
) -> Vec<(f64, Complex<f64>)> {
    let mut found = Vec::new();
    for pair in grid.windows(2) {
        let ((mut low, at_low), (mut high, at_high)) = (pair[0], pair[1]);
        let sign = score(at_low) > 0.0;
        if score(at_low).is_nan() || score(at_high).is_nan() || sign == (score(at_high) > 0.0) {
            continue;
        }
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if middle <= low || middle >= high {
                break;
            }
            match (score(response(middle)) > 0.0) == sign {
                true => low = middle,
                false => high = middle,
            }
        }
        let middle = 0.5 * (low + high);
        found.push((middle, response(middle)));
    }
    found
}

/// The margins of a loop; `grid` holds its gain at frequencies in order, `response` gives it at any.
pub fn margins(
    grid: &[(f64, Complex<f64>)],
    response: &mut dyn FnMut(f64) -> Complex<f64>,
) -> Margins {
    let gain_crossovers = crossings(grid, response, |l| l.norm().ln())
        .into_iter()
        // Where it jumps across 1, it has a pole.
        .filter(|(_, l)| (l.norm() - 1.0).abs() < 1e-3)
        .map(|(frequency, l)| {
            let phase_margin = (-l).arg().to_degrees();
            let lag = if phase_margin < 0.0 { phase_margin + 360.0 } else { phase_margin };
            GainCrossover { frequency, phase_margin, delay_margin: lag / 360.0 / frequency }
        })
        .collect();
    let phase_crossovers = crossings(grid, response, |l| l.im)
        .into_iter()
        .filter(|(_, l)| l.re < 0.0 && l.im.abs() < 1e-3 * l.norm())
        .map(|(frequency, l)| PhaseCrossover { frequency, gain_margin: 1.0 / l.norm() })
        .collect();
    let distance = |l: Complex<f64>| (l + 1.0).norm();
    let modulus_margin = minimum(grid, response, distance);
    Margins { gain_crossovers, phase_crossovers, modulus_margin }
}

/// The frequency below which |H| stays within a factor 1/√2 of its value at the lowest frequency.
pub fn bandwidth(
    grid: &[(f64, Complex<f64>)],
    response: &mut dyn FnMut(f64) -> Complex<f64>,
) -> Option<f64> {
    let reference = grid.first()?.1.norm() * std::f64::consts::FRAC_1_SQRT_2;
    crossings(grid, response, |h| h.norm() - reference).first().map(|&(frequency, _)| frequency)
}

/// Where |H| is largest: frequency and size; `None` where that is at an end of the grid.
pub fn resonance(
    grid: &[(f64, Complex<f64>)],
    response: &mut dyn FnMut(f64) -> Complex<f64>,
) -> Option<(f64, f64)> {
    let (frequency, negative) = minimum(grid, response, |h| -h.norm())?;
    let (first, last) = (grid.first()?.0, grid.last()?.0);
    (frequency > first && frequency < last).then_some((frequency, -negative))
}

/// Where a score is smallest: the best of the grid, refined between its neighbours by golden section.
fn minimum(
    grid: &[(f64, Complex<f64>)],
    response: &mut dyn FnMut(f64) -> Complex<f64>,
    score: impl Fn(Complex<f64>) -> f64,
) -> Option<(f64, f64)> {
    let sound = grid.iter().enumerate().filter(|(_, (_, h))| score(*h).is_finite());
    let (best, _) = sound.min_by(|a, b| score(a.1.1).total_cmp(&score(b.1.1)))?;
    let (mut low, mut high) =
        (grid[best.saturating_sub(1)].0, grid[(best + 1).min(grid.len() - 1)].0);
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let mut at = |f: f64| score(response(f));
    let (mut a, mut b) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_a, mut at_b) = (at(a), at(b));
    for _ in 0..50 {
        if at_a < at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - GOLDEN * (high - low);
            at_a = at(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + GOLDEN * (high - low);
            at_b = at(b);
        }
    }
    let middle = 0.5 * (low + high);
    let candidates = [(middle, at(middle)), (grid[best].0, score(grid[best].1))];
    candidates.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Phases of a response in degrees, without jumps, beginning between −180° and 180°.
pub fn unwrapped(responses: &[Complex<f64>]) -> Vec<f64> {
    let mut turns = 0.0;
    let mut last: Option<f64> = None;
    responses
        .iter()
        .map(|h| {
            let phase = h.arg().to_degrees();
            if let Some(last) = last {
                turns += ((last - phase) / 360.0).round();
            }
            last = Some(phase);
            phase + 360.0 * turns
        })
        .collect()
}

/// 20·log₁₀|H|.
pub fn decibel(size: f64) -> f64 {
    20.0 * size.log10()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn judge(l: impl Fn(Complex<f64>) -> Complex<f64>) -> Margins {
        let at = |f: f64| l(Complex::new(0.0, TAU * f));
        let all: Vec<_> = grid(1e-3, 1e3, 300, []).into_iter().map(|f| (f, at(f))).collect();
        margins(&all, &mut |f| at(f))
    }

    /// L = K/(s(s+1)(s+2)): ω₁₈₀ = √2, gain margin 6/K; for K = 1 |L| = 1 where
    /// ω²(ω²+1)(ω²+4) = 1.
    #[test]
    fn margins_of_a_third_order_loop_are_those_of_the_textbook() {
        let found = judge(|s| 1.0 / (s * (s + 1.0) * (s + 2.0)));
        let gain = found.gain().unwrap();
        assert!((gain.gain_margin - 6.0).abs() < 1e-9);
        assert!((gain.frequency * TAU - 2f64.sqrt()).abs() < 1e-9);
        // By Newton on the polynomial in ω².
        let mut w2 = 0.2f64;
        for _ in 0..50 {
            let p = w2 * (w2 + 1.0) * (w2 + 4.0) - 1.0;
            w2 -= p / (3.0 * w2 * w2 + 10.0 * w2 + 4.0);
        }
        let w = w2.sqrt();
        let phase = 90.0 - w.atan().to_degrees() - (w / 2.0).atan().to_degrees();
        let margin = found.phase().unwrap();
        assert!((margin.frequency * TAU - w).abs() < 1e-9);
        assert!((margin.phase_margin - phase).abs() < 1e-7);
        assert!((margin.delay_margin - phase.to_radians() / w).abs() < 1e-8);
    }

    /// A second-order system: peak 1/(2ζ√(1−ζ²)) at ω₀√(1−2ζ²), bandwidth
    /// ω₀√(1−2ζ²+√(2−4ζ²+4ζ⁴)).
    #[test]
    fn resonance_and_bandwidth_of_a_second_order_system_are_the_closed_forms() {
        let (zeta, w0) = (0.2f64, 30.0f64);
        let at = |f: f64| {
            let s = Complex::new(0.0, TAU * f);
            w0 * w0 / (s * s + s * (2.0 * zeta * w0) + w0 * w0)
        };
        let all: Vec<_> = grid(1e-4, 1e3, 300, []).into_iter().map(|f| (f, at(f))).collect();
        let (f, size) = resonance(&all, &mut |f| at(f)).unwrap();
        assert!((size - 0.5 / (zeta * (1.0 - zeta * zeta).sqrt())).abs() < 1e-9);
        assert!((f * TAU / w0 - (1.0 - 2.0 * zeta * zeta).sqrt()).abs() < 1e-6);
        let z2 = zeta * zeta;
        let exact = w0 * (1.0 - 2.0 * z2 + (2.0 - 4.0 * z2 + 4.0 * z2 * z2).sqrt()).sqrt();
        let found = bandwidth(&all, &mut |f| at(f)).unwrap() * TAU;
        // The gain at the lowest frequency is 1 to (f/f₀)².
        assert!((found / exact - 1.0).abs() < 1e-6, "{found} {exact}");
    }

    #[test]
    fn the_phase_of_a_delay_is_a_straight_line() {
        let delay: Vec<_> =
            (0..400).map(|i| Complex::new(0.0, -0.1 * f64::from(i)).exp()).collect();
        let phases = unwrapped(&delay);
        assert!((phases[399] + (39.9f64).to_degrees()).abs() < 1e-9);
    }
}
