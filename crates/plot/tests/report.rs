//! Reports: self-contained, safe with any text, and alive in a script engine.

use std::process::Command;
use std::sync::Arc;

use fluxline_plot::{Figure, Panel, Report, Series, SeriesStyle, Status, Table};

fn sample() -> Report {
    let time: Arc<[f64]> = (0..100_000).map(|i| f64::from(i) * 1e-5).collect();
    let mut pressure: Vec<f64> = time.iter().map(|t| 100.0 + 60.0 * (t * 40.0).sin()).collect();
    pressure[70_000] = 400.0;
    pressure[30_000] = f64::NAN;
    let ripple: Vec<f64> = time.iter().map(|t| 160.0 + 1e-4 * (t * 300.0).sin()).collect();
    let figure = Figure::new("Run", "time [s]")
        .marker("valve opens", 0.25)
        .panel(
            Panel::new("pressure [bar]")
                .series(Series::new("chamber A", time.clone(), pressure))
                .series(Series::new("chamber B", time.clone(), ripple))
                .reference("relief", 180.0),
        )
        .panel(
            Panel::new("command [V]").title("Controller").series(
                Series::new("u", vec![0.0, 0.3, 0.6, 1.0], vec![1.0, 4.0, 2.0, 2.0])
                    .style(SeriesStyle::Steps),
            ),
        );
    let bode = Figure::new("Bode", "frequency [Hz]").log_x().panel(
        Panel::new("gain [-]").log_y().series(Series::new(
            "plant",
            vec![0.1, 1.0, 10.0, 100.0, 1000.0],
            vec![1.0, 1.0, 0.5, 1e-3, 1e-6],
        )),
    );
    let hysteresis = Figure::new("Loop", "position [mm]").panel(
        Panel::new("force [N]")
            .series(Series::new(
                "loop",
                vec![0.0, 1.0, 2.0, 1.0, 0.0],
                vec![0.0, 2.0, 3.0, 1.0, 0.0],
            ))
            .series(
                Series::new("measured", vec![0.5, 1.5], vec![1.0, 2.0]).style(SeriesStyle::Points),
            ),
    );
    Report::new("Acceptance")
        .fact("model", "press.toml")
        .verdict("Mass balance", "1e-12 kg", Status::Ok)
        .verdict("Settling time", "0.61 s", Status::Warn)
        .warning("step is coarse")
        .section("Results")
        .text("First paragraph.\n\nSecond paragraph.")
        .figure(figure)
        .figure(bode)
        .figure(hysteresis)
        .figure(Figure::new("Nothing", "time [s]"))
        .figure(Figure::new("Empty", "time [s]").panel(Panel::new("p").series(Series::new(
            "none",
            Vec::new(),
            Vec::new(),
        ))))
        .table(Table::new(["quantity", "value"]).caption("Key values").row(["peak", "400.0"]))
        .preformatted("a = 1\n  b = 2")
}

#[test]
fn every_part_appears() {
    let html = sample().to_html();
    for part in [
        "<title>Acceptance</title>",
        "<dd>press.toml</dd>",
        "<span class=\"badge warn\">passed with warnings</span>",
        "<th scope=\"row\">Mass balance</th><td>1e-12 kg</td>",
        "<li>step is coarse</li>",
        "<h2>Results</h2>",
        "<p>Second paragraph.</p>",
        "<caption>Key values</caption>",
        "<td class=\"number\">400.0</td>",
        "a = 1\n  b = 2",
        "<noscript>\n<svg",
        "data-figure=\"4\"",
    ] {
        assert!(html.contains(part), "no {part}");
    }
}

#[test]
fn the_worst_verdict_is_the_reports_verdict() {
    assert_eq!(Report::new("r").status(), None);
    assert_eq!(Report::new("r").verdict("a", "", Status::Info).status(), None);
    assert_eq!(sample().status(), Some(Status::Warn));
    let report = sample().verdict("x", "", Status::Fail).verdict("y", "", Status::Ok);
    assert_eq!(report.status(), Some(Status::Fail));
    assert!(report.to_html().contains("<span class=\"badge fail\">failed</span>"));
}

#[test]
fn nothing_is_loaded_from_outside() {
    let html = sample().to_html();
    for reference in ["http", "src=", "href=", "url(", "@import", "import(", "fetch("] {
        assert!(!html.contains(reference), "{reference} in the report");
    }
}

#[test]
fn hostile_text_stays_text_everywhere() {
    let hostile = "</script></noscript></style><img onerror=alert(1)>\"'&<!--";
    let html = Report::new(hostile)
        .fact(hostile, hostile)
        .verdict(hostile, hostile, Status::Ok)
        .warning(hostile)
        .section(hostile)
        .text(hostile)
        .preformatted(hostile)
        .table(Table::new([hostile]).caption(hostile).row([hostile]))
        .figure(Figure::new(hostile, hostile).marker(hostile, 0.5).panel(
            Panel::new(hostile).title(hostile).reference(hostile, 0.5).series(Series::new(
                hostile,
                vec![0.0, 1.0],
                vec![0.0, 1.0],
            )),
        ))
        .to_html();
    assert!(!html.contains("<img") && !html.contains("<!--"));
    // The data and the script, and nothing else, end script elements.
    assert_eq!(html.matches("</script").count(), 2);
    assert_eq!(html.matches("</noscript").count(), 1);
    assert_eq!(html.matches("</style").count(), 1);
}

#[test]
fn a_report_without_figures_needs_no_script() {
    assert!(!Report::new("r").text("t").to_html().contains("<script"));
}

#[test]
fn a_fixed_step_run_of_100_000_samples_stays_compact() {
    // Two signals: one of 4 bytes a sample, one of 8, each 4/3 larger in base64.
    let length = sample().to_html().len();
    assert!(length < 1_800_000, "{length} bytes");
}

#[test]
fn too_long_a_series_is_reduced_and_says_so() {
    let time: Arc<[f64]> = (0..50_000).map(f64::from).collect();
    let mut y = vec![0.0; 50_000];
    y[12_345] = 3.0;
    let figure = Figure::new("f", "t").panel(Panel::new("y").series(Series::new("s", time, y)));
    let html = Report::new("r").most_points(1000).figure(figure).to_html();
    assert!(html.len() < 120_000, "{} bytes", html.len());
    assert!(html.contains("\"reduced\":50000"));
}

/// Runs the report's script against a stub of the browser; see `report_smoke.js` for the claims.
#[test]
fn the_script_zooms_pans_reads_off_and_resets() {
    if Command::new("node").arg("--version").output().is_err() {
        eprintln!("SKIPPED: node is not installed, so the report's script was not exercised");
        return;
    }
    let page = std::env::temp_dir().join(format!("fluxline-report-{}.html", std::process::id()));
    std::fs::write(&page, sample().to_html()).unwrap();
    let output = Command::new("node")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report_smoke.js"))
        .arg(&page)
        .output()
        .unwrap();
    let _ = std::fs::remove_file(&page);
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("all claims hold"), "{said}");
}
