//! `fluxline partition` and `fluxline generate`.

use crate::bench::Bench;
use std::path::PathBuf;

fn dual_transmission() -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/parallel");
    root.join("dual_transmission.toml").display().to_string()
}

/// Every type of a circuit at 10 ns.
fn costs(types: &[&str]) -> String {
    let mut text =
        "machine = \"test\"\n[exchange]\nline = \"2 ns\"\nsynchronisation = \"0.02 us\"\n\
                    [types]\n"
            .to_owned();
    for name in types {
        text.push_str(&format!("\"{name}\" = \"10 ns\"\n"));
    }
    text
}

const FLEET: &[&str] = &[
    "hydraulic.tank",
    "hydraulic.fixed_pump",
    "hydraulic.relief_valve",
    "hydraulic.check_valve",
    "hydraulic.valve_4_3",
    "hydraulic.cylinder",
    "translational.mass",
    "signal.sine",
    "hydraulic.filter",
    "hydraulic.orifice",
    "hydraulic.volume",
];

const DUAL: &[&str] = &[
    "hydraulic.check_valve",
    "hydraulic.filter",
    "hydraulic.fixed_motor",
    "hydraulic.fixed_pump",
    "hydraulic.line",
    "hydraulic.orifice",
    "hydraulic.relief_valve",
    "hydraulic.tank",
    "hydraulic.variable_pump_shaft",
    "hydraulic.volume",
    "rotational.gear",
    "rotational.inertia",
    "rotational.shaft",
    "rotational.speed_source",
    "signal.first_order",
    "signal.table",
];

/// Its two channels meet at a shaft, two relief valves and an orifice: four lines (Pollmeier,
/// section 6.3.2).
#[test]
fn the_dual_transmission_is_cut_into_its_channels_at_four_lines() {
    let bench = Bench::with("costs.toml", &costs(DUAL));
    let file = dual_transmission();
    let mut arguments =
        vec!["partition", &file, "--parts", "2", "--costs", "costs.toml", "--out", "halves.toml"];
    arguments.extend(["--report", "split.html", "--plot", "split.svg"]);
    let (code, value) = bench.json(&arguments);
    assert_eq!(code, 0);
    assert_eq!(value["cut_lines"], 4.0);
    let parts = value["part_of"].as_object().unwrap();
    for side in ["left", "right"] {
        let own: Vec<_> =
            parts.iter().filter(|(name, _)| name.starts_with(side)).map(|(_, p)| p).collect();
        assert!(own.len() > 33 && own.iter().all(|part| *part == own[0]), "{side}: {own:?}");
    }
    assert_ne!(parts["left.pump"], parts["right.pump"]);
    // Half of the work, four lines and one neighbour.
    let serial = value["predicted_serial_ns"].as_f64().unwrap();
    let step = value["predicted_step_ns"].as_f64().unwrap();
    assert!(step <= 0.5 * serial + 4.0 * 2.0 + 20.0 + 30.0, "{step} {serial}");
    let halves = bench.read("halves.toml");
    assert!(halves.starts_with("parts = 2\n") && halves.contains("\"left.pump\" = "), "{halves}");
    let report = bench.read("split.html");
    assert!(report.contains("<svg") && report.contains("left.pump (part "));
    assert!(bench.read("split.svg").contains("left.pump (part "));
    // Whom the user joins is not parted.
    arguments.truncate(6);
    arguments.extend(["--groups", "left.pump, right.pump"]);
    let (_, value) = bench.json(&arguments);
    assert_eq!(value["part_of"]["left.pump"], value["part_of"]["right.pump"]);
}

#[test]
fn a_generated_fleet_is_checked_and_split_alike_each_time() {
    let bench = Bench::with("costs.toml", &costs(FLEET));
    let said = bench.fluxline(&["generate", "fleet", "--components", "300", "--out", "big.toml"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("components with lines"), "{}", said.out);
    let said = bench.fluxline(&["check", "big.toml"]);
    assert!(said.code == 0 && said.out.contains("no warnings"), "{} {}", said.out, said.err);
    let split = |seed: &str| {
        let arguments =
            ["partition", "big.toml", "--parts", "4", "--costs", "costs.toml", "--seed", seed];
        bench.json(&arguments).1
    };
    let (one, again) = (split("7"), split("7"));
    assert_eq!(one["part_of"], again["part_of"]);
    assert_eq!(one["shares"].as_array().unwrap().len(), 4);
    assert!(one["predicted_speed_up"].as_f64().unwrap() > 3.0, "{one}");
    // A file is not overwritten unless asked for.
    let said = bench.fluxline(&["generate", "network", "--out", "big.toml"]);
    assert_eq!(said.code, 3, "{}", said.err);
}

#[test]
fn costs_that_lack_a_type_of_the_circuit_are_refused_by_name() {
    let bench = Bench::with("costs.toml", &costs(&FLEET[1..]));
    bench.fluxline(&["generate", "fleet", "--components", "30", "--out", "big.toml"]);
    let said = bench.fluxline(&["partition", "big.toml", "--costs", "costs.toml"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F1502") && said.err.contains("hydraulic.tank"), "{}", said.err);
}

#[test]
fn sizes_of_circuits_are_compared_and_do_not_go_into_one_file() {
    let bench = Bench::new();
    let all = ["generate", "network", "--components", "60,120", "--measure", "--plot", "up.svg"];
    let said = bench.fluxline(&all);
    assert_eq!(said.code, 0, "{}", said.err);
    for part in ["Measured, for each size", "Predicted speed-up, for each size", "break-even"] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    let svg = bench.read("up.svg");
    assert!(svg.starts_with("<svg") && svg.contains("as many as ranks"), "{svg}");
    let said = bench.fluxline(&["generate", "fleet", "--components", "60,120", "--out", "a.toml"]);
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(said.err.contains("2 circuits") && !bench.path("a.toml").exists(), "{}", said.err);
}
