//! Pictures and reports.

use crate::bench::{Bench, PUMP};

fn results() -> Bench {
    let bench = Bench::with("pump.toml", PUMP);
    let said = bench.fluxline(&["run", "pump.toml", "--csv", "a.csv", "--quiet"]);
    assert_eq!(said.code, 0, "{}", said.err);
    bench
}

#[test]
fn results_are_drawn_in_units_of_the_trade() {
    let bench = results();
    let said =
        bench.fluxline(&["plot", "a.csv", "pump.outlet.*", "demand.out", "--title", "Pump test"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let svg = bench.read("a.svg");
    assert!(svg.starts_with("<svg") && svg.contains("Pump test"));
    assert!(svg.contains("[bar]") && svg.contains("[l/min]"), "panels by unit");
    let said =
        bench.fluxline(&["plot", "a.csv", "volume.pressure", "-o", "p.png", "--width", "400"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(std::fs::read(bench.path("p.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn files_of_others_are_drawn_as_they_are() {
    let bench = Bench::new();
    bench.write("m.csv", "t;a\n0;1\n1;2\n");
    assert_eq!(bench.fluxline(&["plot", "m.csv", "a", "-o", "b.svg"]).code, 0);
    assert!(bench.read("b.svg").contains("<svg"));
}

#[test]
fn wrong_names_and_formats_are_told() {
    let bench = results();
    let said = bench.fluxline(&["plot", "a.csv", "pump.outlet.presure"]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("F1201") && said.err.contains("`pump.outlet.pressure`"),
        "{}",
        said.err
    );
    let said = bench.fluxline(&["plot", "a.csv", "pump.outlet.pressure", "-o", "a.jpg"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F1204"), "{}", said.err);
    assert_eq!(bench.fluxline(&["plot", "missing.csv", "x"]).code, 3);
    bench.write("bad.csv", "time,p\n0,1\n1,?\n");
    let said = bench.fluxline(&["plot", "bad.csv", "p"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F0802") && said.err.contains("line 3"), "{}", said.err);
    assert_eq!(bench.fluxline(&["run", "pump.toml", "--plot", "a.pdf"]).code, 2);
}

#[test]
fn a_run_draws_and_reports() {
    let bench = Bench::with(
        "pump.toml",
        &format!(
            "{PUMP}\n[[plot]]\ntitle = \"Pressure\"\nvariables = [\"pump.outlet.pressure\", \"demand.out\"]\n"
        ),
    );
    let said = bench.fluxline(&["run", "pump.toml", "--plot", "a.svg", "--report", "a.html"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("Pressure: pressure [bar]"), "{}", said.out);
    assert!(bench.read("a.svg").contains("Pressure"));
    let html = bench.read("a.html");
    for part in ["Pump and orifice", "Oil balance", "fluxline-data", "hydraulic.turbulent_orifice"]
    {
        assert!(html.contains(part), "{part}");
    }
}
