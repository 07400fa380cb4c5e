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
    assert!(worst.value <= 5e3 || usage.above_limit > 0, "{worst:?} {usage:?}");
}
