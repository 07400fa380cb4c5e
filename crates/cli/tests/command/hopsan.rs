//! Models of Hopsan: run, check, convert, compare, validate.

use crate::bench::Bench;

const MODEL: &str = include_str!("../../../../examples/hopsan/position_servo.hmf");
const VALIDATION: &str = include_str!("../../../../examples/hopsan/position_servo.hvc");
const STORED: &str = include_str!("../../../../examples/hopsan/position_servo.hvd");

const POSITION: &str = "Position#out#Value";
const PRESSURE: &str = "Relief#P1#Pressure";

/// A folder with the example model.
fn servo() -> Bench {
    Bench::with("servo.hmf", MODEL)
}

/// The last position, with something set.
fn end(bench: &Bench, more: &[&str]) -> f64 {
    let all: Vec<&str> =
        ["run", "servo.hmf", "--record", POSITION].iter().chain(more).copied().collect();
    let (code, verdict) = bench.json(&all);
    assert_eq!(code, 0, "{verdict}");
    assert_eq!(verdict["variables"][0]["name"], POSITION);
    verdict["variables"][0]["end"].as_f64().unwrap()
}

/// Results of the model as a table with these columns.
fn reference(bench: &Bench, names: &[&str]) -> String {
    let mut all = vec!["run", "servo.hmf", "--quiet", "--samples", "101", "--csv", "made.csv"];
    names.iter().for_each(|name| all.extend(["--record", name]));
    assert_eq!(bench.fluxline(&all).code, 0);
    bench.read("made.csv")
}

/// Changes one column of a table, and its header.
fn changed(table: &str, column: usize, header: &str, f: impl Fn(f64) -> f64) -> String {
    let mut out = String::new();
    for (number, line) in table.lines().enumerate() {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        cells[column] = match number {
            0 => header.to_owned(),
            _ => f(cells[column].parse().unwrap()).to_string(),
        };
        out += &(cells.join(",") + "\n");
    }
    out
}

fn fields(value: &serde_json::Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

// ---- Running --------------------------------------------------------------------------------

#[test]
fn a_model_is_checked_and_run_like_a_circuit() {
    let bench = servo();
    let said = bench.fluxline(&["check", "servo.hmf"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(said.out.contains("16 components") && said.out.contains("no warnings"), "{}", said.out);
    let (code, verdict) = bench.json(&["run", "servo.hmf"]);
    assert_eq!((code, &verdict["ended"]), (0, &"done".into()));
    assert_eq!((&verdict["steps"], &verdict["step_seconds"]), (&6000.into(), &5e-4.into()));
    // What Hopsan's types hold is not told, so there are no balances.
    assert!(verdict["oil_balance"].is_null() && verdict["energy_balance"].is_null());
    let names: Vec<&str> = verdict["variables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    for name in [POSITION, PRESSURE, "Controller$Gain#out#Value", "Supply#P1_2#Flow"] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    // The valve is closed where the position is the command, but for what the force bends it.
    assert!((end(&bench, &[]) - 0.3).abs() < 1e-3);
}

#[test]
fn the_samples_are_those_that_the_model_logs() {
    let bench = servo();
    let said = bench.fluxline(&["run", "servo.hmf", "--quiet", "--csv", "a.csv"]);
    assert_eq!(said.code, 0);
    let csv = bench.read("a.csv");
    assert_eq!(csv.lines().count(), 302);
    assert!(csv.lines().nth(1).unwrap().starts_with("0,"));
    assert!(csv.lines().last().unwrap().starts_with("3,"));
}

#[test]
fn values_are_set_by_the_names_of_the_model() {
    let bench = servo();
    let plain = end(&bench, &[]);
    // Half the stroke of the command.
    let half = end(&bench, &["--set", "Command#y_A#Value=0.125"]);
    assert!((half - 0.175).abs() < 2e-3, "{half}");
    let by_component = end(&bench, &["--set", "Controller$Gain#k#Value=0.05"]);
    let by_parameter = end(&bench, &["--set", "self#gain=0.05"]);
    assert!(by_component != plain);
    assert_eq!(by_component.to_bits(), by_parameter.to_bits());
    // Settings of the run, and names of the circuit file.
    let by_circuit = end(&bench, &["--set", "Controller.Gain.k=0.05"]);
    assert_eq!(by_circuit.to_bits(), by_component.to_bits());
    let (_, verdict) = bench.json(&["run", "servo.hmf", "--step", "1 ms", "--stop", "1 s"]);
    assert_eq!(verdict["steps"], 1000);
}

#[test]
fn an_unknown_name_of_the_model_gives_the_nearest() {
    let bench = servo();
    for (setting, near) in [
        ("Contoller$Gain#k#Value=1", "`Controller`"),
        ("Controller$Gian#k#Value=1", "`Gain`"),
        ("Valve#x_vmx#Value=1", "`x_vmax#Value`"),
        ("self#suply=1", "`supply`"),
    ] {
        for command in ["run", "check"] {
            let said = bench.fluxline(&[command, "servo.hmf", "--set", setting]);
            assert_eq!(said.code, 2, "{setting}");
            assert!(said.err.contains("F1309") && said.err.contains(near), "{}", said.err);
        }
    }
    let said = bench.fluxline(&["run", "servo.hmf", "--set", "Valve#x_vmax#Value"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F1310"), "{}", said.err);
}

#[test]
fn types_that_are_not_there_are_told_with_counts() {
    let bench = Bench::with("crane.hmf", &MODEL.replace("SignalSaturation", "SignalCrane"));
    for arguments in [&["run", "crane.hmf"][..], &["convert", "crane.hmf", "crane.toml"]] {
        let said = bench.fluxline(arguments);
        assert_eq!(said.code, 2);
        for part in
            ["error[F1312]", "1 component is of the type `SignalCrane`", "`Controller$Limit`"]
        {
            assert!(said.err.contains(part), "{part} in {}", said.err);
        }
    }
    assert_eq!(bench.files(), ["crane.hmf"]);
    let (code, problems) = bench.json(&["check", "crane.hmf"]);
    assert_eq!((code, &problems["errors"]), (2, &1.into()));
}

#[test]
fn a_model_that_cannot_be_read_is_told() {
    let bench = Bench::with("cut.hmf", &MODEL[..MODEL.len() / 2]);
    let said = bench.fluxline(&["run", "cut.hmf"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F1301") && said.err.contains("cut.hmf:"), "{}", said.err);
    for arguments in [
        &["run", "missing.hmf"][..],
        &["check", "missing.hmf"],
        &["convert", "missing.hmf", "a.toml"],
        &["compare", "missing.hmf", "a.csv"],
    ] {
        assert_eq!(bench.fluxline(arguments).code, 3, "{arguments:?}");
    }
}

// ---- Converting -----------------------------------------------------------------------------

#[test]
fn a_converted_model_gives_the_same_bytes() {
    let bench = servo();
    let said = bench.fluxline(&["convert", "servo.hmf", "servo.toml"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("1 × objects/textboxwidget"), "{}", said.err);
    let run = |file: &str, csv: &str| {
        let every = ["run", file, "--quiet", "--every", "1", "--record", "*", "--csv", csv];
        assert_eq!(bench.fluxline(&every).code, 0);
        bench.read(csv)
    };
    let (model, circuit) = (run("servo.hmf", "a.csv"), run("servo.toml", "b.csv"));
    assert_eq!(model.lines().count(), 6002);
    assert!(model == circuit);
    assert_eq!(bench.fluxline(&["check", "servo.toml"]).code, 0);
    assert!(bench.read("servo.toml").contains("Look at Position#out#Value"));
}

#[test]
fn a_file_that_is_there_is_not_overwritten_unless_forced() {
    let bench = servo();
    bench.write("servo.toml", "mine");
    let said = bench.fluxline(&["convert", "servo.hmf", "servo.toml"]);
    assert_eq!(said.code, 3);
    assert!(said.err.contains("F1002") && said.err.contains("--force"), "{}", said.err);
    assert_eq!(bench.read("servo.toml"), "mine");
    assert_eq!(bench.fluxline(&["convert", "servo.hmf", "servo.toml", "--force"]).code, 0);
    assert!(bench.read("servo.toml").starts_with("title = "));
    let said = bench.fluxline(&["convert", "servo.toml", "other.toml"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F1204") && said.err.contains(".hmf"), "{}", said.err);
}

#[test]
fn a_model_is_converted_to_standard_output_with_what_is_set() {
    let bench = servo();
    let said = bench.fluxline(&["convert", "servo.hmf", "-", "--set", "self#supply=210e5"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(said.out.contains("supply = \"210 bar\"  # supply pressure\n"), "{}", said.out);
    assert!(said.out.contains("[data.hopsan]"));
    assert_eq!(bench.files(), ["servo.hmf"]);
}

// ---- Comparing ------------------------------------------------------------------------------

#[test]
fn a_model_agrees_with_its_own_results() {
    let bench = servo();
    bench.write("ref.csv", &reference(&bench, &[POSITION, PRESSURE]));
    let said = bench.fluxline(&["compare", "servo.hmf", "ref.csv", "--tolerance", "0"]);
    assert_eq!(said.code, 0, "{}", said.out);
    assert!(said.out.contains("agrees: 2 variables at 101 times, 0 beyond"), "{}", said.out);
    let (code, found) = bench.json(&["compare", "servo.hmf", "ref.csv"]);
    assert_eq!(code, 0);
    assert_eq!(
        fields(&found),
        [
            "model",
            "reference",
            "tolerance",
            "passed",
            "worst",
            "worst_variable",
            "compared",
            "beyond",
            "samples",
            "outside",
            "missing",
            "ended",
            "variables",
        ]
    );
    assert_eq!((&found["passed"], &found["worst"]), (&true.into(), &0.0.into()));
    assert_eq!((&found["compared"], &found["samples"]), (&2.into(), &101.into()));
    assert_eq!((&found["tolerance"], &found["ended"]), (&0.01.into(), &"done".into()));
    assert_eq!(
        fields(&found["variables"][0]),
        [
            "name",
            "unit",
            "deviation",
            "largest_difference",
            "scale",
            "time",
            "value",
            "reference",
            "within"
        ]
    );
}

#[test]
fn a_deviation_is_relative_to_the_largest_magnitude_of_the_reference() {
    let bench = servo();
    let table = reference(&bench, &[POSITION, PRESSURE]);
    // Twice the position: the difference is half of what the reference says, at its largest.
    bench.write("ref.csv", &changed(&table, 1, POSITION, |x| 2.0 * x));
    let (code, found) = bench.json(&["compare", "servo.hmf", "ref.csv"]);
    assert_eq!((code, &found["passed"], &found["beyond"]), (1, &false.into(), &1.into()));
    assert_eq!(found["worst_variable"], POSITION);
    assert!((found["worst"].as_f64().unwrap() - 0.5).abs() < 1e-12, "{found}");
    let worst = &found["variables"][0];
    assert_eq!((&worst["name"], &worst["within"]), (&POSITION.into(), &false.into()));
    assert_eq!(found["variables"][1]["within"], true);
    let said = bench.fluxline(&["compare", "servo.hmf", "ref.csv"]);
    assert_eq!(said.code, 1);
    assert!(said.out.contains("deviates: 2 variables") && said.out.contains("50.0000 %"));
    assert_eq!(bench.fluxline(&["compare", "servo.hmf", "ref.csv", "--tolerance", "0.6"]).code, 0);
}

#[test]
fn what_is_set_is_compared() {
    let bench = servo();
    bench.write("ref.csv", &reference(&bench, &[POSITION]));
    let set = ["compare", "servo.hmf", "ref.csv", "--set", "Command#y_A#Value=0.1"];
    assert_eq!(bench.fluxline(&set).code, 1);
}

#[test]
fn a_unit_in_the_header_is_converted() {
    let bench = servo();
    let table = reference(&bench, &[POSITION, PRESSURE]);
    let table = changed(&table, 0, "time [ms]", |t| 1e3 * t);
    let table = changed(&table, 1, &format!("{POSITION} [mm]"), |x| 1e3 * x);
    let table = changed(&table, 2, &format!("{PRESSURE} [bar]"), |p| 1e-5 * p);
    bench.write("ref.csv", &table);
    let (code, found) = bench.json(&["compare", "servo.hmf", "ref.csv", "--tolerance", "1e-12"]);
    assert_eq!((code, &found["compared"]), (0, &2.into()), "{found}");
    assert_eq!((&found["samples"], &found["outside"]), (&101.into(), &0.into()));

    for (unit, code) in [("l/min", "F0302"), ("bahr", "F0303")] {
        bench.write("bad.csv", &changed(&table, 2, &format!("{PRESSURE} [{unit}]"), |p| p));
        let said = bench.fluxline(&["compare", "servo.hmf", "bad.csv"]);
        assert_eq!(said.code, 2);
        assert!(said.err.contains(code) && said.err.contains(PRESSURE), "{}", said.err);
    }
}

#[test]
fn columns_that_the_model_lacks_are_named_and_all_unknown_ones_refused() {
    let bench = servo();
    let table = reference(&bench, &[POSITION, PRESSURE]);
    bench.write("some.csv", &changed(&table, 2, "Valve#gone#Value", |x| x));
    let (code, found) = bench.json(&["compare", "servo.hmf", "some.csv"]);
    assert_eq!((code, &found["compared"]), (0, &1.into()));
    assert_eq!(found["missing"], serde_json::json!(["Valve#gone#Value"]));
    let said = bench.fluxline(&["compare", "servo.hmf", "some.csv"]);
    assert!(said.out.contains("not compared: Valve#gone#Value"), "{}", said.out);

    bench.write("none.csv", "time,pump.outlet.pressure\n0,1\n1,1\n");
    let said = bench.fluxline(&["compare", "servo.hmf", "none.csv"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F1201") && said.err.contains("#"), "{}", said.err);
    assert_eq!(bench.fluxline(&["compare", "servo.hmf", "missing.csv"]).code, 3);
}

#[test]
fn samples_outside_the_run_are_counted_and_do_not_agree_by_themselves() {
    let bench = servo();
    bench.write("late.csv", &format!("time,{POSITION}\n2.9,0.3\n3.5,0\n-1,0\n"));
    let (code, found) = bench.json(&["compare", "servo.hmf", "late.csv"]);
    assert_eq!((code, &found["samples"], &found["outside"]), (0, &1.into(), &2.into()));
    bench.write("never.csv", &format!("time,{POSITION}\n7,0\n8,0\n"));
    assert_eq!(bench.json(&["compare", "servo.hmf", "never.csv"]).0, 1);
}

#[test]
fn circuits_of_the_own_format_are_compared_as_well() {
    let bench = Bench::with("pump.toml", crate::bench::PUMP);
    let name = "pump.outlet.pressure";
    let run = ["run", "pump.toml", "--quiet", "--csv", "ref.csv", "--record", name];
    assert_eq!(bench.fluxline(&run).code, 0);
    assert_eq!(bench.fluxline(&["compare", "pump.toml", "ref.csv", "--tolerance", "0"]).code, 0);
    let set = ["compare", "pump.toml", "ref.csv", "--set", "orifice.area=6 mm^2"];
    assert_eq!(bench.fluxline(&set).code, 1);
}

// ---- Validating -----------------------------------------------------------------------------

fn validation() -> Bench {
    let bench = Bench::with("position_servo.hmf", MODEL);
    bench.write("position_servo.hvc", VALIDATION);
    bench.write("position_servo.hvd", STORED);
    bench
}

#[test]
fn a_validation_passes_within_its_tolerances() {
    let bench = validation();
    let said = bench.fluxline(&["validate", "position_servo.hvc"]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains("position_servo.hvc: 2 variables agree"), "{}", said.out);
    let (code, found) = bench.json(&["validate", "position_servo.hvc"]);
    assert_eq!((code, &found["passed"]), (0, &true.into()));
    assert_eq!(fields(&found), ["file", "passed", "variables"]);
    let first = &found["variables"][0];
    assert_eq!(
        fields(first),
        [
            "model",
            "name",
            "tolerance",
            "deviation",
            "time",
            "value",
            "reference",
            "repeats",
            "passed"
        ]
    );
    assert_eq!((&first["name"], &first["tolerance"]), (&POSITION.into(), &0.01.into()));
    assert_eq!((&first["repeats"], &first["passed"]), (&true.into(), &true.into()));
    assert!(first["deviation"].as_f64().unwrap() < 0.01);
}

#[test]
fn a_validation_fails_beyond_its_tolerances() {
    let bench = validation();
    bench.write("position_servo.hvc", &VALIDATION.replace(">0.01<", ">1e-9<"));
    let (code, found) = bench.json(&["validate", "position_servo.hvc"]);
    assert_eq!((code, &found["passed"]), (1, &false.into()));
    assert_eq!(found["variables"][0]["passed"], false);
    assert_eq!(found["variables"][1]["passed"], true);
    let said = bench.fluxline(&["validate", "position_servo.hvc"]);
    assert_eq!(said.code, 1);
    assert!(said.out.contains("FAILED") && said.out.contains("1 of 2 variables deviate"));
}

#[test]
fn a_validation_that_cannot_be_done_says_why() {
    let bench = validation();
    bench.write("unknown.hvc", &VALIDATION.replace(POSITION, "Position#gone#Value"));
    let said = bench.fluxline(&["validate", "unknown.hvc"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F1201") && said.err.contains("unknown.hvc:"), "{}", said.err);
    bench.write("column.hvc", &VALIDATION.replace("<column>1", "<column>7"));
    let said = bench.fluxline(&["validate", "column.hvc"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F1311"), "{}", said.err);
    bench.write("no_model.hvc", &VALIDATION.replace("servo.hmf", "servo_2.hmf"));
    bench.write("no_data.hvc", &VALIDATION.replace("servo.hvd", "servo_2.hvd"));
    for name in ["no_model.hvc", "no_data.hvc", "missing.hvc"] {
        assert_eq!(bench.fluxline(&["validate", name]).code, 3, "{name}");
    }
    assert_eq!(bench.fluxline(&["validate", "position_servo.hmf"]).code, 2);
}

/// Every validation file of the compatibility set, by the rule of the program it comes from.
#[test]
fn all_validation_files_of_the_compatibility_set_pass() {
    let given = std::env::var_os("FLUXLINE_SHARED").map(std::path::PathBuf::from);
    let beside = || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let models = given.unwrap_or_else(beside).join("hopsan/models");
    let Ok(folders) = std::fs::read_dir(&models) else {
        eprintln!("skipped: the compatibility set is not there");
        return;
    };
    let bench = Bench::new();
    let files = folders
        .filter_map(|folder| std::fs::read_dir(folder.ok()?.path()).ok())
        .flatten()
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "hvc"));
    let mut count = 0;
    for file in files {
        let said = bench.fluxline(&["validate", &file.to_string_lossy()]);
        assert_eq!(said.code, 0, "{}{}", said.out, said.err);
        count += 1;
    }
    assert_eq!(count, 28);
}
