//! Circuit 2 of Malysheva (thesis, LUT University, 2021), written out by hand, and a plain RK4.

#![allow(dead_code)]

use fluxline_ode::{Pattern, System, Trouble};

/// Flow through a two-regime orifice and its derivatives by pressure drop and by conductance (Åman,
/// thesis, Lappeenranta University of Technology, 2011, eq. 2.10–2.21): with u = Δp/Δp₀ and
/// Δp₀ = c/K, c = Re_tr²·ν²·π·√ρ/(√32·C_d), Q = K√Δp above Δp₀ and K√Δp₀·(5u − u³)/4 below.
pub fn orifice(conductance: f64, drop: f64) -> (f64, f64, f64) {
    // Re_tr = 1000, ν = 30e-6 m²/s, ρ = 900 kg/m³, C_d = 0.6.
    const TRANSITION: f64 =
        1e6 * 9e-10 * std::f64::consts::PI * 30.0 / (5.656_854_249_492_381 * 0.6);
    let root = drop.abs().sqrt();
    if conductance * drop.abs() >= TRANSITION {
        let flow = conductance * root * drop.signum();
        return (flow, 0.5 * conductance / root, root * drop.signum());
    }
    let ratio = conductance / TRANSITION;
    let first = conductance * ratio.sqrt();
    let third = first * ratio * ratio;
    let cube = drop * drop * drop;
    let slope = 1.25 * first - 0.75 * third * drop * drop;
    let by_conductance = if conductance > 0.0 {
        (1.875 * first * drop - 0.875 * third * cube) / conductance
    } else {
        0.0
    };
    (1.25 * first * drop - 0.25 * third * cube, slope, by_conductance)
}

/// A generator of numbers that look random (Steele, Lea and Flood, 2014: SplitMix64).
pub struct Numbers(pub u64);

impl Numbers {
    /// In [0, 1).
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Flow control valve between an ideal pressure source and two orifices in parallel, eq. 2.22–2.30:
/// states p₁, p₂, K, k_t, k_t'.
///
/// Signed orifices throughout; K stays in 0…1e-6; the control throttle never closes below 1e-7.
/// Supply 14–20 MPa, control voltage 0–10 V and directional valve {0, 1} are random and piecewise
/// constant, each for 1.5 s, shifted by 0.5 s; they are renewed by `settle`, so that a step never sees
/// an input of the next one.
#[derive(Clone)]
pub struct CircuitTwo {
    pub small_volume: f64,
    inputs: Vec<[f64; 3]>,
    supply: f64,
    voltage: f64,
    valve: f64,
    pattern: Pattern,
}

const BULK: f64 = 1.5e9;
const VOLUME: f64 = 1e-3;
const OUTLET: f64 = 5.62e-7;
const VALVE: f64 = 5.73e-7;
const C1: f64 = 4.65e7;
const C2: f64 = -1.79e4;
const C3: f64 = 4e11;
const C5: f64 = 1.02e6;
const C6: f64 = 5.26e-7;
const C7: f64 = 200.0;
const C8: f64 = 0.45;
const C9: f64 = 1.2;
const WIDEST: f64 = 1e-6;
const NARROWEST: f64 = 1e-7;

impl CircuitTwo {
    pub const INITIAL: [f64; 5] = [1.02e6, 3.69e3, 5e-11, 1e-8, 0.0];

    pub fn new(seed: u64, small_volume: f64) -> Self {
        let mut numbers = Numbers(seed);
        let inputs = (0..40)
            .map(|_| {
                let (supply, voltage) = (14e6 + 6e6 * numbers.next(), 10.0 * numbers.next());
                [supply, voltage, if numbers.next() < 0.5 { 0.0 } else { 1.0 }]
            })
            .collect();
        let pattern = Pattern::new(
            5,
            [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 3), (2, 0), (2, 1), (2, 2)]
                .into_iter()
                .chain([(3, 4), (4, 3), (4, 4)]),
        );
        let mut circuit =
            Self { small_volume, inputs, supply: 0.0, voltage: 0.0, valve: 0.0, pattern };
        circuit.read_inputs(0.0);
        circuit
    }

    fn read_inputs(&mut self, time: f64) {
        let value = |which: usize, shift: f64| {
            let number = ((time + shift + 1e-9) / 1.5) as usize;
            self.inputs[number.min(self.inputs.len() - 1)][which]
        };
        (self.supply, self.voltage, self.valve) = (value(0, 0.0), value(1, 1.0), value(2, 0.5));
    }

    fn throttle(x: &[f64]) -> f64 {
        x[3].max(NARROWEST)
    }

    fn compensator(x: &[f64]) -> f64 {
        x[2].clamp(0.0, WIDEST)
    }

    /// Rates of the pressures.
    fn rate(&self, x: &[f64], state: usize) -> f64 {
        match state {
            0 => {
                let (inflow, ..) = orifice(Self::compensator(x), self.supply - x[0]);
                let (outflow, ..) = orifice(Self::throttle(x), x[0] - x[1]);
                BULK / self.small_volume * (inflow - outflow)
            }
            1 => {
                let (inflow, ..) = orifice(Self::throttle(x), x[0] - x[1]);
                let (first, ..) = orifice(OUTLET, x[1]);
                let (second, ..) = orifice(VALVE, x[1]);
                BULK / VOLUME * (inflow - first - self.valve * second)
            }
            2 => {
                let wide = Self::compensator(x);
                let rate = (C5 - x[0] + x[1] - (C1 + C2 * (self.supply - x[0])) * wide) / C3;
                if self.is_limited(x, rate) { 0.0 } else { rate }
            }
            3 => x[4],
            _ => (self.voltage - C9) * C6 * C7 * C7 - 2.0 * x[4] * C8 * C7 - x[3] * C7 * C7,
        }
    }

    fn is_limited(&self, x: &[f64], rate: f64) -> bool {
        (x[2] >= WIDEST && rate > 0.0) || (x[2] <= 0.0 && rate < 0.0)
    }

    fn entry(&self, x: &[f64], row: usize, column: usize) -> f64 {
        let is_open = if x[3] > NARROWEST { 1.0 } else { 0.0 };
        let is_free = if x[2] > 0.0 && x[2] < WIDEST { 1.0 } else { 0.0 };
        let (_, slope, by_throttle) = orifice(Self::throttle(x), x[0] - x[1]);
        match (row, column) {
            (0, _) => {
                let (_, inlet, by_opening) = orifice(Self::compensator(x), self.supply - x[0]);
                let stiffness = BULK / self.small_volume;
                match column {
                    0 => -stiffness * (inlet + slope),
                    1 => stiffness * slope,
                    2 => stiffness * by_opening * is_free,
                    3 => -stiffness * by_throttle * is_open,
                    _ => 0.0,
                }
            }
            (1, _) => {
                let stiffness = BULK / VOLUME;
                match column {
                    0 => stiffness * slope,
                    1 => {
                        let (_, first, _) = orifice(OUTLET, x[1]);
                        let (_, second, _) = orifice(VALVE, x[1]);
                        -stiffness * (slope + first + self.valve * second)
                    }
                    3 => stiffness * by_throttle * is_open,
                    _ => 0.0,
                }
            }
            (2, _) => {
                let wide = Self::compensator(x);
                let rate = (C5 - x[0] + x[1] - (C1 + C2 * (self.supply - x[0])) * wide) / C3;
                if self.is_limited(x, rate) {
                    return 0.0;
                }
                match column {
                    0 => (-1.0 + C2 * wide) / C3,
                    1 => 1.0 / C3,
                    2 => -(C1 + C2 * (self.supply - x[0])) / C3 * is_free,
                    _ => 0.0,
                }
            }
            (3, 4) => 1.0,
            (4, 3) => -C7 * C7,
            (4, 4) => -2.0 * C8 * C7,
            _ => 0.0,
        }
    }
}

impl System for CircuitTwo {
    fn size(&self) -> usize {
        5
    }

    fn rates(&mut self, _: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
        let (inflow, ..) = orifice(Self::compensator(x), self.supply - x[0]);
        let (through, ..) = orifice(Self::throttle(x), x[0] - x[1]);
        let (first, ..) = orifice(OUTLET, x[1]);
        let second = if self.valve > 0.0 { orifice(VALVE, x[1]).0 } else { 0.0 };
        rates[0] = BULK / self.small_volume * (inflow - through);
        rates[1] = BULK / VOLUME * (through - first - second);
        for state in 2..5 {
            rates[state] = self.rate(x, state);
        }
        Ok(())
    }

    fn some_rates(
        &mut self,
        _: f64,
        x: &[f64],
        which: &[usize],
        rates: &mut [f64],
    ) -> Result<(), Trouble> {
        for (rate, &state) in rates.iter_mut().zip(which) {
            *rate = self.rate(x, state);
        }
        Ok(())
    }

    fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    fn jacobian(&mut self, _: f64, x: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
        for column in 0..5 {
            for place in self.pattern.column(column) {
                values[place] = self.entry(x, self.pattern.rows()[place], column);
            }
        }
        Ok(())
    }

    fn some_jacobian(
        &mut self,
        _: f64,
        x: &[f64],
        which: &[usize],
        block: &mut [f64],
    ) -> Result<(), Trouble> {
        for (i, &row) in which.iter().enumerate() {
            for (j, &column) in which.iter().enumerate() {
                block[i * which.len() + j] = self.entry(x, row, column);
            }
        }
        Ok(())
    }

    fn nominal(&self, state: usize) -> f64 {
        [1e5, 1e5, 1e-7, 1e-7, 1e-5][state]
    }

    fn bounds(&mut self, _: f64, x: &[f64], state: usize) -> (f64, f64) {
        match state {
            0 => (self.supply.min(x[1]), self.supply.max(x[1])),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    fn next_event(&self, time: f64) -> f64 {
        (((time + 1e-9) / 0.5).floor() + 1.0) * 0.5
    }

    fn settle(&mut self, time: f64, x: &mut [f64]) -> bool {
        x[2] = x[2].clamp(0.0, WIDEST);
        self.read_inputs(time);
        false
    }
}

/// One step of the classical fourth-order method; `room` holds five times the number of states.
pub fn rk4(system: &mut dyn System, time: f64, step: f64, x: &mut [f64], room: &mut [f64]) {
    let size = x.len();
    let (k1, rest) = room.split_at_mut(size);
    let (k2, rest) = rest.split_at_mut(size);
    let (k3, rest) = rest.split_at_mut(size);
    let (k4, y) = rest.split_at_mut(size);
    system.rates(time, x, k1).unwrap();
    for i in 0..size {
        y[i] = x[i] + 0.5 * step * k1[i];
    }
    system.rates(time + 0.5 * step, &y[..size], k2).unwrap();
    for i in 0..size {
        y[i] = x[i] + 0.5 * step * k2[i];
    }
    system.rates(time + 0.5 * step, &y[..size], k3).unwrap();
    for i in 0..size {
        y[i] = x[i] + step * k3[i];
    }
    system.rates(time + step, &y[..size], k4).unwrap();
    for i in 0..size {
        x[i] += step / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]);
    }
}
