//! Frequency response by simulation: a signal is added at the input, and what comes out is compared.
//!
//! The circuit stands at an operating point and time stands still for its sources; only the added
//! signal moves it. A sine finds one frequency at a time, also of a circuit that is not linear (its
//! describing function); a multi-sine finds all of them in one run.

use crate::fourier::transform_real;
use crate::linear::Point;
use crate::place::{Input, Output};
use fluxline_core::probe::{Probed, Touch, When};
use fluxline_core::state::State;
use fluxline_diagnostics::{Code, Diagnostic};
use nalgebra::Complex;
use std::f64::consts::{PI, TAU};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Excitation {
    /// Its largest value, in the unit of the input.
    pub amplitude: f64,
    /// Change of a response from one period to the next, relative to the largest one, below which the
    /// circuit counts as settled.
    pub tolerance: f64,
    /// Periods after which it is taken as it is.
    pub most_periods: usize,
}

/// A response at one frequency.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Hz: the nearest one to that asked for with a whole number of steps to the period.
    pub frequency: f64,
    /// Of each output.
    pub response: Vec<Complex<f64>>,
}

/// What a measurement found.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// In order of frequency.
    pub points: Vec<Measured>,
    /// Change from the last period to that before, of the worst output.
    pub unsettled: f64,
    /// The share of what each output does that is not at the frequencies of the input, by root mean
    /// square: what is not linear.
    pub distortion: Vec<f64>,
    /// Steps simulated.
    pub steps: u64,
}

/// A circuit under test.
struct Rig<'a> {
    probed: Probed<'a, f64>,
    state: State<f64>,
    outputs: &'a [Output],
    begin: f64,
    tick: u64,
}

impl<'a> Rig<'a> {
    fn new(point: Point<'a>, input: &Input, touch: Touch, outputs: &'a [Output]) -> Self {
        Self {
            probed: Probed::plain(point.plan, &input.spots, touch),
            state: point.state.clone(),
            outputs,
            begin: point.time,
            tick: point.state.step + point.state.rest_steps,
        }
    }

    /// One period: what the outputs do, as deviation from their first value.
    fn period(&mut self, push: &[f64], into: &mut [Vec<f64>]) -> Result<(), Diagnostic> {
        for (k, &push) in push.iter().enumerate() {
            self.tick += 1;
            let when = When::held(self.begin, self.tick);
            let seen = self.probed.step(&mut self.state, when, push);
            for (output, values) in self.outputs.iter().zip(into.iter_mut()) {
                values[k] = output.slot.map_or(seen, |slot| slot.read(&self.state));
            }
        }
        let mut ends = into.iter().filter_map(|values| values.last());
        match ends.all(|x| x.is_finite()) {
            true => Ok(()),
            false => Err(Diagnostic::error(
                Code::Diverged,
                "the circuit diverges while its response is measured",
            )
            .help("take a smaller --amplitude, or close the loop: an open one may drift away")),
        }
    }
}

/// Sums of period ending with phases of Schroeder (1970): the least crest for a flat spectrum.
fn multisine(steps: usize, harmonics: &[usize], amplitude: f64) -> Vec<f64> {
    let count = harmonics.len() as f64;
    let mut wave = vec![0.0f64; steps];
    for (k, &harmonic) in harmonics.iter().enumerate() {
        let phase = -PI * k as f64 * (k as f64 + 1.0) / count;
        for (i, wave) in wave.iter_mut().enumerate() {
            // The angle of whole turns is left out before it is multiplied.
            let turns = (i * harmonic) % steps;
            *wave += (TAU * turns as f64 / steps as f64 + phase).cos();
        }
    }
    let peak = wave.iter().fold(0.0f64, |peak, x| peak.max(x.abs()));
    wave.iter_mut().for_each(|x| *x *= amplitude / peak);
    wave
}

fn transform(values: &[f64]) -> Vec<Complex<f64>> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    transform_real(values.iter().map(|x| x - mean))
}

/// Repeats a period until what comes out no longer changes, and compares.
fn settle(
    mut rig: Rig,
    push: &[f64],
    harmonics: &[usize],
    excitation: &Excitation,
    step: f64,
) -> Result<Measurement, Diagnostic> {
    let steps = push.len();
    let count = rig.outputs.len();
    let input = transform(push);
    let mut outputs = vec![vec![0.0; steps]; count];
    let mut last: Vec<Vec<Complex<f64>>> = Vec::new();
    let mut unsettled = f64::INFINITY;
    let mut periods = 0;
    let (responses, distortion) = loop {
        rig.period(push, &mut outputs)?;
        periods += 1;
        let spectra: Vec<Vec<Complex<f64>>> =
            outputs.iter().map(|values| transform(values)).collect();
        let responses: Vec<Vec<Complex<f64>>> = spectra
            .iter()
            .map(|spectrum| harmonics.iter().map(|&h| spectrum[h] / input[h]).collect())
            .collect();
        if !last.is_empty() {
            let change = |(new, old): (&Vec<Complex<f64>>, &Vec<Complex<f64>>)| {
                let largest = new.iter().fold(0.0f64, |m, h| m.max(h.norm()));
                let worst = new.iter().zip(old).fold(0.0f64, |m, (a, b)| m.max((a - b).norm()));
                if worst == 0.0 { 0.0 } else { worst / largest }
            };
            unsettled = responses.iter().zip(&last).map(change).fold(0.0, f64::max);
        }
        if unsettled <= excitation.tolerance || periods >= excitation.most_periods.max(2) {
            let distortion = spectra.iter().map(|spectrum| rest(spectrum, harmonics)).collect();
            break (responses, distortion);
        }
        last = responses;
    };
    let points = harmonics
        .iter()
        .enumerate()
        .map(|(i, &harmonic)| Measured {
            frequency: harmonic as f64 / (steps as f64 * step),
            response: responses.iter().map(|of_output| of_output[i]).collect(),
        })
        .collect();
    Ok(Measurement { points, unsettled, distortion, steps: (periods * steps) as u64 })
}

/// The share of a spectrum that is not at the harmonics, by root mean square.
fn rest(spectrum: &[Complex<f64>], harmonics: &[usize]) -> f64 {
    let half = &spectrum[1..spectrum.len().div_ceil(2)];
    let all: f64 = half.iter().map(|x| x.norm_sqr()).sum();
    let at: f64 = harmonics.iter().map(|&h| spectrum[h].norm_sqr()).sum();
    if all > 0.0 { ((all - at).max(0.0) / all).sqrt() } else { 0.0 }
}

/// All frequencies in one run, by a sum of sines whose period is that of the lowest.
pub fn by_multisine(
    point: Point,
    input: &Input,
    touch: Touch,
    outputs: &[Output],
    frequencies: &[f64],
    excitation: &Excitation,
) -> Result<Measurement, Diagnostic> {
    let step = point.plan.step;
    let lowest = frequencies.iter().copied().fold(f64::INFINITY, f64::min);
    let steps = (1.0 / (lowest * step)).round() as usize;
    let mut harmonics: Vec<usize> = frequencies
        .iter()
        .map(|f| (f * step * steps as f64).round() as usize)
        .filter(|&h| h >= 1 && 2 * h < steps)
        .collect();
    harmonics.sort_unstable();
    harmonics.dedup();
    let push = multisine(steps, &harmonics, excitation.amplitude);
    settle(Rig::new(point, input, touch, outputs), &push, &harmonics, excitation, step)
}

/// Each frequency in a run of its own, side by side on threads; the result does not depend on them.
pub fn by_sines(
    point: Point,
    input: &Input,
    touch: Touch,
    outputs: &[Output],
    frequencies: &[f64],
    excitation: &Excitation,
) -> Result<Measurement, Diagnostic> {
    let step = point.plan.step;
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    // Windows are as long as the longest period: what dies away slowly is seen to change.
    let longest = frequencies.iter().map(|f| 1.0 / (f * step)).fold(1.0, f64::max);
    let one = |frequency: f64| {
        // So many periods that the steps of all of them are whole to a part in 10⁵.
        let per_period = 1.0 / (frequency * step);
        let miss = |periods: usize| {
            let steps = per_period * periods as f64;
            (steps - steps.round()).abs() / steps
        };
        let least = (longest / per_period).round().max(1.0) as usize;
        let all = least..least + 64;
        let periods = all
            .clone()
            .find(|&periods| miss(periods) < 1e-5)
            .unwrap_or_else(|| all.min_by(|&a, &b| miss(a).total_cmp(&miss(b))).unwrap_or(least));
        let steps = (per_period * periods as f64).round() as usize;
        let push = multisine(steps, &[periods], excitation.amplitude);
        settle(Rig::new(point, input, touch, outputs), &push, &[periods], excitation, step)
    };
    let mut found: Vec<(usize, Result<Measurement, Diagnostic>)> = std::thread::scope(|scope| {
        let work = || {
            let mut mine = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(&frequency) = frequencies.get(index) else { break mine };
                mine.push((index, one(frequency)));
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    found.sort_by_key(|(index, _)| *index);
    let mut all = Measurement {
        points: Vec::new(),
        unsettled: 0.0,
        distortion: vec![0.0; outputs.len()],
        steps: 0,
    };
    for (_, measurement) in found {
        let one = measurement?;
        all.points.extend(one.points);
        all.unsettled = all.unsettled.max(one.unsettled);
        for (all, one) in all.distortion.iter_mut().zip(one.distortion) {
            *all = all.max(one);
        }
        all.steps += one.steps;
    }
    Ok(all)
}
