//! `fluxline bench`: how fast a circuit runs.

use super::Console;
use crate::args::Bench;
use crate::session::{Engine, Recording, Session};
use fluxline_core::engine;
use fluxline_core::recorder::Recorder;
use fluxline_core::run::{self, Ended, Outcome};
use fluxline_core::state::State;
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_formats::Override;
use fluxline_fused::choice::for_run;
use serde_json::json;
use std::collections::HashMap;
use std::time::Instant;

/// Types that are listed.
const SHOWN: usize = 10;
/// Steps that are taken to learn what each type costs.
const PROFILED: u64 = 20_000;

/// What a component type costs.
struct TypeCost {
    name: &'static str,
    members: usize,
    /// Part of the whole.
    share: f64,
    /// Per component and step, ns.
    nanoseconds: f64,
}

/// What was measured.
struct Measured {
    startup: f64,
    /// Seconds of each repeat, the least first.
    seconds: Vec<f64>,
    steps: u64,
    components: usize,
    simulated: f64,
    recorded: usize,
    types: Vec<TypeCost>,
    memory: Option<u64>,
    own_code: Option<OwnCode>,
}

/// What code of its own makes of it.
struct OwnCode {
    /// Seconds of each repeat, the least first.
    seconds: Vec<f64>,
    /// What the compiler took; nothing when the code was there.
    compiler: Option<f64>,
    statements: usize,
    by_engine: Vec<String>,
}

pub(super) fn run(console: &Console, args: &Bench) -> u8 {
    let overrides: Vec<Override> = args.set.iter().map(|text| Override::parse(text)).collect();
    let begin = Instant::now();
    let session = match Session::open(&args.file, &overrides) {
        Ok(session) => session,
        Err(failure) => return console.refuse(&failure),
    };
    let startup = begin.elapsed().as_secs_f64();
    if !matches!(session.engine, Engine::Fixed(_)) {
        let message = format!("`{}` has a variable step", args.file.display());
        let problem = Diagnostic::error(Code::UnknownSetting, message);
        return console.fail(problem.help("measure it with `--set run.step_control=fixed`"));
    }
    match measure(&session, args, startup) {
        Err(problem) => console.fail(problem),
        Ok(measured) => {
            match args.json {
                true => console.json(&in_json(args, &measured)),
                false => console.print(&in_words(args, &measured)),
            }
            0
        }
    }
}

fn measure(session: &Session, args: &Bench, startup: f64) -> Result<Measured, Diagnostic> {
    let plan = session.plan();
    let steps = session.steps();
    let chosen = session.recording(&Recording::default()).map_err(|found| {
        let first = found.iter().next().map_or("nothing to record", |d| d.message()).to_owned();
        Diagnostic::error(Code::RecordMatchesNothing, first)
    })?;
    let mut code = match args.fused {
        false => None,
        true => Some(
            for_run(plan, &session.registry, &plan.initial, &chosen.variables, steps, true)
                .map_err(|why| {
                    let message = format!("the circuit has no code of its own: {why}");
                    Diagnostic::error(Code::NoOwnCode, message)
                        .help("measure the engine alone, without `--fused`")
                })?,
        ),
    };
    let once = |stepper: &mut dyn FnMut(&mut State<f64>, &mut Recorder) -> Outcome| {
        let mut state = plan.initial.clone();
        let mut recorder = Recorder::new(chosen.variables.clone(), chosen.sampling, steps);
        let begin = Instant::now();
        let outcome = stepper(&mut state, &mut recorder);
        let seconds = begin.elapsed().as_secs_f64();
        if outcome.ended != Ended::Done {
            let message = "the run does not reach its end, so that nothing can be measured";
            return Err(Diagnostic::error(Code::Interrupted, message)
                .help("`fluxline run` tells what goes wrong"));
        }
        Ok(seconds)
    };
    // In turns, so that what else the machine does falls on both.
    let (mut seconds, mut with_code) = (Vec::new(), Vec::new());
    for _ in 0..args.repeat {
        seconds.push(once(&mut |state, recorder| {
            run::run(plan, state, steps, recorder, true, |_| true)
        })?);
        if let Some(code) = &mut code {
            with_code.push(once(&mut |state, recorder| {
                run::run_by(code, plan, state, steps, recorder, true, |_| true)
            })?);
        }
    }
    seconds.sort_by(f64::total_cmp);
    with_code.sort_by(f64::total_cmp);
    let own_code = code.map(|code| OwnCode {
        seconds: with_code,
        compiler: code.made().took.map(|took| took.as_secs_f64()),
        statements: code.statements(),
        by_engine: code.engine_steps(plan).into_iter().map(str::to_owned).collect(),
    });
    let memory = peak_memory();
    let mut state = plan.initial.clone();
    let profiled = steps.min(PROFILED);
    let costs = engine::profile(plan, &mut state, profiled);
    let total: f64 = costs.iter().map(|cost| cost.seconds).sum();
    let mut by_type: HashMap<&'static str, (usize, f64)> = HashMap::new();
    for cost in costs {
        let name = plan.variables.entries[cost.component as usize].declaration.name;
        let entry = by_type.entry(name).or_default();
        entry.0 += cost.members;
        entry.1 += cost.seconds;
    }
    let mut types: Vec<TypeCost> = by_type
        .into_iter()
        .map(|(name, (members, seconds))| TypeCost {
            name,
            members,
            share: seconds / total.max(f64::MIN_POSITIVE),
            nanoseconds: seconds * 1e9 / (profiled.max(1) as f64 * members as f64),
        })
        .collect();
    types.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.name.cmp(b.name)));
    Ok(Measured {
        startup,
        seconds,
        steps,
        components: plan.component_count(),
        simulated: steps as f64 * plan.step,
        recorded: chosen.variables.len(),
        types,
        memory,
        own_code,
    })
}

/// The most memory the process has held, in bytes, where the system tells.
pub(super) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Of times in order, the least.
fn least(all: &[f64]) -> f64 {
    all.first().copied().unwrap_or(f64::NAN)
}

/// Of times in order, that in the middle.
fn median(all: &[f64]) -> f64 {
    let n = all.len();
    0.5 * (all[(n - 1) / 2] + all[n / 2])
}

impl Measured {
    fn least(&self) -> f64 {
        least(&self.seconds)
    }
    fn median(&self) -> f64 {
        median(&self.seconds)
    }
    fn per_step(&self) -> f64 {
        self.least() * 1e9 / self.steps.max(1) as f64
    }
}

fn in_json(args: &Bench, measured: &Measured) -> serde_json::Value {
    let types: Vec<_> = measured
        .types
        .iter()
        .take(SHOWN)
        .map(|t| {
            json!({
                "type": t.name,
                "components": t.members,
                "share": t.share,
                "ns_per_component_step": t.nanoseconds,
            })
        })
        .collect();
    json!({
        "file": args.file.display().to_string(),
        "min_seconds": measured.least(),
        "median_seconds": measured.median(),
        "repeats": measured.seconds.len(),
        "steps": measured.steps,
        "components": measured.components,
        "recorded_variables": measured.recorded,
        "ns_per_step": measured.per_step(),
        "ns_per_component_step": measured.per_step() / measured.components.max(1) as f64,
        "real_time_factor": measured.simulated / measured.least(),
        "startup_seconds": measured.startup,
        "peak_memory_bytes": measured.memory,
        "fused": measured.own_code.as_ref().map(|code| json!({
            "min_seconds": least(&code.seconds),
            "median_seconds": median(&code.seconds),
            "ns_per_step": least(&code.seconds) * 1e9 / measured.steps.max(1) as f64,
            "compile_seconds": code.compiler,
            "statements": code.statements,
            "by_engine": code.by_engine,
        })),
        "types": types,
    })
}

fn in_words(args: &Bench, measured: &Measured) -> String {
    let mut text = format!(
        "{}: {} components, {} steps, {} variables recorded\n",
        args.file.display(),
        measured.components,
        measured.steps,
        measured.recorded
    );
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<17} {value}\n"));
    line("start-up", format!("{:.3} ms", 1e3 * measured.startup));
    line(
        "step loop",
        format!(
            "{:.3} ms at least, {:.3} ms in the middle, of {} runs",
            1e3 * measured.least(),
            1e3 * measured.median(),
            measured.seconds.len()
        ),
    );
    line("per step", format!("{:.1} ns", measured.per_step()));
    line(
        "per component",
        format!("{:.1} ns", measured.per_step() / measured.components.max(1) as f64),
    );
    line("real time", format!("{:.0} ×", measured.simulated / measured.least()));
    if let Some(code) = &measured.own_code {
        let fastest = least(&code.seconds);
        let times = measured.least() / fastest;
        let per_step = fastest * 1e9 / measured.steps.max(1) as f64;
        line("own code", format!("{per_step:.1} ns per step, {times:.2} × as fast"));
        let compiled = match code.compiler {
            Some(seconds) => format!("{seconds:.3} s"),
            None => "before".to_owned(),
        };
        line("compiled", format!("{compiled}, {} statements", code.statements));
        if !code.by_engine.is_empty() {
            line("by the engine", code.by_engine.join(", "));
        }
    }
    if let Some(bytes) = measured.memory {
        line("memory", format!("{:.1} MB", bytes as f64 / 1e6));
    }
    text.push_str("\n   share  ns each  type, number of components\n");
    for t in measured.types.iter().take(SHOWN) {
        text.push_str(&format!(
            "  {:>5.1} %  {:>7.1}  {} × {}\n",
            100.0 * t.share,
            t.nanoseconds,
            t.name,
            t.members
        ));
    }
    text
}
