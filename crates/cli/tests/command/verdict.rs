//! What a run that goes well tells.

use crate::bench::{Bench, PUMP, SWING};

const FIELDS: &[&str] = &[
    "file",
    "title",
    "ended",
    "exit_code",
    "steps",
    "step_seconds",
    "start",
    "stop",
    "reached",
    "simulated_seconds",
    "wall_seconds",
    "real_time_factor",
    "fused",
    "rest",
    "variable_step",
    "solver",
    "parallel",
    "parasitic_pressure",
    "parasitic_force",
    "oil_balance",
    "energy_balance",
    "limits",
    "cavitation",
    "unconverged",
    "warnings",
    "variables",
    "failure",
    "errors",
    "files",
];

fn fields(value: &serde_json::Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_good_run_ends_with_zero_and_a_verdict() {
    let bench = Bench::with("pump.toml", PUMP);
    let said = bench.fluxline(&["run", "pump.toml"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    for part in ["Pump and orifice: done", "oil balance", "cavitation", "× real time", "l/min"] {
        assert!(said.out.contains(part), "{part} in {}", said.out);
    }
    assert_eq!(bench.files(), ["pump.toml"]);
}

#[test]
fn the_json_verdict_has_all_fields_in_every_case() {
    let bench = Bench::with("pump.toml", PUMP);
    let (code, verdict) = bench.json(&["run", "pump.toml"]);
    assert_eq!(code, 0);
    assert_eq!(fields(&verdict), FIELDS);
    assert_eq!(verdict["steps"], 2000);
    assert_eq!(verdict["ended"], "done");
    assert_eq!(verdict["failure"], serde_json::Value::Null);
    assert_eq!(verdict["step_seconds"], 1e-4);
    assert!(verdict["oil_balance"]["relative"].as_f64().unwrap() < 1e-12);
    let pressure = verdict["variables"]
        .as_array()
        .unwrap()
        .iter()
        .find(|v| v["name"] == "pump.outlet.pressure")
        .unwrap();
    assert_eq!(pressure["unit"], "Pa");
    // q = C_q·A·√(2Δp/ρ) with 18 l/min, 5 mm², 0.67 and 870 kg/m³.
    let steady = 101_325.0 + 870.0 / 2.0 * (3e-4 / (0.67 * 5e-6_f64)).powi(2);
    assert!((pressure["end"].as_f64().unwrap() / steady - 1.0).abs() < 1e-3, "{pressure}");

    bench.write("bad.toml", "[components.a]\ntype = \"no.such\"\n");
    let (code, refused) = bench.json(&["run", "bad.toml"]);
    assert_eq!(code, 2);
    assert_eq!(fields(&refused), FIELDS);
    assert_eq!(refused["ended"], "refused");
    assert_eq!(refused["errors"][0]["code"], "F0201");
}

#[test]
fn quiet_leaves_the_verdict_alone() {
    let with_plot = format!("{PUMP}\n[[plot]]\nvariables = \"pump.outlet.pressure\"\n");
    let bench = Bench::with("pump.toml", &with_plot);
    let loud = bench.fluxline(&["run", "pump.toml"]).out;
    let quiet = bench.fluxline(&["run", "pump.toml", "--quiet"]).out;
    assert!(loud.contains('⠉') || loud.contains("── pump.outlet.pressure"), "{loud}");
    assert!(quiet.contains("oil balance") && !quiet.contains("──"), "{quiet}");
}

#[test]
fn values_are_set_from_the_command_line() {
    let bench = Bench::with("pump.toml", PUMP);
    let run = |more: &[&str]| {
        let all: Vec<&str> = ["run", "pump.toml"].iter().chain(more).copied().collect();
        bench.json(&all)
    };
    let (code, verdict) =
        run(&["--stop", "50 ms", "--step", "0.05 ms", "--set", "orifice.area=10 mm^2"]);
    assert_eq!((code, &verdict["steps"]), (0, &1000.into()));
    let (code, verdict) = run(&["--set", "orifice.area=10 l/min"]);
    assert_eq!((code, &verdict["errors"][0]["code"]), (2, &"F0302".into()));
    let (code, verdict) = run(&["--set", "orifice.area"]);
    assert_eq!((code, &verdict["errors"][0]["code"]), (2, &"F1202".into()));
    let (code, verdict) = run(&["--record", "pmup.*"]);
    assert_eq!((code, &verdict["errors"][0]["code"]), (2, &"F0703".into()));
    assert!(verdict["errors"][0]["help"][0].as_str().unwrap().contains("pump"));
}

#[test]
fn check_tells_all_problems_at_once() {
    let broken =
        PUMP.replace("volume = \"1 l\"", "volume = \"1 bar\"").replace("pump.flow", "pump.flwo");
    let bench = Bench::with("broken.toml", &broken);
    let said = bench.fluxline(&["check", "broken.toml"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F0302") && said.err.contains("flwo"), "{}", said.err);
    assert!(said.err.contains("2 errors"), "{}", said.err);
    let (code, problems) = bench.json(&["check", "broken.toml"]);
    assert_eq!((code, &problems["errors"]), (2, &2.into()));

    bench.write("good.toml", PUMP);
    let said = bench.fluxline(&["check", "good.toml"]);
    assert_eq!(said.code, 0);
    assert!(
        said.out.contains("5 components, 4 connections") && said.out.contains("no warnings"),
        "{}",
        said.out
    );
    assert_eq!(bench.json(&["check", "good.toml"]).1["errors"], 0);
}

#[test]
fn plots_of_unknown_variables_are_found_before_the_run() {
    let bench = Bench::with(
        "pump.toml",
        &format!("{PUMP}\n[[plot]]\nvariables = \"pump.outlet.presure\"\n"),
    );
    let said = bench.fluxline(&["check", "pump.toml"]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("F0704") && said.err.contains("pump.outlet.pressure"),
        "{}",
        said.err
    );
}

#[test]
fn a_start_at_rest_is_reported_or_refused() {
    let at_rest = PUMP.replace("[run]", "[run]\nbegin = \"rest\"");
    let bench = Bench::with("pump.toml", &at_rest);
    let (code, verdict) = bench.json(&["run", "pump.toml", "--record", "pump.outlet.pressure"]);
    assert_eq!((code, &verdict["rest"]["reached"]), (0, &true.into()));
    // Nothing happens before the step at 0.1 s.
    let (code, verdict) =
        bench.json(&["run", "pump.toml", "--stop", "90 ms", "--record", "pump.outlet.pressure"]);
    let range = &verdict["variables"][0];
    let (min, max) = (range["min"].as_f64().unwrap(), range["max"].as_f64().unwrap());
    assert!(code == 0 && max / min - 1.0 < 1e-6, "{range}");

    // A mass that swings for ever does not come to rest.
    bench.write(
        "swing.toml",
        &SWING.replace("[run]", "[run]\nbegin = \"rest\"\nrest_limit = \"5 s\""),
    );
    let (code, verdict) = bench.json(&["run", "swing.toml"]);
    assert_eq!((code, &verdict["ended"]), (1, &"not_at_rest".into()));
    assert_eq!(verdict["failure"]["code"], "F0905");
    let said = bench.fluxline(&["run", "swing.toml", "--quiet"]);
    assert!(said.err.contains("did not come to rest within 5 s"), "{}", said.err);
}

#[test]
fn a_variable_step_says_what_it_did() {
    let text = PUMP.replace(
        "[run]",
        "[run]\nstep_control = \"variable\"\nmin_step = \"10 us\"\nmax_step = \"0.32 ms\"",
    );
    let bench = Bench::with("pump.toml", &text);
    let (code, verdict) = bench.json(&["run", "pump.toml"]);
    assert_eq!((code, &verdict["step_seconds"]), (0, &serde_json::Value::Null));
    assert!(verdict["variable_step"]["taken"].as_u64().unwrap() > 100);
    let said = bench.fluxline(&["run", "pump.toml", "--save-state", "s"]);
    assert_eq!(said.code, 2, "{}", said.err);
}
