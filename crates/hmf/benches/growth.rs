//! How the time to load a model grows with its size: flat chains, and chains within sub-systems.
//! Each row is the least of several repeats; the last column must stay about constant.
//!
//! `cargo bench -p fluxline-hmf --bench growth`

use fluxline_core::circuit::Registry;
use fluxline_core::plan::Plan;
use fluxline_hmf::convert::{RegistryTypes, convert};
use fluxline_hmf::{evaluate, load_text};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

/// Objects and connections of a chain: a source, gains and, every tenth, an orifice between two
/// volumes with a sensor.
fn chain(count: usize, objects: &mut String, connections: &mut String) {
    let mut join = |a: &str, p: &str, b: &str, q: &str| {
        let _ = writeln!(
            connections,
            r#"<connect startcomponent="{a}" startport="{p}" endcomponent="{b}" endport="{q}"/>"#
        );
    };
    let _ = writeln!(objects, r#"<component typename="SignalConstant" name="Source"/>"#);
    let mut last = ("Source".to_owned(), "y");
    let mut made = 1;
    while made < count {
        let i = made;
        let _ = writeln!(
            objects,
            r#"<component typename="SignalGain" name="Gain{i}"><parameters><parameter name="k#Value" value="factor*{i}"/></parameters></component>"#
        );
        join(&last.0, last.1, &format!("Gain{i}"), "in");
        last = (format!("Gain{i}"), "out");
        made += 1;
        if i % 10 == 0 && made + 4 <= count {
            for (typename, name) in [
                ("HydraulicPressureSourceC", "Supply"),
                ("HydraulicTurbulentOrifice", "Orifice"),
                ("HydraulicTankC", "Tank"),
                ("HydraulicPressureSensor", "Gauge"),
            ] {
                let _ = writeln!(objects, r#"<component typename="{typename}" name="{name}{i}"/>"#);
            }
            join(&last.0, last.1, &format!("Supply{i}"), "p");
            join(&format!("Supply{i}"), "P1", &format!("Orifice{i}"), "P1");
            join(&format!("Orifice{i}"), "P2", &format!("Tank{i}"), "P1");
            join(&format!("Gauge{i}"), "P1", &format!("Orifice{i}"), "P1");
            made += 4;
        }
    }
}

/// A model of so many components, in sub-systems of so many each.
fn model(count: usize, in_each: usize) -> String {
    let mut text = String::from(
        "<hopsanmodelfile hmfversion=\"0.4\" hopsancoreversion=\"2.20.0\"><system typename=\"Subsystem\" name=\"Large\">\
         <parameters><parameter name=\"factor\" value=\"0.5\" type=\"double\"/></parameters>",
    );
    let (mut objects, mut connections) = (String::new(), String::new());
    if in_each >= count {
        chain(count, &mut objects, &mut connections);
    } else {
        for number in 0..count / in_each {
            let (mut inside, mut joins) = (String::new(), String::new());
            chain(in_each, &mut inside, &mut joins);
            let _ = writeln!(
                objects,
                "<system typename=\"Subsystem\" name=\"Part{number}\"><objects>{inside}</objects>\
                 <connections>{joins}</connections></system>"
            );
        }
    }
    let _ = write!(
        text,
        "<objects>{objects}</objects><connections>{connections}</connections></system></hopsanmodelfile>"
    );
    text
}

/// Seconds for reading, evaluating, converting, reading the circuit file, and planning.
fn times(text: &str, registry: &Registry) -> Result<[f64; 5], String> {
    let mut best = [f64::INFINITY; 5];
    for _ in 0..3 {
        let mut marks = vec![Instant::now()];
        let mut mark = || marks.push(Instant::now());
        let mut loaded = load_text("large.hmf", text);
        mark();
        let model = loaded.model.as_ref().ok_or("no model")?;
        let types = RegistryTypes(registry);
        let values = evaluate(model, &types, &[], &mut loaded.diagnostics);
        mark();
        let circuit =
            convert(model, &values, registry, &loaded.sources, &mut loaded.diagnostics).text;
        mark();
        let read =
            fluxline_formats::load_text("large.toml", &circuit, Path::new(""), registry, &[]);
        mark();
        let errors = || read.diagnostics.render(&read.sources, false, 100);
        let plan = Plan::of(read.circuit.as_ref().ok_or_else(errors)?, registry);
        mark();
        plan.plan.ok_or("no plan")?;
        for (best, pair) in best.iter_mut().zip(marks.windows(2)) {
            *best = best.min((pair[1] - pair[0]).as_secs_f64());
        }
    }
    Ok(best)
}

fn main() {
    let registry = Registry::new(fluxline_hopsan::types());
    for (title, in_each) in [("flat", usize::MAX), ("sub-systems of 20", 20)] {
        println!(
            "\n{title:>18}  {:>9} {:>9} {:>9} {:>9} {:>9}   {:>9} {:>13}",
            "read", "evaluate", "convert", "load", "plan", "all", "µs/component"
        );
        for count in [100, 1_000, 10_000, 100_000] {
            match times(&model(count, in_each), &registry) {
                Ok(parts) => {
                    print!("{count:>18} ");
                    parts.iter().for_each(|part| print!(" {:>6.1} ms", part * 1e3));
                    let all: f64 = parts.iter().sum();
                    println!("   {:>6.1} ms {:>13.2}", all * 1e3, all * 1e6 / count as f64);
                }
                Err(problem) => println!("{count:>18}  {problem}"),
            }
        }
    }
}
