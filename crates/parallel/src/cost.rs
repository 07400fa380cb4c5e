//! What a step costs on this machine: per type of component, per line handed over, per
//! synchronisation.
//!
//! Types are measured in the circuit itself: each group is stepped again and again on a copy of a
//! running state, and the results are scaled so that together they make the time of a whole step,
//! which contains what belongs to no component (meetings of ports, balances). The least of several
//! readings counts: whatever else a machine does only adds.

use crate::cut::{Cut, figures};
use crate::graph::LINE_NUMBERS;
use crate::load::{Crowd, Links, Price};
use crate::mailbox::{Mailbox, Patience};
use crate::mapping::evenly;
use crate::threads::{self, Manner};
use fluxline_core::component::{Clock, Group};
use fluxline_core::engine;
use fluxline_core::monitor::Tally;
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run;
use fluxline_core::state::State;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceId, SourceMap, Span};
use fluxline_units::{Dimension, Quantity};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};
use toml::de::{DeTable, DeValue};

/// What steps, lines and synchronisations cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// The machine that was measured.
    pub machine: String,
    /// Per component type, ns per component and step.
    pub types: BTreeMap<String, f64>,
    /// What a thread pays, ns per step: `line` for each line it shares, `neighbour` for each thread
    /// it exchanges with.
    pub exchange: Price,
    /// How many times as long work takes when all cores of the machine do their shares of it as when
    /// one does all: less than once where shares fit better into caches.
    pub crowding: f64,
}

impl Costs {
    /// Of a type, ns per component and step; of one that is not known, the mean of all.
    pub fn of_type(&self, name: &str) -> f64 {
        match self.types.get(name) {
            Some(&cost) => cost,
            None => self.types.values().sum::<f64>() / self.types.len().max(1) as f64,
        }
    }

    /// Types of a plan that have not been measured.
    pub fn missing(&self, plan: &Plan) -> Vec<&'static str> {
        let mut names: Vec<&'static str> =
            plan.variables.entries.iter().map(|entry| entry.declaration.name).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|&name| !self.types.contains_key(name));
        names
    }

    /// As types cost on an ordinary machine, and exchange so little that any split pays: for those
    /// who want parts whatever they gain, the same ones everywhere.
    pub fn typical() -> &'static Self {
        static TYPICAL: OnceLock<Costs> = OnceLock::new();
        TYPICAL.get_or_init(|| {
            let text = include_str!("typical.toml");
            let source = SourceMap::new().add("typical.toml", text);
            // A test reads it.
            Self::parse(text, source).unwrap_or_else(|_| Self::empty())
        })
    }

    fn empty() -> Self {
        let exchange = Price { line: 1.0, edge: 0.0, neighbour: 5.0 };
        Self { machine: String::new(), types: BTreeMap::new(), exchange, crowding: 1.0 }
    }

    /// Threads of the machine.
    pub fn links(&self) -> Links {
        Links { crowd: self.crowd(), ..Links::uniform(self.exchange) }
    }

    /// How the cores of the machine hold each other up.
    pub fn crowd(&self) -> Crowd {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        Crowd { cores, slower: self.crowding }
    }

    /// Measures a circuit, and what threads cost.
    pub fn measure(plan: &Plan) -> Self {
        let types = measure_types(plan);
        let exchange = measure_exchange();
        let crowding = measure_crowding(plan, exchange.neighbour);
        Self { machine: machine(), types, exchange, crowding }
    }

    /// The same, fitted to a circuit as it steps now: clocks are not always the same, and types take
    /// longer in circuits that do not fit into caches.
    pub fn fitted(mut self, plan: &Plan) -> Self {
        let told: f64 =
            plan.variables.entries.iter().map(|entry| self.of_type(entry.declaration.name)).sum();
        // Before and after the rest, so that what comes and goes is not taken for the circuit.
        let before = measure_step(plan);
        // Who waits for others while other programs have the cores measures those.
        if threads::busy_elsewhere().unwrap_or(0) == 0 {
            self.crowding = measure_crowding(plan, self.exchange.neighbour);
        }
        let now = before.min(measure_step(plan));
        if told > 0.0 {
            let names: BTreeSet<&str> =
                plan.variables.entries.iter().map(|entry| entry.declaration.name).collect();
            for (_, cost) in self.types.iter_mut().filter(|(name, _)| names.contains(name.as_str()))
            {
                *cost *= now / told;
            }
        }
        self
    }

    /// Takes over what another measurement of the same machine knows about types.
    pub fn add_types(&mut self, other: &Costs) {
        self.types.extend(other.types.iter().map(|(name, cost)| (name.clone(), *cost)));
    }

    /// The file form.
    pub fn render(&self) -> String {
        let time = |nanoseconds: f64| format!("\"{} ns\"", rounded(nanoseconds));
        let mut text = format!(
            "# What a step costs: `fluxline partition --costs FILE` takes it, times may be changed.\n\
             machine = {:?}\n\n\
             [exchange]\n\
             line = {}              # each line that a thread shares with others\n\
             synchronisation = {}   # each thread that it exchanges with\n\
             crowding = {}                 # times as long, when all cores work\n\n\
             [types]                     # each component and step\n",
            self.machine,
            time(self.exchange.line),
            time(self.exchange.neighbour),
            rounded(self.crowding),
        );
        for (name, cost) in &self.types {
            // Writing to a text does not fail.
            let _ = writeln!(text, "\"{name}\" = {}", time(*cost));
        }
        text
    }

    /// Reads the file form. All mistakes are told.
    pub fn parse(text: &str, source: SourceId) -> Result<Self, Diagnostics> {
        let mut reader = Reader { source, found: Diagnostics::new() };
        let costs = reader.read(text);
        match costs {
            Some(costs) if !reader.found.has_errors() => Ok(costs),
            _ => Err(reader.found),
        }
    }
}

/// Four digits are more than a measurement of time has.
fn rounded(nanoseconds: f64) -> f64 {
    let digits = 3 - nanoseconds.abs().max(1e-3).log10().floor() as i32;
    let scale = 10f64.powi(digits);
    (nanoseconds * scale).round() / scale
}

struct Reader {
    source: SourceId,
    found: Diagnostics,
}

impl Reader {
    fn wrong(&mut self, message: String, at: Range<usize>) {
        let at = Span::new(self.source, at);
        let problem = Diagnostic::error(Code::BadCosts, message).at(at, "here");
        self.found.push(problem.help("times are texts with a unit, such as \"12 ns\""));
    }

    fn time(&mut self, name: &str, value: &toml::Spanned<DeValue>) -> f64 {
        let text = match value.get_ref() {
            DeValue::String(text) => text.as_ref(),
            _ => "",
        };
        let good = Quantity::parse(text).ok().filter(|time| {
            time.dimension == Dimension::TIME && time.value.is_finite() && time.value >= 0.0
        });
        match good {
            Some(time) => time.value * 1e9,
            None => {
                self.wrong(format!("the cost `{name}` is no time of 0 s or more"), value.span());
                0.0
            }
        }
    }

    /// A number above 0.
    fn ratio(&mut self, name: &str, value: &toml::Spanned<DeValue>) -> f64 {
        let number = match value.get_ref() {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(number) => number.as_str().parse().ok(),
            _ => None,
        };
        match number.filter(|x: &f64| x.is_finite() && *x > 0.0) {
            Some(number) => number,
            None => {
                self.wrong(format!("`{name}` is no number above 0"), value.span());
                1.0
            }
        }
    }

    fn read(&mut self, text: &str) -> Option<Costs> {
        let table = match DeTable::parse(text) {
            Ok(table) => table.into_inner(),
            Err(error) => {
                let at = Span::new(self.source, error.span().unwrap_or(0..0));
                let problem = Diagnostic::error(Code::InvalidToml, error.message());
                self.found.push(problem.at(at, "here"));
                return None;
            }
        };
        const KEYS: [&str; 3] = ["machine", "exchange", "types"];
        let mut costs = Costs { exchange: Price::default(), ..Costs::empty() };
        let mut has = [false; 2];
        for (key, value) in &table {
            let name = key.get_ref().as_ref();
            match (name, value.get_ref()) {
                ("machine", DeValue::String(text)) => costs.machine = text.to_string(),
                ("exchange", DeValue::Table(exchange)) => {
                    for (key, value) in exchange {
                        match key.get_ref().as_ref() {
                            "line" => {
                                costs.exchange.line = self.time("line", value);
                                has[0] = true;
                            }
                            "synchronisation" => {
                                costs.exchange.neighbour = self.time("synchronisation", value);
                                has[1] = true;
                            }
                            "crowding" => costs.crowding = self.ratio("crowding", value),
                            other => {
                                let known = ["line", "synchronisation", "crowding"];
                                self.unknown(other, key.span(), &known);
                            }
                        }
                    }
                }
                ("types", DeValue::Table(types)) => {
                    for (key, value) in types {
                        let name = key.get_ref().to_string();
                        let time = self.time(&name, value);
                        costs.types.insert(name, time);
                    }
                }
                _ if KEYS.contains(&name) => {
                    self.wrong(format!("`{name}` is not what belongs here"), value.span());
                }
                _ => self.unknown(name, key.span(), &KEYS),
            }
        }
        if costs.types.is_empty() || has != [true; 2] {
            let end = text.len()..text.len();
            self.wrong(
                "costs need `[exchange]` with `line` and `synchronisation`, and `[types]`".into(),
                end,
            );
        }
        Some(costs)
    }

    fn unknown(&mut self, name: &str, at: Range<usize>, known: &[&str]) {
        let problem = Diagnostic::error(Code::UnknownKey, format!("costs have no `{name}`"))
            .at(Span::new(self.source, at), "unknown")
            .suggest(name, known.iter().copied());
        self.found.push(problem);
    }
}

/// Where measured costs are kept between runs: in the user's folder for such things.
pub fn cache_path() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME")
        .or_else(|| folder("LOCALAPPDATA"))
        .or_else(|| folder("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("fluxline").join("costs.toml"))
}

/// Costs for a plan: those that are kept, where they are of this machine and know all types of the
/// plan; otherwise measured now, and kept. A file that cannot be read or written is as good as none.
/// Tells whether anything was measured.
pub fn known(plan: &Plan, cache: Option<&Path>, anew: bool) -> (Costs, bool) {
    let kept = cache.and_then(|path| std::fs::read_to_string(path).ok()).and_then(|text| {
        let costs = Costs::parse(&text, SourceMap::new().add("costs.toml", text.as_str())).ok()?;
        (costs.machine == machine()).then_some(costs)
    });
    match kept {
        Some(costs) if !anew && costs.missing(plan).is_empty() => (costs, false),
        kept => {
            let measured = Costs::measure(plan);
            let mut all = measured.clone();
            if let Some(mut kept) = kept {
                kept.add_types(&measured);
                all.types = kept.types;
            }
            if let Some(path) = cache {
                let _ = keep(path, &all.render());
            }
            (all, true)
        }
    }
}

/// Costs that were measured before, where they are of this machine and know all types of the plan.
pub fn kept(plan: &Plan) -> Option<Costs> {
    let text = std::fs::read_to_string(cache_path()?).ok()?;
    let costs = Costs::parse(&text, SourceMap::new().add("costs.toml", text.as_str())).ok()?;
    (costs.machine == machine() && costs.missing(plan).is_empty()).then_some(costs)
}

/// Another run may read or write it at the same time: it is whole or not there.
fn keep(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let written = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    written
}

/// What tells machines apart: processor, number of its cores in use, and the program.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = told
        .lines()
        .find_map(|line| line.strip_prefix("model name").and_then(|rest| rest.split_once(':')))
        .map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    let build = if cfg!(debug_assertions) { ", debug" } else { "" };
    format!("{model}, {cores} cores, fluxline {}{build}", env!("CARGO_PKG_VERSION"))
}

/// Time of a whole step, ns.
pub fn measure_step(plan: &Plan) -> f64 {
    measure_from(plan, &mut plan.initial.clone(), Duration::from_millis(30))
}

/// Times of a whole step, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sitting {
    /// In parts, on threads.
    pub apart: f64,
    /// In one piece.
    pub whole: f64,
    /// How much longer the slowest of all rounds took than the fastest, as a share.
    pub spread: f64,
    /// What parts take before their first step, ns.
    pub set_up: f64,
}

/// Time of a whole step in parts on threads beside that in one piece over the same steps, in turns, so
/// that a busy machine slows both. The least of several rounds each, without what it takes to begin.
pub fn measure_parts(plan: &Plan, cut: &Cut, manner: Manner) -> Sitting {
    // One thread is not to take over: this is what several take.
    let manner = Manner { gives_way: false, ..manner };
    let timed = |steps: u64, in_parts: bool| {
        let mut recorder = Recorder::new(Vec::new(), Sampling::Every(steps), steps);
        let mut state = plan.initial.clone();
        let begin = Instant::now();
        match in_parts {
            true => {
                threads::run(plan, cut, manner, &mut state, steps, &mut recorder, true, |_| true)
            }
            false => run::run(plan, &mut state, steps, &mut recorder, true, |_| true),
        };
        begin.elapsed().as_secs_f64() * 1e9
    };
    // A quarter of a second each; more where it takes long to begin, which differs from time to time by
    // more than some steps take.
    let patience = (2.0 * timed(1, true)).max(2.5e8);
    let steps = (patience / measure_step(plan).max(1.0)).clamp(16.0, 1e5) as u64;
    let mut rounds = [[f64::INFINITY; 2]; 5];
    let mut set_up = f64::INFINITY;
    let begun = Instant::now();
    for round in &mut rounds {
        for (time, in_parts) in round.iter_mut().zip([false, true]) {
            // What a run of one step takes more than a step is what it takes to begin.
            let first = timed(1, in_parts);
            *time = (timed(steps + 1, in_parts) - first) / steps as f64;
            if in_parts {
                set_up = set_up.min(first - *time);
            }
        }
        if begun.elapsed() > Duration::from_secs(20) {
            break;
        }
    }
    let of = |i: usize| rounds.iter().map(move |round| round[i]).filter(|time| time.is_finite());
    let least = |i: usize| of(i).fold(f64::INFINITY, f64::min);
    let spread = |i: usize| of(i).fold(0.0, f64::max) / least(i) - 1.0;
    Sitting {
        apart: least(1),
        whole: least(0),
        spread: spread(0).max(spread(1)),
        set_up: set_up.max(0.0),
    }
}

/// Steps a state on for about this long, three times from the same beginning: the least of the three
/// means, because what else a machine does only adds. Steps differ: what is closed and at rest in
/// some is open and turbulent in others, so that the least of all steps would be too little.
fn measure_from(plan: &Plan, state: &mut State<f64>, patience: Duration) -> f64 {
    let begin = state.clone();
    let mut least = f64::INFINITY;
    let mut steps = 0u32;
    for pass in 0..3 {
        state.copy_from(&begin);
        let mut tally = Tally::new(plan, state, true);
        let started = Instant::now();
        if pass == 0 {
            while steps < 4 || started.elapsed() < patience {
                // Looking at the clock is not to count.
                let more = (steps / 8).clamp(1, 1000);
                (0..more).for_each(|_| engine::step(plan, state, &mut tally, false));
                steps += more;
            }
        } else {
            (0..steps).for_each(|_| engine::step(plan, state, &mut tally, false));
        }
        least = least.min(started.elapsed().as_secs_f64() * 1e9 / f64::from(steps));
    }
    least
}

fn measure_types(plan: &Plan) -> BTreeMap<String, f64> {
    let mut state = plan.initial.clone();
    let step = measure_from(plan, &mut state, Duration::from_millis(60));
    let mut sums: BTreeMap<String, (f64, usize)> = BTreeMap::new();
    let mut total = 0.0;
    for rate in &plan.rates {
        let dt = plan.step / f64::from(rate.divisor);
        for group in rate.s.iter().chain(&rate.c).chain(&rate.q) {
            if group.is_empty() {
                continue;
            }
            let time = measure_group(group.as_ref(), &state, dt);
            total += time * f64::from(rate.divisor);
            let component = group.wiring(0).component() as usize;
            let name = plan.variables.entries[component].declaration.name;
            let sum = sums.entry(name.to_owned()).or_default();
            sum.0 += time;
            sum.1 += group.len();
        }
    }
    let scale = if total > 0.0 { step / total } else { 1.0 };
    sums.into_iter().map(|(name, (time, count))| (name, scale * time / count as f64)).collect()
}

/// Fewer components than this for a core are no part of a circuit.
const LEAST_FOR_A_CORE: usize = 20;

/// How many times as long work takes when all cores do their shares of it, and wait for each other
/// after each step as parts do, as when one does all of it. Whatever holds one of them up (memory,
/// caches, other programs, the host of a virtual machine) holds up all; and shares fit better into
/// caches than the whole. What handing over a number takes is not a part of it, nor that shares are
/// not equal.
fn measure_crowding(plan: &Plan, synchronisation: f64) -> f64 {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let shares = cores.min(plan.component_count() / LEAST_FOR_A_CORE);
    if cores < 2 || shares < 2 {
        return 1.0;
    }
    let Ok(cut) = Cut::new(plan, &evenly(plan, shares)) else { return 1.0 };
    let whole = Tally::new(plan, &mut plan.initial.clone(), true);
    let plans: Vec<(&Plan, Tally)> = std::iter::once((plan, whole.clone()))
        .chain(cut.parts.iter().map(|part| (&part.plan, figures(plan, part, &whole))))
        .collect();
    // Long enough for what happens now and then to happen.
    let steps = (1e7 / measure_step(plan).max(1.0)).clamp(4.0, 20_000.0) as u64;
    let each = 1e9 / steps as f64;
    // Of the whole, and of each share, alone: always the same steps.
    let mut alone = vec![f64::INFINITY; plans.len()];
    let mut crowded = f64::INFINITY;
    let mut states: Vec<State<f64>> = plans.iter().map(|_| plan.initial.clone()).collect();
    let places = threads::free_cores();
    for _ in 0..5 {
        for (((stepped, tally), least), state) in plans.iter().zip(&mut alone).zip(&mut states) {
            let mut tally = tally.clone();
            state.copy_from(&plan.initial);
            (0..steps).for_each(|_| engine::step(stepped, state, &mut tally, false));
            let begin = Instant::now();
            (0..steps).for_each(|_| engine::step(stepped, state, &mut tally, false));
            *least = least.min(begin.elapsed().as_secs_f64() * each);
        }
        let boxes: Vec<Mailbox<AtomicU64>> = (0..shares).map(|_| Mailbox::new(1)).collect();
        let stop = AtomicBool::new(false);
        // In a ring: who is late makes all others wait.
        let stretch = |share: usize, state: &mut State<f64>, tally: &mut Tally, from: u64| {
            for n in from + 1..=from + steps {
                engine::step(plans[1 + share].0, state, tally, false);
                boxes[share].post(n, |places| places.put_all(&[1.0]));
                let mut patience = Patience::new(300, &stop);
                let before = &boxes[(share + shares - 1) % shares];
                before.take(n, || patience.wait(), |places| places.get_all(&mut [0.0]));
            }
        };
        let longest = std::thread::scope(|scope| {
            let (plans, stretch, places) = (&plans, &stretch, &places);
            let threads: Vec<_> = (states.iter_mut().skip(1).enumerate())
                .map(|(share, state)| {
                    scope.spawn(move || {
                        threads::stay_on(places.get(share));
                        let mut tally = plans[1 + share].1.clone();
                        state.copy_from(&plan.initial);
                        // Threads begin at different times.
                        stretch(share, state, &mut tally, 0);
                        let begin = Instant::now();
                        stretch(share, state, &mut tally, steps);
                        begin.elapsed().as_secs_f64() * each
                    })
                })
                .collect();
            // A thread that cannot be joined has panicked, and this one with it.
            threads.into_iter().filter_map(|thread| thread.join().ok()).fold(0.0, f64::max)
        });
        crowded = crowded.min(longest);
    }
    let (of_whole, of_shares) = (alone[0], &alone[1..]);
    let largest = of_shares.iter().copied().fold(0.0, f64::max) / of_shares.iter().sum::<f64>();
    let ratio = (crowded - synchronisation) / (of_whole * largest);
    // At worst they take turns.
    if ratio.is_finite() && ratio > 0.0 { ratio.min(cores as f64) } else { 1.0 }
}

/// Time of one step of a group, ns.
fn measure_group(group: &dyn Group<f64>, state: &State<f64>, dt: f64) -> f64 {
    let mut scratch = state.clone();
    let mut tick = state.step + state.rest_steps;
    let mut least = f64::INFINITY;
    let mut repeats = 1u32;
    let begin = Instant::now();
    let mut readings = 0;
    // A value that runs away when a component is stepped alone would be slow to compute with.
    let mut fresh = 0;
    while readings < 9 && (readings < 3 || begin.elapsed() < Duration::from_millis(8)) {
        let stretch = Instant::now();
        for _ in 0..repeats {
            tick += 1;
            let clock = Clock { time: state.time, dt, tick };
            group.step(&mut scratch, &clock);
        }
        let spent = stretch.elapsed();
        least = least.min(spent.as_secs_f64() * 1e9 / f64::from(repeats));
        if spent < Duration::from_micros(20) && repeats < 1 << 12 {
            repeats *= 2;
        } else {
            readings += 1;
        }
        fresh += repeats;
        if fresh > 2000 {
            scratch.clone_from(state);
            fresh = 0;
        }
    }
    least
}

/// What two threads pay that hand lines to each other each step: per line, and at all.
///
/// As in a step, messages are posted before some work and taken after it, so that only what is not
/// hidden behind work is paid.
fn measure_exchange() -> Price {
    const LINES: usize = 64;
    let short = beside_work(1);
    let long = beside_work(LINES);
    let line = ((long - short) / (LINES - 1) as f64).max(0.0);
    Price { line, edge: 0.0, neighbour: (short - line).max(0.0) }
}

/// Work between two messages: of some twenty components, ns.
const WORK: f64 = 400.0;

/// What a step takes longer, ns, when each of two threads hands so many line ends to the other, waves
/// before some work and flows before some more.
fn beside_work(lines: usize) -> f64 {
    const STEPS: u64 = 300;
    const STRETCHES: u64 = 40;
    // Of the lines between two parts about half begin in each of them.
    let numbers = lines * LINE_NUMBERS as usize / 2;
    let boxes: [[Mailbox<AtomicU64>; 2]; 2] =
        std::array::from_fn(|_| std::array::from_fn(|_| Mailbox::new(numbers)));
    let stop = AtomicBool::new(false);
    let rounds = rounds_for(WORK);
    let side = |own: usize, values: &mut [f64], state: &mut [f64], step: u64| {
        for kind in 0..2 {
            values.copy_from_slice(state);
            boxes[own][kind].post(step, |places| places.put_all(values));
            work(rounds);
            let mut patience = Patience::new(300, &stop);
            boxes[1 - own][kind].take(step, || patience.wait(), |places| places.get_all(values));
            state.copy_from_slice(values);
        }
    };
    let places = threads::free_cores();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            threads::stay_on(places.get(1));
            let (mut values, mut state) = (vec![0.0; numbers], vec![0.0; numbers]);
            (1..=STRETCHES * STEPS).for_each(|step| side(1, &mut values, &mut state, step));
        });
        let measured = scope.spawn(|| {
            threads::stay_on(places.first());
            let (mut values, mut state) = (vec![1.0; numbers], vec![1.0; numbers]);
            let (mut beside, mut alone) = (Vec::new(), Vec::new());
            let each = 1e9 / STEPS as f64;
            for stretch in 0..STRETCHES {
                let begin = Instant::now();
                for step in stretch * STEPS + 1..=(stretch + 1) * STEPS {
                    side(0, &mut values, &mut state, step);
                }
                beside.push(begin.elapsed().as_secs_f64() * each);
                let begin = Instant::now();
                (0..2 * STEPS).for_each(|_| work(rounds));
                alone.push(begin.elapsed().as_secs_f64() * each);
            }
            // Waiting for each other is a matter of chance, not a disturbance that only adds: the
            // middle of all counts, not the least.
            (middle(beside) - middle(alone)).max(0.0)
        });
        measured.join().unwrap_or(0.0)
    })
}

fn middle(mut readings: Vec<f64>) -> f64 {
    readings.sort_by(f64::total_cmp);
    readings.get(readings.len() / 2).copied().unwrap_or(0.0)
}

/// Something that takes its time and touches no memory.
fn work(rounds: u32) {
    let mut x = 1.0_f64;
    for _ in 0..rounds {
        x = std::hint::black_box(x * 0.999_999);
    }
}

/// So many rounds take about that long, ns.
fn rounds_for(nanoseconds: f64) -> u32 {
    const MANY: u32 = 10_000;
    let mut least = f64::INFINITY;
    for _ in 0..5 {
        let begin = Instant::now();
        work(MANY);
        least = least.min(begin.elapsed().as_secs_f64() * 1e9);
    }
    (nanoseconds * f64::from(MANY) / least.max(1.0)).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Costs, String> {
        let mut sources = SourceMap::new();
        let id = sources.add("costs.toml", text);
        Costs::parse(text, id).map_err(|found| found.render(&sources, false, 100))
    }

    #[test]
    fn costs_are_read_back_as_written() {
        let costs = Costs {
            machine: "Some \"CPU\", 2 cores".into(),
            types: [("hydraulic.orifice".to_owned(), 5.25), ("signal.sine".to_owned(), 12.0)]
                .into(),
            exchange: Price { line: 3.5, edge: 0.0, neighbour: 120.0 },
            crowding: 1.25,
        };
        let read = read(&costs.render()).unwrap();
        assert_eq!(read.crowding, 1.25);
        assert_eq!(read.machine, costs.machine);
        assert!(read.types.keys().eq(costs.types.keys()));
        let times = |c: &Costs| -> Vec<f64> {
            c.types.values().copied().chain([c.exchange.line, c.exchange.neighbour]).collect()
        };
        // From ns to s and back costs a rounding each.
        for (read, written) in times(&read).into_iter().zip(times(&costs)) {
            assert!((read - written).abs() <= 4.0 * f64::EPSILON * written, "{read} {written}");
        }
        assert_eq!(costs.of_type("hydraulic.orifice"), 5.25);
        assert_eq!(costs.of_type("unheard.of"), 0.5 * (5.25 + 12.0));
    }

    #[test]
    fn typical_costs_come_with_the_program() {
        assert!(Costs::typical().types.len() > 40);
        assert!(Costs::typical().of_type("hydraulic.orifice") > 0.0);
    }

    #[test]
    fn costs_without_sense_are_refused_with_their_place() {
        for (text, part) in [
            ("types = 3", "not what belongs here"),
            ("[types]\n\"a.b\" = \"3 mm\"\n", "costs.toml:2"),
            ("[types]\n\"a.b\" = 3\n", "no time"),
            ("[types]\n\"a.b\" = \"-3 ns\"\n", "no time"),
            ("[exchange]\ncrowding = 0.0\n", "no number above 0"),
            ("[exchange]\nlines = \"1 ns\"\n", "did you mean `line`"),
            ("[typs]", "typs"),
            ("", "`synchronisation`"),
            ("[", "F0101"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(part), "{text}: {part}:\n{said}");
        }
    }
}
