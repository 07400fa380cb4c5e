//! Components mapped onto processors: a hydrostatic transmission, two of them, and a large circuit.

use super::{Band, Case, Extent, Figure, Origin, broken};
use fluxline_core::plan::Plan;
use fluxline_diagnostics::Diagnostics;
use fluxline_parallel::cost::Costs;
use fluxline_parallel::exhaustive;
use fluxline_parallel::genetic::{self, Evolution};
use fluxline_parallel::graph::{Graph, Tasks};
use fluxline_parallel::load::{Links, Price, slowest};
use fluxline_parallel::multilevel;
use fluxline_parallel::predict;
use fluxline_parallel::published::{SERIAL_CYCLES, transmission, transputers};
use std::collections::BTreeMap;

/// Chapter 5, Table 5.2.
pub const CASE: Case = Case {
    name: "parallel/mapping",
    title: "Mapping of components onto processors: evolution, levels, and the optimum",
    source: "Pollmeier, thesis, University of Bath, chapter 5: Figures 5.3, 5.5 and 5.6, Tables 5.1 and \
             5.2 (calculation times of Figure 5.7 not legible: taken as equal, 22 000 cycles in all)",
    run: figures,
};

/// The large circuit, built after its description.
const LARGE: &str = include_str!("../../../../examples/parallel/dual_transmission.toml");

/// Branches that the search for the optimum may take.
const PATIENCE: u64 = 100_000_000;

fn figures(extent: &Extent) -> Result<Vec<Figure>, Diagnostics> {
    let links = transputers();
    let mut all = Vec::new();
    let small = transmission(1);
    let four = both(&small, &links, 4);
    let best = exhaustive::best(&small, &links, 4, PATIENCE)
        .ok_or_else(|| broken("the search for the optimum was given up".to_owned()))?;
    let optimum = slowest(&small, &links, 4, &best);
    // As published: the best of ten runs.
    let evolved = (1..=10).map(|seed| {
        let evolved = genetic::split(&small, &links, 4, seed, &Evolution::default());
        slowest(&small, &links, 4, &evolved.part_of)
    });
    let evolved = evolved.fold(f64::INFINITY, f64::min);
    for (method, time) in [("evolution", evolved), ("levels", four.0)] {
        all.push(Figure {
            quantity: format!("20 components on 4, {method}, over the best of all mappings"),
            reference: Some(1.0),
            origin: Origin::Published,
            ours: time / optimum,
            unit: "–",
            band: Band::Relative(1e-9),
        });
    }
    // The published ones are measured; these follow from the cost function, with calculation times
    // that are taken as equal: a pump or a motor takes longer than a pipe, which eight processors
    // cannot even out.
    let eight = both(&small, &links, 8);
    for (parts, time, published) in [(4, optimum, 2.60), (8, eight.0.min(eight.1), 3.60)] {
        all.push(Figure {
            quantity: format!("speed-up, 20 components on {parts}, by costs"),
            reference: Some(published),
            origin: Origin::Published,
            ours: SERIAL_CYCLES / time,
            unit: "–",
            band: Band::Relative(0.15),
        });
    }
    // Measured beyond the number of processors, since each then needs less than its cache holds: no
    // cost function tells that.
    let medium = transmission(2);
    for (parts, published) in [(4, 4.24), (8, 5.90)] {
        let (levels, evolved) = both(&medium, &links, parts);
        all.push(Figure {
            quantity: format!("speed-up, 40 components on {parts}, by costs"),
            reference: Some(published),
            origin: Origin::Published,
            ours: 2.0 * SERIAL_CYCLES / levels.min(evolved),
            unit: "–",
            band: Band::Any,
        });
    }
    let plan = large(extent)?;
    let tasks = Tasks::of(&plan, &equal_costs(&plan));
    let (group_of, groups) = tasks.graph.group_leaves(SERIAL_CYCLES / 20.0 * 4.0);
    let grouped = tasks.graph.join(&group_of, groups);
    for (parts, published) in [(4, 4.24), (8, 7.80)] {
        let (levels, evolved) = both(&grouped, &links, parts);
        all.push(Figure {
            quantity: format!("speed-up, 70 components on {parts}, by costs"),
            reference: Some(published),
            origin: Origin::Published,
            ours: tasks.graph.total_work() / levels.min(evolved),
            unit: "–",
            band: Band::Any,
        });
        all.push(Figure {
            quantity: format!("70 components on {parts}: time by levels over that by evolution"),
            reference: Some(1.0),
            origin: Origin::Bar,
            ours: levels / evolved,
            unit: "–",
            band: Band::Relative(0.05),
        });
    }
    if extent.is_whole {
        let costs = Costs::measure(&plan);
        let tasks = Tasks::of(&plan, &costs);
        for point in predict::curve(&tasks, &costs.links(), &[2, 4, 8], 1) {
            all.push(Figure {
                quantity: format!("predicted speed-up here, 70 components on {}", point.parts),
                reference: None,
                origin: Origin::Compared,
                ours: point.speed_up,
                unit: "–",
                band: Band::Any,
            });
        }
    }
    Ok(all)
}

/// Time of the slowest processor, by levels and by evolution.
fn both(graph: &Graph, links: &Links, parts: usize) -> (f64, f64) {
    let levels = multilevel::split(graph, links, parts, 1);
    let evolved = genetic::split(graph, links, parts, 1, &Evolution::default()).part_of;
    (slowest(graph, links, parts, &levels), slowest(graph, links, parts, &evolved))
}

fn large(extent: &Extent) -> Result<Plan, Diagnostics> {
    let loaded =
        fluxline_formats::load_text("dual_transmission.toml", LARGE, "", extent.registry, &[]);
    let circuit = loaded.circuit.ok_or(loaded.diagnostics)?;
    let planned = Plan::of(&circuit, extent.registry);
    planned.plan.ok_or(planned.problems)
}

/// The published circuit counts no lines between components: those that were inserted cost nothing.
fn equal_costs(plan: &Plan) -> Costs {
    let mut types = BTreeMap::new();
    let each = SERIAL_CYCLES / 20.0;
    for entry in &plan.variables.entries {
        types.entry(entry.declaration.name.to_owned()).or_insert(0.0);
        if !entry.inserted {
            types.insert(entry.declaration.name.to_owned(), each);
        }
    }
    Costs { machine: String::new(), types, exchange: Price::default(), crowding: 1.0 }
}
