//! `fluxline bench`: what it measures and how it says so.

use crate::bench::{Bench, PUMP, RUNAWAY, Said};
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn the_fastest_of_engine_and_own_code_counts_and_types_share_the_engines_time() {
    let bench = Bench::with("pump.toml", PUMP);
    let (code, said) = bench.json(&["bench", "pump.toml", "--repeat", "3"]);
    assert_eq!((code, &said["steps"], &said["repeats"]), (0, &2000.into(), &3.into()), "{said}");
    assert!(number(&said["startup_seconds"]) > 0.0);
    let (least, engine) = (number(&said["min_seconds"]), number(&said["engine"]["min_seconds"]));
    assert!(least <= number(&said["median_seconds"]) && least <= engine, "{said}");
    assert!((number(&said["ns_per_step"]) * 2000.0 / (least * 1e9) - 1.0).abs() < 1e-12);
    match said["manner"].as_str() {
        Some("engine") => assert_eq!(least, engine),
        Some(_) => {
            let codes = [&said["fused"], &said["compiled"]];
            let times = codes.iter().filter_map(|code| code["min_seconds"].as_f64());
            assert_eq!(Some(least), times.min_by(f64::total_cmp));
        }
        other => panic!("{other:?}"),
    }
    // Fewer types than are shown: together they take what the engine takes.
    let types = said["types"].as_array().unwrap();
    let all = |of: &dyn Fn(&Value) -> f64| types.iter().map(of).sum::<f64>();
    assert!((all(&|t| number(&t["share"])) - 1.0).abs() < 1e-9, "{said}");
    let together = all(&|t| number(&t["ns_per_component_step"]) * number(&t["components"]));
    assert!((together / number(&said["engine"]["ns_per_step"]) - 1.0).abs() < 1e-9, "{said}");
}

#[test]
fn without_a_compiler_what_can_be_had_is_measured() {
    let bench = Bench::with("pump.toml", PUMP);
    let run = |fused: &str| {
        let mut command = bench.command(&["bench", "pump.toml", "--repeat", "1", "--json", fused]);
        command.env("CC", "no-such-compiler").env("FLUXLINE_CACHE", bench.path("cache"));
        Said::from(command.output().unwrap())
    };
    let said = run("--fused=auto");
    let value: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, &value["compiled"]), (0, &Value::Null), "{}", said.err);
    let why = value["no_fused_because"].as_str().unwrap_or_default();
    assert!(why.contains("no C compiler"), "{why}");
    // Own code that needs none is there or not, by processor.
    let said = run("--fused");
    match value["fused"]["by"].as_str() {
        Some(by) => assert_eq!((by, said.code), ("fluxline", 0), "{}", said.err),
        None => {
            assert_eq!(value["manner"], "engine");
            assert!(said.code != 0 && said.err.contains("no C compiler"), "{}", said.err);
            assert!(said.err.contains("--fused=off"), "{}", said.err);
        }
    }
    let said = run("--fused=off");
    let value: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, &value["no_fused_because"]), (0, &Value::Null));
    assert_eq!((&value["fused"], &value["compiled"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_run_that_does_not_reach_its_end_is_not_measured() {
    let bench = Bench::with("runaway.toml", RUNAWAY);
    let said = bench.fluxline(&["bench", "runaway.toml", "--repeat", "1", "--fused=off"]);
    assert!(said.code != 0 && said.err.contains("`fluxline run` tells"), "{}", said.err);
}
