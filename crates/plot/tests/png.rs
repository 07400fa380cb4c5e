//! Raster images must carry text even on a machine without a single font.
#![cfg(feature = "png")]

use fluxline_plot::{Figure, Panel, PlotError, Series};
use resvg::tiny_skia::Pixmap;

fn figure(title: &str, label: &str) -> Figure {
    Figure::new(title, label).panel(Panel::new(label).series(Series::new(
        label,
        vec![0.0, 1.0],
        vec![0.0, 1.0],
    )))
}

fn decode(png: &[u8]) -> Pixmap {
    Pixmap::decode_png(png).expect("a PNG image")
}

/// Dark pixels in a rectangle given in shares of the image.
fn dark(image: &Pixmap, x: std::ops::Range<f64>, y: std::ops::Range<f64>) -> usize {
    let (w, h) = (f64::from(image.width()), f64::from(image.height()));
    let mut count = 0;
    for row in (y.start * h) as u32..(y.end * h) as u32 {
        for column in (x.start * w) as u32..(x.end * w) as u32 {
            let pixel = image.pixel(column, row).unwrap();
            count += usize::from(pixel.red() < 100 && pixel.green() < 100 && pixel.blue() < 100);
        }
    }
    count
}

#[test]
fn the_title_is_there_in_dark_pixels() {
    let with = decode(&figure("Accumulator charging", "").to_png(600, 300, 1.0).unwrap());
    let without = decode(&figure("", "").to_png(600, 300, 1.0).unwrap());
    // The title's row: the top 9 % of the image, left half.
    let (title, nothing) = (dark(&with, 0.0..0.5, 0.0..0.09), dark(&without, 0.0..0.5, 0.0..0.09));
    // Twenty bold letters at 15 px have well over a thousand px of ink at least half dark.
    assert!(title > 400, "{title} dark pixels");
    assert_eq!(nothing, 0);
}

#[test]
fn greek_and_mathematical_signs_have_glyphs() {
    // A sign without a glyph would vanish: its column would hold no ink.
    for sign in ["Δ", "β", "ω", "√", "·", "²", "⁻", "°", "µ", "−", "×", "₀"] {
        let image = decode(&figure(sign, "").to_png(300, 200, 2.0).unwrap());
        assert!(dark(&image, 0.0..0.2, 0.0..0.15) > 4, "no ink for {sign}");
    }
}

#[test]
fn the_scale_multiplies_the_pixels() {
    let image = decode(&figure("t", "x").to_png(400, 200, 2.5).unwrap());
    assert_eq!((image.width(), image.height()), (1000, 500));
}

#[test]
fn impossible_sizes_are_refused_with_both_numbers() {
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e3] {
        let error = figure("t", "x").to_png(2000, 1000, scale).unwrap_err();
        assert!(matches!(error, PlotError::Size { .. }), "{scale}: {error}");
    }
    let message = figure("t", "x").to_png(2000, 1000, 1e3).unwrap_err().to_string();
    assert!(message.contains("2000000 × 1000000"), "{message}");
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    let draw = || figure("Accumulator", "time [s]").to_png(400, 200, 1.0).unwrap();
    assert_eq!(draw(), draw());
}
