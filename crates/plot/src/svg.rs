//! Static figures as SVG.
//!
//! The document is written directly. The plotting crates at hand (kuva, plotters) lay panels out
//! one by one, so plot areas do not line up when tick labels differ in width; they draw NaN as a
//! coordinate or drop it and join the neighbours, and keep every one of a million points. Those
//! are the things result plots live on, and the drawing itself is short.
//!
//! No element has an `id` (plot areas clip as nested `<svg>` elements), so that any number of
//! figures can share one HTML page.

use std::collections::HashSet;
use std::fmt::Write;

use crate::axis::{Axis, Scale, Ticks};
use crate::decimate::thin;
use crate::figure::{Figure, Panel, Series, SeriesStyle};
use crate::palette;
use crate::text::{escape, fit, fit_label, superscript, width as text_width};

const FONT: &str = "Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif";
const INK: &str = "#1f2328";
const FAINT_INK: &str = "#57606a";
const FRAME: &str = "#6e7781";
const GRID: &str = "#e4e7eb";
const MINOR_GRID: &str = "#f1f3f5";

const TITLE_SIZE: f64 = 15.0;
const LABEL_SIZE: f64 = 12.0;
const TICK_SIZE: f64 = 11.0;
const NOTE_SIZE: f64 = 10.0;

const EDGE: f64 = 12.0;
const ROW: f64 = 18.0;
const SWATCH: f64 = 22.0;
/// A legend longer than this names the rest by number: more rows would leave no diagram.
const MOST_LEGEND_ROWS: usize = 4;
/// Labels of markers: height of a row, and number of rows.
const MARKER_ROW: f64 = 12.0;
const MARKER_ROWS: usize = 3;

/// Where the drawing will live.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A document of its own, with its namespace.
    Standalone,
    /// Inside an HTML page, whose parser knows the namespace.
    Inline,
}

/// One entry of a panel's header: its place and what it says.
struct Entry {
    x: f64,
    row: usize,
    text: String,
    /// Number of the series; `None` for the panel's title and the "more" note.
    series: Option<usize>,
    bold: bool,
}

/// A panel with everything decided but the drawing.
struct Placed<'a> {
    panel: &'a Panel,
    axis: Axis,
    ticks: Ticks,
    header: Vec<Entry>,
    header_rows: usize,
    top: f64,
    height: f64,
}

pub(crate) fn draw(figure: &Figure, width: u32, height: u32, place: Place) -> String {
    let (width, height) = (f64::from(width.max(200)), f64::from(height.max(120)));
    let x_axis = x_axis(figure);
    let empty = [Panel::default()];
    let panels = if figure.panels.is_empty() { &empty[..] } else { &figure.panels[..] };

    // Heights depend on the legends' rows, these on the width, that on the tick labels, and these
    // on the heights: a few rounds settle it, and the margin only ever grows.
    let mut left = 0.0f64;
    let mut placed = Vec::new();
    for _ in 0..3 {
        placed = place_panels(figure, panels, &x_axis, left, width, height);
        let widest = placed
            .iter()
            .flat_map(|p| &p.ticks.major)
            .map(|(_, label)| text_width(label, TICK_SIZE))
            .fold(20.0, f64::max);
        let y_label = if panels.iter().any(|p| !p.y_label.is_empty()) { ROW + 2.0 } else { 0.0 };
        left = left.max(EDGE + y_label + widest + 6.0).min(0.5 * width);
    }
    let area = Area { left, width: width - left - right_margin(), total: width };
    let x_ticks = x_ticks(&x_axis, area.width);

    let mut svg = String::with_capacity(16 * 1024);
    let namespace = match place {
        Place::Standalone => " xmlns=\"http://www.w3.org/2000/svg\"",
        Place::Inline => "",
    };
    let _ = write!(
        svg,
        "<svg{namespace} width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"{FONT}\" fill=\"{INK}\" role=\"img\">\n<title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
        escape(&figure.title)
    );
    if !figure.title.is_empty() {
        let title = fit(&figure.title, TITLE_SIZE * 1.08, width - 2.0 * EDGE);
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" font-size=\"{TITLE_SIZE}\" font-weight=\"bold\">{}</text>",
            number(EDGE),
            number(EDGE + 11.0),
            escape(&title)
        );
    }
    for (index, panel) in placed.iter().enumerate() {
        draw_panel(&mut svg, figure, panel, &area, &x_axis, &x_ticks, index == 0);
    }
    if let Some(last) = placed.last() {
        draw_x_labels(&mut svg, figure, last, &area, &x_axis, &x_ticks);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Horizontal extent of the plot areas, and of the whole drawing.
struct Area {
    left: f64,
    width: f64,
    total: f64,
}

fn right_margin() -> f64 {
    EDGE + 8.0
}

fn x_axis(figure: &Figure) -> Axis {
    let values = figure
        .panels
        .iter()
        .flat_map(|panel| &panel.series)
        .flat_map(|series| series.points().map(|(x, _)| x))
        .chain(figure.markers.iter().map(|marker| marker.value));
    Axis::fit(Scale::of(figure.x_is_log), values, figure.x_limits, 0.0)
}

fn y_axis(panel: &Panel, x_axis: &Axis) -> Axis {
    let values = panel
        .series
        .iter()
        .flat_map(Series::points)
        .filter(|&(x, _)| x_axis.contains(x))
        .map(|(_, y)| y)
        .chain(panel.reference_lines.iter().map(|line| line.value));
    Axis::fit(Scale::of(panel.y_is_log), values, panel.y_limits, 0.06)
}

fn place_panels<'a>(
    figure: &Figure,
    panels: &'a [Panel],
    x_axis: &Axis,
    left: f64,
    width: f64,
    height: f64,
) -> Vec<Placed<'a>> {
    let plot_width = (width - left - right_margin()).max(40.0);
    let headers: Vec<(Vec<Entry>, usize)> =
        panels.iter().map(|panel| header(panel, plot_width)).collect();
    let top = EDGE + if figure.title.is_empty() { 0.0 } else { 20.0 };
    let bottom = ROW + EDGE + if figure.x_label.is_empty() { 0.0 } else { ROW };
    let header_heights: f64 = headers.iter().map(|(_, rows)| header_height(*rows)).sum();
    let gaps = 10.0 * (panels.len() - 1) as f64;
    let each = ((height - top - bottom - header_heights - gaps) / panels.len() as f64).max(16.0);

    let mut y = top;
    panels
        .iter()
        .zip(headers)
        .enumerate()
        .map(|(index, (panel, (header, header_rows)))| {
            let mut axis = y_axis(panel, x_axis);
            if index == 0 && panel.y_limits.is_none() {
                // The first panel carries the markers' labels: they get room above the data.
                let rows = figure.markers.len().min(MARKER_ROWS) as f64;
                axis.raise(rows * MARKER_ROW / each);
            }
            y += header_height(header_rows);
            let placed = Placed {
                panel,
                ticks: axis.ticks(((each / 28.0) as usize).max(2)),
                axis,
                header,
                header_rows,
                top: y,
                height: each,
            };
            y += each + 10.0;
            placed
        })
        .collect()
}

fn header_height(rows: usize) -> f64 {
    rows as f64 * ROW + 4.0
}

/// Title and legend in rows above the panel: never over the data.
fn header(panel: &Panel, plot_width: f64) -> (Vec<Entry>, usize) {
    let mut entries = Vec::new();
    let (mut x, mut row) = (0.0, 0);
    if !panel.title.is_empty() {
        let text = fit(&panel.title, LABEL_SIZE * 1.08, plot_width);
        x += text_width(&text, LABEL_SIZE * 1.08) + 18.0;
        entries.push(Entry { x: 0.0, row, text, series: None, bold: true });
    }
    for (index, series) in panel.series.iter().enumerate() {
        let text = fit(&series.name, TICK_SIZE, plot_width - SWATCH - 6.0);
        let entry_width = SWATCH + 6.0 + text_width(&text, TICK_SIZE);
        let rest = panel.series.len() - index;
        let note = format!("+ {rest} more");
        // The last row keeps room for the note that the rest is not named.
        let reserve = if row + 1 == MOST_LEGEND_ROWS && rest > 1 {
            text_width(&note, TICK_SIZE) + 16.0
        } else {
            0.0
        };
        if x > 0.0 && x + entry_width + reserve > plot_width {
            if row + 1 == MOST_LEGEND_ROWS {
                entries.push(Entry { x, row, text: note, series: None, bold: false });
                break;
            }
            (x, row) = (0.0, row + 1);
        }
        entries.push(Entry { x, row, text, series: Some(index), bold: false });
        x += entry_width + 16.0;
    }
    let rows = if entries.is_empty() { 0 } else { row + 1 };
    (entries, rows)
}

/// As many ticks as fit without their labels touching.
fn x_ticks(axis: &Axis, plot_width: f64) -> Ticks {
    let mut wanted = ((plot_width / 70.0) as usize).clamp(2, 12);
    loop {
        let ticks = axis.ticks(wanted);
        let crowded = ticks.major.windows(2).any(|pair| {
            let room = (axis.fraction(pair[1].0).unwrap_or(1.0)
                - axis.fraction(pair[0].0).unwrap_or(0.0))
                * plot_width;
            let need =
                (text_width(&pair[0].1, TICK_SIZE) + text_width(&pair[1].1, TICK_SIZE)) / 2.0;
            room < need + 8.0
        });
        if !crowded || wanted <= 2 {
            return ticks;
        }
        wanted -= 1;
    }
}

fn draw_panel(
    svg: &mut String,
    figure: &Figure,
    placed: &Placed,
    area: &Area,
    x_axis: &Axis,
    x_ticks: &Ticks,
    is_first: bool,
) {
    let panel = placed.panel;
    let (left, top) = (area.left, placed.top);
    let (width, height) = (area.width, placed.height);
    svg.push_str("<g>\n");
    draw_header(svg, placed, area);

    // The plot area is an <svg> of its own: it clips, and coordinates start at its corner.
    let _ = writeln!(
        svg,
        "<svg x=\"{}\" y=\"{}\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         overflow=\"hidden\">",
        number(left),
        number(top),
        w = number(width),
        h = number(height)
    );
    let x_of = |value: f64| x_axis.fraction(value).map(|f| f * width);
    let y_of = |value: f64| placed.axis.fraction(value).map(|f| (1.0 - f) * height);
    let mut grid =
        |colour: &str, xs: &mut dyn Iterator<Item = f64>, ys: &mut dyn Iterator<Item = f64>| {
            let mut path = String::new();
            for x in xs.filter_map(x_of) {
                let _ = write!(path, "M{} 0V{}", number(x), number(height));
            }
            for y in ys.filter_map(y_of) {
                let _ = write!(path, "M0 {}H{}", number(y), number(width));
            }
            if !path.is_empty() {
                let _ = writeln!(svg, "<path d=\"{path}\" stroke=\"{colour}\" fill=\"none\"/>");
            }
        };
    grid(MINOR_GRID, &mut x_ticks.minor.iter().copied(), &mut placed.ticks.minor.iter().copied());
    grid(GRID, &mut x_ticks.major.iter().map(|t| t.0), &mut placed.ticks.major.iter().map(|t| t.0));
    // Zero is where flow reverses and errors vanish: it deserves a stronger line.
    if placed.axis.scale == Scale::Linear && placed.axis.low < 0.0 && placed.axis.high > 0.0 {
        grid("#b1b8c0", &mut std::iter::empty(), &mut std::iter::once(0.0));
    }

    let mut anything = false;
    for (index, series) in panel.series.iter().enumerate() {
        anything |= draw_series(svg, series, index, &x_of, &y_of);
    }
    if !anything {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" font-size=\"{LABEL_SIZE}\" fill=\"{FAINT_INK}\" \
             text-anchor=\"middle\">no data</text>",
            number(width / 2.0),
            number(height / 2.0 + 4.0)
        );
    }
    for (index, marker) in figure.markers.iter().enumerate() {
        if let Some(x) = x_of(marker.value) {
            line(svg, x, 0.0, x, height);
            if is_first {
                // Neighbouring events take turns in height, so that labels rarely collide.
                let y = MARKER_ROW * ((index % MARKER_ROWS) as f64 + 1.0);
                let flips = x + 5.0 + text_width(&marker.label, NOTE_SIZE) > width;
                note(svg, if flips { x - 5.0 } else { x + 5.0 }, y, flips, &marker.label);
            }
        }
    }
    for reference in &panel.reference_lines {
        if let Some(y) = y_of(reference.value) {
            line(svg, 0.0, y, width, y);
            let text_y = if y < 16.0 { y + 12.0 } else { y - 4.0 };
            note(svg, width - 5.0, text_y, true, &reference.label);
        }
    }
    svg.push_str("</svg>\n");

    let _ = writeln!(
        svg,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{FRAME}\"/>",
        number(left),
        number(top),
        number(width),
        number(height)
    );
    for (value, label) in &placed.ticks.major {
        let Some(y) = y_of(*value) else { continue };
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" font-size=\"{TICK_SIZE}\" text-anchor=\"end\">{}</text>",
            number(left - 6.0),
            number(top + y + 0.36 * TICK_SIZE),
            escape(label)
        );
    }
    if placed.ticks.exponent != 0 {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" font-size=\"{NOTE_SIZE}\" text-anchor=\"end\">×10{}</text>",
            number(left - 6.0),
            number(top - 8.0),
            superscript(placed.ticks.exponent)
        );
    }
    if !panel.y_label.is_empty() {
        // A short panel shrinks its label before it cuts it.
        let room = height + header_height(placed.header_rows).min(ROW);
        let natural = text_width(&panel.y_label, LABEL_SIZE);
        let size = (LABEL_SIZE * room / natural).clamp(9.0, LABEL_SIZE);
        let _ = writeln!(
            svg,
            "<text transform=\"translate({} {}) rotate(-90)\" font-size=\"{}\" \
             text-anchor=\"middle\"><title>{}</title>{}</text>",
            number(EDGE + 9.0),
            number(top + height / 2.0),
            number(size),
            escape(&panel.y_label),
            escape(&fit_label(&panel.y_label, size, room))
        );
    }
    svg.push_str("</g>\n");
}

fn draw_header(svg: &mut String, placed: &Placed, area: &Area) {
    for entry in &placed.header {
        let x = area.left + entry.x;
        let y = placed.top - header_height(placed.header_rows) + ROW * (entry.row as f64 + 0.75);
        match entry.series {
            Some(index) => {
                let series = &placed.panel.series[index];
                let colour = palette::colour(index);
                if series.style == SeriesStyle::Points {
                    let _ = writeln!(
                        svg,
                        "<circle cx=\"{}\" cy=\"{}\" r=\"2.5\" fill=\"{colour}\"/>",
                        number(x + SWATCH / 2.0),
                        number(y - 4.0)
                    );
                } else {
                    let _ = writeln!(
                        svg,
                        "<path d=\"M{} {}h{SWATCH}\" stroke=\"{colour}\" stroke-width=\"2\"{}/>",
                        number(x),
                        number(y - 4.0),
                        dash_attribute(index)
                    );
                }
                let _ = writeln!(
                    svg,
                    "<text x=\"{}\" y=\"{}\" font-size=\"{TICK_SIZE}\">{}</text>",
                    number(x + SWATCH + 6.0),
                    number(y),
                    escape(&entry.text)
                );
            }
            None => {
                let style = if entry.bold {
                    format!("font-size=\"{LABEL_SIZE}\" font-weight=\"bold\"")
                } else {
                    format!("font-size=\"{TICK_SIZE}\" fill=\"{FAINT_INK}\"")
                };
                let _ = writeln!(
                    svg,
                    "<text x=\"{}\" y=\"{}\" {style}>{}</text>",
                    number(x),
                    number(y),
                    escape(&entry.text)
                );
            }
        }
    }
}

fn draw_x_labels(
    svg: &mut String,
    figure: &Figure,
    last: &Placed,
    area: &Area,
    x_axis: &Axis,
    x_ticks: &Ticks,
) {
    let bottom = last.top + last.height;
    for (value, label) in &x_ticks.major {
        let Some(fraction) = x_axis.fraction(*value) else {
            continue;
        };
        // A label at the right end may reach over the frame, but not over the drawing's edge.
        let half = text_width(label, TICK_SIZE) / 2.0;
        let x = (area.left + fraction * area.width).min(area.total - half - 1.0);
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" font-size=\"{TICK_SIZE}\" text-anchor=\"middle\">{}</text>",
            number(x),
            number(bottom + 15.0),
            escape(label)
        );
    }
    if x_ticks.exponent != 0 {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" font-size=\"{NOTE_SIZE}\" text-anchor=\"end\">×10{}</text>",
            number(area.left + area.width),
            number(bottom + 28.0),
            superscript(x_ticks.exponent)
        );
    }
    if !figure.x_label.is_empty() {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" font-size=\"{LABEL_SIZE}\" text-anchor=\"middle\">{}</text>",
            number(area.left + area.width / 2.0),
            number(bottom + 32.0),
            escape(&fit_label(&figure.x_label, LABEL_SIZE, area.width))
        );
    }
}

/// Draws one curve; tells whether there was anything to draw.
fn draw_series(
    svg: &mut String,
    series: &Series,
    index: usize,
    x_of: &dyn Fn(f64) -> Option<f64>,
    y_of: &dyn Fn(f64) -> Option<f64>,
) -> bool {
    let colour = palette::colour(index);
    let mut path = String::new();
    let mut dots = Vec::new();
    for run in runs(series, x_of, y_of) {
        if series.style == SeriesStyle::Points {
            dots.extend(run);
            continue;
        }
        if series.style == SeriesStyle::Marked {
            dots.extend(&run);
        }
        let run = thin(&run, 1.0);
        match (series.style, run.len()) {
            (_, 1) => dots.extend(run),
            (style, _) => {
                for (i, &(x, y)) in run.iter().enumerate() {
                    let _ = match (i, style) {
                        (0, _) => write!(path, "M{} {}", number(x), number(y)),
                        (_, SeriesStyle::Steps) => write!(path, "H{}V{}", number(x), number(y)),
                        _ => write!(path, "L{} {}", number(x), number(y)),
                    };
                }
            }
        }
    }
    if !path.is_empty() {
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" \
             stroke-linejoin=\"round\"{}/>",
            dash_attribute(index)
        );
    }
    if !dots.is_empty() {
        let _ = write!(svg, "<g fill=\"{colour}\">");
        let mut taken = HashSet::new();
        for &(x, y) in &dots {
            // Dots on the same px hide one another: one of them is enough.
            if !taken.insert((x.round() as i64, y.round() as i64)) {
                continue;
            }
            let _ = write!(svg, "<circle cx=\"{}\" cy=\"{}\" r=\"2.2\"/>", number(x), number(y));
        }
        svg.push_str("</g>\n");
    }
    !path.is_empty() || !dots.is_empty()
}

/// The drawable stretches between gaps, in px.
fn runs(
    series: &Series,
    x_of: &dyn Fn(f64) -> Option<f64>,
    y_of: &dyn Fn(f64) -> Option<f64>,
) -> Vec<Vec<(f64, f64)>> {
    let mut runs = Vec::new();
    let mut run = Vec::new();
    for (x, y) in series.points() {
        match (x_of(x), y_of(y)) {
            // Far outside the frame (fixed limits) coordinates would lose digits or overflow.
            (Some(x), Some(y)) => run.push((x.clamp(-1e5, 1e5), y.clamp(-1e5, 1e5))),
            _ if !run.is_empty() => runs.push(std::mem::take(&mut run)),
            _ => {}
        }
    }
    if !run.is_empty() {
        runs.push(run);
    }
    runs
}

fn line(svg: &mut String, x1: f64, y1: f64, x2: f64, y2: f64) {
    let _ = writeln!(
        svg,
        "<path d=\"M{} {}L{} {}\" stroke=\"{FAINT_INK}\" stroke-dasharray=\"5 3\" fill=\"none\"/>",
        number(x1),
        number(y1),
        number(x2),
        number(y2)
    );
}

/// Small text over the data, with a halo that keeps it readable.
fn note(svg: &mut String, x: f64, y: f64, ends_at_x: bool, text: &str) {
    if text.is_empty() {
        return;
    }
    let anchor = if ends_at_x { " text-anchor=\"end\"" } else { "" };
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" font-size=\"{NOTE_SIZE}\" fill=\"{FAINT_INK}\"{anchor} \
         stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" \
         paint-order=\"stroke\">{}</text>",
        number(x),
        number(y),
        escape(text)
    );
}

fn dash_attribute(index: usize) -> String {
    let dash = palette::dash(index);
    if dash.is_empty() {
        return String::new();
    }
    let lengths: Vec<String> = dash.iter().map(f64::to_string).collect();
    format!(" stroke-dasharray=\"{}\"", lengths.join(" "))
}

/// Hundredths of a px, without trailing zeros.
fn number(value: f64) -> String {
    let rounded = (value * 100.0).round() / 100.0 + 0.0;
    rounded.to_string()
}
