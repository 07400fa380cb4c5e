//! `fluxline bode`, `fluxline spectrum` and `fluxline sensitivity`.

use crate::bench::Bench;
use std::f64::consts::TAU;

/// A position loop: an integrator of 2 1/s behind a lag of 0.1 s, K/(s(0.1·s + 1)).
const LOOP: &str = r#"
title = "Loop"
[run]
stop = "1 s"
step = "1 ms"
[components.reference]
type = "signal.constant"
value = 3
[components.error]
type = "signal.difference"
[components.drive]
type = "signal.first_order"
time_constant = "0.1 s"
[components.position]
type = "signal.integrator"
gain = "2 1/s"
start_value = 3
[[connect]]
from = "reference.out"
to = "error.input1"
[[connect]]
from = "error.out"
to = "drive.input"
[[connect]]
from = "drive.out"
to = "position.input"
[[connect]]
from = "position.out"
to = "error.input2"
"#;

#[test]
fn a_loop_is_cut_and_judged() {
    let bench = Bench::with("loop.toml", LOOP);
    let arguments = ["bode", "loop.toml", "--open-loop-at", "error.input2"];
    let (code, found) = bench.json(&arguments);
    assert_eq!(code, 0);
    // |L| = 1 where ω²(1 + 0.01·ω²) = 4.
    let w2 = ((1.0f64 + 4.0 * 4.0 * 0.01).sqrt() - 1.0) / 0.02;
    let w = w2.sqrt();
    let margin = 90.0 - (0.1 * w).atan().to_degrees();
    let crossover = &found["margins"]["gain_crossovers"][0];
    let frequency = crossover["frequency_hz"].as_f64().unwrap();
    assert!((frequency * TAU / w - 1.0).abs() < 1e-4, "{frequency}");
    // The loop of signals is one step late: 1.96 rad/s·1 ms.
    let phase = crossover["phase_margin_degrees"].as_f64().unwrap();
    assert!((phase - margin + (1e-3 * w).to_degrees()).abs() < 1e-3, "{phase} {margin}");
    assert_eq!(found["margins"]["is_stable_closed"], true);
}

#[test]
fn a_closed_loop_is_told_in_words_and_drawn() {
    let bench = Bench::with("loop.toml", LOOP);
    let said = bench.fluxline(&[
        "bode",
        "loop.toml",
        "--input",
        "reference.out",
        "--output",
        "position.out",
        "--from",
        "0.01 Hz",
        "--to",
        "50 Hz",
        "--measure",
        "multisine",
        "--amplitude",
        "0.5",
        "--plot",
        "a.svg",
        "--nyquist",
        "b.svg",
        "--step-response",
        "c.svg",
        "--csv",
        "a.csv",
        "--measured-points",
        "8",
    ]);
    assert_eq!(said.code, 0, "{}", said.err);
    for part in [
        "Loop: response of position.out to reference.out",
        "position.out = 3",
        "stable            yes",
        "bandwidth",
        "by a multi-sine, 8 frequencies",
        "wrote a.csv",
    ] {
        assert!(said.out.contains(part), "{part}:\n{}", said.out);
    }
    assert!(bench.read("a.svg").contains("measured") && bench.exists("b.svg"));
    assert!(bench.read("c.svg").contains("step response"));
    let table = bench.read("a.csv");
    assert!(table.starts_with("frequency [Hz],output,how,real,imaginary,gain [dB],phase [deg]"));
    assert_eq!(table.lines().filter(|line| line.contains(",measured,")).count(), 8);
}

#[test]
fn what_cannot_be_answered_is_told() {
    let bench = Bench::with("loop.toml", LOOP);
    let refuse = |arguments: &[&str], part: &str| {
        let said = bench.fluxline(arguments);
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(part), "{part}:\n{}", said.err);
    };
    let all = |rest: &[&'static str]| [&["bode", "loop.toml"], rest].concat();
    refuse(&all(&["--input", "drive.inptu", "--output", "position.out"]), "drive.input");
    refuse(&all(&["--input", "drive.input", "--output", "position.uot"]), "position.out");
    refuse(&all(&["--input", "drive.input"]), "no output is named");
    refuse(
        &all(&["--open-loop-at", "error.input2", "--to", "600 Hz"]),
        "below half the sampling rate",
    );
    refuse(&all(&["--open-loop-at", "error.input2", "--from", "2 bar"]), "is a frequency");
    refuse(&all(&["--open-loop-at", "position.reset"]), "no loop to cut");
    let measured = ["--input", "drive.input", "--output", "drive.out", "--measure", "sine"];
    refuse(&all(&measured), "--amplitude");
    assert_eq!(bench.files(), ["loop.toml"]);
}

/// Two lines and what their sum follows from.
fn record(bench: &Bench) {
    let mut text = "time,u,y\n".to_owned();
    let mut y = 0.0;
    for k in 0..4096u64 {
        let t = k as f64 * 1e-3;
        // Spread over all frequencies, the same every time.
        let noise = ((k * k * 37 + k * 101) % 1009) as f64 / 504.5 - 1.0;
        let u = 2.0 * (TAU * 62.5 * t).sin() + 0.3 * noise;
        text.push_str(&format!("{t},{u},{y}\n"));
        y = 0.5 * y + 0.5 * u;
    }
    bench.write("run.csv", &text);
}

#[test]
fn lines_of_a_recorded_variable_are_found_with_their_amplitudes() {
    let bench = Bench::new();
    record(&bench);
    let said = bench.fluxline(&["spectrum", "run.csv", "u", "--segments", "7", "--plot", "u.svg"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("7 segments of 1"), "{}", said.out);
    let first = said.out.lines().skip_while(|line| !line.contains("density")).nth(1).unwrap();
    assert!(first.contains("62.5 Hz"), "{first}");
    let (code, found) = bench.json(&["spectrum", "run.csv", "u", "--segments", "7"]);
    assert_eq!(code, 0);
    let amplitude = found["amplitude"][64].as_f64().unwrap();
    assert!((amplitude / 2.0 - 1.0).abs() < 0.02, "{amplitude}");
}

/// y(k+1) = (y(k) + u(k))/2 was recorded with y one step late: 0.5/(z − 0.5).
#[test]
fn the_response_of_one_variable_to_another_comes_with_its_coherence() {
    let bench = Bench::new();
    record(&bench);
    let arguments =
        ["spectrum", "run.csv", "y", "--input", "u", "--segments", "15", "--csv", "h.csv"];
    let (code, found) = bench.json(&arguments);
    assert_eq!(code, 0);
    let length = found["segment_samples"].as_f64().unwrap();
    for bin in [16usize, 64, 150] {
        let w = TAU * bin as f64 / length;
        // |0.5/(z − 0.5)|
        let exact = 0.5 / (1.25 - w.cos()).sqrt();
        let [re, im] = ["real", "imaginary"].map(|part| found[part][bin].as_f64().unwrap());
        assert!((re.hypot(im) / exact - 1.0).abs() < 0.05, "{bin}: {re} {im} {exact}");
        assert!(found["coherence"][bin].as_f64().unwrap() > 0.95);
    }
    assert!(bench.read("h.csv").lines().count() > 100);
    let said = bench.fluxline(&["spectrum", "run.csv", "y", "--input", "u"]);
    assert!(said.code == 2 && said.err.contains("several segments"), "{}", said.err);
}

/// A load that drops onto a spring: x = g·m/k (1 − cos ωt) …
const SWING: &str = r#"
title = "Swing"
[run]
stop = "0.5 s"
step = "0.2 ms"
[components.load]
type = "translational.mass"
mass = "20 kg"
start_position = "50 mm"
[components.suspension]
type = "translational.spring_damper"
stiffness = "2000 N/m"
damping = "60 N*s/m"
[components.ground]
type = "translational.fixed"
[[connect]]
from = "ground.port"
to = "suspension.a"
[[connect]]
from = "suspension.b"
to = "load.a"
"#;

fn sensitivity<'a>(method: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    let common = [
        "sensitivity",
        "swing.toml",
        "--parameters",
        "load.mass",
        "suspension.stiffness",
        "suspension.damping",
        "--metrics",
        "final(load.x)",
        "rms(load.x)",
        "--method",
        method,
    ];
    common.into_iter().chain(rest.iter().copied()).collect()
}

/// m·x″ + d·x′ + k·x = 0 does not change when m, d and k grow by the same factor:
/// m·∂/∂m + k·∂/∂k + d·∂/∂d = 0 (Euler).
#[test]
fn exact_derivatives_agree_with_differences_and_with_the_scaling_of_the_equation() {
    let bench = Bench::with("swing.toml", SWING);
    let (code, exact) = bench.json(&sensitivity("exact", &[]));
    assert_eq!(code, 0);
    let (code, differences) = bench.json(&sensitivity("differences", &[]));
    assert_eq!(code, 0);
    for metric in 0..2 {
        let of = |found: &serde_json::Value, p: usize| {
            let one = &found["metrics"][metric]["parameters"][p];
            one["derivative"].as_f64().unwrap() * one["value"].as_f64().unwrap()
        };
        let all: Vec<f64> = (0..3).map(|p| of(&exact, p)).collect();
        let largest = all.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(all.iter().sum::<f64>().abs() < 1e-9 * largest, "{all:?}");
        for (p, exact) in all.iter().enumerate() {
            // Of second order in a change of a thousandth.
            assert!((of(&differences, p) - exact).abs() < 1e-5 * largest);
        }
    }
}

#[test]
fn screening_and_variance_rank_parameters_and_draw_them() {
    let bench = Bench::with("swing.toml", SWING);
    let mut said = Vec::new();
    for method in ["morris", "sobol"] {
        let rest = ["--runs", "200", "--plot", "bars.svg", "--csv", "bars.csv"];
        let one = bench.fluxline(&sensitivity(method, &rest));
        assert_eq!(one.code, 0, "{}", one.err);
        assert!(bench.read("bars.svg").contains("suspension.stiffness"));
        assert_eq!(bench.read("bars.csv").lines().count(), 7);
        said.push(one.out);
    }
    assert!(said[0].contains("200 runs") && said[0].contains("μ*"), "{}", said[0]);
    assert!(said[1].contains("200 runs") && said[1].contains("S_T"), "{}", said[1]);
    // The same on one thread without lanes.
    let serial = ["--runs", "200", "--threads", "1", "--lanes", "1"];
    let (_, one) = bench.json(&sensitivity("sobol", &serial));
    let (_, other) = bench.json(&sensitivity("sobol", &["--runs", "200"]));
    assert_eq!(one["metrics"], other["metrics"]);
}

#[test]
fn parameters_without_a_value_to_begin_with_are_told() {
    let bench = Bench::with("swing.toml", SWING);
    for (parameter, part) in [
        ("load.masse", "gives no number for `load.masse`"),
        ("suspension.preload=0 N", "is zero"),
        ("load.mass=gamma(1, 2)", "no distribution"),
    ] {
        let arguments =
            ["sensitivity", "swing.toml", "--parameters", parameter, "--metrics", "rms(load.x)"];
        let said = bench.fluxline(&arguments);
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(part), "{part}: {}", said.err);
    }
}
