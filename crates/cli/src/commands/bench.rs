//! `fluxline bench`: how fast a circuit runs.

use super::Console;
use crate::args::Bench;
use crate::session::{Engine, Recording, Session};
use fluxline_core::engine;
use fluxline_core::recorder::Recorder;
use fluxline_core::run::{self, Ended};
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_formats::Override;
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
    match measure(&session, args.repeat, startup) {
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

fn measure(session: &Session, repeat: u32, startup: f64) -> Result<Measured, Diagnostic> {
    let plan = session.plan();
    let steps = session.steps();
    let chosen = session.recording(&Recording::default()).map_err(|found| {
        let first = found.iter().next().map_or("nothing to record", |d| d.message()).to_owned();
        Diagnostic::error(Code::RecordMatchesNothing, first)
    })?;
    let mut seconds = Vec::new();
    for _ in 0..repeat {
        let mut state = plan.initial.clone();
        let mut recorder = Recorder::new(chosen.variables.clone(), chosen.sampling, steps);
        let begin = Instant::now();
        let outcome = run::run(plan, &mut state, steps, &mut recorder, true, |_| true);
        seconds.push(begin.elapsed().as_secs_f64());
        if outcome.ended != Ended::Done {
            let message = "the run does not reach its end, so that nothing can be measured";
            return Err(Diagnostic::error(Code::Interrupted, message)
                .help("`fluxline run` tells what goes wrong"));
        }
    }
    seconds.sort_by(f64::total_cmp);
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
    })
}

/// The most memory the process has held, in bytes, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

impl Measured {
    fn least(&self) -> f64 {
        self.seconds.first().copied().unwrap_or(f64::NAN)
    }
    fn median(&self) -> f64 {
        let (n, all) = (self.seconds.len(), &self.seconds);
        0.5 * (all[(n - 1) / 2] + all[n / 2])
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
