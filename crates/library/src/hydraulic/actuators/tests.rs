//! Cylinders as physical claims.

use super::cylinder::{Cylinder, DoubleRodCylinder, SingleActingCylinder};
use crate::friction::FrictionModel;
use crate::translational::mass::Mass;
use fluxline_core::component::{Filter, Law, Physics};
use fluxline_core::fluid::{ATMOSPHERE, BulkModel, Fluid};
use fluxline_core::number::Lanes;
use fluxline_core::testing::{Bench, Surroundings};
use fluxline_core::wave::turbulent_flow;
use std::f64::consts::{FRAC_PI_4, PI};

const BULK_MODULUS: f64 = 1.6e9;
const FULL: f64 = FRAC_PI_4 * 0.05 * 0.05;
const RING: f64 = FULL - FRAC_PI_4 * 0.028 * 0.028;

fn cylinder() -> Cylinder {
    Cylinder {
        bore: 0.05,
        rod_diameter: 0.028,
        area_a: None,
        area_b: None,
        dead_volume_a: 5e-5,
        dead_volume_b: 5e-5,
        leakage: 0.0,
        start_pressure_a: Some(40e5),
        start_pressure_b: Some(40e5 * FULL / RING),
        stroke: 0.5,
        ambient_pressure: 0.0,
        viscous_friction: 0.0,
        friction: FrictionModel::None,
        coulomb_friction: 200.0,
        static_friction: None,
        stribeck_velocity: 0.01,
        bristle_stiffness: 1e7,
        bristle_damping: 1e3,
        stop_stiffness: 1e9,
        stop_damping: 1e5,
        cushion_length: 0.0,
        cushion_diameter: 2e-3,
    }
}

fn mass(mass: f64, start_position: f64) -> Mass {
    Mass {
        mass,
        damping: 0.0,
        friction: FrictionModel::None,
        coulomb_friction: 0.0,
        static_friction: None,
        stribeck_velocity: 0.01,
        bristle_stiffness: 1e7,
        bristle_damping: 1e3,
        inclination: 0.0,
        restitution: 0.0,
        min_position: -1e300,
        max_position: 1e300,
        start_position,
        start_velocity: 0.0,
        load: 0.0,
    }
}

/// A cylinder with a mass at its rod.
struct Rig<M: Physics> {
    cylinder: Bench<M>,
    mass: Bench<Mass>,
    rod: usize,
}

impl<M: Physics> Rig<M> {
    fn new(component: &M, body: &Mass, around: &Surroundings) -> Self {
        let mut rig = Self {
            cylinder: Bench::within(component, around).unwrap(),
            mass: Bench::new(body, around.step),
            rod: M::DECLARATION.ports.len() - 1,
        };
        rig.mass.set_state(Mass::X, body.start_position).start();
        rig.cylinder.state.bonds[rig.rod] = rig.mass.state.bonds[Mass::A];
        rig.cylinder.start();
        rig
    }
    /// The cylinder's part of a step; flows at its ports may then be imposed.
    fn waves(&mut self) {
        self.cylinder.step();
    }
    /// The mass's part of a step, with a force against the rod.
    fn motion(&mut self, load: f64) {
        self.mass.state.bonds[Mass::A] = self.cylinder.state.bonds[self.rod];
        self.mass.input(Mass::LOAD, load).step();
        self.cylinder.state.bonds[self.rod] = self.mass.state.bonds[Mass::A];
    }
    fn x(&self) -> f64 {
        self.mass.get_state(Mass::X)
    }
    fn v(&self) -> f64 {
        self.mass.get_state(Mass::V)
    }
    /// Flow into a port from a pressure behind an orifice.
    fn orifice(&mut self, port: usize, pressure: f64, area: f64) {
        let bond = self.cylinder.state.bonds[port];
        let k = 0.67 * area * (2.0 / 870.0f64).sqrt();
        let flow = turbulent_flow(k, pressure - bond.wave, bond.impedance);
        self.cylinder.impose_flow(port, flow);
    }
    /// Flow into a port from a pressure directly.
    fn hold(&mut self, port: usize, pressure: f64) {
        let bond = self.cylinder.state.bonds[port];
        let flow = (pressure - bond.wave) / bond.impedance;
        self.cylinder.impose_flow(port, flow);
    }
}

fn rig(component: &Cylinder, body: &Mass, step: f64) -> Rig<Cylinder> {
    Rig::new(component, body, &Surroundings::of::<Cylinder>(step))
}

const FILTERS: [Filter; 3] = [Filter::None, Filter::Wave(0.1), Filter::Pressure(0.1)];

#[test]
fn rod_at_rest_pushes_with_the_pressures_on_its_areas() {
    let held = Cylinder { ambient_pressure: ATMOSPHERE, ..cylinder() };
    for filter in FILTERS {
        let around = Surroundings { filter, ..Surroundings::of::<Cylinder>(1e-4) };
        let mut bench = Bench::within(&held, &around).unwrap();
        bench.state.bonds[2].displacement = -0.2;
        bench.start();
        for _ in 0..20_000 {
            bench.step();
            for (port, pressure) in [(0, 150e5), (1, 30e5)] {
                let bond = bench.state.bonds[port];
                // through a matched resistance, so that nothing rings
                bench.impose_flow(port, (pressure - bond.wave) / (2.0 * bond.impedance));
            }
            bench.impose_flow(2, 0.0);
        }
        let expected = FULL * (150e5 - ATMOSPHERE) - RING * (30e5 - ATMOSPHERE);
        assert!((bench.effort(2) / expected - 1.0).abs() < 1e-9, "{filter:?}");
        assert!((bench.get_state(Cylinder::PRESSURE_A) / 150e5 - 1.0).abs() < 1e-9);
    }
}

#[test]
fn mass_on_locked_oil_rings_at_the_hydraulic_frequency() {
    let (m, x, dt) = (2000.0, 0.2, 1e-4);
    let mut rig = rig(&cylinder(), &mass(m, x), dt);
    let (va, vb) = (5e-5 + FULL * x, 5e-5 + RING * (0.5 - x));
    let stiffness = BULK_MODULUS * (FULL * FULL / va + RING * RING / vb);
    let expected = (stiffness / m).sqrt();
    let mut crossings = Vec::new();
    let mut before = 0.0;
    for n in 0..20_000 {
        rig.waves();
        rig.cylinder.impose_flow(0, 0.0).impose_flow(1, 0.0);
        rig.motion(if n < 20 { 1000.0 } else { 0.0 });
        if n > 20 && before < 0.0 && rig.v() >= 0.0 {
            crossings.push(n as f64 + rig.v() / (before - rig.v()));
        }
        before = rig.v();
    }
    let periods = crossings.len() - 1;
    let period = (crossings[periods] - crossings[0]) * dt / periods as f64;
    assert!(periods > 10);
    assert!((2.0 * PI / period / expected - 1.0).abs() < 5e-3, "{} {expected}", 2.0 * PI / period);
}

/// A full stroke out and in through orifices, with the worst error of the oil balance.
fn worst_balance<M: Physics>(component: &M, around: &Surroundings, ports: usize) -> (f64, f64) {
    let mut rig = Rig::new(component, &mass(300.0, 0.01), around);
    let start = rig.cylinder.content();
    let (mut entered, mut worst, mut farthest) = (0.0, 0f64, 0f64);
    let steps = (4.0 / around.step) as usize;
    for n in 0..steps {
        rig.waves();
        let outwards = n < steps / 2;
        for port in 0..ports {
            let fed = (port == 0) == outwards;
            rig.orifice(port, if fed { 180e5 } else { 1e5 }, 2e-5);
            entered += rig.cylinder.flow(port) * around.step;
        }
        rig.motion(0.0);
        worst = worst.max((rig.cylinder.content() - start - entered).abs());
        farthest = farthest.max(rig.x());
    }
    assert!(rig.x() < 0.02, "came back: {}", rig.x());
    (worst, farthest)
}

#[test]
fn oil_is_conserved_to_rounding_over_full_strokes() {
    let air = Fluid {
        bulk_model: BulkModel::EntrainedAir { fraction: 0.01, exponent: 1.4 },
        ..Fluid::default()
    };
    for filter in FILTERS {
        for fluid in [Fluid::default(), air.clone()] {
            for leakage in [0.0, 1e-12] {
                let around = Surroundings {
                    filter,
                    fluid: fluid.clone(),
                    ..Surroundings::of::<Cylinder>(2e-4)
                };
                let leaking = Cylinder { leakage, viscous_friction: 2000.0, ..cylinder() };
                // swept volume 1 l, rounding of 2e4 additions
                let (worst, farthest) = worst_balance(&leaking, &around, 2);
                assert!(worst < 1e-14, "{filter:?} {leakage}: {worst}");
                assert!(farthest > 0.499);
            }
        }
    }
}

#[test]
fn work_at_the_ports_is_what_the_cylinder_holds() {
    let error_with = |step: f64| {
        let held = Cylinder { ambient_pressure: ATMOSPHERE, ..cylinder() };
        let mut rig = rig(&held, &mass(300.0, 0.1), step);
        let start = rig.cylinder.energy();
        let (mut work, mut size) = (0.0, 0.0);
        for n in 0..(0.5 / step) as usize {
            rig.waves();
            let ramp = (n as f64 * step / 0.2).min(1.0);
            rig.cylinder.impose_flow(0, 4e-4 * ramp);
            rig.orifice(1, 1e5, 1e-5);
            rig.motion(0.0);
            for bond in &rig.cylinder.state.bonds {
                work += bond.effort * bond.flow * step;
                size += (bond.effort * bond.flow * step).abs();
            }
        }
        (rig.cylinder.energy() - start - work).abs() / size
    };
    let (coarse, fine) = (error_with(2e-4), error_with(1e-4));
    // sums of T·p·q: first order
    assert!(fine < 1e-2 && fine < 0.6 * coarse, "{coarse} {fine}");
}

#[test]
fn cavitation_holds_the_vapour_pressure_and_keeps_the_oil() {
    for filter in FILTERS {
        let around = Surroundings { filter, ..Surroundings::of::<Cylinder>(1e-4) };
        let damped = Cylinder { viscous_friction: 5000.0, ..cylinder() };
        let mut rig = Rig::new(&damped, &mass(100.0, 0.2), &around);
        let start = rig.cylinder.content();
        let mut lowest = f64::INFINITY;
        // ports shut: the rod is pulled with twice the force that vacuum can hold, then released
        for n in 0..8000 {
            rig.waves();
            rig.cylinder.impose_flow(0, 0.0).impose_flow(1, 0.0);
            rig.motion(if n < 1000 { -6e4 } else { 0.0 });
            let error = rig.cylinder.content() - start;
            assert!(error.abs() < 1e-14, "{filter:?} {n}: {error}");
            lowest = lowest.min(rig.cylinder.get_state(Cylinder::PRESSURE_A));
        }
        // the filtered pressure decides when the filter is on it
        assert!(lowest == 300.0 || (filter == Filter::Pressure(0.1) && lowest > 0.0));
        let memory = 2 * Cylinder::DECLARATION_STATES;
        assert!(rig.cylinder.state.states[memory + Cylinder::CAVITATED] > 0.0);
        // the cavity has closed and both chambers carry again
        let pressure = rig.cylinder.get_state(Cylinder::PRESSURE_A);
        assert!((pressure / 40e5 - 1.0).abs() < 1e-3, "{pressure}");
    }
}

impl Cylinder {
    const DECLARATION_STATES: usize = 3;
}

#[test]
fn piston_follows_the_flow_into_the_cap() {
    let mut rig = rig(&cylinder(), &mass(50.0, 0.05), 1e-4);
    for n in 0..10_000 {
        rig.waves();
        let ramp = (n as f64 / 2000.0).min(1.0);
        rig.cylinder.impose_flow(0, 5e-4 * ramp);
        rig.orifice(1, 1e5, 1e-5);
        rig.motion(0.0);
    }
    // the pressures no longer change: v = q/A_a
    assert!((rig.v() / (5e-4 / FULL) - 1.0).abs() < 1e-6, "{}", rig.v());
    assert!((rig.cylinder.flow(1) / (-RING * rig.v()) - 1.0).abs() < 1e-6);
}

#[test]
fn end_stops_hold_at_both_ends() {
    for step in [1e-3, 1e-4, 1e-5] {
        for (towards, start, expected) in [(1.0, 0.4, 0.5), (-1.0, 0.1, 0.0)] {
            let damped = Cylinder { viscous_friction: 2000.0, ..cylinder() };
            let mut rig = rig(&damped, &mass(200.0, start), step);
            let mut farthest = 0f64;
            for _ in 0..(3.0 / step) as usize {
                rig.waves();
                rig.orifice(0, if towards > 0.0 { 200e5 } else { 1e5 }, 1e-5);
                rig.orifice(1, if towards > 0.0 { 1e5 } else { 200e5 }, 1e-5);
                rig.motion(0.0);
                farthest = farthest.max((rig.x() - expected) * towards);
            }
            // F/k of the full pressure on the cap: 40 kN on 1e9 N/m
            let depth = (rig.x() - expected) * towards;
            let force =
                if towards > 0.0 { FULL * 200e5 - RING * 1e5 } else { RING * 200e5 - FULL * 1e5 };
            assert!((depth / (force / 1e9) - 1.0).abs() < 1e-3, "{step}: {depth}");
            assert!(farthest < 2e-3, "{step}: {farthest}");
            assert!(rig.v().abs() < 1e-6, "{step}: {}", rig.v());
            assert!(rig.cylinder.state.states[6 + Cylinder::STOPPED] > 0.0);
        }
    }
}

#[test]
fn piston_rebounds_no_faster_than_it_came() {
    let elastic = Cylinder {
        stop_damping: 0.0,
        // so large that their parasitic inertia does not count
        dead_volume_a: 0.5,
        dead_volume_b: 0.5,
        start_pressure_a: Some(50e5),
        start_pressure_b: Some(50e5 * FULL / RING),
        ..cylinder()
    };
    // from two steps per contact to two hundred
    for step in [1e-3, 3e-4, 1e-5] {
        for start in [0.49, 0.490_03, 0.490_11] {
            let mut rig = rig(&elastic, &mass(200.0, start), step);
            rig.mass.set_state(Mass::V, 0.3);
            rig.cylinder.state.bonds[2].flow = -0.3;
            let mut slowest = 0f64;
            for _ in 0..(0.08 / step) as usize {
                rig.waves();
                rig.hold(0, 50e5);
                rig.hold(1, 50e5 * FULL / RING);
                rig.motion(0.0);
                slowest = slowest.min(rig.v());
            }
            assert!(slowest >= -0.3 * (1.0 + 1e-3), "{step} {start}: {slowest}");
            assert!(slowest < -0.1, "{step} {start}: {slowest}");
        }
    }
}

#[test]
fn dry_friction_sticks_until_the_force_exceeds_it() {
    for friction in [FrictionModel::Coulomb, FrictionModel::Stribeck] {
        let seal = Cylinder { friction, static_friction: Some(300.0), ..cylinder() };
        let limit = if friction == FrictionModel::Coulomb { 200.0 } else { 300.0 };
        let mut rig = rig(&seal, &mass(100.0, 0.2), 1e-4);
        let run = |rig: &mut Rig<Cylinder>, load: f64| {
            for _ in 0..1000 {
                rig.waves();
                rig.cylinder.impose_flow(0, 0.0).impose_flow(1, 0.0);
                rig.motion(load);
            }
        };
        run(&mut rig, limit - 1.0);
        assert_eq!(rig.x(), 0.2, "{friction:?}");
        run(&mut rig, limit + 1.0);
        assert!(rig.x() < 0.2, "{friction:?}");
    }
}

#[test]
fn lugre_seal_creeps_as_a_spring_and_slides_with_its_amplitude() {
    let seal = Cylinder {
        friction: FrictionModel::Lugre,
        static_friction: Some(300.0),
        bristle_damping: 1e5,
        start_pressure_a: Some(1e5),
        start_pressure_b: Some(1e5 * FULL / RING),
        ..cylinder()
    };
    // ports open to the start pressures: only the seal resists
    let mut rig = rig(&seal, &mass(100.0, 0.2), 1e-4);
    let run = |rig: &mut Rig<Cylinder>, load: f64, steps: usize| {
        for n in 0..steps {
            let load = load * (n as f64 / 1000.0).min(1.0);
            rig.waves();
            rig.hold(0, 1e5);
            rig.hold(1, 1e5 * FULL / RING);
            rig.motion(load);
        }
    };
    run(&mut rig, 100.0, 20_000);
    // σ₀·z = F; while it deflects, dz/dx = 1 − σ₀·z/F_s, so x = F_s/σ₀·ln(1 − F/F_s)
    let crept = 300.0 / 1e7 * (1.0 - 100.0 / 300.0f64).ln();
    assert!((rig.x() - 0.2 - crept).abs() < 1e-7, "{}", rig.x());
    let z = rig.cylinder.get_state(Cylinder::Z);
    assert!((z / (-100.0 / 1e7) - 1.0).abs() < 1e-3, "{z}");
    let mut speed = [0.0; 2];
    for n in 0..2000 {
        rig.waves();
        rig.hold(0, 1e5);
        rig.hold(1, 1e5 * FULL / RING);
        rig.motion(1000.0);
        if n % 1000 == 999 {
            speed[n / 1000] = rig.v();
        }
    }
    let acceleration = (speed[1] - speed[0]) / 0.1;
    // m·a = F − F_c
    assert!((acceleration / (-800.0 / 100.0) - 1.0).abs() < 1e-2, "{acceleration}");
}

#[test]
fn leakage_is_the_conductance_times_the_pressure_difference() {
    let mut bench = Bench::new(&Cylinder { leakage: 3e-12, ..cylinder() }, 1e-4);
    bench.state.bonds[2].displacement = -0.2;
    bench.start();
    for _ in 0..20_000 {
        bench.step();
        for (port, pressure) in [(0, 150e5), (1, 30e5)] {
            let bond = bench.state.bonds[port];
            bench.impose_flow(port, (pressure - bond.wave) / (bond.impedance * 2.0));
        }
        bench.impose_flow(2, 0.0);
    }
    let expected = 3e-12 * (bench.effort(0) - bench.effort(1));
    assert!((bench.flow(0) / expected - 1.0).abs() < 1e-9);
    assert!((bench.flow(1) / -expected - 1.0).abs() < 1e-9);
}

#[test]
fn cushion_throttles_what_leaves_and_slows_the_piston() {
    let cushioned = Cylinder { cushion_length: 0.04, cushion_diameter: 1.5e-3, ..cylinder() };
    // drop at a steady outflow: Δp = (q/K)²·(1 − d/L_c)²
    let mut bench = Bench::new(&cushioned, 1e-4);
    bench.state.bonds[2].displacement = -0.49;
    bench.start();
    let full = 1e-4;
    for n in 0..=5000 {
        bench.step();
        let q = full * 0.5 * (1.0 - (PI * (n as f64 / 4000.0).min(1.0)).cos());
        bench.impose_flow(0, FULL / RING * q).impose_flow(1, -q);
        bench.impose_flow(2, -q / RING);
    }
    let q = full;
    bench.step();
    bench.impose_flow(1, -q);
    let k = 0.67 * FRAC_PI_4 * 1.5e-3 * 1.5e-3 * (2.0 / 870.0f64).sqrt();
    let drop = (q / k * (1.0 - 0.01 / 0.04)).powi(2);
    let seen = bench.get_state(Cylinder::PRESSURE_B) - bench.effort(1);
    assert!((seen / drop - 1.0).abs() < 1e-3, "{seen} {drop}");

    let impact = |component: &Cylinder| {
        let mut rig = rig(component, &mass(200.0, 0.1), 1e-4);
        for _ in 0..50_000 {
            rig.waves();
            rig.orifice(0, 150e5, 1.5e-5);
            rig.orifice(1, 1e5, 1.5e-5);
            rig.motion(0.0);
            if rig.x() > 0.4995 {
                return rig.v();
            }
        }
        0.0
    };
    let (hard, soft) = (impact(&cylinder()), impact(&cushioned));
    assert!(hard > 0.3 && soft < 0.4 * hard, "{hard} {soft}");
    assert!(soft > 0.0, "the cushion lets the piston reach its end");
}

#[test]
fn double_rod_moves_alike_in_both_directions() {
    let c = cylinder();
    let both = DoubleRodCylinder {
        bore: c.bore,
        rod_diameter: c.rod_diameter,
        area: None,
        dead_volume_a: c.dead_volume_a,
        dead_volume_b: c.dead_volume_b,
        leakage: 0.0,
        start_pressure_a: Some(50e5),
        start_pressure_b: Some(50e5),
        stroke: c.stroke,
        ambient_pressure: ATMOSPHERE,
        viscous_friction: 1000.0,
        friction: c.friction,
        coulomb_friction: c.coulomb_friction,
        static_friction: None,
        stribeck_velocity: c.stribeck_velocity,
        bristle_stiffness: c.bristle_stiffness,
        bristle_damping: c.bristle_damping,
        stop_stiffness: c.stop_stiffness,
        stop_damping: c.stop_damping,
        cushion_length: 0.0,
        cushion_diameter: c.cushion_diameter,
    };
    let around = Surroundings::of::<DoubleRodCylinder>(1e-4);
    let travel = |feed: usize| {
        let mut rig = Rig::new(&both, &mass(100.0, 0.25), &around);
        for _ in 0..2000 {
            rig.waves();
            rig.orifice(feed, 150e5, 1e-5);
            rig.orifice(1 - feed, 1e5, 1e-5);
            rig.motion(0.0);
        }
        rig.x() - 0.25
    };
    let (out, back) = (travel(0), travel(1));
    assert!(out > 0.02);
    assert!((out + back).abs() < 1e-9, "{out} {back}");
    let (worst, _) = worst_balance(&both, &Surroundings::of::<DoubleRodCylinder>(2e-4), 2);
    assert!(worst < 1e-14);
}

fn single() -> SingleActingCylinder {
    let c = cylinder();
    SingleActingCylinder {
        bore: c.bore,
        dead_volume: 5e-5,
        spring_stiffness: 2e4,
        spring_preload: 500.0,
        start_pressure: Some(ATMOSPHERE),
        stroke: c.stroke,
        ambient_pressure: ATMOSPHERE,
        viscous_friction: 5000.0,
        friction: c.friction,
        coulomb_friction: c.coulomb_friction,
        static_friction: None,
        stribeck_velocity: c.stribeck_velocity,
        bristle_stiffness: c.bristle_stiffness,
        bristle_damping: c.bristle_damping,
        stop_stiffness: c.stop_stiffness,
        stop_damping: c.stop_damping,
        cushion_length: 0.0,
        cushion_diameter: c.cushion_diameter,
    }
}

#[test]
fn spring_balances_the_pressure_and_brings_the_rod_back() {
    let around = Surroundings::of::<SingleActingCylinder>(1e-4);
    let mut rig = Rig::new(&single(), &mass(100.0, 0.0), &around);
    let pressure = ATMOSPHERE + (500.0 + 2e4 * 0.3) / FULL;
    let start = rig.cylinder.content();
    let mut entered = 0.0;
    for n in 0..200_000 {
        rig.waves();
        rig.orifice(0, if n < 100_000 { pressure } else { ATMOSPHERE }, 2e-5);
        entered += rig.cylinder.flow(0) * 1e-4;
        rig.motion(0.0);
        if n == 99_999 {
            assert!((rig.x() - 0.3).abs() < 1e-6, "{}", rig.x());
        }
        assert!((rig.cylinder.content() - start - entered).abs() < 1e-14);
    }
    assert!(rig.x().abs() < 1e-6, "{}", rig.x());
}

#[test]
fn rod_thicker_than_the_bore_is_refused() {
    let thick = Cylinder { rod_diameter: 0.06, ..cylinder() };
    let refusal = Bench::within(&thick, &Surroundings::of::<Cylinder>(1e-4)).err().unwrap();
    assert_eq!(refusal.parameter, "rod_diameter");
    assert!(refusal.message.contains("0.06 m") && refusal.message.contains("0.05 m"));
}

#[test]
fn friction_smaller_at_rest_than_in_motion_is_refused() {
    let odd =
        Cylinder { friction: FrictionModel::Stribeck, static_friction: Some(100.0), ..cylinder() };
    let refusal = Bench::within(&odd, &Surroundings::of::<Cylinder>(1e-4)).err().unwrap();
    assert_eq!(refusal.parameter, "static_friction");
}

/// Efforts, rates and outputs of the continuous law.
fn law_of<M: Physics>(bench: &Bench<M>, flow: &[f64], x: f64, state: &[f64]) -> [Vec<f64>; 2] {
    let ports = flow.len();
    let (mut effort, mut flow) = (vec![0.0; ports], flow.to_vec());
    let mut displacement = vec![0.0; ports];
    displacement[ports - 1] = -x;
    let (mut rate, mut output) = (vec![0.0; state.len()], vec![0.0; 2]);
    M::law(
        bench.constants(),
        &mut Law {
            effort: &mut effort,
            flow: &mut flow,
            displacement: &mut displacement,
            state,
            rate: &mut rate,
            memory: &[0.0; 3],
            input: &[],
            output: &mut output,
            viscosity: &[30e-6; 3][..ports],
            time: 0.0.into(),
        },
    );
    assert_eq!(output[0], x);
    [effort, rate]
}

#[test]
fn continuous_law_is_the_equations() {
    let leaking = Cylinder {
        leakage: 2e-12,
        viscous_friction: 1500.0,
        ambient_pressure: ATMOSPHERE,
        friction: FrictionModel::Coulomb,
        ..cylinder()
    };
    let bench = Bench::new(&leaking, 1e-4);
    let (x, v, qa, qb) = (0.3, 0.2, 4e-4, -1e-4);
    let [effort, rate] = law_of(&bench, &[qa, qb, -v], x, &[90e5, 20e5, 0.0]);
    let leak = 2e-12 * 70e5;
    let expected_a = BULK_MODULUS / (5e-5 + FULL * x) * (qa - FULL * v - leak);
    let expected_b = BULK_MODULUS / (5e-5 + RING * (0.5 - x)) * (qb + RING * v + leak);
    let force = FULL * (90e5 - ATMOSPHERE) - RING * (20e5 - ATMOSPHERE) - 1500.0 * v - 200.0;
    assert!((rate[0] / expected_a - 1.0).abs() < 1e-12);
    assert!((rate[1] / expected_b - 1.0).abs() < 1e-12);
    assert!((effort[2] / force - 1.0).abs() < 1e-12);
    assert_eq!((effort[0], effort[1]), (90e5, 20e5));

    let bench = Bench::new(&single(), 1e-4);
    let [effort, _] = law_of(&bench, &[0.0, 0.0], -1e-3, &[ATMOSPHERE, 0.0]);
    // the spring, relaxed by 1 mm, and the rear stop, 1 mm deep
    let expected = -500.0 + 2e4 * 1e-3 + 1e9 * 1e-3;
    assert!((effort[1] / expected - 1.0).abs() < 1e-12, "{}", effort[1]);
}

/// A mass on a cylinder between two orifices, to one time with a given step.
fn position_after(step: f64) -> f64 {
    let stiff = Cylinder { viscous_friction: 3000.0, ..cylinder() };
    let mut rig = rig(&stiff, &mass(500.0, 0.05), step);
    for n in 0..(0.4 / step).round() as usize {
        rig.waves();
        let t = (n + 1) as f64 * step;
        rig.orifice(0, 100e5 + 40e5 * (20.0 * t).sin(), 1e-5);
        rig.orifice(1, 1e5, 1e-5);
        rig.motion(0.0);
    }
    rig.x()
}

#[test]
fn motion_converges_with_the_step() {
    let reference = position_after(1.25e-5);
    let (coarse, fine) =
        ((position_after(4e-4) - reference).abs(), (position_after(2e-4) - reference).abs());
    // first order: waves are one step apart where orifice, oil and mass meet
    assert!(coarse / fine > 1.7, "{coarse} {fine}");
    assert!(fine < 1e-3 * reference);
}

#[test]
fn lanes_give_the_bits_of_scalars() {
    for friction in [FrictionModel::Stribeck, FrictionModel::Lugre] {
        for filter in FILTERS {
            let around = Surroundings {
                filter,
                fluid: Fluid {
                    bulk_model: BulkModel::EntrainedAir { fraction: 0.005, exponent: 1.4 },
                    ..Fluid::default()
                },
                ..Surroundings::of::<Cylinder>(1e-4)
            };
            let all: [Cylinder; 4] = std::array::from_fn(|lane| Cylinder {
                bore: 0.05 + 0.002 * lane as f64,
                leakage: 1e-12,
                friction,
                static_friction: Some(300.0),
                cushion_length: 0.03,
                ..cylinder()
            });
            let mut lanes = Bench::lanes([&all[0], &all[1], &all[2], &all[3]], &around).unwrap();
            lanes.start();
            let mut scalars: Vec<_> = all
                .iter()
                .map(|c| {
                    let mut bench = Bench::within(c, &around).unwrap();
                    bench.start();
                    bench
                })
                .collect();
            let mut x = [0.0; 4];
            for n in 0..3000 {
                let t = n as f64 * 1e-4;
                let drive = |port: usize, lane: usize| {
                    let s = (20.0 * t + lane as f64).sin();
                    [1e-3 * s, -6e-4 * s - 2e-4, -(0.8 * s + 0.3)][port]
                };
                for (lane, x) in x.iter_mut().enumerate() {
                    *x -= drive(2, lane) * 1e-4;
                }
                lanes.step();
                for port in 0..3 {
                    lanes.impose_flow(port, Lanes(std::array::from_fn(|lane| drive(port, lane))));
                }
                lanes.state.bonds[2].displacement = Lanes(x.map(|x| -x));
                for (lane, scalar) in scalars.iter_mut().enumerate() {
                    scalar.step();
                    for port in 0..3 {
                        let (a, b) = (lanes.state.bonds[port], scalar.state.bonds[port]);
                        assert_eq!(a.wave.0[lane], b.wave, "{friction:?} {filter:?} {n}");
                        assert_eq!(a.impedance.0[lane], b.impedance);
                        assert_eq!(a.dry.0[lane], b.dry);
                        scalar.impose_flow(port, drive(port, lane));
                    }
                    scalar.state.bonds[2].displacement = -x[lane];
                }
            }
        }
    }
}
