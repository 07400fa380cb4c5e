//! Plots of results: static figures (SVG, PNG) and self-contained interactive reports (HTML).
//!
//! The caller converts to display units; labels carry the unit (`"pressure [bar]"`). Nothing here
//! reads the machine it runs on — no fonts, no locale, no clock — so the same figure gives the
//! same bytes everywhere.
//!
//! ```
//! use fluxline_plot::{Figure, Panel, Report, Series, Status};
//! use std::sync::Arc;
//!
//! let time: Arc<[f64]> = (0..1000).map(|i| f64::from(i) * 1e-3).collect();
//! let pressure = time.iter().map(|t| 160.0 * (1.0 - (-t / 0.1).exp())).collect::<Vec<_>>();
//! let figure = Figure::new("Accumulator charging", "time [s]").panel(
//!     Panel::new("pressure [bar]")
//!         .series(Series::new("accumulator", time, pressure))
//!         .reference("relief valve", 180.0),
//! );
//! let svg = figure.to_svg(800, 400);
//! let html = Report::new("Charging test")
//!     .verdict("Peak pressure", "159.9 bar", Status::Ok)
//!     .figure(figure)
//!     .to_html();
//! # assert!(svg.starts_with("<svg") && html.starts_with("<!DOCTYPE html>"));
//! ```

mod axis;
mod decimate;
mod figure;
mod palette;
#[cfg(feature = "png")]
mod png;
mod report;
mod svg;
mod text;

pub use figure::{Figure, Panel, ReferenceLine, Series, SeriesStyle};
#[cfg(feature = "png")]
pub use png::PlotError;
pub use report::{Report, Status, Table};
