//! A step that follows the parasitic pressure (Pollmeier, chapter 3).

use fluxline_core::builder::Builder;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::Ended;
use fluxline_core::settings::FilterKind;
use fluxline_core::variable::Ladder;
use fluxline_library::registry;

fn relief_line(filter: FilterKind) -> Ladder {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    let run = &mut circuit.circuit.run;
    (run.min_step, run.max_step, run.parasitic_limit) = (1e-6, 1e-3, 5e3);
    (run.filter, run.start_pressure) = (filter, 1e5);
    circuit.add("pump", "hydraulic.flow_source", &[("flow", "10 l/min")]);
    circuit.add(
        "relief",
        "hydraulic.relief_valve",
        &[("cracking_pressure", "120 bar"), ("gradient", "600 l/min/bar")],
    );
    circuit.add("tank", "hydraulic.tank", &[]);
    circuit
        .connect(&["pump.outlet", "relief.inlet"])
        .line("hydraulic.volume", &[("volume", "1.4726 l")]);
    circuit.connect(&["relief.outlet", "tank.port"]);
    Ladder::new(&circuit.circuit, &registry).unwrap()
}

#[test]
fn waves_are_corrected_so_that_no_oil_is_lost_when_the_step_changes() {
    for filter in [FilterKind::None, FilterKind::Wave, FilterKind::Pressure] {
        let ladder = relief_line(filter);
        let mut state = ladder.finest().initial.clone();
        let mut recorder = Recorder::new(Vec::new(), Sampling::Even(2), 400_000);
        let (outcome, usage) = ladder.run(&mut state, 0.4, &mut recorder, |_| true);
        assert_eq!(outcome.ended, Ended::Done);
        assert!(usage.smallest < 1e-5 && usage.largest > 1e-4, "{filter:?} {usage:?}");
        let verdict = outcome.verdict;
        assert!(
            verdict.relative_oil_error() < 1e-13,
            "{filter:?} {}",
            verdict.relative_oil_error()
        );
    }
}

#[test]
fn variable_step_keeps_to_its_limit_with_a_fraction_of_the_steps() {
    let ladder = relief_line(FilterKind::None);
    let plan = ladder.finest();
    let mut state = plan.initial.clone();
    let inlet = plan.variables.find("relief.inlet.pressure").unwrap();
    let mut recorder = Recorder::new(vec![inlet], Sampling::Every(1), 400_000);
    let (outcome, usage) = ladder.run(&mut state, 0.4, &mut recorder, |_| true);
    let steady = recorder.column("relief.inlet.pressure").unwrap();
    // 120 bar over the tank plus 10/600 bar
    let expected = 120e5 + 101_325.0 + 1e5 * 10.0 / 600.0;
    assert!((steady.last().unwrap() / expected - 1.0).abs() < 1e-6);
    assert!(usage.taken + usage.rejected < 20_000, "{usage:?}");
    let (worst, _) = outcome.verdict.parasitic_pressure.unwrap();
    assert_eq!(usage.above_limit, 0, "{usage:?}");
    assert!(worst.value <= 5e3, "{worst:?}");
}

/// In a ramp the pressure is where the closed form says, also while the step grows: a flow counts
/// for half the step before and half the step after its time.
#[test]
fn pressure_does_not_fall_behind_while_the_step_grows() {
    // with the filter: without it the ends of the line swing by half a step of inflow
    let ladder = relief_line(FilterKind::Wave);
    let plan = ladder.finest();
    let mut state = plan.initial.clone();
    let outlet = plan.variables.find("pump.outlet.pressure").unwrap();
    let mut recorder = Recorder::new(vec![outlet], Sampling::Every(1), 400_000);
    let (_, usage) = ladder.run(&mut state, 0.06, &mut recorder, |_| true);
    assert!(usage.largest > 1e-4, "{usage:?}");
    let rate = 1.6e9 / 1.4726e-3 * 10e-3 / 60.0;
    let rows: Vec<Vec<f64>> = recorder.rows().collect();
    for pair in rows.windows(2).filter(|pair| pair[0][0] > 0.01) {
        let (time, step) = (pair[1][0], pair[1][0] - pair[0][0]);
        // Half of the first step is missing, because a circuit starts without flow; the filter acts
        // as a resistance of α/(2·(1 − α))·T/C.
        let expected = 1e5 + rate * (time - 0.5e-6 + 0.5 * 0.1 / 0.9 * step);
        assert!((pair[1][1] - expected).abs() < 100.0, "{time} s: {} {expected}", pair[1][1]);
    }
}
