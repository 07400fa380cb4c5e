//! The two-way flow control valve of Malysheva (thesis, LUT University, 2021), equations 2.22–2.30
//! and Table 2.2: a small volume between a compensator and a throttle.
//!
//! States p₁, p₂, K, k_t, k_t'. Signed orifices; 0 ≤ K ≤ 1e-6, k_t ≥ 1e-7. Below 100 Pa the square
//! root is replaced by the odd cubic that joins it smoothly (Åman, thesis, Lappeenranta University of
//! Technology, 2011, equations 2.10–2.21), so that the Jacobian is finite.

use fluxline_ode::{Pattern, System, Trouble};

const BULK_MODULUS: f64 = 1.5e9;
const SECOND_VOLUME: f64 = 1e-3;
const OUTLETS: [f64; 2] = [5.62e-7, 5.73e-7];
const C1: f64 = 4.65e7;
const C2: f64 = -1.79e4;
const C3: f64 = 4e11;
const C5: f64 = 1.02e6;
const C6: f64 = 5.26e-7;
const C7: f64 = 200.0;
const C8: f64 = 0.45;
const C9: f64 = 1.2;
const LARGEST_K: f64 = 1e-6;
const SMALLEST_KT: f64 = 1e-7;
const TRANSITION: f64 = 100.0;

pub const START: [f64; 5] = [1.02e6, 3.69e3, 5e-11, 1e-8, 0.0];

pub struct TwoThrottles {
    volume: f64,
    // Supply pressure, throttle signal, valve; each holds from its time on.
    inputs: Vec<(f64, [f64; 3])>,
    pattern: Pattern,
    // The compensator is held at one of its limits.
    is_held: bool,
}

/// √ with sign, and its slope.
fn root(drop: f64) -> (f64, f64) {
    if drop.abs() >= TRANSITION {
        let root = drop.abs().sqrt();
        (root.copysign(drop), 0.5 / root)
    } else {
        let s = drop / TRANSITION;
        let unit = TRANSITION.sqrt();
        (unit * s * (1.25 - 0.25 * s * s), unit / TRANSITION * (1.25 - 0.75 * s * s))
    }
}

impl TwoThrottles {
    /// Random inputs that change every 1.5 s, one after the other.
    pub fn new(volume: f64, seed: u64, until: f64) -> Self {
        let mut seed = seed;
        let mut noise = move || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut draw = move |which: usize| match which {
            0 => 14e6 + 6e6 * noise(),
            1 => 10.0 * noise(),
            _ => noise().round(),
        };
        let mut now: [f64; 3] = std::array::from_fn(&mut draw);
        let mut inputs = vec![(f64::NEG_INFINITY, now)];
        let mut k = 1;
        while 0.5 * k as f64 <= until {
            now[k % 3] = draw(k % 3);
            inputs.push((0.5 * k as f64, now));
            k += 1;
        }
        let entries = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 3)];
        let rest = [(2, 0), (2, 1), (2, 2), (3, 4), (4, 3), (4, 4)];
        let pattern = Pattern::new(5, entries.into_iter().chain(rest));
        Self { volume, inputs, pattern, is_held: false }
    }

    fn input(&self, time: f64) -> [f64; 3] {
        // The times are multiples of 0.5 s.
        let k = ((time / 0.5).floor().max(0.0) as usize).min(self.inputs.len() - 1);
        self.inputs[k].1
    }

    /// K', were it not limited.
    fn opening(&self, time: f64, x: &[f64]) -> f64 {
        let supply = self.input(time)[0];
        (C5 - x[0] + x[1] - (C1 + C2 * (supply - x[0])) * x[2]) / C3
    }
}

impl System for TwoThrottles {
    fn size(&self) -> usize {
        5
    }

    fn rates(&mut self, time: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
        let [supply, signal, valve] = self.input(time);
        let inlet = x[2].clamp(0.0, LARGEST_K) * root(supply - x[0]).0;
        let between = x[3].max(SMALLEST_KT) * root(x[0] - x[1]).0;
        let outlet = (OUTLETS[0] + valve * OUTLETS[1]) * root(x[1]).0;
        rates[0] = BULK_MODULUS / self.volume * (inlet - between);
        rates[1] = BULK_MODULUS / SECOND_VOLUME * (between - outlet);
        rates[2] = if self.is_held { 0.0 } else { self.opening(time, x) };
        rates[3] = x[4];
        rates[4] = (signal - C9) * C6 * C7 * C7 - 2.0 * x[4] * C8 * C7 - x[3] * C7 * C7;
        Ok(())
    }

    fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    fn jacobian(&mut self, time: f64, x: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
        let [supply, _, valve] = self.input(time);
        let k = x[2].clamp(0.0, LARGEST_K);
        let kt = x[3].max(SMALLEST_KT);
        let (inlet, inlet_slope) = root(supply - x[0]);
        let (between, between_slope) = root(x[0] - x[1]);
        let outlet_slope = (OUTLETS[0] + valve * OUTLETS[1]) * root(x[1]).1;
        let (soft, softer) = (BULK_MODULUS / self.volume, BULK_MODULUS / SECOND_VOLUME);
        let free = if self.is_held { 0.0 } else { 1.0 };
        let moves = if x[3] > SMALLEST_KT { 1.0 } else { 0.0 };
        // Column by column.
        values.copy_from_slice(&[
            -soft * (k * inlet_slope + kt * between_slope),
            softer * kt * between_slope,
            free * (-1.0 + C2 * x[2]) / C3,
            soft * kt * between_slope,
            softer * (-kt * between_slope - outlet_slope),
            free / C3,
            soft * inlet,
            -free * (C1 + C2 * (supply - x[0])) / C3,
            -soft * between * moves,
            softer * between * moves,
            -C7 * C7,
            1.0,
            -2.0 * C8 * C7,
        ]);
        Ok(())
    }

    fn nominal(&self, state: usize) -> f64 {
        [1e5, 1e5, 1e-9, 1e-8, 1e-6][state]
    }

    fn next_event(&self, time: f64) -> f64 {
        let k = ((time / 0.5).floor() as usize) + 1;
        if k < self.inputs.len() { 0.5 * k as f64 } else { f64::INFINITY }
    }

    fn is_autonomous(&self, _: f64) -> bool {
        true
    }

    fn settle(&mut self, time: f64, x: &mut [f64]) -> bool {
        let was_held = self.is_held;
        let opening = self.opening(time, x);
        self.is_held = (x[2] <= 0.0 && opening < 0.0) || (x[2] >= LARGEST_K && opening > 0.0);
        x[2] = x[2].clamp(0.0, LARGEST_K);
        self.is_held != was_held
    }

    fn overrun(&mut self, _: f64, x: &[f64]) -> f64 {
        (x[2] - x[2].clamp(0.0, LARGEST_K)).abs() / 1e-10
    }
}
