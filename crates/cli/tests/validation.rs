//! Against independent programs: the circuits of `tests/data` beside the references that
//! `validation/*.py` computed from the same equations with other methods.
//!
//! Deviations are over the range of the variable. Without filter they fall with the square of the
//! step (parasitic inertia, trapezoidal rule); with the step where a signal is read from a power
//! port, where a loss takes the flow of the last steps, or with a filter. Measured orders may differ
//! by 0.15: at these steps the next term of the error still shows.
//!
//! A bound is given where the size of the error follows from a mechanism, and then computed from it;
//! elsewhere only the order is held. The references are good to 3e-8 of the range, that of the
//! throttled accumulator to 2e-7, of the water hammer to 1.3e-5 (the scripts print it).

mod trial;

use trial::{Trial, deviation, range, run_at, text};

/// A reference: columns by name, the first one time.
struct Reference {
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
}

impl Reference {
    fn read(name: &str) -> Self {
        let text = text(name);
        let mut lines = text.lines();
        let names: Vec<String> = lines.next().unwrap_or("").split(',').map(str::to_owned).collect();
        let mut columns = vec![Vec::new(); names.len()];
        for line in lines {
            for (column, value) in columns.iter_mut().zip(line.split(',')) {
                column.push(value.parse().unwrap_or_else(|e| panic!("{name}: {value}: {e}")));
            }
        }
        Self { names, columns }
    }

    fn column(&self, name: &str) -> &[f64] {
        let at = self.names.iter().position(|one| one == name);
        &self.columns[at.unwrap_or_else(|| panic!("no column {name}"))]
    }

    fn interval(&self) -> f64 {
        self.columns[0][1] - self.columns[0][0]
    }

    fn deviation(&self, name: &str, of: &Trial) -> f64 {
        let exact = self.column(name);
        deviation(of.column(name), exact) / range(exact)
    }
}

/// Runs a circuit at two steps, the second half of the first. Holds for each variable the order in
/// the step, and the deviation at the smaller step to a bound where one is given.
fn assert_converges(
    name: &str,
    settings: &[(&str, &str)],
    coarse: f64,
    expected: &[(&str, f64, Option<f64>)],
) {
    let reference = Reference::read(&format!("{name}.csv"));
    let circuit = text(&format!("{name}.toml"));
    let variables: Vec<&str> = expected.iter().map(|&(variable, ..)| variable).collect();
    let at = |step: f64| run_at(&circuit, settings, step, reference.interval(), &variables);
    let (large, small) = (at(coarse), at(0.5 * coarse));
    let mut wrong = Vec::new();
    for &(variable, order, bound) in expected {
        let (before, after) =
            (reference.deviation(variable, &large), reference.deviation(variable, &small));
        let measured = (before / after).log2();
        let limit = bound.map_or("no bound".to_owned(), |bound| format!("≤ {bound:.1e}"));
        let line = format!(
            "{name} {settings:?} {variable}: {before:.2e}, {after:.2e} ({limit}), order {measured:.2} ({order})"
        );
        println!("{line}");
        if (measured - order).abs() > 0.15 || bound.is_some_and(|bound| after > bound) {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Parasitic mass over mass, k·T²/m, of oil with k = β·A²/V.
fn parasitic_mass(bulk_modulus: f64, area: f64, volume: f64, mass: f64, step: f64) -> f64 {
    bulk_modulus * area * area / volume * step * step / mass
}

/// Largest slope of a reference over its range, 1/s.
fn slope(reference: &Reference, name: &str) -> f64 {
    let values = reference.column(name);
    let steepest = values.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f64::max);
    steepest / reference.interval() / range(values)
}

const PI: f64 = std::f64::consts::PI;
/// Spool of the servo: the trapezoidal rule errs by (ω·T)²/12 where it follows slowly.
fn spool_error(step: f64) -> f64 {
    (2.0 * PI * 100.0 * step).powi(2) / 12.0
}

/// The parasitic mass of both chambers adds to the load: less than its share of the motion, since
/// inertia is only a part of the forces.
#[test]
fn valve_controlled_cylinder_converges_to_the_lumped_equations_with_the_square_of_the_step() {
    let step = 2.5e-5;
    let (cap, ring) = (PI / 4.0 * 0.04f64.powi(2), PI / 4.0 * (0.04f64.powi(2) - 0.022f64.powi(2)));
    let bound = parasitic_mass(1e9, cap, 60e-6 + 0.2 * cap, 250.0, step)
        + parasitic_mass(1e9, ring, 60e-6 + 0.2 * ring, 250.0, step);
    let expected = [
        ("load.x", 2.0, Some(bound)),
        ("load.v", 2.0, Some(bound)),
        ("valve.x", 2.0, Some(spool_error(step))),
    ];
    assert_converges("servo_open", &[], 2.0 * step, &expected);
}

#[test]
fn filters_make_the_error_one_of_first_order() {
    let step = 2.5e-5;
    for filter in ["wave", "pressure"] {
        let expected = [
            ("load.v", 1.0, None),
            ("cylinder.a.pressure", 1.0, None),
            ("cylinder.b.pressure", 1.0, None),
            ("valve.x", 2.0, Some(spool_error(step))),
        ];
        let settings = [("run.filter", filter), ("run.filter_factor", "0.1")];
        assert_converges("servo_open", &settings, 2.0 * step, &expected);
    }
}

/// The controller sees the position one step late. In a loop dx/dt = K·(r − x(t − T)) the deviation
/// is at most the path of one step at the largest speed.
#[test]
fn position_servo_converges_with_the_step_because_its_feedback_is_one_step_late() {
    let step = 2.5e-5;
    let bound = step * slope(&Reference::read("servo_closed.csv"), "load.x");
    let expected = [("load.x", 1.0, Some(bound)), ("load.v", 1.0, None), ("valve.x", 1.0, None)];
    assert_converges("servo_closed", &[], 2.0 * step, &expected);
}

/// The shaft of 2e4 N·m/rad adds its parasitic inertia k·T² to the flywheel of 2 kg·m².
#[test]
fn transmission_converges_to_the_lumped_equations_with_the_square_of_the_step() {
    let step = 5e-5;
    let expected = [
        ("flywheel.speed", 2.0, Some(2e4 * step * step / 2.0)),
        ("pump.outlet.pressure", 2.0, None),
        ("pump.inlet.pressure", 2.0, None),
    ];
    assert_converges("transmission", &[], 2.0 * step, &expected);
}

/// A parasitic mass of the part μ slows the swing on the gas (1.1 Hz) by μ/2: the phase lost in the
/// whole run of 3 s, of an amplitude of half the range, if nothing damped it.
fn swing_error(step: f64) -> f64 {
    let area = PI / 4.0 * 0.063f64.powi(2);
    let mass = parasitic_mass(1.4e9, area, 1e-4 + 0.3 * area, 2000.0, step);
    0.5 * 0.5 * mass * 2.0 * PI * 1.1 * 3.0
}

#[test]
fn mass_on_an_accumulator_converges_with_the_square_of_the_step() {
    let step = 1.25e-4;
    let bound = Some(swing_error(step));
    let expected =
        [("load.x", 2.0, bound), ("load.v", 2.0, bound), ("cylinder.a.pressure", 2.0, bound)];
    assert_converges("accumulator", &[], 2.0 * step, &expected);
}

/// The output is the pressure of the oil volume half a step before, and is recorded a step later.
#[test]
fn gas_pressure_is_shown_one_and_a_half_steps_late() {
    let step = 1.5625e-5;
    let reference = Reference::read("accumulator.csv");
    let bound = 1.5 * step * slope(&reference, "accumulator.gas_pressure") + swing_error(step);
    let expected = [("accumulator.gas_pressure", 1.0, Some(bound))];
    assert_converges("accumulator", &[], 2.0 * step, &expected);
}

/// The throttle in the neck of an accumulator takes the mean flow of the steps before.
#[test]
fn throttled_accumulator_converges_with_the_step() {
    let expected =
        [("load.x", 1.0, None), ("load.v", 1.0, None), ("cylinder.a.pressure", 1.0, None)];
    assert_converges("accumulator_throttled", &[], 3.125e-5, &expected);
}

/// Friction stands at three places of the pipe, ¼, ½, ¼. What is left when the step vanishes is of
/// the size of the difference of that staircase to the straight line, a quarter of the friction drop
/// R·q₀. The steady state is exact.
///
/// Interpolation of a fraction f of a step spreads a kink like diffusion, σ = T·√(N·f·(1 − f)) after N
/// passages, and so errs by σ/√(2π) of the change of slope; with a delay of whole steps by nothing.
#[test]
fn water_hammer_with_laminar_friction_follows_the_method_of_characteristics() {
    let reference = Reference::read("water_hammer.csv");
    let circuit = text("water_hammer.toml");
    let area = PI / 4.0 * 0.025f64.powi(2);
    let sound = (1.6e9f64 / 870.0).sqrt();
    let (stop, interval, step) = (0.5, reference.interval(), 2.5e-4);
    let at = |viscosity: &str, length: f64, step: f64| {
        let (length, viscosity) = (format!("{length:?} m"), format!("{viscosity} mm^2/s"));
        let settings = [("fluid.viscosity", viscosity.as_str()), ("pipe.length", length.as_str())];
        let variables = ["gate.inlet.pressure", "reservoir.port1.flow"];
        run_at(&circuit, &settings, step, interval, &variables)
    };
    let between = |one: &Trial, other: &Trial| {
        deviation(one.column("gate.inlet.pressure"), other.column("gate.inlet.pressure"))
    };
    let mut left = Vec::new();
    for viscosity in ["30", "120"] {
        let pressure = reference.column(&format!("gate.inlet.pressure@{viscosity}"));
        let flow = reference.column(&format!("reservoir.flow@{viscosity}"));
        let (large, small) = (at(viscosity, 50.0, step), at(viscosity, 50.0, 0.5 * step));
        let found = small.column("gate.inlet.pressure");
        // the reference gives nine digits; come to rest within 1e-8 per second
        assert!((found[0] / pressure[0] - 1.0).abs() < 1e-8, "{} {}", found[0], pressure[0]);
        let out = small.column("reservoir.port1.flow")[0];
        assert!((out.abs() / flow[0] - 1.0).abs() < 1e-8, "{out} {}", flow[0]);
        let nu = viscosity.parse::<f64>().unwrap_or(0.0) * 1e-6;
        let drop = 32.0 * 870.0 * nu * 50.0 / (0.025 * 0.025 * area) * flow[0];
        let lumping = deviation(found, pressure);
        let delay = 50.0 / sound / step;
        let (passages, f) = (stop / (50.0 / sound), delay.fract());
        let bend = pressure.windows(3).map(|w| (w[2] - 2.0 * w[1] + w[0]).abs());
        // a kink between two samples shows in two second differences, at least half of it in one
        let kink = 2.0 * bend.fold(0.0, f64::max) / interval;
        let spread = step * (passages * f * (1.0 - f)).sqrt() * kink / (2.0 * PI).sqrt();
        let stepping = between(&large, &small);
        println!(
            "{viscosity} mm²/s: {:.3} of the friction drop; step {stepping:.2e} Pa ({spread:.1e})",
            lumping / drop
        );
        assert!(lumping < 0.25 * drop, "{lumping} {drop}");
        assert!(stepping < spread, "{stepping} {spread}");
        left.push(lumping / range(pressure));
    }
    // in proportion to friction: four times the viscosity, four times the deviation
    assert!((left[1] / left[0] / 4.0 - 1.0).abs() < 0.2, "{left:?}");
    // 147 whole steps: nothing to interpolate, so the step does not matter
    let whole = 147.0 * step * sound;
    let off = between(&at("30", whole, step), &at("30", whole, 0.5 * step));
    assert!(off < 1e-9 * 50e5, "{off}");
}
