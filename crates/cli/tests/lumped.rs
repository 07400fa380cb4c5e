//! The lumped view beside the wave method: one circuit, two ways, one answer as the step goes to
//! zero.

use fluxline::{Quiet, Recording, Session};
use fluxline_formats::Override;
use std::path::{Path, PathBuf};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<PathBuf> = ["", "lumped", "parallel", "studies"]
        .into_iter()
        .filter_map(|part| std::fs::read_dir(folder.join(part)).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        // A study is no circuit, and the model of the crane plots nothing until data are replayed.
        .filter(|path| !std::fs::read_to_string(path).unwrap().contains("\ncircuit = "))
        .filter(|path| !path.ends_with("actuator_model.toml"))
        .collect();
    files.sort();
    files
}

/// Dry friction of 335 N holds the trolley of the rig against 333 N while leakage through the valve and
/// a loop that answers to micrometres would move it: it stays in both views, from the wave method's rest
/// on, however coarse the steps. A share of friction proportional to velocity would creep by 6 µm.
#[test]
fn a_cylinder_that_sticks_stays_in_both_views() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/studies/rig.toml");
    let held = |solver: &str| {
        let demand = ("demand.table", "[[0, 0], [4, 0]]");
        run(&path, &[demand, ("run.stop", "0.6 s"), ("solver.method", solver)])
    };
    let waves = held("tlm");
    for solver in ["sdirk2", "rosenbrock", "bdf"] {
        let lumped = held(solver);
        for ((name, a), b) in waves.names.iter().zip(&waves.columns).zip(&lumped.columns) {
            let most = if name == "trolley.x" { 1e-9 } else { 100.0 };
            let apart = a.iter().zip(b).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
            assert!(apart < most, "{solver}: {name} is off by {apart}");
        }
    }
}

/// What a run is compared by: the plotted variables at even times.
struct Curves {
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
}

fn run(path: &Path, settings: &[(&str, &str)]) -> Curves {
    let overrides: Vec<Override> =
        settings.iter().map(|(name, value)| Override::new(name, value)).collect();
    let session = Session::open(path, &overrides)
        .unwrap_or_else(|failure| panic!("{}: {:?}", path.display(), failure.problems));
    let recording = Recording { samples: Some(401), ..Recording::default() };
    let chosen = session.recording(&recording).unwrap();
    let completed = session.run(chosen, None, Vec::new(), &mut Quiet);
    assert!(completed.failure.is_none(), "{}: {:?}", path.display(), completed.failure);
    let plotted = session.circuit.plots.iter().flat_map(|plot| &plot.variables);
    let names: Vec<String> = plotted
        .flat_map(|pattern| {
            let all = completed.recorder.variables.iter();
            all.filter(|v| pattern.matches(&v.name)).map(|v| v.name.clone()).collect::<Vec<_>>()
        })
        .collect();
    let columns = names.iter().map(|name| completed.column(name).unwrap()).collect();
    Curves { names, columns }
}

/// Root mean square difference of the worst variable, relative to its range; and which it is.
fn apart(a: &Curves, truth: &Curves) -> (f64, String) {
    let mut worst = (0.0, String::new());
    for ((name, x), y) in truth.names.iter().zip(&a.columns).zip(&truth.columns) {
        let (low, high) = y
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
        let range = (high - low).max(1e-6 * high.abs()).max(1e-12);
        let squares: f64 = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum();
        let error = (squares / y.len() as f64).sqrt() / range;
        if error > worst.0 {
            worst = (error, name.clone());
        }
    }
    worst
}

/// Against an implicit solver at a far smaller step, the wave method converges with about the first
/// order or better on every example: springs and volumes of one step are of second order, the
/// filter of lumped lines, contacts and signals that arrive one step late are of first order.
#[test]
fn waves_and_the_lumped_view_agree_as_the_step_goes_to_zero() {
    println!("{:<32} {:>9} {:>9} {:>9} {:>6}", "example", "4 T", "2 T", "T", "order");
    for path in examples() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let step = |micros: f64| format!("{micros} us");
        let stop = "0.6 s";
        let at = |solver: &str, micros: f64| {
            let step = step(micros);
            run(&path, &[("run.stop", stop), ("run.step", &step), ("solver.method", solver)])
        };
        let truth = at("sdirk2", 5.0);
        let errors: Vec<(f64, String)> =
            [100.0, 50.0, 25.0].iter().map(|&micros| apart(&at("tlm", micros), &truth)).collect();
        let order = (errors[0].0 / errors[2].0).log2() / 2.0;
        println!(
            "{name:<32} {:>9.2e} {:>9.2e} {:>9.2e} {order:>6.2}  {}",
            errors[0].0, errors[1].0, errors[2].0, errors[2].1
        );
        assert!(order > 0.9, "{name}: order {order}");
        assert!(errors[2].0 < 5e-3, "{name}: {:?}", errors[2]);
    }
}
