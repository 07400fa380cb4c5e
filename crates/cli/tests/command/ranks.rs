//! Ranks of an MPI job: the bits of one process, and an end for all when one ends badly.
//!
//! The command is built with MPI by the first of these tests, beside the one without it: two crates of
//! ours, and the bindings to MPI. Where MPI is not installed they say what is missing, and
//! `FLUXLINE_TEST_MPI=0` leaves them out.

use crate::bench::{Bench, RUNAWAY};
use crate::parallel::PAIR;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// So long may a job take to end when one of its ranks has.
const SECONDS: Duration = Duration::from_secs(15);

/// Programs with MPI, or why there are none.
struct Programs {
    fluxline: PathBuf,
    ranks: PathBuf,
}

fn built() -> Result<Programs, String> {
    if std::env::var_os("FLUXLINE_TEST_MPI").is_some_and(|value| value == "0") {
        return Err("FLUXLINE_TEST_MPI is 0".to_owned());
    }
    for (tool, package) in [("mpirun", "openmpi-bin"), ("mpicc", "libopenmpi-dev")] {
        let found = Command::new(tool).arg("--version").output();
        if !found.is_ok_and(|output| output.status.success()) {
            let all = "all that they need: openmpi-bin, libopenmpi-dev, libclang-dev";
            return Err(format!("there is no {tool} (Debian package: {package}; {all})"));
        }
    }
    let folder = Path::new(env!("CARGO_BIN_EXE_fluxline")).parent().unwrap();
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    // The same packages as all tests: what they share is not built again.
    build.args(["build", "--workspace", "--features", "fluxline/mpi,fluxline-parallel/mpi"]);
    build.args(["--example", "fluxline_mpi", "--example", "ranks"]).arg("--target-dir");
    build.arg(folder.parent().unwrap()).stdout(Stdio::null()).stderr(Stdio::piped());
    if folder.ends_with("release") {
        build.arg("--release");
    }
    let mut cargo = build.spawn().map_err(|error| format!("cargo cannot be started: {error}"))?;
    let mut told = cargo.stderr.take().unwrap();
    let told = std::thread::spawn(move || std::io::read_to_string(&mut told).unwrap_or_default());
    let Some(success) = ends_within(&mut cargo, Duration::from_secs(3600)) else {
        return Err("building with MPI takes more than an hour".to_owned());
    };
    let told = told.join().unwrap();
    match success {
        true => {}
        // Its header files, or the library that reads them.
        false if told.contains("mpi-sys") || told.contains("clang") => {
            let last = told.lines().rev().find(|line| line.contains("lang")).unwrap_or_default();
            return Err(format!(
                "the bindings to MPI cannot be built (Debian packages: libopenmpi-dev, libclang-dev): {last}"
            ));
        }
        false => panic!("{told}"),
    }
    let example = |name: &str| folder.join("examples").join(name);
    Ok(Programs { fluxline: example("fluxline_mpi"), ranks: example("ranks") })
}

/// Whether it ended well; `None`, and killed, when it did not end in time.
fn ends_within(child: &mut Child, limit: Duration) -> Option<bool> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.success());
        }
        if begun.elapsed() > limit {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The programs, one test at a time: more ranks than cores get in each other's way. `None`, visibly,
/// where there is no MPI.
fn programs() -> Option<(&'static Programs, MutexGuard<'static, ()>)> {
    static PROGRAMS: OnceLock<Result<Programs, String>> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    match PROGRAMS.get_or_init(built) {
        Ok(programs) => {
            Some((programs, TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())))
        }
        Err(why) => {
            // Past the harness, which keeps what a test prints to itself unless it fails.
            let _ = writeln!(std::io::stderr(), "skipped: tests of MPI: {why}");
            None
        }
    }
}

fn mpirun(bench: &Bench, ranks: usize, options: &[&str], program: &Path, more: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    // Other tests run at the same time: a rank that is bound to a core waits for its turn on that one.
    command.args(["--oversubscribe", "--bind-to", "none", "-n", &ranks.to_string()]);
    command.args(options).arg(program);
    command.args(more).current_dir(bench.path("."));
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // Ranks that share a core must give way while they wait.
    command.env("OMPI_MCA_mpi_yield_when_idle", "1");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Processes with a word among their arguments, and their ranks.
fn processes(word: &str) -> Vec<(u32, usize)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(process) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let read = |name: &str| text(&std::fs::read(entry.path().join(name)).unwrap_or_default());
        if !read("cmdline").split('\0').any(|argument| argument == word) {
            continue;
        }
        let environment = read("environ");
        let rank =
            environment.split('\0').find_map(|one| one.strip_prefix("OMPI_COMM_WORLD_RANK="));
        if let Some(rank) = rank.and_then(|rank| rank.parse().ok()) {
            found.push((process, rank));
        }
    }
    found
}

fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").args([name, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Starts a long run on three ranks, does something to it once it is under way, and waits for its
/// end.
fn disturbed(
    programs: &Programs,
    bench: &Bench,
    options: &[&str],
    disturb: impl FnOnce(&Child, &str),
) -> Output {
    // Its name tells its processes from all others.
    let name = format!("pair{}.toml", std::process::id());
    bench.write(&name, PAIR);
    // Rows of one variable, often: something is written soon on any machine, and a run as long as
    // this is not refused for what it would write.
    let long = ["run", &name, "--mpi", "--stop", "1000 s", "--csv", "a.csv"];
    let more = [&long[..], &["--record", "v2.pressure", "--every", "10"]].concat();
    let mut job = mpirun(bench, 3, options, &programs.fluxline, &more).spawn().unwrap();
    let begun = Instant::now();
    while !bench.exists("a.csv.part") && begun.elapsed() < SECONDS {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    disturb(&job, &name);
    let began = Instant::now();
    if ends_within(&mut job, SECONDS).is_none() {
        processes(&name).iter().for_each(|(process, _)| signal("-KILL", *process));
        panic!("the job goes on");
    }
    println!("ended after {:.1?}", began.elapsed());
    let output = job.wait_with_output().unwrap();
    assert_eq!(processes(&name), [], "processes are left");
    std::fs::remove_file(bench.path(&name)).unwrap();
    output
}

#[test]
fn a_rank_that_is_killed_ends_all_with_one_message_and_leaves_nothing_half_written() {
    let Some((programs, _turn)) = programs() else { return };
    for rank in [1, 0] {
        let bench = Bench::new();
        let output = disturbed(programs, &bench, &[], |_, name| {
            let found = processes(name);
            assert_eq!(found.len(), 3, "{found:?}");
            signal("-KILL", found.iter().find(|one| one.1 == rank).unwrap().0);
        });
        let said = text(&output.stderr);
        assert!(!output.status.success());
        assert_eq!(said.matches("error[").count(), 1, "{said}");
        assert!(said.contains(&format!("error[F0908]: MPI rank {rank} of 3 is lost")), "{said}");
        assert!(!text(&output.stdout).contains("done"));
        assert!(bench.files().is_empty(), "{:?}", bench.files());
    }
}

#[test]
fn ctrl_c_ends_all_ranks_and_keeps_what_was_computed() {
    let Some((programs, _turn)) = programs() else { return };
    let bench = Bench::new();
    // The launcher kills ranks that have not ended within a second, which is short where several tests
    // share two cores.
    let patient = ["--mca", "odls_base_sigkill_timeout", "5"];
    let output = disturbed(programs, &bench, &patient, |job, _| signal("-INT", job.id()));
    let said = text(&output.stderr);
    assert!(!output.status.success());
    assert_eq!(said.matches("error[").count(), 1, "{said}");
    assert!(said.contains("F0904") && said.contains("kept in a.csv"), "{said}");
    assert_eq!(bench.files(), ["a.csv"]);
    assert!(bench.read("a.csv").lines().count() > 2);
}

#[test]
fn a_part_that_diverges_ends_all_ranks_with_the_message_of_one_process() {
    let Some((programs, _turn)) = programs() else { return };
    let bench = Bench::with("runaway.toml", RUNAWAY);
    let alone = bench.fluxline(&["run", "runaway.toml", "--csv", "one.csv"]);
    let more = ["run", "runaway.toml", "--mpi", "--csv", "three.csv"];
    let output = mpirun(&bench, 3, &[], &programs.fluxline, &more).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert_eq!(said.matches("error[").count(), 1, "{said}");
    let of = |text: &str| {
        let lines = text.lines().skip_while(|line| !line.contains("error["));
        lines.take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of(&said), of(&alone.err));
    assert!(bench.read("one.csv") == bench.read("three.csv"));
    assert_eq!(bench.files(), ["one.csv", "runaway.toml", "three.csv"]);
}

#[test]
fn a_rank_that_cannot_read_its_circuit_ends_all_with_one_message() {
    let Some((programs, _turn)) = programs() else { return };
    let bench = Bench::with("c0.toml", PAIR);
    bench.write("c2.toml", PAIR);
    // Each rank reads the file of its own number; the second one is not there.
    let script = "exec \"$0\" run c$OMPI_COMM_WORLD_RANK.toml --mpi --csv a.csv";
    let program = programs.fluxline.to_str().unwrap();
    let output =
        mpirun(&bench, 3, &[], Path::new("sh"), &["-c", script, program]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("on MPI rank 1") && said.contains("c1.toml"), "{said}");
    assert_eq!(said.matches("error[").count(), 1, "{said}");
    assert_eq!(bench.files(), ["c0.toml", "c2.toml"]);
    // One that reads another circuit is found out.
    bench.write("c1.toml", &PAIR.replace("3 mm", "4 mm"));
    let output =
        mpirun(&bench, 3, &[], Path::new("sh"), &["-c", script, program]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("rank 1 has read another circuit"), "{said}");
    assert_eq!(said.matches("error[").count(), 1, "{said}");
}

#[test]
fn every_example_and_generated_circuits_have_the_same_bits_on_1_2_and_4_ranks() {
    let Some((programs, _turn)) = programs() else { return };
    let bench = Bench::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut circuits = crate::parallel::circuits(&examples);
    for family in ["fleet", "network"] {
        let name = format!("{family}.toml");
        let all = ["generate", family, "--components", "150", "--out", &name];
        assert_eq!(bench.fluxline(&all).code, 0);
        circuits.push(bench.path(&name));
    }
    assert!(circuits.len() > 15);
    // More than parts take between two looks at their numbers.
    let mut more = vec!["260"];
    more.extend(circuits.iter().map(|path| path.to_str().unwrap()));
    for ranks in [1, 2, 4] {
        let output = mpirun(&bench, ranks, &[], &programs.ranks, &more).output().unwrap();
        let said = text(&output.stdout);
        assert!(output.status.success(), "{said}{}", text(&output.stderr));
        assert_eq!(said.matches("rows equal, state equal, verdict equal").count(), circuits.len());
    }
    // The command itself, with a model of Hopsan.
    let model = examples.join("hopsan/position_servo.hmf");
    let model = model.to_str().unwrap();
    let run = ["run", model, "--stop", "0.2 s", "--quiet", "--csv"];
    let alone: Vec<&str> = run.iter().copied().chain(["one.csv"]).collect();
    assert_eq!(bench.fluxline(&alone).code, 0);
    let two: Vec<&str> = run.iter().copied().chain(["two.csv", "--mpi"]).collect();
    let output = mpirun(&bench, 2, &[], &programs.fluxline, &two).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(bench.read("one.csv") == bench.read("two.csv"));
}

/// A sweep with some variants that are refused; 96 of them take some seconds.
const SWEEP: [&str; 12] = [
    "sweep",
    "pair.toml",
    "--vary",
    "across.diameter=-0.1 mm..5 mm",
    "--vary",
    "v2.volume=0.1 l..2 l",
    "--metric",
    "max(v2.pressure)",
    "--runs",
    "96",
    "--record",
    "v2.pressure",
];

#[test]
fn a_sweep_writes_the_same_bytes_on_1_2_and_4_ranks() {
    let Some((programs, _turn)) = programs() else { return };
    let bench = Bench::with("pair.toml", PAIR);
    let with = |more: &[&'static str]| -> Vec<&str> {
        SWEEP.iter().copied().chain(more.iter().copied()).collect()
    };
    let said = bench.fluxline(&with(&["--out", "one.csv"]));
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("refused"), "{}", said.out);
    let written = |out: &str| -> Vec<(String, Vec<u8>)> {
        let mut all = bench.files();
        all.retain(|name| name.starts_with(out));
        all.into_iter()
            .map(|name| (name[out.len()..].to_owned(), std::fs::read(bench.path(&name)).unwrap()))
            .collect()
    };
    let one = written("one");
    assert!(one.len() >= 2, "{:?}", bench.files());
    for (ranks, name, more) in [
        (1, "r1", ["--mpi", "--out", "r1.csv"]),
        (2, "r2", ["--mpi", "--out", "r2.csv"]),
        (4, "r4", ["--mpi", "--out", "r4.csv"]),
    ] {
        let job = mpirun(&bench, ranks, &[], &programs.fluxline, &with(&more)).output().unwrap();
        let said = text(&job.stdout);
        assert!(job.status.success(), "{said}{}", text(&job.stderr));
        assert!(said.contains(&format!("{ranks} MPI ranks")), "{said}");
        assert!(written(name) == one, "{ranks} ranks: {:?}", bench.files());
    }
}

/// A study of the pair, with a method that asks for some runs at a time.
const STUDY: &str = r#"
circuit = "pair.toml"
method = "differential_evolution"
evaluations = 200

[[objective]]
metric = "rms(v2.pressure - 40 bar)"

[[variable]]
name = "across.diameter"
from = "1 mm"
to = "5 mm"

[[variable]]
name = "v2.volume"
from = "0.1 l"
to = "2 l"
"#;

/// What of it is to be found again from a run with other values.
const FIT: &str = r#"
circuit = "pair.toml"
data = "measured.csv"

[[signal]]
column = "v2.pressure"
variable = "v2.pressure"

[[variable]]
name = "across.diameter"
from = "1 mm"
to = "5 mm"

[[variable]]
name = "v2.volume"
from = "0.1 l"
to = "2 l"
"#;

#[test]
fn studies_write_the_same_bytes_on_1_2_and_4_ranks() {
    let Some((programs, _turn)) = programs() else { return };
    let bench = Bench::with("pair.toml", PAIR);
    bench.write("study.toml", STUDY);
    bench.write("fit.toml", FIT);
    let measured = ["run", "pair.toml", "--set", "across.diameter=3.4 mm", "--csv", "measured.csv"];
    let every = ["--record", "v2.pressure", "--every", "20", "--quiet"];
    assert_eq!(bench.fluxline(&[&measured[..], &every[..]].concat()).code, 0);
    for (command, study) in [("optimise", "study.toml"), ("identify", "fit.toml")] {
        let said = bench.fluxline(&[command, study, "--out", "one.csv"]);
        assert_eq!(said.code, 0, "{}{}", said.out, said.err);
        assert!(command != "identify" || said.out.contains("3.4 mm"), "{}", said.out);
        for ranks in [1, 2, 4] {
            let name = format!("{command}{ranks}.csv");
            let more = [command, study, "--mpi", "--out", &name];
            let job = mpirun(&bench, ranks, &[], &programs.fluxline, &more).output().unwrap();
            let told = text(&job.stdout);
            assert!(job.status.success(), "{told}{}", text(&job.stderr));
            assert!(told.contains(&format!("among {ranks} MPI rank")), "{told}");
            assert!(bench.read(&name) == bench.read("one.csv"), "{command} on {ranks} ranks");
        }
    }
    // A study that one rank cannot read ends all, with one message.
    bench.write("bad0.toml", STUDY);
    bench.write("bad1.toml", &STUDY.replace("across.diameter", "across.diametre"));
    let script = "exec \"$0\" optimise bad$OMPI_COMM_WORLD_RANK.toml --mpi --out bad.csv";
    let program = programs.fluxline.to_str().unwrap();
    let job = mpirun(&bench, 2, &[], Path::new("sh"), &["-c", script, program]).output().unwrap();
    let said = text(&job.stderr);
    assert!(!job.status.success());
    assert!(said.contains("on MPI rank 1") && said.contains("diametre"), "{said}");
    assert_eq!(said.matches("error[").count(), 1, "{said}");
    assert!(!bench.files().contains(&"bad.csv".to_owned()));
}

#[test]
fn the_variants_of_a_lost_rank_are_done_again_where_the_launcher_allows_it() {
    let Some((programs, _turn)) = programs() else { return };
    let bench = Bench::with("pair.toml", PAIR);
    // So slow that a rank can be killed while it is at work.
    let sweep = [&SWEEP[..8], &["--runs", "300", "--set", "run.stop=2 s", "--lanes", "1"]].concat();
    let with = |more: &[&'static str]| -> Vec<&str> {
        sweep.iter().copied().chain(more.iter().copied()).collect()
    };
    assert_eq!(bench.fluxline(&with(&["--out", "one.csv"])).code, 0);
    for (options, goes_on, out) in
        [(&["--enable-recovery"][..], true, "again.csv"), (&[], false, "reported.csv")]
    {
        let shared = with(&["--mpi", "--out", out]);
        let mut job = mpirun(&bench, 3, options, &programs.fluxline, &shared).spawn().unwrap();
        let begun = Instant::now();
        let is_under_way = || {
            let part = bench.files().into_iter().find(|name| name.starts_with(out));
            part.is_some_and(|name| bench.read(&name).lines().count() > 20)
        };
        while !is_under_way() && begun.elapsed() < SECONDS {
            std::thread::sleep(Duration::from_millis(5));
        }
        let found = processes(out);
        signal("-KILL", found.iter().find(|one| one.1 == 2).expect("the third rank").0);
        let ended = ends_within(&mut job, Duration::from_secs(60));
        let output = job.wait_with_output().unwrap();
        let (told, said) = (text(&output.stdout), text(&output.stderr));
        assert!(ended.is_some(), "the job goes on: {told}{said}");
        assert_eq!(processes(out), [], "processes are left");
        match goes_on {
            true => assert!(told.contains("lost      rank 2"), "{told}{said}"),
            false => {
                assert!(!output.status.success());
                assert_eq!(said.matches("error[F0908]").count(), 1, "{told}{said}");
                assert!(said.contains("the same command goes on"), "{said}");
                // And so it does, with or without ranks.
                assert_eq!(bench.fluxline(&with(&["--out", out])).code, 0);
            }
        }
        assert!(bench.read("one.csv") == bench.read(out));
    }
}
