//! Writes a sample figure (SVG, PNG) and a sample report (HTML) into a folder:
//! `cargo run --example gallery -- out/gallery`.

use std::f64::consts::PI;
use std::path::PathBuf;
use std::sync::Arc;

use fluxline_plot::{Figure, Panel, Report, Series, SeriesStyle, Status, Table};

/// A cylinder positioned by a servo valve: second-order responses and a little pump ripple.
fn servo_figure() -> Figure {
    let time: Arc<[f64]> = (0..40_000).map(|i| f64::from(i) * 5e-5).collect();
    let (frequency, damping) = (2.0 * PI * 6.0, 0.18);
    let damped = frequency * f64::sqrt(1.0 - damping * damping);
    let step = |t: f64| {
        if t < 0.2 {
            return 0.0;
        }
        let t = t - 0.2;
        let decay = (-damping * frequency * t).exp();
        1.0 - decay * ((damped * t).cos() + damping * frequency / damped * (damped * t).sin())
    };
    let rate = |t: f64| (step(t + 1e-5) - step(t - 1e-5)) / 2e-5;
    let signal = |f: &dyn Fn(f64) -> f64| time.iter().map(|&t| f(t)).collect::<Vec<_>>();
    let ripple = |t: f64| 2.5 * (2.0 * PI * 225.0 * t).sin() * (1.0 - (-t / 0.05).exp());

    let sampled: Arc<[f64]> = (0..=100).map(|i| f64::from(i) * 0.02).collect();
    let command: Vec<f64> = sampled.iter().map(|&t| (1.0 - step(t)) * 6.0).collect();
    let measured_time: Arc<[f64]> = (0..=50).map(|i| f64::from(i) * 0.04).collect();
    let measured: Vec<f64> = measured_time
        .iter()
        .enumerate()
        .map(|(i, &t)| {
            if (20..24).contains(&i) {
                f64::NAN
            } else {
                250.0 * step(t) + 4.0 * (i as f64 * 2.4).sin()
            }
        })
        .collect();

    Figure::new("Servo axis: step response", "time [s]")
        .marker("set point steps", 0.2)
        .panel(
            Panel::new("position [mm]")
                .series(Series::new("piston", time.clone(), signal(&|t| 250.0 * step(t))))
                .series(Series::new("measured", measured_time, measured).style(SeriesStyle::Points))
                .reference("set point", 250.0),
        )
        .panel(
            Panel::new("pressure [bar]")
                .series(Series::new(
                    "chamber A",
                    time.clone(),
                    signal(&|t| 80.0 + 4.0 * rate(t) + ripple(t)),
                ))
                .series(Series::new(
                    "chamber B",
                    time.clone(),
                    signal(&|t| 78.0 - 3.4 * rate(t) + 0.8 * ripple(t)),
                ))
                .series(Series::new("supply", time.clone(), signal(&|t| 210.0 + 2.0 * ripple(t)))),
        )
        .panel(
            Panel::new("valve command [V]")
                .series(Series::new("controller", sampled, command).style(SeriesStyle::Steps)),
        )
}

fn bode_figure() -> Figure {
    let frequency: Arc<[f64]> = (0..600).map(|i| 10f64.powf(f64::from(i) / 150.0 - 1.0)).collect();
    let response = |natural: f64, damping: f64| {
        let (mut gain, mut phase) = (Vec::new(), Vec::new());
        for &f in frequency.iter() {
            let r = f / natural;
            let (re, im) = (1.0 - r * r, 2.0 * damping * r);
            gain.push(1.0 / re.hypot(im));
            phase.push(-im.atan2(re).to_degrees());
        }
        (gain, phase)
    };
    let (gain_a, phase_a) = response(12.0, 0.08);
    let (gain_b, phase_b) = response(45.0, 0.5);
    Figure::new("Frequency response", "frequency [Hz]")
        .log_x()
        .panel(
            Panel::new("gain [-]")
                .log_y()
                .series(Series::new("without accumulator", frequency.clone(), gain_a))
                .series(Series::new("with accumulator", frequency.clone(), gain_b)),
        )
        .panel(
            Panel::new("phase [°]")
                .series(Series::new("without accumulator", frequency.clone(), phase_a))
                .series(Series::new("with accumulator", frequency, phase_b))
                .reference("−90°", -90.0),
        )
}

/// A loop: x goes back and forth.
fn friction_figure() -> Figure {
    let angle = |i: u32| f64::from(i) * 2.0 * PI / 2000.0;
    let velocity: Vec<f64> = (0..=2000).map(|i| 0.2 * angle(i).sin()).collect();
    let force: Vec<f64> = (0..=2000)
        .map(|i| {
            let v = 0.2 * (angle(i) - 0.25).sin();
            1e5 * (0.8 * (v / 0.01).tanh() * (1.0 + 0.6 * (-(v / 0.03).powi(2)).exp()) + 2.0 * v)
        })
        .collect();
    Figure::new("Seal friction over one period", "velocity [m/s]")
        .panel(Panel::new("friction force [N]").series(Series::new("seal", velocity, force)))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "out/gallery".into()));
    std::fs::create_dir_all(&folder)?;
    for (name, figure) in
        [("servo", servo_figure()), ("bode", bode_figure()), ("friction", friction_figure())]
    {
        let (width, height) = figure.natural_size();
        std::fs::write(folder.join(format!("{name}.svg")), figure.to_svg(width, height))?;
        #[cfg(feature = "png")]
        std::fs::write(folder.join(format!("{name}.png")), figure.to_png(width, height, 2.0)?)?;
    }
    let report = Report::new("Servo axis acceptance")
        .fact("model", "servo-axis.toml")
        .fact("run", "2.0 s at 50 µs")
        .fact("real-time factor", "184")
        .verdict("Overshoot", "56.3 %, limit 60 %", Status::Ok)
        .verdict("Settling time to ±2 %", "0.58 s, limit 0.60 s", Status::Warn)
        .verdict("Mass balance", "3.1e−12 kg", Status::Ok)
        .verdict("Parasitic pressure", "0.04 bar", Status::Info)
        .warning("The volume `pilot` is 1e−9 m³: at this step its wave impedance is clamped.")
        .warning("Measured position: 4 samples are missing between 0.80 s and 0.96 s.")
        .section("Step response")
        .text("The set point steps by 250 mm at 0.2 s. Pressures are absolute; the supply carries the ripple of a nine-piston pump at 1500 r/min.")
        .figure(servo_figure())
        .section("Frequency response")
        .figure(bode_figure())
        .section("Friction")
        .figure(friction_figure())
        .section("Key values")
        .table(
            Table::new(["quantity", "unit", "without accumulator", "with accumulator"])
                .caption("Linearised at mid stroke")
                .row(["natural frequency", "Hz", "12.0", "45.0"])
                .row(["damping ratio", "–", "0.08", "0.50"])
                .row(["gain margin", "dB", "−4.1", "9.8"]),
        )
        .preformatted("[component.valve]\nkind = \"servo_valve\"\nnominal_flow = \"40 l/min\"");
    std::fs::write(folder.join("report.html"), report.to_html())?;
    println!("written to {}", folder.display());
    Ok(())
}
