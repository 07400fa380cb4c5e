//! Stiffness as published: condition numbers of circuit 2 of Malysheva, and the largest stable steps
//! of Åman's cylinder drive.

use super::{largest_step, no_modes, open, solve, way};
use crate::reproduce::{Band, Case, Extent, Figure, Origin};
use fluxline_core::settings::SolverKind;
use fluxline_diagnostics::Diagnostics;
use fluxline_lumped::setup::modes_at;
use fluxline_lumped::view::View;

/// The case.
pub(in crate::reproduce) const CASE: Case = Case {
    name: "lumped/stiffness",
    title: "Condition numbers and largest stable steps",
    source: "J. Malysheva, thesis, LUT University, 2021, section 2.2.3; M. Åman, thesis, Lappeenranta \
             University of Technology, 2011, Tables 3.1 and 3.2",
    run: figures,
};

const DRIVE: &str = include_str!("../../../../../examples/lumped/cylinder_drive.toml");

fn figures(_: &Extent) -> Result<Vec<Figure>, Diagnostics> {
    let mut all = Vec::new();
    for (volume, published) in [("1e-3 m^3", 1.286), ("1e-5 m^3", 77.80)] {
        all.push(Figure {
            quantity: format!("condition number of p₁ and p₂, V₁ = {volume}"),
            reference: Some(published),
            origin: Origin::Published,
            ours: condition(volume)?,
            unit: "1",
            band: Band::Relative(1e-3),
        });
    }
    // With signed orifices the published steps cannot be had; these are the linear limits at rest.
    for (diameter, limit) in [("1 mm", 2.352e-3), ("2 mm", 2.168e-3), ("3 mm", 1.717e-3)] {
        all.push(Figure {
            quantity: format!("cylinder drive at rest, orifice of {diameter}: Runge–Kutta's limit"),
            reference: Some(limit * 1e3),
            origin: Origin::ClosedForm,
            ours: stable_step(diameter)? * 1e3,
            unit: "ms",
            band: Band::Relative(0.01),
        });
    }
    Ok(all)
}

/// Three orifices in series carry one flow: Q² = p_s/(1/K² + 1/k_t² + 1/(k₁ + k₂)²).
const SERIES: &str = r#"
[run]
filter = "none"
[fluid]
density = "900 kg/m^3"
bulk_modulus = "1.5 GPa"
vapour_pressure = "0 bar"
[components.source]
type = "hydraulic.pressure_source"
pressure = "200 bar"
[components.compensator]
type = "hydraulic.orifice"
law = "turbulent"
flow_coefficient = "1e-6 m^3/(s*sqrt(Pa))"
[components.first]
type = "hydraulic.volume"
[components.throttle]
type = "hydraulic.orifice"
law = "turbulent"
flow_coefficient = "1e-7 m^3/(s*sqrt(Pa))"
[components.second]
type = "hydraulic.volume"
volume = "1e-3 m^3"
[components.load]
type = "hydraulic.orifice"
law = "turbulent"
flow_coefficient = "5.62e-7 m^3/(s*sqrt(Pa)) + 5.73e-7 m^3/(s*sqrt(Pa))"
[components.tank]
type = "hydraulic.tank"
pressure = "0 bar"
[[connect]]
from = "source.port"
to = "compensator.inlet"
[[connect]]
from = "compensator.outlet"
to = "first.port"
[[connect]]
from = "first.port"
to = "throttle.inlet"
[[connect]]
from = "throttle.outlet"
to = "second.port"
[[connect]]
from = "second.port"
to = "load.inlet"
[[connect]]
from = "load.outlet"
to = "tank.port"
"#;

/// Of the two pressures at the exact steady point, valve and throttle standing still.
fn condition(volume: &str) -> Result<f64, Diagnostics> {
    let (supply, k, kt, load) = (200e5, 1e-6f64, 1e-7f64, 5.62e-7f64 + 5.73e-7);
    let flow_squared = supply / (k.powi(-2) + kt.powi(-2) + load.powi(-2));
    let (p1, p2) = (supply - flow_squared / (k * k), flow_squared / (load * load));
    let session = open("series.toml", SERIES, &[("first.volume", volume)])?;
    let mut view = View::of(session.plan())?;
    let x: Vec<f64> =
        view.states.iter().map(|s| if s.name == "first.pressure" { p1 } else { p2 }).collect();
    let modes = modes_at(&mut view, session.plan().start, &x).ok_or_else(no_modes)?;
    modes.condition_number().ok_or_else(no_modes)
}

/// Of the drive at rest under full supply, where it has come after half an hour.
fn stable_step(diameter: &str) -> Result<f64, Diagnostics> {
    let session = open("cylinder_drive.toml", DRIVE, &[("second.diameter", diameter)])?;
    let plan = session.plan();
    let way = way(SolverKind::Rosenbrock, plan.step, |_| {});
    let rest = solve(plan, &way, &[], 2000.0, 2000.0)?;
    let mut view = View::of(plan)?;
    let modes = modes_at(&mut view, plan.start, &rest.last).ok_or_else(no_modes)?;
    largest_step(&modes)
}
