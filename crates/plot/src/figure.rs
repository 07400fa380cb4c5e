//! What a plot shows: a figure of stacked panels over one shared x axis.

use std::sync::Arc;

/// A figure: panels stacked on one another, sharing the x axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Headline; may be empty.
    pub title: String,
    /// Label under the x axis, with its unit: `"time [s]"`.
    pub x_label: String,
    /// The x axis is logarithmic; values ≤ 0 are then gaps.
    pub x_is_log: bool,
    /// Range of the x axis; fitted to the data if absent.
    pub x_limits: Option<(f64, f64)>,
    /// Vertical lines through all panels, such as events.
    pub markers: Vec<ReferenceLine>,
    /// The panels, top to bottom.
    pub panels: Vec<Panel>,
}

/// One diagram of a figure, with its own y axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Heading above the diagram; may be empty.
    pub title: String,
    /// Label along the y axis, with its unit: `"pressure [bar]"`.
    pub y_label: String,
    /// The y axis is logarithmic; values ≤ 0 are then gaps.
    pub y_is_log: bool,
    /// Range of the y axis; fitted to the data if absent.
    pub y_limits: Option<(f64, f64)>,
    /// Horizontal lines, such as limits and set points.
    pub reference_lines: Vec<ReferenceLine>,
    /// The curves.
    pub series: Vec<Series>,
}

/// A named line at a constant value.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceLine {
    /// Text next to the line; may be empty.
    pub label: String,
    /// Where the line lies, in display units.
    pub value: f64,
}

/// How the samples of a series are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SeriesStyle {
    /// Straight lines from sample to sample.
    #[default]
    Line,
    /// Each sample holds until the next, as a sampled controller's output does.
    Steps,
    /// Dots, not joined: measurements.
    Points,
    /// Straight lines with a dot on every sample, for few samples that each stand for something.
    Marked,
}

/// One curve. NaN, infinite and absurd values (beyond ±1e300) are gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Abscissae in display units, usually shared between series; need not be sorted.
    pub x: Arc<[f64]>,
    /// Ordinates in display units. Where lengths differ, the surplus of `x` or `y` is not shown.
    pub y: Vec<f64>,
    /// How samples are joined.
    pub style: SeriesStyle,
}

impl Figure {
    /// An empty figure.
    pub fn new(title: impl Into<String>, x_label: impl Into<String>) -> Self {
        Self { title: title.into(), x_label: x_label.into(), ..Self::default() }
    }

    /// Makes the x axis logarithmic.
    #[must_use]
    pub fn log_x(mut self) -> Self {
        self.x_is_log = true;
        self
    }

    /// Fixes the range of the x axis.
    #[must_use]
    pub fn limits_x(mut self, low: f64, high: f64) -> Self {
        self.x_limits = Some((low, high));
        self
    }

    /// Adds a vertical line through all panels.
    #[must_use]
    pub fn marker(mut self, label: impl Into<String>, value: f64) -> Self {
        self.markers.push(ReferenceLine { label: label.into(), value });
        self
    }

    /// Adds a panel below the others.
    #[must_use]
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// A size at which the panels are comfortable to read, in px.
    pub fn natural_size(&self) -> (u32, u32) {
        (900, 90 + 210 * self.panels.len().clamp(1, 40) as u32)
    }

    /// Draws the figure as a standalone SVG document of `width` × `height` px.
    ///
    /// Sizes too small to hold the text are raised to 200 × 120.
    pub fn to_svg(&self, width: u32, height: u32) -> String {
        crate::svg::draw(self, width, height, crate::svg::Place::Standalone)
    }

    /// Draws the figure as a PNG image of `width·scale` × `height·scale` pixels.
    ///
    /// `scale` 2 suits screens of high density and slides, 3 to 4 suits print.
    #[cfg(feature = "png")]
    pub fn to_png(&self, width: u32, height: u32, scale: f64) -> Result<Vec<u8>, crate::PlotError> {
        crate::png::rasterise(&self.to_svg(width, height), scale)
    }
}

impl Panel {
    /// An empty panel.
    pub fn new(y_label: impl Into<String>) -> Self {
        Self { y_label: y_label.into(), ..Self::default() }
    }

    /// Sets the heading above the panel.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Makes the y axis logarithmic.
    #[must_use]
    pub fn log_y(mut self) -> Self {
        self.y_is_log = true;
        self
    }

    /// Fixes the range of the y axis.
    #[must_use]
    pub fn limits_y(mut self, low: f64, high: f64) -> Self {
        self.y_limits = Some((low, high));
        self
    }

    /// Adds a horizontal line.
    #[must_use]
    pub fn reference(mut self, label: impl Into<String>, value: f64) -> Self {
        self.reference_lines.push(ReferenceLine { label: label.into(), value });
        self
    }

    /// Adds a curve.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }
}

impl Series {
    /// A curve of straight lines. Pass clones of one `Arc` where curves share their abscissae.
    pub fn new(name: impl Into<String>, x: impl Into<Arc<[f64]>>, y: impl Into<Vec<f64>>) -> Self {
        Self { name: name.into(), x: x.into(), y: y.into(), style: SeriesStyle::Line }
    }

    /// Changes how samples are joined.
    #[must_use]
    pub fn style(mut self, style: SeriesStyle) -> Self {
        self.style = style;
        self
    }

    /// The samples, gaps included.
    pub(crate) fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.x.iter().copied().zip(self.y.iter().copied())
    }
}
