//! Lists, descriptions, explanations, published cases.

use crate::bench::Bench;

#[test]
fn components_are_listed_by_domain_and_word() {
    let bench = Bench::new();
    let said = bench.fluxline(&["list"]);
    assert_eq!(said.code, 0);
    for part in ["hydraulic\n", "translational\n", "signal\n", "hydraulic.tank", "signal.gain"] {
        assert!(said.out.contains(part), "{part} in {}", said.out);
    }
    let said = bench.fluxline(&["list", "SPRING"]);
    assert!(said.out.contains("translational.spring") && !said.out.contains("hydraulic.tank"));
    // By the name of another tool.
    assert!(bench.fluxline(&["list", "HydraulicTankC"]).out.contains("hydraulic.tank"));
    assert_eq!(bench.fluxline(&["list", "zzz"]).code, 2);
    let (_, all) = bench.json(&["list"]);
    assert!(all.as_array().unwrap().iter().any(|one| one["name"] == "hydraulic.volume"));
}

#[test]
fn components_and_settings_describe_themselves() {
    let bench = Bench::new();
    let said = bench.fluxline(&["describe", "hydraulic.turbulent_orifice"]);
    assert_eq!(said.code, 0);
    for part in ["inlet", "discharge", "C_q", "a signal may drive it", "Ports", "hopsan:"] {
        assert!(said.out.contains(part), "{part} in {}", said.out);
    }
    for setting in ["run", "solver", "fluid", "lines", "record"] {
        let said = bench.fluxline(&["describe", setting]);
        assert!(said.code == 0 && said.out.contains("Settings"), "{}", said.err);
    }
    let (_, value) = bench.json(&["describe", "translational.mass"]);
    assert_eq!(value["ports"][0]["name"], "a");
    assert!(
        value["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .any(|p| p["name"] == "load" && p["input"] == true)
    );
    let said = bench.fluxline(&["describe", "HydraulicTankC"]);
    assert!(said.out.starts_with("hydraulic.tank"), "{}", said.out);
    let said = bench.fluxline(&["describe", "hydraulic.tnak"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F0201") && said.err.contains("`hydraulic.tank`"), "{}", said.err);
}

#[test]
fn the_component_reference_is_markdown() {
    let bench = Bench::new();
    let said = bench.fluxline(&["describe", "--all", "--markdown"]);
    assert_eq!(said.code, 0);
    for part in [
        "# Component reference",
        "## Hydraulic",
        "### `hydraulic.tank`",
        "## Settings",
        "### `run`",
        "| port |",
    ] {
        assert!(said.out.contains(part), "{part}");
    }
    let rows = said.out.lines().filter(|line| line.starts_with('|'));
    for row in rows {
        assert!(row.ends_with('|'), "{row}");
    }
}

#[test]
fn codes_are_explained() {
    let bench = Bench::new();
    let said = bench.fluxline(&["explain", "f0302"]);
    assert!(said.code == 0 && said.out.contains("wrong physical dimension"));
    let said = bench.fluxline(&["explain", "F9302"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("not a Fluxline code"), "{}", said.err);
}

#[test]
fn published_cases_are_repeated() {
    let bench = Bench::new();
    let said = bench.fluxline(&["reproduce", "--list"]);
    assert!(said.code == 0 && said.out.contains("tlm/mass-spring"));
    let said = bench.fluxline(&["reproduce", "tlm/mass-spring"]);
    assert_eq!(said.code, 0, "{}", said.out);
    assert!(said.out.contains("Krus") && said.out.contains("agrees"));
    let (code, value) = bench.json(&["reproduce", "tlm/mass-spring"]);
    assert_eq!((code, &value["agrees"]), (0, &true.into()));
    assert_eq!(value["figures"][0]["reference"], 0.001);
    let said = bench.fluxline(&["reproduce", "tlm/mass-sprin"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F1203") && said.err.contains("`tlm/mass-spring`"), "{}", said.err);
}

#[test]
fn the_command_explains_itself() {
    let bench = Bench::new();
    let said = bench.fluxline(&["--help"]);
    assert!(said.code == 0 && said.out.contains("Exit codes:"));
    assert!(bench.fluxline(&["--version"]).out.starts_with("fluxline "));
    assert_eq!(bench.fluxline(&["no-such-command"]).code, 2);
    let colored = bench.fluxline(&["list", "--color", "always"]).out;
    assert!(colored.contains("\x1b[1m") && !bench.fluxline(&["list"]).out.contains('\x1b'));
}
