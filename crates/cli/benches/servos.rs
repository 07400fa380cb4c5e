//! Large circuits: position servos side by side, each with its own pump, their supplies joined by
//! narrow pipes. Time per component and step by the engine and by own code, which give the same bits.
//!
//! `cargo bench -p fluxline --bench servos`

use fluxline_core::monitor::Tally;
use fluxline_core::plan::Plan;
use fluxline_core::run::{ByEngine, Stepper};
use fluxline_core::settings::Fused;
use fluxline_core::state::State;
use fluxline_formats::load_text;
use fluxline_fused::choice::{OwnCode, for_run};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

/// A servo: components and their settings.
const COMPONENTS: [(&str, &str, &str); 20] = [
    ("TankA", "HydraulicTankC", ""),
    ("TankB", "HydraulicTankC", ""),
    ("TankC", "HydraulicTankC", ""),
    ("Supply", "HydraulicVolumeMultiPort", "alpha = 0.3"),
    (
        "Relief",
        "HydraulicPressureReliefValve",
        "tao = \"1 ms\"\np_h = \"0 bar\"\nq_nom = \"600 l/min\"",
    ),
    ("Pump", "HydraulicFixedDisplacementPump", "n_p = \"200 rad/s\"\nD_p = \"250 cm^3\""),
    ("Valve", "Hydraulic43Valve", "rho = \"890 kg/m^3\"\nomega_h = \"200 rad/s\""),
    ("Cylinder", "HydraulicCylinderC", "B_p = \"0 N*s/m\"\nc_leak = \"0 m^3/(s*Pa)\""),
    ("Mass", "MechanicTranslationalMass", "B = \"0 N*s/m\"\nx_min = \"0 mm\"\nx_max = \"1 m\""),
    ("Ground", "MechanicFixedPosition", ""),
    ("Spring", "MechanicTranslationalSpring", ""),
    ("Sensor", "MechanicPositionSensor", ""),
    ("Sink", "SignalSink", ""),
    ("GainI", "SignalGain", "k = 0.00067"),
    ("Error", "SignalSubtract", ""),
    ("Integrator", "SignalIntegrator2", ""),
    ("Wanted", "SignalStep", "y_0 = 0.2\ny_A = 0.5"),
    ("GainP", "SignalGain", "k = 0.026"),
    ("Sum", "SignalAdd", ""),
    ("Scope", "SignalSink", ""),
];

/// What is joined within a servo.
const CONNECTIONS: [(&str, &str); 22] = [
    ("Mass.P1", "Cylinder.P3"),
    ("Valve.PA", "Cylinder.P1"),
    ("Valve.PB", "Cylinder.P2"),
    ("Mass.P2", "Spring.P1"),
    ("Sensor.P1", "Mass.P2"),
    ("Sensor.out", "Error.in2"),
    ("Sensor.out", "Scope.in"),
    ("TankA.P1", "Valve.PT"),
    ("Error.out", "GainP.in"),
    ("Error.out", "Integrator.in"),
    ("Supply.P1", "Relief.P1"),
    ("Supply.P1", "Valve.PP"),
    ("Supply.P1", "Pump.P2"),
    ("Pump.P1", "TankC.P1"),
    ("Wanted.out", "Error.in1"),
    ("Valve.xv", "Sink.in"),
    ("TankB.P1", "Relief.P2"),
    ("Integrator.out", "GainI.in"),
    ("Sum.out", "Valve.in"),
    ("GainP.out", "Sum.in1"),
    ("GainI.out", "Sum.in2"),
    ("Ground.Pm1", "Spring.P2"),
];

/// So many servos, each joined with the next.
fn servos(count: usize) -> String {
    let mut text = "[run]\nconvention = \"hopsan\"\nstop = \"1 s\"\nstep = \"0.1 ms\"\n".to_owned();
    let mut join = String::new();
    for i in 0..count {
        for (name, kind, settings) in COMPONENTS {
            let _ = writeln!(text, "[components.{name}{i}]\ntype = \"hopsan.{kind}\"\n{settings}");
        }
        for ends in CONNECTIONS {
            let [from, to] = [ends.0, ends.1].map(|end| end.replacen('.', &format!("{i}."), 1));
            let _ = writeln!(join, "[[connect]]\nfrom = \"{from}\"\nto = \"{to}\"");
        }
        if i + 1 < count {
            let _ =
                writeln!(text, "[components.Pipe{i}]\ntype = \"hopsan.HydraulicLaminarOrifice\"");
            for (end, port) in [(i, "P1"), (i + 1, "P2")] {
                let _ = writeln!(
                    join,
                    "[[connect]]\nfrom = \"Supply{end}.P1\"\nto = \"Pipe{i}.{port}\""
                );
            }
        }
    }
    text + &join
}

/// Nanoseconds per component and step by the engine and by own code, the least of several repeats.
fn costs(plan: &Plan, code: &mut Option<OwnCode>, steps: u64) -> [f64; 2] {
    let mut best = [f64::INFINITY; 2];
    let mut once = |at: usize, stepper: &mut dyn FnMut(&mut State<f64>, &mut Tally)| {
        let mut state = plan.initial.clone();
        let mut tally = Tally::new(plan, &mut state, true);
        let begin = Instant::now();
        stepper(&mut state, &mut tally);
        best[at] = best[at].min(begin.elapsed().as_secs_f64());
        state
    };
    // In turns, so that what else the machine does falls on both.
    for _ in 0..9 {
        let by_engine = once(0, &mut |state, tally| ByEngine.advance(plan, state, tally, steps));
        if let Some(code) = code {
            let by_code = once(1, &mut |state, tally| {
                code.begin(plan, state, tally);
                code.advance(plan, state, tally, steps);
                code.settle(state);
            });
            assert_eq!(by_engine.bonds, by_code.bonds, "the same bits");
        }
    }
    best.map(|seconds| seconds * 1e9 / (steps as f64 * plan.component_count() as f64))
}

fn main() {
    let registry = fluxline::registry();
    println!("ns per component and step, the least of nine runs in turns");
    println!("servos  components    engine  own code     ratio");
    for count in [1, 8, 50, 200, 1000] {
        let read = load_text("servos.toml", &servos(count), Path::new(""), &registry, &[]);
        let Some(circuit) = &read.circuit else {
            println!("{}", read.diagnostics.render(&read.sources, false, 100));
            continue;
        };
        let Some(plan) = Plan::of(circuit, &registry).plan else { continue };
        let steps = (4_000_000 / plan.component_count() as u64).clamp(100, 30_000);
        let mut code =
            match for_run(&plan, &registry, &plan.initial, &[], steps, Fused::On, &mut || true) {
                Ok(code) => Some(code),
                Err(why) => {
                    println!("no own code: {why}");
                    None
                }
            };
        let [engine, own] = costs(&plan, &mut code, steps);
        let components = plan.component_count();
        println!("{count:>6} {components:>11} {engine:>9.2} {own:>9.2} {:>9.2}", engine / own);
    }
}
