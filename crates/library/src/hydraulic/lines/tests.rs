//! Lines and hoses as physical claims.

use super::friction::PipeFrictionModel as Friction;
use super::hose::Hose;
use super::line::Line;
use crate::hydraulic::volumes::volume::Volume;
use fluxline_core::component::{Clock, Environment, Filter, Physics, Wiring, view};
use fluxline_core::fluid::{BulkModel, Fluid};
use fluxline_core::number::Lanes;
use fluxline_core::testing::{Bench, Surroundings};
use std::f64::consts::{FRAC_PI_2, PI};

const DENSITY: f64 = 870.0;
const BULK_MODULUS: f64 = 1.6e9;

fn sound() -> f64 {
    (BULK_MODULUS / DENSITY).sqrt()
}

fn area(bore: f64) -> f64 {
    PI / 4.0 * bore * bore
}

fn line(length: f64) -> Line {
    Line {
        length,
        bore: 0.012,
        friction: Friction::None,
        roughness: 15e-6,
        wall_thickness: None,
        youngs_modulus: 210e9,
        start_pressure: Some(50e5),
    }
}

fn hose(length: f64) -> Hose {
    Hose {
        length,
        bore: 0.012,
        compliance: None,
        expansion: None,
        expansion_pressure: 350e5,
        bulk_modulus: Some(0.8e9),
        slow_part: 0.0,
        relaxation_time: 0.01,
        friction: Friction::None,
        roughness: 15e-6,
        start_pressure: Some(50e5),
    }
}

fn around<M: Physics>(dt: f64, bonds: usize) -> Surroundings {
    // Lines are one port that takes many, or two ports.
    let places = if M::DECLARATION.ports.len() == 1 { vec![bonds] } else { vec![1; bonds] };
    Surroundings { places, ..Surroundings::of::<M>(dt) }
}

fn bench<M: Physics>(component: &M, around: &Surroundings) -> Bench<M> {
    let mut bench = Bench::within(component, around).unwrap();
    bench.start();
    bench
}

/// Flow into an end behind which stands a pressure with a resistance.
fn connect<M: Physics>(bench: &mut Bench<M>, port: usize, pressure: f64, resistance: f64) {
    let bond = bench.state.bonds[port];
    let flow = (pressure - bond.wave) / (bond.impedance + resistance);
    bench.impose_flow(port, flow);
}

const STEP: f64 = 1e-4;

/// Length with a delay of so many steps.
fn steps(n: f64) -> f64 {
    n * STEP * sound()
}

#[test]
fn sudden_closure_raises_pressure_by_joukowsky_and_rings_with_four_lengths() {
    for delay in [20.0, 20.37, 57.9] {
        let mut bench = bench(&line(steps(delay)), &around::<Line>(STEP, 2));
        let (velocity, reservoir) = (1.0, 50e5);
        let flow = velocity * area(0.012);
        // Steady flow from a reservoir, which a lossless line passes at once after a few passages
        // into its own impedance.
        let z = DENSITY * sound() / area(0.012);
        for _ in 0..1000 {
            connect(&mut bench, 0, reservoir, 0.0);
            connect(&mut bench, 1, reservoir - z * flow, z);
            bench.step();
        }
        let before = reservoir;
        let surge = DENSITY * sound() * velocity;
        let mut pressures = Vec::new();
        for _ in 0..(40.0 * delay) as usize {
            connect(&mut bench, 0, reservoir, 0.0);
            bench.impose_flow(1, 0.0);
            pressures.push(bench.effort(1));
            bench.step();
        }
        let plateau = pressures[delay as usize];
        assert!(((plateau - before) / surge - 1.0).abs() < 1e-3, "{delay}: {plateau}");
        // Falling crossings of the reservoir's pressure lie 4·τ apart.
        let falls: Vec<_> = (1..pressures.len())
            .filter(|&i| pressures[i - 1] > reservoir && pressures[i] <= reservoir)
            .map(|i| {
                let (high, low) = (pressures[i - 1], pressures[i]);
                i as f64 - (reservoir - low) / (high - low)
            })
            .collect();
        assert!(falls.len() >= 8);
        for (m, fall) in falls.iter().enumerate() {
            let expected = falls[0] + 4.0 * delay * m as f64;
            assert!((fall - expected).abs() < 1.0, "{delay} period {m}: {fall}");
        }
    }
}

#[test]
fn line_shorter_than_a_step_is_the_volume_of_its_bore() {
    let short = line(steps(0.8));
    let volume = Volume { volume: area(0.012) * short.length, start_pressure: Some(50e5) };
    for filter in [Filter::None, Filter::Wave(0.2), Filter::Pressure(0.2)] {
        let place = Surroundings { filter, ..around::<Line>(STEP, 3) };
        let (mut a, mut b) = (bench(&short, &place), bench(&volume, &place));
        assert!(Line::is_lumped(a.constants()));
        for n in 0..500 {
            for port in 0..3 {
                let flow = 3e-5 * (0.05 * n as f64 + port as f64).sin();
                a.impose_flow(port, flow);
                b.impose_flow(port, flow);
            }
            a.step();
            b.step();
            for port in 0..3 {
                assert_eq!(a.state.bonds[port].wave, b.state.bonds[port].wave);
            }
        }
    }
}

#[test]
fn delay_of_one_step_meets_the_lumped_volume() {
    let (long, short) = (line(steps(1.0)), line(steps(0.999_999_999)));
    let place = around::<Line>(STEP, 3);
    let (mut a, mut b) = (bench(&long, &place), bench(&short, &place));
    assert!(!Line::is_lumped(a.constants()));
    for n in 0..300 {
        for port in 0..3 {
            let flow = 3e-6 * (0.05 * n as f64 + port as f64).sin();
            a.impose_flow(port, flow);
            b.impose_flow(port, flow);
        }
        a.step();
        b.step();
        for port in 0..3 {
            let (x, y) = (a.state.bonds[port].wave, b.state.bonds[port].wave);
            assert!((x / y - 1.0).abs() < 1e-6);
        }
    }
}

/// Steady drop from end 0 to the last end at a flow, fed through matched ends.
fn steady_drop(component: &Line, dt: f64, bonds: usize, flow: f64) -> f64 {
    let mut bench = bench(component, &around::<Line>(dt, bonds));
    let last = bonds - 1;
    // Started gently over two seconds, so that nothing rings in the end.
    let total = ((6.0 + component.length / 10.0) / dt) as usize;
    for n in 0..total {
        let rise = (n as f64 * dt / 2.0).min(1.0);
        for port in 1..last {
            bench.impose_flow(port, 0.0);
        }
        bench.impose_flow(0, flow * (0.5 - 0.5 * (PI * rise).cos()));
        let z = bench.state.bonds[last].impedance;
        connect(&mut bench, last, 50e5, z);
        bench.step();
    }
    bench.impose_flow(0, flow);
    let z = bench.state.bonds[last].impedance;
    connect(&mut bench, last, 50e5, z);
    let lost = bench.flow(last) / flow + 1.0;
    assert!(lost.abs() < 1e-9, "not steady: {lost}");
    bench.effort(0) - bench.effort(last)
}

#[test]
fn steady_laminar_drop_is_hagen_poiseuille() {
    for friction in [Friction::Laminar, Friction::Turbulent, Friction::FrequencyDependent] {
        for (length, dt) in [(6.0, 1e-4), (6.3, 1e-4), (0.1, 1e-4)] {
            for bonds in [2, 4] {
                let pipe = Line { friction, ..line(length) };
                let q = 1e-4;
                let drop = steady_drop(&pipe, dt, bonds, q);
                let expected = 128.0 * DENSITY * 30e-6 * length * q / (PI * 0.012f64.powi(4));
                assert!(
                    (drop / expected - 1.0).abs() < 1e-6,
                    "{friction:?} {length} {bonds}: {drop} {expected}"
                );
            }
        }
    }
}

#[test]
fn steady_turbulent_drop_is_darcy_with_haaland() {
    // From 1 m to 200 m of 12 mm bore: friction from a thousandth to a multiple of ρ·a·v.
    for length in [0.05, 1.0, 6.3, 200.0] {
        let pipe =
            Line { friction: Friction::Turbulent, start_pressure: Some(400e5), ..line(length) };
        let q = 1.2e-3;
        let v = q / area(0.012);
        let re = v * 0.012 / 30e-6;
        assert!(re > 4000.0);
        let root = -1.8 * ((15e-6 / (3.7 * 0.012f64)).powf(1.11) + 6.9 / re).log10();
        let expected = length / 0.012 * DENSITY * v * v / 2.0 / (root * root);
        let drop = steady_drop(&pipe, 1e-4, 2, q);
        assert!((drop / expected - 1.0).abs() < 1e-6, "{length}: {drop} {expected}");
    }
}

#[test]
fn step_of_pressure_across_a_line_of_strong_friction_settles_without_swinging() {
    let pipe = Line { friction: Friction::Turbulent, bore: 0.004, ..line(20.0) };
    let mut bench = bench(&pipe, &around::<Line>(1e-4, 2));
    let mut flows = Vec::new();
    for _ in 0..40_000 {
        connect(&mut bench, 0, 250e5, 0.0);
        connect(&mut bench, 1, 1e5, 0.0);
        flows.push(bench.flow(0));
        bench.step();
    }
    let last = flows[flows.len() - 1];
    let spread =
        flows[flows.len() - 1000..].iter().fold(0f64, |worst, q| worst.max((q / last - 1.0).abs()));
    assert!(spread < 1e-9, "{spread}");
    assert!(last > 0.0);
}

/// Complex numbers as pairs, for the exact solution.
type C = (f64, f64);
fn mul(a: C, b: C) -> C {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}
fn div(a: C, b: C) -> C {
    let n = b.0 * b.0 + b.1 * b.1;
    ((a.0 * b.0 + a.1 * b.1) / n, (a.1 * b.0 - a.0 * b.1) / n)
}
fn root(a: C) -> C {
    let r = a.0.hypot(a.1);
    let re = ((r + a.0) * 0.5).max(0.0).sqrt();
    (re, ((r - a.0) * 0.5).max(0.0).sqrt().copysign(a.1))
}
/// I_n(z) by its power series.
fn bessel(n: usize, z: C) -> C {
    let half = (z.0 * 0.5, z.1 * 0.5);
    let mut term = (1.0, 0.0);
    for k in 1..=n {
        term = mul(term, half);
        term = (term.0 / k as f64, term.1 / k as f64);
    }
    let square = mul(half, half);
    let mut sum = term;
    for k in 1..400 {
        let d = (k * (k + n)) as f64;
        term = mul(term, (square.0 / d, square.1 / d));
        sum = (sum.0 + term.0, sum.1 + term.1);
    }
    sum
}

/// The slowest natural frequency of a line that is closed at one end and open at the other, from
/// τ·s·√N(s) = jπ/2 with N = I₀(z)/I₂(z), z = r·√(s/ν) (Zielke's friction in the frequency domain).
fn fundamental(length: f64, radius: f64, viscosity: f64) -> C {
    let tau = length / sound();
    let mut s = (0.0, FRAC_PI_2 / tau);
    for _ in 0..200 {
        let z = root((s.0 * radius * radius / viscosity, s.1 * radius * radius / viscosity));
        let n = div(bessel(0, z), bessel(2, z));
        s = div((0.0, FRAC_PI_2 / tau), root(n));
    }
    s
}

#[test]
fn fundamental_of_a_closed_line_decays_as_zielkes_friction_says() {
    let viscosity = Fluid::default().viscosity;
    for (bore, dt) in [(0.006, 1e-5), (0.012, 1e-5), (0.02, 2e-5)] {
        // a whole number of steps, so that interpolation damps nothing
        let delay = 400;
        let length = delay as f64 * dt * sound();
        let pipe = Line { bore, friction: Friction::FrequencyDependent, ..line(length) };
        let s = fundamental(length, 0.5 * bore, viscosity);
        let period = 2.0 * PI / s.1;
        let mut bench = bench(&pipe, &around::<Line>(dt, 2));
        // A half sine at the open end sets the line ringing; higher modes die faster.
        let mut pressures = Vec::new();
        let total = (14.0 * period / dt) as usize;
        for n in 0..total {
            let t = n as f64 * dt;
            let push = if t < 0.5 * period { 5e5 * (PI * t / (0.5 * period)).sin() } else { 0.0 };
            connect(&mut bench, 0, 50e5 + push, 0.0);
            bench.impose_flow(1, 0.0);
            pressures.push(bench.effort(1) - 50e5);
            bench.step();
        }
        // Projection on the mode over whole periods gives its amplitude.
        let amplitude = |from: f64| {
            let (first, count) = ((from / dt) as usize, (period / dt) as usize);
            let (mut c, mut q) = (0.0, 0.0);
            for (n, p) in pressures.iter().enumerate().skip(first).take(count) {
                let phase = s.1 * n as f64 * dt;
                c += p * phase.cos();
                q += p * phase.sin();
            }
            c.hypot(q)
        };
        let (early, late) = (amplitude(4.0 * period), amplitude(12.0 * period));
        let decay = (early / late).ln() / (8.0 * period);
        assert!((decay / -s.0 - 1.0).abs() < 0.03, "bore {bore}: {decay} against {}", -s.0);
    }
}

#[test]
fn oil_is_conserved_to_rounding_through_delay_friction_and_cavitation() {
    let frictions =
        [Friction::None, Friction::Laminar, Friction::Turbulent, Friction::FrequencyDependent];
    let air = Fluid {
        bulk_model: BulkModel::EntrainedAir { fraction: 0.01, exponent: 1.4 },
        ..Fluid::default()
    };
    for friction in frictions {
        for length in [steps(0.5), steps(1.0), steps(3.6), steps(30.2)] {
            for bonds in [2, 3, 5] {
                for filter in [Filter::None, Filter::Wave(0.2), Filter::Pressure(0.2)] {
                    for fluid in [Fluid::default(), air.clone()] {
                        let place = Surroundings { filter, fluid, ..around::<Line>(STEP, bonds) };
                        let air_is_in = place.fluid == air;
                        let pipe = Line { friction, start_pressure: Some(20e5), ..line(length) };
                        let mut bench = bench(&pipe, &place);
                        let held = 20e5 * area(0.012) * length / BULK_MODULUS;
                        let scale = 3e-9 * length;
                        let start = bench.content();
                        let mut entered = 0.0;
                        for n in 0..2000 {
                            for port in 0..bonds {
                                let t = n as f64 * STEP;
                                let flow = scale / STEP
                                    * (30.0 * t + 2.0 * port as f64).sin()
                                    * (1.0 + port as f64);
                                bench.impose_flow(port, flow);
                                entered += flow * STEP;
                            }
                            let error = bench.content() - start - entered;
                            assert!(
                                error.abs() < 1e-10 * held,
                                "{friction:?} {length} {bonds} {filter:?} {n}: {error}"
                            );
                            bench.step();
                        }
                        let cavitated = bench.state.states[2 + Line::CAVITATED];
                        assert!(cavitated > 0.0 || air_is_in, "{length}");
                    }
                }
            }
        }
    }
}

#[test]
fn column_parts_at_the_vapour_pressure_and_rejoins() {
    let mut bench = bench(&line(steps(40.0)), &around::<Line>(STEP, 2));
    // Oil flows out at the far end; the near end is shut at once: the column runs away from it.
    let z = DENSITY * sound() / area(0.012);
    let flow = 8.0 * area(0.012);
    for _ in 0..4000 {
        bench.impose_flow(0, flow);
        connect(&mut bench, 1, 50e5 - z * flow, z);
        bench.step();
    }
    let mut largest = 0f64;
    let (mut open_steps, mut low) = (0, 0);
    for n in 0..20_000 {
        bench.impose_flow(0, 0.0);
        connect(&mut bench, 1, 50e5, 0.0);
        // below for the one step in which the column parts
        low = if bench.effort(0) < 300.0 - 1e-3 { low + 1 } else { 0 };
        assert!(low <= 1, "step {n}: {}", bench.effort(0));
        bench.step();
        let cavity = bench.state.states[2 + Line::CAVITY];
        largest = largest.max(cavity);
        open_steps += (cavity > 0.0) as usize;
    }
    assert!(largest > 0.0 && open_steps < 20_000);
    // The first column leaves with v − (p₀ − p_v)/(ρ·a) until the wave has come back after 2·τ.
    let relative = 8.0 - (50e5 - 300.0) / (DENSITY * sound());
    let first_pass = relative * area(0.012) * 80.0 * STEP;
    assert!(largest > 0.9 * first_pass, "{largest} {first_pass}");
}

#[test]
fn lossless_closed_line_keeps_its_energy() {
    let mut bench = bench(&line(steps(25.0)), &around::<Line>(STEP, 3));
    // ½·C·p² at rest
    let capacitance = area(0.012) * steps(25.0) / BULK_MODULUS;
    assert!((bench.energy() / (0.5 * capacitance * 50e5 * 50e5) - 1.0).abs() < 1e-9);
    bench.impose_flow(0, 1e-4).step();
    for port in 0..3 {
        bench.impose_flow(port, 0.0);
    }
    bench.step();
    let start = bench.energy();
    for _ in 0..5000 {
        for port in 0..3 {
            bench.impose_flow(port, 0.0);
        }
        bench.step();
        assert!((bench.energy() / start - 1.0).abs() < 1e-12);
    }
}

#[test]
fn friction_and_interpolation_only_take_energy() {
    // Frequency-dependent friction gives some of what it took back within a step or two.
    for (friction, slack) in
        [(Friction::Laminar, 0.0), (Friction::Turbulent, 0.0), (Friction::FrequencyDependent, 1e-3)]
    {
        let pipe = Line { friction, ..line(steps(7.4)) };
        let mut bench = bench(&pipe, &around::<Line>(STEP, 2));
        bench.impose_flow(0, 1e-4).step();
        let mut before = f64::INFINITY;
        for n in 0..3000 {
            bench.impose_flow(0, 0.0).impose_flow(1, 0.0);
            let energy = bench.energy();
            assert!(
                energy <= before * (1.0 + 1e-12 + slack),
                "{friction:?} step {n}: {energy} {before}"
            );
            before = energy;
            bench.step();
        }
    }
}

#[test]
fn elastic_wall_slows_the_wave() {
    let pipe = Line { wall_thickness: Some(0.001), ..line(10.0) };
    let bench = bench(&pipe, &around::<Line>(STEP, 2));
    // Korteweg: a = √(β/ρ/(1 + β·d/(E·e)))
    let speed = sound() / (1.0 + BULK_MODULUS * 0.012 / (210e9 * 0.001)).sqrt();
    let (whole, fraction) = bench.constants().delay();
    assert!(((whole as f64 + fraction) * STEP * speed / 10.0 - 1.0).abs() < 1e-12);
}

#[test]
fn hose_takes_the_oil_that_its_expansion_says() {
    for (component, compliance) in [
        (hose(3.0), 1.0 / 0.8e9),
        (
            Hose { bulk_modulus: None, expansion: Some(0.05), ..hose(3.0) },
            1.0 / BULK_MODULUS + 0.05 / 350e5,
        ),
        (
            Hose { bulk_modulus: None, compliance: Some(1e-13), ..hose(0.05) },
            1.0 / BULK_MODULUS + 1e-13 / area(0.012),
        ),
        (Hose { slow_part: 0.4, ..hose(3.0) }, 1.0 / 0.8e9),
        (Hose { slow_part: 0.4, ..hose(0.05) }, 1.0 / 0.8e9),
    ] {
        let mut bench = bench(&component, &around::<Hose>(STEP, 2));
        let start = bench.content();
        let volume = area(0.012) * component.length;
        let rise = 100e5;
        let flow = volume * compliance * rise / 0.1;
        let mut entered = 0.0;
        for n in 0..30_000 {
            let q = if n < 1000 { flow } else { 0.0 };
            bench.impose_flow(0, q).impose_flow(1, 0.0);
            entered += q * STEP;
            assert!((bench.content() - start - entered).abs() < 1e-12 * volume);
            bench.step();
        }
        let pressure = bench.get_state(Hose::PRESSURE);
        assert!((pressure / 150e5 - 1.0).abs() < 1e-9, "{pressure}");
    }
}

#[test]
fn slow_wall_damps_waves() {
    let ring = |slow_part| {
        let mut bench = bench(
            &Hose { slow_part, relaxation_time: 0.002, ..hose(5.0) },
            &around::<Hose>(STEP, 2),
        );
        let mut late = 0f64;
        for n in 0..3000 {
            connect(&mut bench, 0, if n < 100 { 60e5 } else { 50e5 }, 0.0);
            bench.impose_flow(1, 0.0);
            if n > 2500 {
                late = late.max((bench.effort(1) - 50e5).abs());
            }
            bench.step();
        }
        late
    };
    assert!(ring(0.3) < 0.1 * ring(0.0), "{} {}", ring(0.3), ring(0.0));
}

#[test]
fn contradictory_hoses_are_refused() {
    let fluid = Surroundings::of::<Hose>(STEP);
    let twice = Hose { expansion: Some(0.05), ..hose(1.0) };
    let refusal = Bench::within(&twice, &fluid).err().unwrap();
    assert_eq!(refusal.parameter, "bulk_modulus");
    assert!(refusal.message.contains("expansion and by bulk_modulus"));
    let stiff = Hose { bulk_modulus: Some(2e9), ..hose(1.0) };
    assert_eq!(Bench::within(&stiff, &fluid).err().unwrap().parameter, "bulk_modulus");
}

#[test]
fn lanes_give_the_bits_of_scalars() {
    for (friction, length) in [
        (Friction::None, steps(4.5)),
        (Friction::FrequencyDependent, steps(4.5)),
        (Friction::Turbulent, steps(0.4)),
    ] {
        let air = Fluid {
            bulk_model: BulkModel::EntrainedAir { fraction: 0.01, exponent: 1.4 },
            ..Fluid::default()
        };
        let is_short = length < steps(1.0);
        let place = Surroundings {
            fluid: if is_short { air } else { Fluid::default() },
            ..around::<Line>(STEP, 3)
        };
        let pipes: [Line; 4] = std::array::from_fn(|lane| Line {
            friction,
            start_pressure: Some(30e5),
            bore: 0.010 + 0.001 * lane as f64,
            ..line(length)
        });
        let mut lanes = Bench::lanes([&pipes[0], &pipes[1], &pipes[2], &pipes[3]], &place).unwrap();
        lanes.start();
        let mut scalars: Vec<_> = pipes.iter().map(|p| bench(p, &place)).collect();
        for n in 0..600 {
            for port in 0..3 {
                let flow: [f64; 4] = std::array::from_fn(|lane| {
                    length
                        * 6e-5
                        * (0.07 * n as f64 + port as f64 + 0.3 * lane as f64).sin()
                        * (1.0 + lane as f64)
                });
                lanes.impose_flow(port, Lanes(flow));
                for (scalar, q) in scalars.iter_mut().zip(flow) {
                    scalar.impose_flow(port, q);
                }
            }
            lanes.step();
            for (lane, scalar) in scalars.iter_mut().enumerate() {
                scalar.step();
                for port in 0..3 {
                    let (a, b) = (lanes.state.bonds[port], scalar.state.bonds[port]);
                    assert_eq!(a.wave.0[lane], b.wave, "{friction:?} step {n}");
                    assert_eq!(a.impedance.0[lane], b.impedance);
                }
            }
        }
        assert!(scalars[3].state.states[2 + Line::CAVITATED] > 0.0 || is_short);
    }
}

#[test]
fn a_change_of_step_keeps_the_oil() {
    for friction in [Friction::None, Friction::FrequencyDependent] {
        for (length, new_dt) in [
            (steps(0.4), 0.7 * STEP),
            (steps(0.9), 0.5 * STEP),
            (steps(5.5), 2.0 * STEP),
            (steps(5.5), 0.5 * STEP),
            (steps(5.5), 8.0 * STEP),
        ] {
            let pipe = Line { friction, ..line(length) };
            let mut bench = bench(&pipe, &around::<Line>(STEP, 2));
            for n in 0..50 {
                let flow = 1e-5 * (0.3 * n as f64).sin();
                bench.impose_flow(0, flow).impose_flow(1, 0.5 * flow).step();
            }
            bench.impose_flow(0, 0.0).impose_flow(1, 0.0);
            let before = bench.content();
            let fluid = Fluid::default();
            let new = pipe
                .prepare(&Environment {
                    step: new_dt,
                    fluid: &fluid,
                    start_pressure: 1e5,
                    bonds: 2,
                    places: &[2],
                    filter: Filter::None,
                    driven: &[],
                })
                .unwrap();
            let wiring = Wiring::new(0, &[0, 1], &[], 0..0, 0..bench.state.states.len());
            let old = *bench.constants();
            let mut state = bench.state.clone();
            let clock = Clock { time: 0.0, dt: new_dt, tick: state.step + 1 };
            let io = &mut view::<Line, f64>(&wiring, &mut state, clock);
            Line::change_step(&old, &new, io);
            assert!((Line::content(&new, io) / before - 1.0).abs() < 1e-12, "{length}");
            Line::step(&new, io);
            assert!((Line::content(&new, io) / before - 1.0).abs() < 1e-12, "{length}");
        }
    }
}
