//! The lumped view of the example circuits: derivatives against differences.

use fluxline_core::circuit::{Circuit, Registry};
use fluxline_core::plan::Plan;
use fluxline_lumped::view::View;
use fluxline_ode::System;
use std::path::PathBuf;

fn examples() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    files
}

fn load(path: &std::path::Path, registry: &Registry) -> Circuit {
    let loaded = fluxline_formats::load_file(path, registry, &[]);
    loaded.circuit.unwrap_or_else(|| panic!("{}: {:?}", path.display(), loaded.diagnostics))
}

#[test]
fn derivatives_of_the_examples_are_those_of_differences() {
    let registry = fluxline_library::registry();
    for path in examples() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let circuit = load(&path, &registry);
        let plan = Plan::of(&circuit, &registry).plan.unwrap();
        let mut view = View::of(&plan).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        let n = view.size();
        println!(
            "{name}: {n} states, {} entries, {} clusters, discrete {}",
            view.pattern().len(),
            view.cluster_count(),
            view.has_discrete_parts()
        );
        // A point off every corner: pressures of 20…60 bar, small motion.
        let x: Vec<f64> = (0..n)
            .map(|i| {
                let nominal = view.nominal(i);
                let start = view.x()[i];
                match view.states[i].unit {
                    "Pa" => 2e6 + 4e6 * ((i * 7919 % 13) as f64 / 13.0),
                    _ => start + nominal * (0.3 + 0.4 * (i % 3) as f64),
                }
            })
            .collect();
        let mut values = vec![0.0; view.pattern().len()];
        view.jacobian(0.05, &x, &mut values).unwrap();
        let mut dense = vec![0.0; n * n];
        for column in 0..n {
            for place in view.pattern().column(column) {
                dense[view.pattern().rows()[place] * n + column] = values[place];
            }
        }
        let (mut up, mut down) = (vec![0.0; n], vec![0.0; n]);
        for column in 0..n {
            let h = 1e-4 * view.nominal(column).max(1e-3 * x[column].abs());
            let mut moved = x.clone();
            moved[column] = x[column] + h;
            view.rates(0.05, &moved, &mut up).unwrap();
            moved[column] = x[column] - h;
            view.rates(0.05, &moved, &mut down).unwrap();
            for row in 0..n {
                let difference = (up[row] - down[row]) / (2.0 * h);
                let exact = dense[row * n + column];
                let size = (0..n).map(|j| dense[row * n + j].abs() * view.nominal(j)).sum::<f64>();
                let noise = 1e-15 * up[row].abs() / h;
                assert!(
                    (difference - exact).abs() * view.nominal(column)
                        <= 1e-5 * size + 100.0 * noise * view.nominal(column),
                    "{name}: d{}/dt by {}: {exact:e}, by differences {difference:e}",
                    view.states[row].name,
                    view.states[column].name
                );
            }
        }
    }
}
