//! The verdict of a run, as text for people and as JSON for scripts.

use crate::display::{Shown, count, counted, energy, number, quantity, time};
use crate::figures::matching;
use crate::session::{Completed, Engine, On, Parallel, Parts, Pieces, Session, Solver};
use fluxline_core::monitor::Named;
use fluxline_core::run::Ended;
use fluxline_core::settings::{Convention, StepControl};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap};
use fluxline_fused::compiler::{By, Made};
use fluxline_lumped::run::Effort;
use fluxline_parallel::threads::SplitError;
use serde_json::{Value, json};

/// So many variables are listed unless more are asked for.
const MOST_LISTED: usize = 12;

/// What a run came to.
pub struct Report<'a> {
    /// The circuit.
    pub session: &'a Session,
    /// The run.
    pub completed: &'a Completed<'a>,
    /// Files written, by kind: `csv`, `state`, `report`, `plot`, `parquet`.
    pub files: &'a [(&'static str, String)],
    /// Problems with files.
    pub problems: &'a Diagnostics,
}

impl Report<'_> {
    /// Exit code of the command.
    pub fn exit_code(&self) -> u8 {
        let run = self.completed.failure.as_ref().map_or(0, |f| f.code().category().exit_code());
        run.max(self.problems.exit_code())
    }

    /// Warnings of reading, planning and running.
    pub fn warnings(&self) -> Diagnostics {
        let mut all = self.session.warnings.clone();
        all.extend(self.completed.no_own_code.clone());
        let verdict = &self.completed.outcome.verdict;
        let told = |code: Code, one: &Named, what: &str| {
            let steps = counted(one.value as u64, "step");
            Diagnostic::warning(code, format!("`{}` {what} in {steps}", one.component))
                .on(fluxline_diagnostics::Place::component(&one.component))
        };
        all.extend(verdict.limits.iter().map(|one| told(Code::LimitHit, one, "was at a limit")));
        all.extend(verdict.cavitation.iter().map(|one| told(Code::Cavitation, one, "cavitated")));
        all
    }

    /// The verdict as text.
    pub fn to_text(&self, color: bool) -> String {
        let (session, completed) = (self.session, self.completed);
        let verdict = &completed.outcome.verdict;
        let paint = |style: &str, text: &str| match color {
            true => format!("\x1b[{style}m{text}\x1b[0m"),
            false => text.to_owned(),
        };
        let word = completed.ended().replace('_', " ");
        let style =
            if completed.failure.is_none() && self.problems.is_empty() { "1;32" } else { "1;31" };
        let mut out = format!("{}: {}\n", paint("1", &session.circuit.title), paint(style, &word));
        let mut line = |name: &str, text: String| out.push_str(&format!("  {name:<17} {text}\n"));
        if let Some(rest) = &completed.rest {
            let name = session.plan().name(rest.component);
            let change = number(rest.residual);
            line(
                if rest.reached { "came to rest" } else { "not at rest" },
                format!("after {} (largest change left {change} /s, at `{name}`)", time(rest.time)),
            );
        }
        if completed.ended() != "not_at_rest" {
            let (step, until) = (session.plan().step, self.reached());
            let steps = match &completed.step_use {
                None if completed.effort.is_some() => lumped_steps(completed),
                None => format!("{} of {}", count(verdict.steps), time(step)),
                Some(used) => format!(
                    "{} of {} to {} ({} taken back)",
                    count(used.taken),
                    time(used.smallest),
                    time(used.largest),
                    count(used.rejected)
                ),
            };
            line("steps", format!("{steps} to t = {}", time(until)));
            let factor = completed.real_time_factor();
            let speed = crate::display::rounded(factor, 3);
            line(
                "computed in",
                format!("{} ({speed} × real time)", wall(completed.wall.as_secs_f64())),
            );
            if let Some(code) = &completed.fused {
                let made = match code.made {
                    Made { took: Some(took), by: By::Compiler } => {
                        format!("compiled in {}", wall(took.as_secs_f64()))
                    }
                    Made { took: Some(took), by: By::Fluxline } => {
                        format!("written in {}", wall(took.as_secs_f64()))
                    }
                    Made { took: None, .. } => "compiled before".to_owned(),
                };
                let rest = match code.by_engine.len() {
                    0 => String::new(),
                    1 => format!("; `{}` is stepped by the engine", code.by_engine[0]),
                    n => format!("; {n} components are stepped by the engine"),
                };
                line("own code", format!("{made}{rest}"));
            }
            if let Some(text) = session.parallel.as_ref().map(in_parts) {
                line("parallel", text);
            }
            if let Some(why) = &session.choice {
                line("solver", format!("tlm: {why}"));
            }
            let worst = |found: &Option<(Named, f64)>, unit: &str| {
                found.as_ref().map(|(worst, at)| {
                    format!(
                        "{} in `{}` at t = {}",
                        quantity(worst.value, unit),
                        worst.component,
                        time(*at)
                    )
                })
            };
            let parasitic = worst(&verdict.parasitic_pressure, "Pa");
            let is_judged = session.circuit.run.convention == Convention::Fluxline
                && completed.effort.is_none();
            if let (Some(effort), Engine::Lumped(_, solver)) = (&completed.effort, &session.engine)
            {
                for (name, text) in lumped_lines(effort, solver) {
                    line(name, text);
                }
            } else if is_judged {
                line(
                    "parasitic error",
                    parasitic.unwrap_or_else(|| "no lumped oil volumes".to_owned()),
                );
            }
            let split = completed.split_error.as_ref();
            if let Some(text) = split.and_then(|error| rarely(error, &session.parallel)) {
                line("split error", text);
            }
            if let Some(text) = worst(&verdict.parasitic_force, "N") {
                line("parasitic force", text);
            }
            if !is_judged && completed.effort.is_none() {
                line("balances", "not judged: the model keeps to Hopsan's rules".to_owned());
            }
            let is_sound = is_judged && !matches!(completed.outcome.ended, Ended::Diverged(_));
            if is_sound && (verdict.oil_throughput > 0.0 || verdict.oil_held > 0.0) {
                let size = verdict.oil_throughput.max(verdict.oil_held.abs());
                line(
                    "oil balance",
                    format!(
                        "off by {} of {} l",
                        exponent(verdict.relative_oil_error()),
                        number(size * 1e3)
                    ),
                );
            }
            if is_sound && !verdict.judges_energy() {
                line("energy balance", "no lossless stores to judge it by".to_owned());
            } else if is_sound {
                line(
                    "energy balance",
                    format!(
                        "off by {} of {}",
                        exponent(verdict.relative_energy_error()),
                        energy(verdict.energy_throughput)
                    ),
                );
            }
            let listed = |all: &[Named]| match all {
                [] => "none".to_owned(),
                _ => {
                    let one = |n: &Named| {
                        format!("{} ({})", n.component, counted(n.value as u64, "step"))
                    };
                    let shown: Vec<String> = all.iter().take(8).map(one).collect();
                    let more = if all.len() > 8 {
                        format!(" and {} more", all.len() - 8)
                    } else {
                        String::new()
                    };
                    shown.join(", ") + &more
                }
            };
            line("limits hit", listed(&verdict.limits));
            line("cavitation", listed(&verdict.cavitation));
            if let Some(one) = &verdict.unconverged {
                line(
                    "not converged",
                    format!(
                        "{} (first `{}`)",
                        counted(one.value as u64, "component step"),
                        one.component
                    ),
                );
            }
            if let Some(used) = completed.step_use.as_ref().filter(|used| used.above_limit > 0) {
                let limit = quantity(session.circuit.run.parasitic_limit, "Pa");
                line(
                    "above the limit",
                    format!(
                        "{} at the smallest step exceed {limit}",
                        counted(used.above_limit, "step")
                    ),
                );
            }
        }
        let warnings = session.warnings.warnings() + usize::from(completed.no_own_code.is_some());
        line("warnings", if warnings == 0 { "none".to_owned() } else { warnings.to_string() });
        for (kind, path) in self.files {
            line(kind, path.clone());
        }
        out.push_str(&self.table());
        out
    }

    /// Time reached.
    fn reached(&self) -> f64 {
        let plan = self.session.plan();
        match (&self.completed.outcome.ended, &self.completed.step_use) {
            (Ended::Interrupted { time } | Ended::Stopped { time, .. }, _) => *time,
            (_, Some(_)) => plan.start + self.completed.outcome.verdict.simulated,
            _ => plan.start + self.completed.state.step as f64 * plan.step,
        }
    }

    /// Start, smallest, largest and last value: of what the file plots, or else of what is recorded.
    fn table(&self) -> String {
        let (recorder, circuit) = (&self.completed.recorder, &self.session.circuit);
        let plotted: Vec<_> =
            circuit.plots.iter().flat_map(|plot| plot.variables.clone()).collect();
        let mut listed = matching(&recorder.variables, &plotted);
        if listed.is_empty() {
            listed = recorder.variables.iter().collect();
        }
        let all = listed.len();
        listed.truncate(MOST_LISTED);
        let mut rows = vec![["", "", "start", "min", "max", "end"].map(str::to_owned)];
        for variable in listed {
            let index = recorder.variables.iter().position(|one| one.name == variable.name);
            let Some(range) = index.and_then(|index| self.completed.extremes.get(index)) else {
                continue;
            };
            let shown = Shown::new(variable.unit);
            let text = |x: f64| number(shown.of(x));
            rows.push([
                variable.name.clone(),
                shown.symbol().to_owned(),
                text(range.start),
                text(range.min),
                text(range.max),
                text(range.end),
            ]);
        }
        if rows.len() == 1 {
            return String::new();
        }
        let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..6).map(width).collect();
        let mut out = String::from("\n");
        for row in &rows {
            let [name, unit, numbers @ ..] = row;
            let mut line = format!("  {name:<0$}  {unit:<1$}", widths[0], widths[1]);
            for (cell, width) in numbers.iter().zip(&widths[2..]) {
                line.push_str(&format!("  {cell:>width$}"));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        if all > MOST_LISTED {
            out.push_str(&format!("  … and {} more; --csv FILE writes all\n", all - MOST_LISTED));
        }
        out
    }

    /// The verdict as JSON. Every field is always present; what does not apply is `null`. Times are
    /// in s, all values in SI units. Fields are added, never renamed.
    ///
    /// | field | content |
    /// |---|---|
    /// | `file`, `title` | the circuit |
    /// | `ended` | `done`, `diverged`, `not_converged`, `stopped`, `interrupted`, `not_at_rest`, `not_written`, `refused` |
    /// | `exit_code` | that of the command |
    /// | `steps`, `step_seconds` | steps taken and their size; `null` for a variable step |
    /// | `start`, `stop`, `reached`, `simulated_seconds` | times asked for and reached |
    /// | `wall_seconds`, `real_time_factor` | time spent on the steps, and simulated time over it |
    /// | `fused` | code of its own, where it was used: `compile_seconds` (0 when it was there), `by_engine` |
    /// | `rest` | `reached`, `time`, `residual`, `component` of the start at rest |
    /// | `variable_step` | `taken`, `rejected`, `smallest`, `largest`, `above_limit` |
    /// | `solver` | of the lumped view: `method`, `why`, `evaluations`, `jacobians`, `newton_iterations`, `rejected`, `shortest_step`, `longest_step`, `small_volumes`, `inner_iterations`, `oil_in_m3`, `oil_out_m3` |
    /// | `parallel` | of a run in parts: `parts`, `components` of each, `line_ends_cut`, `exchange_every`, `lines_split`, `exchanges` of lines and `exchanges_of_every_step`, `split_error`, `threads` or `ranks`, `why` |
    /// | `parasitic_pressure` | worst oil line: `component`, `pascal`, `time` |
    /// | `parasitic_force` | worst spring or shaft: `component`, `newton`, `time` |
    /// | `oil_balance` | `relative`, `error_m3`, `throughput_m3`, `held_m3` |
    /// | `energy_balance` | `relative`, `error_j`, `throughput_j` |
    /// | `limits`, `cavitation` | lists of `component`, `steps` |
    /// | `unconverged` | first `component`, and `steps` in all |
    /// | `warnings`, `errors` | diagnostics with `code`, `message`, place, `notes`, `help` |
    /// | `variables` | recorded ones: `name`, `unit`, `min`, `max`, `start`, `end` |
    /// | `failure` | `code`, `message`, `component`, `variable`, `value`, `unit`, `time`, `last_good_step`, `last_good_time`, `notes`, `help` |
    /// | `files` | written ones by kind: `csv`, `parquet`, `state`, `plot`, `report` |
    pub fn to_json(&self) -> Value {
        let (session, completed) = (self.session, self.completed);
        let verdict = &completed.outcome.verdict;
        let plan = session.plan();
        let steps_of = |all: &[Named]| -> Vec<Value> {
            all.iter()
                .map(|n| json!({ "component": n.component, "steps": n.value as u64 }))
                .collect()
        };
        let worst = |found: &Option<(Named, f64)>, unit: &str| match found {
            Some((worst, at)) => {
                json!({ "component": worst.component, unit: worst.value, "time": at })
            }
            None => Value::Null,
        };
        let variables: Vec<Value> = completed
            .recorder
            .variables
            .iter()
            .zip(&completed.extremes)
            .map(|(v, x)| {
                json!({ "name": v.name, "unit": v.unit, "min": x.min, "max": x.max, "start": x.start, "end": x.end })
            })
            .collect();
        let rest = completed.rest.as_ref().map(|rest| {
            json!({
                "reached": rest.reached,
                "time": rest.time,
                "residual": rest.residual,
                "component": plan.name(rest.component),
            })
        });
        let step_use = completed.step_use.as_ref().map(|used| {
            json!({
                "taken": used.taken,
                "rejected": used.rejected,
                "smallest": used.smallest,
                "largest": used.largest,
                "above_limit": used.above_limit,
            })
        });
        // Of a run that diverged the sums hold steps after the last good one.
        // Models that keep to Hopsan's rules are not judged.
        let is_sound = session.circuit.run.convention == Convention::Fluxline
            && completed.effort.is_none()
            && !matches!(completed.outcome.ended, Ended::Diverged(_));
        let oil = is_sound.then(|| {
            json!({
                "relative": verdict.relative_oil_error(),
                "error_m3": verdict.oil_error,
                "throughput_m3": verdict.oil_throughput,
                "held_m3": verdict.oil_held,
            })
        });
        let energy = is_sound.then(|| {
            json!({
                "relative": verdict.relative_energy_error(),
                "error_j": verdict.energy_error,
                "throughput_j": verdict.energy_throughput,
            })
        });
        let is_fixed = session.circuit.run.step_control == StepControl::Fixed;
        let files: serde_json::Map<String, Value> =
            self.files.iter().map(|(kind, path)| ((*kind).to_owned(), json!(path))).collect();
        json!({
            "file": session.name,
            "title": session.circuit.title,
            "ended": completed.ended(),
            "exit_code": self.exit_code(),
            "steps": verdict.steps,
            "step_seconds": is_fixed.then_some(plan.step),
            "start": plan.start,
            "stop": session.circuit.run.stop,
            "reached": self.reached(),
            "simulated_seconds": verdict.simulated,
            "wall_seconds": completed.wall.as_secs_f64(),
            "real_time_factor": completed.real_time_factor(),
            "fused": completed.fused.as_ref().map(|code| json!({
                "by": match code.made.by {
                    By::Fluxline => "fluxline",
                    By::Compiler => "compiler",
                },
                "compile_seconds": code.made.took.map_or(0.0, |took| took.as_secs_f64()),
                "by_engine": code.by_engine,
            })),
            "rest": rest,
            "variable_step": step_use,
            "solver": self.solver(),
            "parallel": in_parts_json(&self.session.parallel, self.completed.split_error.as_ref()),
            "parasitic_pressure": worst(&verdict.parasitic_pressure, "pascal"),
            "parasitic_force": worst(&verdict.parasitic_force, "newton"),
            "oil_balance": oil,
            "energy_balance": energy,
            "limits": steps_of(&verdict.limits),
            "cavitation": steps_of(&verdict.cavitation),
            "unconverged": verdict.unconverged.as_ref().map(|n| json!({ "component": n.component, "steps": n.value as u64 })),
            "warnings": to_values(&self.warnings(), &session.sources),
            "variables": variables,
            "failure": self.failure(),
            "errors": to_values(self.problems, &session.sources),
            "files": files,
        })
    }

    fn solver(&self) -> Value {
        let (Some(effort), Engine::Lumped(_, solver)) =
            (&self.completed.effort, &self.session.engine)
        else {
            return Value::Null;
        };
        let small: Vec<Value> = solver
            .small
            .iter()
            .map(|(name, constant, volume)| {
                json!({ "name": name, "time_constant": constant, "volume_m3": volume })
            })
            .collect();
        json!({
            "method": solver.method.word(),
            "why": solver.why,
            "evaluations": effort.work.evaluations,
            "jacobians": effort.work.jacobians,
            "newton_iterations": effort.work.newton_iterations,
            "rejected": effort.work.rejected,
            "shortest_step": effort.steps.0,
            "longest_step": effort.steps.1,
            "small_volumes": small,
            "inner_iterations": effort.inner.iterations,
            "oil_in_m3": effort.oil_in,
            "oil_out_m3": effort.oil_out,
        })
    }

    fn failure(&self) -> Value {
        let Some(problem) = &self.completed.failure else { return Value::Null };
        let mut value = json!({
            "code": problem.code().as_str(),
            "message": problem.message(),
            "component": problem.place().and_then(|place| place.component.clone()),
            "variable": null,
            "value": null,
            "unit": null,
            "time": self.reached(),
            "last_good_step": self.completed.state.step,
            "last_good_time": self.reached(),
            "notes": problem.notes(),
            "help": problem.helps(),
        });
        match &self.completed.outcome.ended {
            Ended::Diverged(found) => {
                value["variable"] = json!(found.variable);
                // JSON has no infinity; the message tells which it is.
                value["value"] = json!(found.value);
                value["unit"] = json!(found.unit);
                value["time"] = json!(found.time);
                value["last_good_step"] = json!(found.last_good_step);
                value["last_good_time"] = json!(found.last_good_time);
            }
            Ended::Unconverged { time, .. } => value["time"] = json!(time),
            _ => {}
        }
        value
    }
}

/// How a run was shared among threads, or why it was not.
fn in_parts(parallel: &Parallel) -> String {
    let parts = match parallel {
        Parallel::No(why) => return format!("no: {why}"),
        Parallel::Parts(parts) => parts,
    };
    let cut = parts.cut();
    let sizes = cut.parts.iter().map(|part| part.components);
    let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
    let size = match least == most {
        true => counted(most as u64, "component"),
        false => format!("{least} to {}", counted(most as u64, "component")),
    };
    let why = parts.why.as_ref().map_or(String::new(), |why| format!(" ({why})"));
    let lines = match &parts.pieces {
        Pieces::Exact(cut) => format!("{} cut", counted(cut.lines_cut() as u64, "line end")),
        Pieces::Rare(rare) => format!("{} split", counted(rare.lines.len() as u64, "line")),
    };
    format!("{} parts of {size} on {}, {lines}{why}", cut.parts.len(), workers(parts))
}

fn workers(parts: &Parts) -> String {
    match &parts.on {
        On::Threads(manner) => counted(manner.threads as u64, "thread"),
        #[cfg(feature = "mpi")]
        On::Ranks(ranks) => counted(ranks.count() as u64, "MPI rank"),
    }
}

/// What exchanging rarely cost in accuracy (Pollmeier, section 6.4).
fn rarely(error: &SplitError, parallel: &Option<Parallel>) -> Option<String> {
    let Some(Parallel::Parts(parts)) = parallel else { return None };
    let Pieces::Rare(rare) = &parts.pieces else { return None };
    let worst = error.worst.as_ref().map_or("none".to_owned(), |(worst, at)| {
        let size = quantity(worst.value, "Pa");
        format!("{size} in `{}` at t = {}", worst.component, time(*at))
    });
    let every = count(u64::from(rare.every));
    let spared = match rare.is_bounded() {
        true => {
            format!(" at most: {} of {} exchanges", count(error.exchanges), count(error.every_step))
        }
        false => String::new(),
    };
    Some(format!("{worst} (exchange every {every} steps{spared})"))
}

fn in_parts_json(parallel: &Option<Parallel>, error: Option<&SplitError>) -> Value {
    match parallel {
        None => Value::Null,
        Some(Parallel::No(why)) => json!({ "threads": 1, "parts": 1, "why": why }),
        Some(Parallel::Parts(parts)) => {
            let (every, split_lines) = match &parts.pieces {
                Pieces::Exact(_) => (1, 0),
                Pieces::Rare(rare) => (rare.every, rare.lines.len()),
            };
            let (kind, workers) = match &parts.on {
                On::Threads(manner) => ("threads", manner.threads),
                #[cfg(feature = "mpi")]
                On::Ranks(ranks) => ("ranks", ranks.count()),
            };
            let mut value = json!({
                "parts": parts.cut().parts.len(),
                "components": parts.cut().parts.iter().map(|p| p.components).collect::<Vec<_>>(),
                "line_ends_cut": parts.cut().lines_cut(),
                "exchange_every": every,
                "lines_split": split_lines,
                "exchanges": error.map(|error| error.exchanges),
                "exchanges_of_every_step": error.map(|error| error.every_step),
                "split_error": error.and_then(|error| error.worst.as_ref()).map(|(worst, at)| {
                    json!({ "component": worst.component, "pascal": worst.value, "time": at })
                }),
                "why": parts.why,
            });
            value[kind] = json!(workers);
            value
        }
    }
}

/// The JSON of a run that did not begin: the same fields, `null` but for the problems.
pub fn refused(file: &str, problems: &Diagnostics, sources: &SourceMap) -> Value {
    let (errors, warnings): (Vec<Diagnostic>, Vec<Diagnostic>) =
        problems.iter().cloned().partition(Diagnostic::is_error);
    json!({
        "file": file,
        "title": null,
        "ended": "refused",
        "exit_code": problems.exit_code(),
        "steps": 0,
        "step_seconds": null,
        "start": null,
        "stop": null,
        "reached": null,
        "simulated_seconds": 0.0,
        "wall_seconds": 0.0,
        "real_time_factor": null,
        "fused": null,
        "rest": null,
        "variable_step": null,
        "solver": null,
        "parallel": null,
        "parasitic_pressure": null,
        "parasitic_force": null,
        "oil_balance": null,
        "energy_balance": null,
        "limits": [],
        "cavitation": [],
        "unconverged": null,
        "warnings": to_values(&warnings.into_iter().collect(), sources),
        "variables": [],
        "failure": null,
        "errors": to_values(&errors.into_iter().collect(), sources),
        "files": {},
    })
}

fn lumped_steps(completed: &Completed) -> String {
    let Some(effort) = &completed.effort else { return String::new() };
    let work = &effort.work;
    let (short, long) = effort.steps;
    let size = match (long - short).abs() <= 1e-6 * long {
        true => time(long),
        false => format!("{} to {}", time(short), time(long)),
    };
    let rejected = match work.rejected {
        0 => String::new(),
        n => format!(" ({} taken again)", count(n)),
    };
    format!("{} of {size}{rejected}", count(work.steps))
}

/// What a solver of the lumped view did, line by line.
fn lumped_lines(effort: &Effort, solver: &Solver) -> Vec<(&'static str, String)> {
    let work = &effort.work;
    let mut lines = Vec::new();
    let name = solver.method.word();
    lines.push((
        "solver",
        match &solver.why {
            Some(why) => format!("{name}: {why}"),
            None => name.to_owned(),
        },
    ));
    let mut done = vec![counted(work.evaluations, "evaluation")];
    if work.jacobians > 0 {
        done.push(counted(work.jacobians, "Jacobian"));
    }
    if work.newton_iterations > 0 {
        done.push(counted(work.newton_iterations, "Newton iteration"));
    }
    lines.push(("work", done.join(", ")));
    if !solver.small.is_empty() {
        let one = |(name, constant, volume): &(String, f64, f64)| {
            format!("`{name}` ({}, {})", quantity(*volume, "m^3"), time(*constant))
        };
        let listed: Vec<String> = solver.small.iter().take(6).map(one).collect();
        lines.push(("small volumes", listed.join(", ")));
        let inner = &effort.inner;
        let mut cost = format!(
            "{} in {}",
            counted(inner.iterations as u64, "inner iteration"),
            counted(inner.solves as u64, "solution")
        );
        if inner.unfinished > 0 {
            cost.push_str(&format!(", {} not finished", count(inner.unfinished as u64)));
        }
        lines.push(("their cost", cost));
    }
    let litres = |volume: f64| format!("{} l", number(volume * 1e3));
    let metering = format!("{} in, {} out", litres(effort.oil_in), litres(effort.oil_out));
    lines.push(("oil metered", metering));
    lines
}

/// Diagnostics as JSON values.
pub fn to_values(problems: &Diagnostics, sources: &SourceMap) -> Vec<Value> {
    let value = |problem: &&Diagnostic| serde_json::from_str(&problem.to_json(sources)).ok();
    problems.sorted().iter().filter_map(value).collect()
}

fn exponent(x: f64) -> String {
    if x == 0.0 { "0".to_owned() } else { format!("{x:.1e}") }
}

fn wall(seconds: f64) -> String {
    time(crate::display::rounded(seconds, 3).parse().unwrap_or(seconds))
}
