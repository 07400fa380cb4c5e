//! A split as a picture: components as dots in the colour of their part, lines between them, those
//! that are cut in bold.

use crate::graph::Graph;
use crate::parts::Partition;
use std::fmt::Write as _;

/// Above this many components, parts are drawn instead.
const MOST_DOTS: usize = 600;
/// Above this many dots names only come up under the pointer.
const MOST_NAMES: usize = 120;
const SIZE: f64 = 900.0;

/// Draws a split. `names` are those of the components.
pub fn draw(graph: &Graph, partition: &Partition, names: &[&str]) -> String {
    if graph.len() <= MOST_DOTS {
        let labels: Vec<String> = names
            .iter()
            .zip(&partition.part_of)
            .map(|(name, part)| format!("{name} (part {part})"))
            .collect();
        let short: Vec<&str> = names.to_vec();
        let show = graph.len() <= MOST_NAMES;
        let sizes: Vec<f64> = (0..graph.len()).map(|i| graph.work(i)).collect();
        return picture(
            graph,
            &partition.part_of,
            &labels,
            if show { &short } else { &[] },
            &sizes,
        );
    }
    let whole = graph.join(&partition.part_of, partition.parts);
    let part_of: Vec<u32> = (0..partition.parts as u32).collect();
    let mut count = vec![0usize; partition.parts];
    partition.part_of.iter().for_each(|&part| count[part as usize] += 1);
    let labels: Vec<String> =
        count.iter().enumerate().map(|(part, n)| format!("part {part}: {n} components")).collect();
    let short: Vec<&str> = labels.iter().map(String::as_str).collect();
    let sizes: Vec<f64> = (0..whole.len()).map(|i| whole.work(i)).collect();
    let show = whole.len() <= MOST_NAMES;
    picture(&whole, &part_of, &labels, if show { &short } else { &[] }, &sizes)
}

fn picture(
    graph: &Graph,
    part_of: &[u32],
    labels: &[String],
    short: &[&str],
    sizes: &[f64],
) -> String {
    let at = lay_out(graph, part_of);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIZE} {SIZE}\" \
         width=\"{SIZE}\" height=\"{SIZE}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (a, b, lines) in graph.edges() {
        let (from, to) = (at[a as usize], at[b as usize]);
        let is_cut = part_of[a as usize] != part_of[b as usize];
        let (colour, width) =
            if is_cut { ("#c00", 1.5 + lines.min(8.0).sqrt()) } else { ("#bbb", 1.0) };
        let _ = writeln!(
            svg,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" \
             stroke-width=\"{width:.1}\"/>",
            from.0, from.1, to.0, to.1
        );
    }
    let largest = sizes.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    for (i, &(x, y)) in at.iter().enumerate() {
        // Areas tell the work.
        let radius = 3.0 + 7.0 * (sizes[i] / largest).sqrt();
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{}\" stroke=\"#333\" \
             stroke-width=\"0.5\"><title>{}</title></circle>",
            colour(part_of[i]),
            escape(&labels[i])
        );
        if let Some(name) = short.get(i) {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#333\">{}</text>",
                x + radius + 2.0,
                y + 3.0,
                escape(name)
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Colours that differ from their neighbours: steps of the golden angle around the circle of hues.
fn colour(part: u32) -> String {
    let hue = (f64::from(part) * 137.507_764).rem_euclid(360.0);
    let light = if part.is_multiple_of(2) { 55 } else { 70 };
    format!("hsl({hue:.0},65%,{light}%)")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Springs along lines, repulsion between all, until it hardly moves (Fruchterman and Reingold,
/// Software: Practice and Experience 21, 1991). Parts that nothing joins are kept from drifting by a
/// pull to the middle.
fn lay_out(graph: &Graph, part_of: &[u32]) -> Vec<(f64, f64)> {
    let n = graph.len();
    let turn = std::f64::consts::TAU;
    let parts = part_of.iter().max().map_or(1, |&most| most as usize + 1);
    // From a circle of parts: what belongs together begins together.
    let mut at: Vec<(f64, f64)> = (0..n)
        .map(|i| {
            let angle = turn * f64::from(part_of[i]) / parts as f64;
            let own = turn * (i as f64 * 0.618_033_988_749_895).fract();
            let middle = if parts > 1 { 0.3 } else { 0.0 };
            (middle * angle.cos() + 0.15 * own.cos(), middle * angle.sin() + 0.15 * own.sin())
        })
        .collect();
    let ideal = 0.9 / (n.max(1) as f64).sqrt();
    let mut force = vec![(0.0, 0.0); n];
    const ROUNDS: usize = 150;
    for round in 0..ROUNDS {
        let reach = 0.1 * (1.0 - round as f64 / ROUNDS as f64) + 0.001;
        force.fill((0.0, 0.0));
        for i in 0..n {
            for j in 0..i {
                let (dx, dy) = (at[i].0 - at[j].0, at[i].1 - at[j].1);
                let push = ideal * ideal / (dx * dx + dy * dy).max(1e-6);
                let (fx, fy) = (dx * push, dy * push);
                force[i] = (force[i].0 + fx, force[i].1 + fy);
                force[j] = (force[j].0 - fx, force[j].1 - fy);
            }
            force[i] = (force[i].0 - 0.3 * at[i].0, force[i].1 - 0.3 * at[i].1);
        }
        for (a, b, _) in graph.edges() {
            let (a, b) = (a as usize, b as usize);
            let (dx, dy) = (at[a].0 - at[b].0, at[a].1 - at[b].1);
            let is_cut = part_of[a] != part_of[b];
            let pull = (dx * dx + dy * dy).sqrt() / ideal * if is_cut { 0.3 } else { 1.0 };
            force[a] = (force[a].0 - dx * pull, force[a].1 - dy * pull);
            force[b] = (force[b].0 + dx * pull, force[b].1 + dy * pull);
        }
        for (place, &(fx, fy)) in at.iter_mut().zip(&force) {
            let size = (fx * fx + fy * fy).sqrt().max(1e-12);
            let far = size.min(reach) / size;
            *place = (place.0 + fx * far, place.1 + fy * far);
        }
    }
    fit(&mut at);
    at
}

/// Into the frame.
fn fit(at: &mut [(f64, f64)]) {
    const MARGIN: f64 = 40.0;
    let low = at.iter().fold((f64::MAX, f64::MAX), |l, p| (l.0.min(p.0), l.1.min(p.1)));
    let high = at.iter().fold((f64::MIN, f64::MIN), |h, p| (h.0.max(p.0), h.1.max(p.1)));
    for place in at {
        let scale = |x: f64, low: f64, high: f64| {
            let span = (high - low).max(1e-9);
            // Names stand to the right of their dots.
            MARGIN + (x - low) / span * (SIZE - 3.0 * MARGIN)
        };
        *place = (scale(place.0, low.0, high.0), scale(place.1, low.1, high.1));
    }
}
