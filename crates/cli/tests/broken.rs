//! Broken circuits: what the command says about each, word for word.
//!
//! Each `broken/NAME.toml` holds mistakes that engineers make. `broken/NAME.expected` holds the
//! messages and the exit code of `fluxline check NAME.toml`, or of the command in the first line of
//! the file: `# fluxline run NAME.toml`. `FLUXLINE_UPDATE_SNAPSHOTS=1` rewrites what is expected;
//! read what changed as a user would: place, both values, likely cause, cure.

use fluxline_diagnostics::Code;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken")
}

/// The broken circuits, in the order of their names.
fn circuits() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())).collect();
    names.sort();
    names
}

/// What the command says, and its exit code.
fn said(name: &str) -> String {
    let file = format!("{name}.toml");
    let text = std::fs::read(folder().join(&file)).unwrap();
    let first = String::from_utf8_lossy(&text);
    let first = first.lines().next().unwrap_or("").strip_prefix("# fluxline ");
    let arguments: Vec<String> = match first {
        Some(line) => line.split_whitespace().map(str::to_owned).collect(),
        None => vec!["check".to_owned(), file],
    };
    let output = Command::new(env!("CARGO_BIN_EXE_fluxline"))
        .args(&arguments)
        .current_dir(folder())
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    // The same on every system.
    let told = told.replace('\\', "/");
    format!("{told}exit code {}\n", output.status.code().unwrap_or(-1))
}

#[test]
fn every_message_is_as_it_was_read_and_approved() {
    let update = std::env::var_os("FLUXLINE_UPDATE_SNAPSHOTS").is_some();
    let names = circuits();
    assert!(names.len() >= 60, "{} broken circuits", names.len());
    let mut different = Vec::new();
    for name in &names {
        let path = folder().join(format!("{name}.expected"));
        let said = said(name);
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if said != expected.replace("\r\n", "\n") {
            if update {
                std::fs::write(&path, &said).unwrap();
            } else {
                different.push(format!("--- {name}, expected:\n{expected}\n--- said:\n{said}"));
            }
        }
    }
    assert!(
        different.is_empty(),
        "{} differ; FLUXLINE_UPDATE_SNAPSHOTS=1 accepts them\n{}",
        different.len(),
        different.join("\n")
    );
}

#[test]
fn every_error_has_a_place_and_a_cure() {
    for name in circuits() {
        let said = said(&name);
        let mut errors = said.split("\n\n").filter(|part| part.starts_with("error[")).peekable();
        let is_refused = errors.peek().is_some();
        for error in errors {
            let lines: Vec<&str> = error.lines().collect();
            let place = lines.get(1).copied().unwrap_or("").trim_start();
            assert!(
                place.starts_with("--> ") && place.matches(':').count() >= 2,
                "{name}: no place in a file\n{error}"
            );
            let says = |line: &&str| line.starts_with("help: ") || line.starts_with("note: ");
            let marked = |line: &&str| line.contains("^ ");
            assert!(lines.iter().any(|l| says(l) || marked(l)), "{name}: no cure\n{error}");
        }
        let code = if is_refused { "exit code 2\n" } else { "exit code 0\n" };
        assert!(said.ends_with(code), "{name}:\n{said}");
    }
}

/// A folder of its own, removed at the end.
struct Bench(PathBuf);

impl Bench {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("fluxline-broken-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), content).unwrap();
    }

    /// Exit code, and all that was said.
    fn run(&self, arguments: &[&str]) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fluxline"));
        let output = command.args(arguments).current_dir(&self.0).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap_or(-1), String::from_utf8(text).unwrap())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A pump that feeds a cylinder without load until it reaches its end.
const CYLINDER: &str = r#"
[run]
stop = "0.5 s"
[components.pump]
type = "hydraulic.flow_source"
flow = "5 l/min"
[components.cylinder]
type = "hydraulic.cylinder"
stroke = "10 mm"
[components.load]
type = "translational.mass"
mass = "10 kg"
max_position = "5 mm"
[components.throttle]
type = "hydraulic.turbulent_orifice"
[components.relief]
type = "hydraulic.relief_valve"
cracking_pressure = "50 bar"
[components.tank]
type = "hydraulic.tank"
[[connect]]
from = "pump.outlet"
to = ["cylinder.a", "relief.inlet"]
[[connect]]
from = "cylinder.b"
to = "throttle.inlet"
[[connect]]
from = "tank.port"
to = ["throttle.outlet", "relief.outlet"]
[[connect]]
from = "cylinder.rod"
to = "load.a"
"#;

/// A pump that sucks oil from a closed volume.
const SUCTION: &str = r#"
[run]
stop = "0.2 s"
[components.pump]
type = "hydraulic.flow_source"
flow = "-5 l/min"
[components.volume]
type = "hydraulic.volume"
volume = "0.1 l"
[[connect]]
from = "pump.outlet"
to = "volume.port"
"#;

/// A pump whose flow grows with its pressure.
const RUNAWAY: &str = r#"
[run]
stop = "1 s"
[components.pump]
type = "hydraulic.flow_source"
[components.feedback]
type = "signal.gain"
gain = 1e-8
[components.orifice]
type = "hydraulic.turbulent_orifice"
area = "0.1 mm^2"
[components.tank]
type = "hydraulic.tank"
[[connect]]
from = "pump.outlet"
to = "orifice.inlet"
[[connect]]
from = "orifice.outlet"
to = "tank.port"
[[connect]]
from = "pump.outlet.pressure"
to = "feedback.input"
[[connect]]
from = "feedback.out"
to = "pump.flow"
"#;

/// Codes that no circuit file provokes by itself: the command that does, or where else it is.
enum Otherwise {
    /// A command line, with `cylinder.toml`, `suction.toml`, `runaway.toml`, `result.csv`, a saved
    /// state `state` and a damaged one `damaged` at hand; and its exit code.
    Command(&'static [&'static str], i32),
    /// A test of this name.
    Test(&'static str),
    /// Nothing reports it yet; its number is kept.
    Reserved,
}

use Otherwise::{Command as Run, Reserved, Test};

/// A tolerance that the shortest step cannot meet.
const TOLERANCE: &str = r#"title = "A tolerance that the shortest step cannot meet"

[run]
step = "1 ms"

[solver]
method = "rosenbrock"
relative_tolerance = 1e-10
min_step = "0.2 ms"

[components.supply]
type = "hydraulic.pressure_source"
pressure = "100 bar"

[components.first]
type = "hydraulic.orifice"
diameter = "2 mm"

[components.pilot]
type = "hydraulic.volume"
volume = "1 cm^3"

[components.second]
type = "hydraulic.orifice"
diameter = "1 mm"

[components.tank]
type = "hydraulic.tank"

[[connect]]
from = "supply.port"
to = "first.inlet"

[[connect]]
from = "first.outlet"
to = "pilot.port"

[[connect]]
from = "pilot.port"
to = "second.inlet"

[[connect]]
from = "second.outlet"
to = "tank.port"
"#;

const OTHERWISE: &[(Code, Otherwise)] = &[
    (Code::Diverged, Run(&["run", "runaway.toml"], 1)),
    (
        Code::NotConverged,
        Test("session::tests::ends_that_the_library_does_not_provoke_are_told_in_full"),
    ),
    (
        Code::StoppedByComponent,
        Test("session::tests::ends_that_the_library_does_not_provoke_are_told_in_full"),
    ),
    (Code::Interrupted, Test("command::failures::ctrl_c_keeps_what_was_computed")),
    (
        Code::NotCompiled,
        Test("command::own_code::own_code_that_is_asked_for_and_cannot_be_had_is_told"),
    ),
    (
        Code::NotAtRest,
        Run(&["run", "suction.toml", "--set", "run.begin=rest", "--set", "pump.flow=5 l/min"], 1),
    ),
    (Code::StepControlFailed, Reserved),
    (Code::SolverFailed, Run(&["run", "tolerance.toml"], 1)),
    (
        Code::RankLost,
        Test(
            "command::ranks::a_rank_that_is_killed_ends_all_with_one_message_and_leaves_nothing_half_written",
        ),
    ),
    (Code::CannotRead, Run(&["check", "missing.toml"], 3)),
    (Code::CannotWrite, Run(&["run", "cylinder.toml", "--csv", "nowhere/a.csv"], 3)),
    (Code::DiskFull, Test("command::results::a_full_disk_ends_the_run_and_says_so")),
    (Code::StateCorrupt, Run(&["run", "cylinder.toml", "--from-state", "damaged"], 2)),
    (Code::StateOfAnotherCircuit, Run(&["run", "suction.toml", "--from-state", "state"], 2)),
    (Code::UnknownVariable, Run(&["plot", "result.csv", "presure"], 2)),
    (Code::BadOverride, Run(&["check", "cylinder.toml", "--set", "pump.flow"], 2)),
    (Code::UnknownCase, Run(&["reproduce", "tlm/nothing"], 2)),
    (Code::NoOwnCode, Run(&["export", "--c", "tolerance.toml"], 2)),
    (Code::UnknownFormat, Run(&["plot", "result.csv", "pressure", "-o", "a.gif"], 2)),
    (Code::BadVariation, Run(&["sweep", "cylinder.toml", "--vary", "load.mass=gamma(1, 2)"], 2)),
    (Code::BadDesign, Run(&["sweep", "cylinder.toml", "--vary", "load.mass=1 kg..2 kg"], 2)),
    (
        Code::BadMetric,
        Run(
            &["sweep", "cylinder.toml", "--vary", "load.mass=1 kg..2 kg:2", "--metric", "max(x.y)"],
            2,
        ),
    ),
    (Code::OtherStudy, Test("command::sweep::results_of_another_study_are_not_mixed")),
    (Code::BadStudy, Test("command::studies::mistakes_in_a_study_are_told_where_they_are")),
    (Code::BadData, Test("command::studies::mistakes_in_data_are_told")),
    (
        Code::BadPartition,
        Test(
            "parallel::parts::a_partition_that_does_not_fit_the_circuit_is_refused_with_its_place",
        ),
    ),
    (
        Code::BadCosts,
        Run(&["partition", "cylinder.toml", "--parts", "2", "--costs", "cylinder.toml"], 2),
    ),
    (Code::BadGroup, Run(&["partition", "cylinder.toml", "--groups", "nothing*"], 2)),
    (
        Code::NoSuchInput,
        Run(&["bode", "cylinder.toml", "--input", "pump.speed", "--output", "load.x"], 2),
    ),
    (
        Code::NoLinearisation,
        Test("response::it::a_circuit_with_too_many_steps_of_delay_is_not_linearised"),
    ),
    (
        Code::NoDerivative,
        Run(
            &[
                "sensitivity",
                "cylinder.toml",
                "--parameters",
                "pump.flow=0 l/min",
                "--metrics",
                "max(load.x)",
            ],
            2,
        ),
    ),
    (Code::NoSpectrum, Run(&["spectrum", "result.csv", "pressure"], 2)),
    (Code::CoarseStep, Reserved),
    (Code::Cavitation, Run(&["run", "suction.toml", "--json"], 0)),
    (Code::LimitHit, Run(&["run", "cylinder.toml", "--json"], 0)),
    (Code::JoinedCPorts, Reserved),
    // Imported models, by the tests of their crate.
    (Code::InvalidXml, Test("hmf::format::broken_xml_is_refused_with_its_line")),
    (Code::NotAnImport, Test("hmf::format::a_file_of_another_kind_is_refused")),
    (Code::ImportedEnd, Test("hmf::format::odd_values_are_read_as_meant_with_a_warning")),
    (
        Code::ExternalSystem,
        Test("hmf::format::external_systems_that_are_missing_or_go_in_a_circle_are_told_once"),
    ),
    (
        Code::BadExpression,
        Test("hmf::parameters::errors_in_expressions_name_the_parameter_the_text_and_the_cause"),
    ),
    (
        Code::UnknownNameInExpression,
        Test("hmf::parameters::errors_in_expressions_name_the_parameter_the_text_and_the_cause"),
    ),
    (Code::ImportedCircle, Test("hmf::parameters::a_circle_is_told_in_its_order")),
    (
        Code::BadImportedValue,
        Test("hmf::parameters::integers_switches_texts_and_choices_are_literals_or_one_name"),
    ),
    (
        Code::UnknownImportedName,
        Test("hmf::parameters::unknown_settings_are_refused_with_the_nearest_names"),
    ),
    (Code::BadImportedSetting, Test("hmf::parameters::a_setting_is_name_equals_value")),
    (Code::BadValidation, Test("hmf::other_files::validations_with_mistakes_say_where")),
    (
        Code::UnsupportedImport,
        Test("hmf::convert::all_types_that_are_not_there_are_told_at_once_with_counts"),
    ),
    (Code::EncodingGuessed, Test("hmf::format::the_encoding_is_the_declared_one_or_guessed")),
    (Code::OddAttribute, Test("hmf::format::odd_values_are_read_as_meant_with_a_warning")),
    (
        Code::ImportRenamed,
        Test("hmf::format::names_are_made_plain_and_unique_and_connections_follow"),
    ),
    (
        Code::IgnoredParameter,
        Test("hmf::parameters::parameters_that_a_type_lacks_are_counted_and_told_once"),
    ),
    (Code::OldImport, Test("hmf::format::an_old_file_is_read_with_the_names_of_today")),
    (Code::IgnoredPart, Test("hmf::format::odd_values_are_read_as_meant_with_a_warning")),
];

#[test]
fn every_code_is_provoked_by_some_test() {
    let mut provoked: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in circuits() {
        let said = std::fs::read_to_string(folder().join(format!("{name}.expected")));
        for line in said.unwrap_or_default().lines() {
            let code = line.strip_prefix("error[").or_else(|| line.strip_prefix("warning["));
            if let Some(code) = code.and_then(|rest| rest.get(..5)) {
                provoked.entry(code.to_owned()).or_default().push(name.clone());
            }
        }
    }

    let bench = Bench::new("codes");
    bench.write("cylinder.toml", CYLINDER);
    bench.write("suction.toml", SUCTION);
    bench.write("runaway.toml", RUNAWAY);
    bench.write("tolerance.toml", TOLERANCE);
    bench.write("result.csv", "time,pressure\n0,1\n1,2\n");
    let (code, said) = bench.run(&["run", "cylinder.toml", "--save-state", "state", "--quiet"]);
    assert_eq!(code, 0, "{said}");
    let mut damaged = std::fs::read(bench.0.join("state")).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    bench.write("damaged", damaged);
    let mut reserved = BTreeSet::new();
    for (code, how) in OTHERWISE {
        match how {
            Run(arguments, expected) => {
                let (exit, said) = bench.run(arguments);
                assert!(said.contains(code.as_str()), "{code} by {arguments:?}:\n{said}");
                assert_eq!(exit, *expected, "{code} by {arguments:?}:\n{said}");
                provoked.entry(code.to_string()).or_default().push(arguments.join(" "));
            }
            Test(name) => provoked.entry(code.to_string()).or_default().push((*name).to_owned()),
            Reserved => drop(reserved.insert(code.to_string())),
        }
    }

    for code in Code::ALL.iter().map(Code::to_string) {
        let is_provoked = provoked.contains_key(&code);
        let is_reserved = reserved.contains(&code);
        assert!(
            is_provoked || is_reserved,
            "{code}: add a circuit to tests/broken that provokes it, or a line to OTHERWISE"
        );
        assert!(!(is_provoked && is_reserved), "{code} is no longer reserved");
    }
}
