//! Figures from recorded variables: one panel per unit.

use crate::display::Shown;
use crate::session::{Completed, Session};
use fluxline_core::circuit::Pattern;
use fluxline_core::declare::ANY_UNIT;
use fluxline_core::variables::Variable;
use fluxline_plot::{Figure, Panel, Series};
use std::sync::Arc;

/// More panels in one figure are too small to read.
const MOST_PANELS: usize = 8;
/// More curves in one panel cannot be told apart.
const MOST_CURVES: usize = 8;

/// A curve before it is drawn.
pub struct Curve {
    /// Full name.
    pub name: String,
    /// SI unit; empty for a plain number, [`ANY_UNIT`] for a signal.
    pub unit: String,
    /// Values in SI units.
    pub values: Vec<f64>,
}

impl Curve {
    fn size(&self) -> f64 {
        self.values.iter().fold(0.0, |size, x| x.abs().max(size))
    }

    /// Within a factor of ten.
    fn is_of_size(&self, size: f64) -> bool {
        let own = self.size();
        own <= 10.0 * size && size <= 10.0 * own
    }
}

/// Curves over time, those of one unit in one panel. Also says how many curves were left out.
///
/// A signal has no unit of its own. Beside a variable of the same size it is taken to be in the
/// same unit: a reference beside what follows it.
pub fn figure(title: &str, times: Vec<f64>, mut curves: Vec<Curve>) -> (Figure, usize) {
    for index in 0..curves.len() {
        if curves[index].unit == ANY_UNIT {
            let size = curves[index].size();
            let is_like = |one: &&Curve| one.unit != ANY_UNIT && one.is_of_size(size);
            let like = curves.iter().find(is_like).map(|one| one.unit.clone());
            curves[index].unit = like.unwrap_or_default();
        }
    }
    let times: Arc<[f64]> = times.into();
    let mut panels: Vec<(String, Panel)> = Vec::new();
    let mut left_out = 0;
    for curve in curves {
        let shown = Shown::new(&curve.unit);
        let quantity = quantity_name(&curve.name);
        let place = panels
            .iter()
            .position(|(unit, panel)| *unit == shown.symbol() && panel.series.len() < MOST_CURVES);
        let index = match place {
            Some(index) => index,
            None if panels.len() < MOST_PANELS => {
                let label = if shown.symbol().is_empty() {
                    quantity.to_owned()
                } else {
                    format!("{quantity} [{}]", shown.symbol())
                };
                panels.push((shown.symbol().to_owned(), Panel::new(label)));
                panels.len() - 1
            }
            None => {
                left_out += 1;
                continue;
            }
        };
        let panel = &mut panels[index].1;
        // A panel of several kinds of variable is named by its unit alone.
        if !panel.series.is_empty() && quantity_name(&panel.series[0].name) != quantity {
            let unit = shown.symbol();
            panel.y_label = if unit.is_empty() { String::new() } else { format!("[{unit}]") };
        }
        let values: Vec<f64> = curve.values.iter().map(|&x| shown.of(x)).collect();
        panel.series.push(Series::new(curve.name, times.clone(), values));
    }
    let mut figure = Figure::new(title, "time [s]");
    figure.panels = panels.into_iter().map(|(_, panel)| panel).collect();
    (figure, left_out)
}

fn quantity_name(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The recorded variables that fit patterns, in the order of the patterns.
pub fn matching<'v>(variables: &'v [Variable], patterns: &[Pattern]) -> Vec<&'v Variable> {
    let mut found: Vec<&Variable> = Vec::new();
    for pattern in patterns {
        let plain = pattern.text.strip_suffix(".value").unwrap_or(&pattern.text);
        let is_wild = plain.contains('*');
        for variable in variables {
            let hit = if is_wild {
                variable.by_default && pattern.matches(&variable.name)
            } else {
                variable.name == plain
            };
            if hit && !found.iter().any(|one| one.name == variable.name) {
                found.push(variable);
            }
        }
    }
    found
}

/// The figures that a circuit file asks for; without any, one of all recorded variables.
pub fn figures(session: &Session, completed: &Completed) -> Vec<Figure> {
    let (title, plots) = (session.circuit.title.as_str(), &session.circuit.plots);
    let recorder = &completed.recorder;
    if !recorder.keeps_rows() || completed.rows == 0 {
        return Vec::new();
    }
    let curves = |variables: Vec<&Variable>| {
        let curve = |variable: &&Variable| {
            Some(Curve {
                name: variable.name.clone(),
                unit: if session.is_signal(&variable.name) { ANY_UNIT } else { variable.unit }
                    .to_owned(),
                values: completed.column(&variable.name)?,
            })
        };
        variables.iter().filter_map(curve).collect::<Vec<_>>()
    };
    if plots.is_empty() {
        let all = curves(recorder.variables.iter().take(MOST_PANELS * MOST_CURVES).collect());
        return vec![figure(title, completed.times(), all).0];
    }
    plots
        .iter()
        .map(|plot| {
            let wanted = matching(&recorder.variables, &plot.variables);
            let title = if plot.title.is_empty() { title } else { &plot.title };
            figure(title, completed.times(), curves(wanted)).0
        })
        .collect()
}

/// One figure of all panels, for formats that hold only one.
pub fn merged(title: &str, figures: Vec<Figure>) -> Figure {
    let mut all = Figure::new(title, "time [s]");
    for figure in figures {
        for (index, mut panel) in figure.panels.into_iter().enumerate() {
            if index == 0 && figure.title != title {
                panel.title.clone_from(&figure.title);
            }
            all.panels.push(panel);
        }
    }
    all
}
