//! Static figures: well-formed, complete, and calm about whatever data arrives.

use std::sync::Arc;

use fluxline_plot::{Figure, Panel, Series, SeriesStyle};
use proptest::prelude::*;

/// All text of a document, in order.
fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}\n{svg}"));
    document
        .descendants()
        .filter(|node| node.has_tag_name("text"))
        .map(|node| node.children().filter(|c| c.is_text()).filter_map(|c| c.text()).collect())
        .collect()
}

/// The `d` of all curves: paths of the width that only curves have.
fn curves(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    document
        .descendants()
        .filter(|node| node.attribute("stroke-width") == Some("1.6"))
        .filter_map(|node| node.attribute("d").map(str::to_owned))
        .collect()
}

fn one(series: Series) -> Figure {
    Figure::new("title", "time [s]").panel(Panel::new("pressure [bar]").series(series))
}

#[test]
fn every_label_appears() {
    let time: Arc<[f64]> = (0..100).map(|i| f64::from(i) * 0.01).collect();
    let figure = Figure::new("Pump start", "time [s]")
        .marker("start", 0.1)
        .panel(
            Panel::new("pressure [bar]")
                .title("Pressure side")
                .series(Series::new("outlet", time.clone(), vec![120.0; 100]))
                .reference("relief", 150.0),
        )
        .panel(Panel::new("flow [l/min]").series(Series::new(
            "leakage",
            time.clone(),
            time.to_vec(),
        )));
    let found = texts(&figure.to_svg(800, 500));
    for label in [
        "Pump start",
        "time [s]",
        "start",
        "pressure [bar]",
        "Pressure side",
        "outlet",
        "relief",
        "flow [l/min]",
        "leakage",
        "0.0",
        "0.2",
    ] {
        assert!(found.iter().any(|text| text == label), "no {label:?} in {found:?}");
    }
}

#[test]
fn plot_areas_of_stacked_panels_line_up() {
    let figure = Figure::new("", "time [s]")
        .panel(Panel::new("a").series(Series::new("small", vec![0.0, 1.0], vec![0.0, 1.0])))
        .panel(Panel::new("b").series(Series::new("large", vec![0.0, 1.0], vec![0.0, 54321.0])));
    let svg = figure.to_svg(700, 400);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let areas: Vec<_> = document
        .root_element()
        .descendants()
        .filter(|n| n.has_tag_name("svg") && n.attribute("x").is_some())
        .map(|n| (n.attribute("x"), n.attribute("width"), n.attribute("height")))
        .collect();
    assert_eq!(areas.len(), 2);
    assert_eq!(areas[0], areas[1]);
}

#[test]
fn gaps_split_the_curve() {
    let x: Vec<f64> = (0..9).map(f64::from).collect();
    let y = vec![1.0, 2.0, f64::NAN, 3.0, 4.0, f64::INFINITY, f64::NEG_INFINITY, 5.0, 6.0];
    let curves = curves(&one(Series::new("s", x, y)).to_svg(600, 300));
    assert_eq!(curves.len(), 1);
    assert_eq!(curves[0].matches('M').count(), 3, "{}", curves[0]);
}

#[test]
fn a_sample_alone_between_gaps_is_a_dot() {
    let y = vec![f64::NAN, 2.0, f64::NAN];
    let svg = one(Series::new("s", vec![0.0, 1.0, 2.0], y)).to_svg(600, 300);
    assert!(curves(&svg).is_empty());
    assert_eq!(svg.matches("<circle").count(), 1);
}

#[test]
fn values_that_a_logarithmic_axis_cannot_show_are_gaps() {
    let figure = Figure::new("", "frequency [Hz]").log_x().panel(
        Panel::new("gain [-]").log_y().series(Series::new(
            "s",
            vec![0.0, 1.0, 10.0, 100.0],
            vec![1.0, 1.0, -1.0, 10.0],
        )),
    );
    assert_eq!(figure.to_svg(600, 300).matches("<circle").count(), 2);
}

#[test]
fn a_million_points_give_a_small_drawing_with_its_peak() {
    let time: Arc<[f64]> = (0..1_000_000).map(|i| f64::from(i) * 1e-6).collect();
    let mut y: Vec<f64> = time.iter().map(|t| (t * 9e4).sin()).collect();
    y[777_777] = 9.0;
    let panel = Panel::new("").limits_y(-1.0, 9.0).series(Series::new("s", time, y));
    let svg = Figure::new("", "").panel(panel).to_svg(800, 400);
    assert!(svg.len() < 100_000, "{} bytes", svg.len());
    // The peak lies on the upper end of the axis: y = 0 px.
    assert!(curves(&svg)[0].contains(" 0L"), "the peak is gone");
}

#[test]
fn steps_hold_their_value() {
    let series = Series::new("s", vec![0.0, 1.0, 2.0], vec![0.0, 1.0, 2.0]);
    let curves = curves(&one(series.style(SeriesStyle::Steps)).to_svg(600, 300));
    assert_eq!(curves[0].matches('H').count(), 2);
    assert!(!curves[0].contains('L'));
}

#[test]
fn hostile_labels_stay_text() {
    let hostile = "</text><script>alert('x')</script>&\"\0\u{b}";
    let figure = Figure::new(hostile, hostile).marker(hostile, 0.5).panel(
        Panel::new(hostile)
            .title(hostile)
            .series(Series::new(hostile, vec![0.0, 1.0], vec![0.0, 1.0]))
            .reference(hostile, 0.5),
    );
    let svg = figure.to_svg(900, 500);
    let document = roxmltree::Document::parse(&svg).unwrap();
    assert!(!document.descendants().any(|n| n.has_tag_name("script")));
    assert!(texts(&svg).iter().any(|t| t.contains("<script>alert('x')")));
}

#[test]
fn nothing_to_show_is_said_so() {
    for figure in [
        Figure::default(),
        Figure::new("empty", "time [s]").panel(Panel::new("p")),
        one(Series::new("s", Vec::new(), Vec::new())),
        one(Series::new("s", vec![0.0, 1.0], vec![f64::NAN, f64::NAN])),
    ] {
        let svg = figure.to_svg(400, 200);
        assert!(texts(&svg).iter().any(|t| t == "no data"), "{svg}");
    }
}

#[test]
fn a_marked_series_has_a_line_and_a_dot_on_every_sample() {
    let series = Series::new("s", vec![0.0, 1.0, 2.0], vec![0.0, 3.0, 1.0]);
    let dots = |style| one(series.clone().style(style)).to_svg(400, 200).matches("<circle").count();
    assert_eq!((dots(SeriesStyle::Marked), dots(SeriesStyle::Line)), (3, 0));
    let marked = one(series.style(SeriesStyle::Marked)).to_svg(400, 200);
    assert!(marked.contains("stroke-width=\"1.6\""), "{marked}");
}

#[test]
fn a_crowd_of_series_is_named_as_far_as_there_is_room() {
    let mut panel = Panel::new("p");
    for i in 0..80 {
        panel =
            panel.series(Series::new(format!("signal number {i}"), vec![0.0, 1.0], vec![0.0, 1.0]));
    }
    let found = texts(&Figure::new("", "").panel(panel).to_svg(700, 400));
    assert!(found.iter().any(|t| t.starts_with("+ ") && t.ends_with(" more")), "{found:?}");
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -100.0..100.0f64,
        1 => any::<f64>(),
        1 => Just(f64::NAN),
        1 => Just(0.0),
        1 => Just(42.0),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_data_at_any_size_is_well_formed_and_has_finite_coordinates(
        x in prop::collection::vec(any_value(), 0..40),
        y in prop::collection::vec(any_value(), 0..40),
        x_log: bool, y_log: bool,
        limits in prop::option::of((any_value(), any_value())),
        style in prop_oneof![
            Just(SeriesStyle::Line), Just(SeriesStyle::Steps), Just(SeriesStyle::Points),
            Just(SeriesStyle::Marked)
        ],
        name in ".*", width in 0u32..2000, height in 0u32..2000, panels in 0usize..4,
    ) {
        let mut figure = Figure::new(name.clone(), name.clone());
        figure.x_is_log = x_log;
        figure.x_limits = limits;
        for _ in 0..panels {
            let mut panel = Panel::new(name.clone())
                .series(Series::new(name.clone(), x.clone(), y.clone()).style(style));
            panel.y_is_log = y_log;
            panel.y_limits = limits;
            figure.panels.push(panel);
        }
        let svg = figure.to_svg(width, height);
        let document = roxmltree::Document::parse(&svg);
        prop_assert!(document.is_ok(), "{:?}", document.err());
        for node in document.unwrap().descendants() {
            for attribute in node.attributes() {
                let value = attribute.value();
                prop_assert!(!value.contains("NaN") && !value.contains("inf"), "{value}");
            }
        }
    }
}
