//! `fluxline bench`: how fast a circuit runs.

use super::{Console, INTERRUPTED, listen};
use crate::args::{Bench, WhenFused};
use crate::display;
use crate::session::{Engine, Recording, Session};
use fluxline_core::engine;
use fluxline_core::recorder::Recorder;
use fluxline_core::run::{self, Ended, Outcome};
use fluxline_core::settings::Fused;
use fluxline_core::state::State;
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_formats::Override;
use fluxline_fused::choice::{self, WhyNot, for_run};
use fluxline_fused::compiler::{By, NotCompiled};
use serde_json::json;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
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
    engine: Times,
    steps: u64,
    components: usize,
    simulated: f64,
    recorded: usize,
    types: Vec<TypeCost>,
    memory: Option<u64>,
    /// Own code, by whom it is made.
    codes: Vec<OwnCode>,
    /// Why there is none, where it was left open.
    no_own_code: Option<String>,
}

/// Seconds of each repeat, the least first.
struct Times(Vec<f64>);

impl Times {
    fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        Self(seconds)
    }
    fn least(&self) -> f64 {
        self.0.first().copied().unwrap_or(f64::NAN)
    }
    fn median(&self) -> f64 {
        let n = self.0.len();
        0.5 * (self.0[(n - 1) / 2] + self.0[n / 2])
    }
    /// Least time of a step, ns.
    fn per_step(&self, steps: u64) -> f64 {
        self.least() * 1e9 / steps.max(1) as f64
    }
}

/// What code of its own makes of it.
struct OwnCode {
    times: Times,
    /// What it took to follow the circuit and to open the code, s.
    made_in: f64,
    /// Who made it.
    by: By,
    /// What that took; nothing when the code was there.
    making: Option<f64>,
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

fn interrupted() -> Diagnostic {
    Diagnostic::error(Code::Interrupted, "interrupted")
}

fn measure(session: &Session, args: &Bench, startup: f64) -> Result<Measured, Diagnostic> {
    let plan = session.plan();
    let steps = session.steps();
    let chosen = session.recording(&Recording::default()).map_err(|found| {
        let first = found.iter().next().map_or("nothing to record", |d| d.message()).to_owned();
        Diagnostic::error(Code::RecordMatchesNothing, first)
    })?;
    listen();
    let mut is_wanted = || !INTERRUPTED.load(Ordering::Relaxed);
    let mut codes = Vec::new();
    let mut no_own_code = None;
    for wanted in [Fused::On, Fused::Compiled] {
        let is_there = |(code, _): &(choice::OwnCode, f64)| code.made().by == By::Compiler;
        if args.fused == WhenFused::Off || codes.iter().any(is_there) {
            break;
        }
        let begin = Instant::now();
        let (start, shown) = (&plan.initial, &chosen.variables);
        match for_run(plan, &session.registry, start, shown, steps, wanted, &mut is_wanted) {
            Ok(code) => codes.push((code, begin.elapsed().as_secs_f64())),
            Err(WhyNot::NotCompiled(NotCompiled::Interrupted)) => return Err(interrupted()),
            Err(why) => no_own_code = no_own_code.or(Some(why.to_string())),
        }
    }
    if let (WhenFused::On, [], Some(why)) = (args.fused, &codes[..], &no_own_code) {
        let message = format!("the circuit has no code of its own: {why}");
        return Err(Diagnostic::error(Code::NoOwnCode, message)
            .help("measure the engine alone, with `--fused=off`"));
    }
    let once = |stepper: &mut dyn FnMut(&mut State<f64>, &mut Recorder) -> Outcome| {
        let mut state = plan.initial.clone();
        let mut recorder = Recorder::new(chosen.variables.clone(), chosen.sampling, steps);
        let begin = Instant::now();
        let outcome = stepper(&mut state, &mut recorder);
        let seconds = begin.elapsed().as_secs_f64();
        if matches!(outcome.ended, Ended::Interrupted { .. }) {
            return Err(interrupted());
        }
        if outcome.ended != Ended::Done {
            let message = "the run does not reach its end, so that nothing can be measured";
            return Err(Diagnostic::error(Code::Interrupted, message)
                .help("`fluxline run` tells what goes wrong"));
        }
        Ok(seconds)
    };
    // In turns, so that what else the machine does falls on all.
    let mut seconds = Vec::new();
    let mut with_code = vec![Vec::new(); codes.len()];
    for _ in 0..args.repeat {
        seconds.push(once(&mut |state, recorder| {
            run::run(plan, state, steps, recorder, true, |_| is_wanted())
        })?);
        for ((code, _), seconds) in codes.iter_mut().zip(&mut with_code) {
            seconds.push(once(&mut |state, recorder| {
                run::run_by(code, plan, state, steps, recorder, true, |_| is_wanted())
            })?);
        }
    }
    let engine = Times::of(seconds);
    let codes = codes.into_iter().zip(with_code).map(|((code, made_in), seconds)| {
        let making = code.made().took.map(|took| took.as_secs_f64());
        OwnCode {
            times: Times::of(seconds),
            made_in: made_in - making.unwrap_or(0.0),
            by: code.made().by,
            making,
            statements: code.statements(),
            by_engine: code.engine_steps(plan).into_iter().map(str::to_owned).collect(),
        }
    });
    let codes: Vec<OwnCode> = codes.collect();
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
            nanoseconds: seconds / total.max(f64::MIN_POSITIVE) * engine.per_step(steps)
                / members as f64,
        })
        .collect();
    types.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.name.cmp(b.name)));
    Ok(Measured {
        startup,
        engine,
        steps,
        components: plan.component_count(),
        simulated: steps as f64 * plan.step,
        recorded: chosen.variables.len(),
        types,
        memory,
        codes,
        no_own_code,
    })
}

/// The most memory the process has held, in bytes, where the system tells.
pub(super) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

impl Measured {
    /// The fastest of all.
    fn fastest(&self) -> (&'static str, &Times) {
        let engine = ("engine", &self.engine);
        self.codes
            .iter()
            .map(|code| (code.manner(), &code.times))
            .fold(engine, |best, other| if other.1.least() < best.1.least() { other } else { best })
    }

    /// Own code as a circuit is given it by itself, and as a compiler makes it, where that is another.
    fn by_whom(&self) -> [Option<&OwnCode>; 2] {
        [self.codes.first(), self.codes.get(1)]
    }

    /// From how many steps on a run is sooner done with own code, compiled for it.
    fn pays_from(&self, code: &OwnCode) -> Option<u64> {
        let spared = self.engine.per_step(self.steps) - code.times.per_step(self.steps);
        let seconds = code.made_in + code.making?;
        (spared > 0.0).then(|| (seconds * 1e9 / spared).ceil() as u64)
    }
}

impl OwnCode {
    fn manner(&self) -> &'static str {
        match self.by {
            By::Fluxline => "own code",
            By::Compiler => "own code, compiled",
        }
    }

    fn in_json(&self, measured: &Measured) -> serde_json::Value {
        json!({
            "min_seconds": self.times.least(),
            "median_seconds": self.times.median(),
            "ns_per_step": self.times.per_step(measured.steps),
            "by": match self.by {
                By::Fluxline => "fluxline",
                By::Compiler => "compiler",
            },
            "startup_seconds": self.made_in,
            "compile_seconds": self.making,
            "pays_from_steps": measured.pays_from(self),
            "statements": self.statements,
            "by_engine": self.by_engine,
        })
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
    let (manner, fastest) = measured.fastest();
    let [fused, compiled] = measured.by_whom();
    let steps = measured.steps;
    let per_step = fastest.per_step(steps);
    json!({
        "file": args.file.display().to_string(),
        "manner": manner,
        "min_seconds": fastest.least(),
        "median_seconds": fastest.median(),
        "repeats": fastest.0.len(),
        "steps": steps,
        "components": measured.components,
        "recorded_variables": measured.recorded,
        "ns_per_step": per_step,
        "ns_per_component_step": per_step / measured.components.max(1) as f64,
        "real_time_factor": measured.simulated / fastest.least(),
        "startup_seconds": measured.startup,
        "peak_memory_bytes": measured.memory,
        "engine": {
            "min_seconds": measured.engine.least(),
            "median_seconds": measured.engine.median(),
            "ns_per_step": measured.engine.per_step(steps),
        },
        "fused": fused.map(|code| code.in_json(measured)),
        "compiled": compiled.map(|code| code.in_json(measured)),
        "no_fused_because": measured.no_own_code,
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
    let (manner, fastest) = measured.fastest();
    let steps = measured.steps;
    line("start-up", format!("{:.3} ms", 1e3 * measured.startup));
    line(
        "step loop",
        format!(
            "{:.3} ms at least, {:.3} ms in the middle, of {} runs by {}",
            1e3 * fastest.least(),
            1e3 * fastest.median(),
            fastest.0.len(),
            if manner == "engine" { "the engine" } else { manner },
        ),
    );
    let per_step = fastest.per_step(steps);
    line("per step", format!("{per_step:.1} ns"));
    line("per component", format!("{:.1} ns", per_step / measured.components.max(1) as f64));
    line("real time", format!("{:.0} ×", measured.simulated / fastest.least()));
    let by_engine = measured.engine.per_step(steps);
    line("engine", format!("{by_engine:.1} ns per step"));
    for code in &measured.codes {
        let by_code = code.times.per_step(steps);
        let (name, made) = match code.by {
            By::Fluxline => ("own code", "written"),
            By::Compiler => ("compiled", "compiled"),
        };
        let faster = by_engine / by_code;
        line(name, format!("{by_code:.1} ns per step, {faster:.2} × as fast as the engine"));
        let took = match code.making {
            Some(seconds) => format!("in {:.1} ms", 1e3 * seconds),
            None => "before".to_owned(),
        };
        let pays = measured.pays_from(code).map_or(String::new(), |least| {
            format!("; pays in a run of {} or more", display::counted(least, "step"))
        });
        line("", format!("{made} {took}, {} statements{pays}", code.statements));
    }
    if let Some(code) = measured.codes.first()
        && !code.by_engine.is_empty()
    {
        line("by the engine", code.by_engine.join(", "));
    }
    if let Some(why) = &measured.no_own_code {
        let name = if measured.codes.is_empty() { "own code" } else { "compiled" };
        line(name, format!("none: {why}"));
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
