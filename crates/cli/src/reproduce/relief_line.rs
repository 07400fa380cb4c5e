//! Flow source, line, relief valve, tank: how a delay line fills and what its parasitic inertia does.

use super::{Band, Case, Extent, Figure, Origin, broken};
use fluxline_core::builder::Builder;
use fluxline_core::circuit::Registry;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::run;
use fluxline_core::settings::FilterKind;
use fluxline_diagnostics::Diagnostics;

/// The case of section 2.3.2.
pub const CASE: Case = Case {
    name: "tlm/relief-line",
    title: "Relief valve on a line: opening, fill rate, steady pressure",
    source: "Pollmeier, thesis, University of Bath, section 2.3.2, Table 2.1",
    run: figures,
};

pub(super) const FLOW: f64 = 10e-3 / 60.0;
pub(super) const BULK_MODULUS: f64 = 8900e5;
pub(super) const CRACKING: f64 = 120e5;

/// Volume of the line, 3 m × 25 mm.
pub(super) fn volume() -> f64 {
    std::f64::consts::PI / 4.0 * 0.025f64.powi(2) * 3.0
}

/// Both ends of the line over time.
pub(super) struct Trace {
    pub times: Vec<f64>,
    pub pump: Vec<f64>,
    pub valve: Vec<f64>,
    pub flow: Vec<f64>,
}

impl Trace {
    /// Time at which the valve opens, interpolated to where its inlet passes the cracking pressure.
    pub fn opening(&self) -> f64 {
        let after = self.valve.iter().position(|&p| p > CRACKING).unwrap_or(0);
        if after == 0 {
            return f64::NAN;
        }
        let (a, b) = (self.valve[after - 1], self.valve[after]);
        let part = (CRACKING - a) / (b - a);
        self.times[after - 1] + part * (self.times[after] - self.times[after - 1])
    }

    /// Largest parasitic pressure from the opening on, Pa: the mean difference between the ends over
    /// two steps (3.4; the factor ½ is lost in print, the text speaks of the average).
    pub fn parasitic(&self) -> f64 {
        let opened = self.flow.iter().position(|&q| q > 0.0).unwrap_or(self.flow.len());
        let apart = |i: usize| self.valve[i] - self.pump[i];
        (opened.max(1)..self.times.len())
            .map(|i| 0.5 * (apart(i) + apart(i - 1)).abs())
            .fold(0.0, f64::max)
    }

    /// Rate of pressure rise between 10 and 100 bar at the valve, over β·q/V.
    pub fn fill_rate(&self) -> f64 {
        let at = |p: f64| self.valve.iter().position(|&x| x > p).unwrap_or(0);
        let (a, b) = (at(10e5), at(100e5));
        let rate = (self.valve[b] - self.valve[a]) / (self.times[b] - self.times[a]);
        rate / (BULK_MODULUS * FLOW / volume())
    }
}

/// Runs the circuit.
pub(super) fn simulate(
    registry: &Registry,
    step: f64,
    filter: FilterKind,
) -> Result<Trace, Diagnostics> {
    let mut circuit = Builder::new(registry);
    let settings = &mut circuit.circuit;
    (settings.run.step, settings.run.filter, settings.run.start_pressure) = (step, filter, 0.0);
    settings.run.filter_factor = 0.2;
    let fluid = &mut settings.fluids[0];
    (fluid.density, fluid.bulk_modulus, fluid.vapour_pressure) = (890.0, BULK_MODULUS, 0.0);
    circuit.add("pump", "hydraulic.flow_source", &[("flow", "10 l/min")]);
    circuit.add(
        "relief",
        "hydraulic.relief_valve",
        &[("cracking_pressure", "120 bar"), ("gradient", "600 l/min/bar")],
    );
    circuit.add("tank", "hydraulic.tank", &[("pressure", "0 bar")]);
    circuit.connect(&["pump.outlet", "relief.inlet"]);
    circuit.line("hydraulic.volume", &[("volume", "pi/4 * (25 mm)^2 * 3 m")]);
    circuit.connect(&["relief.outlet", "tank.port"]);
    let plan = circuit.plan().map_err(broken)?;
    let steps = (0.2 / step).round() as u64;
    let names = ["pump.outlet.pressure", "relief.inlet.pressure", "relief.inlet.flow"];
    let variables = names.iter().filter_map(|n| plan.variables.find(n)).collect();
    let mut recorder = Recorder::new(variables, Sampling::Every(1), steps);
    let mut state = plan.initial.clone();
    run(&plan, &mut state, steps, &mut recorder, false, |_| true);
    let mut columns = names.iter().map(|n| recorder.column(n).unwrap_or_default());
    let mut next = || columns.next().unwrap_or_default();
    Ok(Trace { pump: next(), valve: next(), flow: next(), times: recorder.times() })
}

fn figures(extent: &Extent) -> Result<Vec<Figure>, Diagnostics> {
    let registry = extent.registry;
    let mut all = Vec::new();
    let mut push = |quantity: String, reference, origin, ours, unit, band| {
        all.push(Figure { quantity, reference: Some(reference), origin, ours, unit, band });
    };
    for step in [1e-4, 1e-5] {
        let trace = simulate(registry, step, FilterKind::Wave)?;
        let at = format!("at {} ms", step * 1e3);
        push(
            format!("valve opens, {at}"),
            0.1191,
            Origin::Published,
            trace.opening(),
            "s",
            Band::Absolute(1e-4),
        );
        push(
            format!("fill rate over β·q/V, {at}"),
            1.0,
            Origin::Published,
            trace.fill_rate(),
            "–",
            Band::Absolute(5e-5),
        );
        let steady = trace.valve.last().copied().unwrap_or(f64::NAN);
        push(
            format!("steady inlet pressure, {at}"),
            120.0167,
            Origin::Published,
            steady / 1e5,
            "bar",
            Band::Absolute(5e-5),
        );
        let highest = trace.valve.iter().fold(0.0f64, |m, &p| m.max(p));
        push(
            format!("overshoot at the inlet, at most 0.013 bar, {at}"),
            0.0,
            Origin::Published,
            (highest - steady) / 1e5,
            "bar",
            Band::Absolute(0.013),
        );
    }
    Ok(all)
}
