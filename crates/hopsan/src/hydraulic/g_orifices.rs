//! Orifices that go from laminar to turbulent flow by their geometry.

use super::g_valves::{SMALL_FLOW, ends, flow_bounds, pressures, write_flow};
use crate::blocks::root;
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;

/// The types of this file.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<CheckOrifice>(), ComponentType::of::<SlitOrifice>()];

/// Flow from port 0 to port 1 by a law that rises with the pressure drop; pressures not below 0.
/// Gives flow and pressure drop.
#[wide]
#[inline(always)]
fn orifice<T: Num>(
    io: &mut Step<'_, T>,
    stays_dry: bool,
    law: impl Fn(Dual<T>) -> Dual<T>,
) -> (T, T) {
    let ends = ends(io, [0, 1], stays_dry);
    let (bounds, guess) = (flow_bounds(ends), io.flow(1));
    let q = root(io, bounds, guess, SMALL_FLOW, |q| {
        let p = pressures(ends, q);
        q - law(p[0] - p[1])
    });
    let p = write_flow(io, ends, q);
    (q, p[0] - p[1])
}

/// |q|/(A·√(2·(0.1 Pa + |Δp|)/ρ)): what a flow coefficient would have to be.
#[inline(always)]
fn coefficient<T: Num>(q: T, drop: T, area: T, density: T) -> T {
    q.abs() / (area * ((drop.abs() + 0.1) * 2.0 / density).sqrt())
}

/// Orifice with another area in the other direction.
///
/// q = 2·A·Δp/√(η²·(d + 96·δ²·l)²/(δ⁴·d⁴) + 2·ρ·|Δp|/C_t²) from `Pc` to `Pp`, A = A_o for Δp ≥ 0 and
/// A_b for Δp < 0
///
/// Pressures are not below 0.
#[component("hopsan.HydraulicOrificeCheckValveG", q)]
pub struct CheckOrifice {
    /// outlet
    #[port(name = "Pp")]
    outlet: Hydraulic,
    /// inlet
    #[port(name = "Pc")]
    inlet: Hydraulic,
    /// Re — Reynolds number [–]
    #[output(name = "Ro")]
    reynolds: Signal,
    /// – — Reynolds number times diameter by length [–]
    #[output(name = "DRL")]
    slenderness: Signal,
    /// C_d — flow coefficient [–]
    #[output(name = "Cd", start = "0.611")]
    flow_coefficient: Signal,
    /// A_o — area from `Pc` to `Pp` [m²]
    #[input(name = "Ao", default = "3e-4 m^2")]
    pub area: f64,
    /// d — hydraulic diameter [m]
    #[input(name = "dh", default = "0.3 m")]
    pub diameter: f64,
    /// l — length [m]
    #[input(name = "lo", default = "0.001 m")]
    pub length: f64,
    /// ρ — density of the oil [kg/m³]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// η — viscosity of the oil [Pa*s]
    #[input(name = "visc", default = "0.12 Pa*s")]
    pub viscosity: f64,
    /// C_t — flow coefficient of turbulent flow [–]
    #[input(name = "Cdt", default = 0.67)]
    pub turbulent_coefficient: f64,
    /// δ — laminar flow coefficient [–]
    #[input(name = "del", default = 0.02)]
    pub laminar_coefficient: f64,
    /// A_b — area from `Pp` to `Pc` [m²]
    #[input(name = "Ab", default = "1e-4 m^2")]
    pub back_area: f64,
    /// – — hydraulic diameter backwards, without effect [m]
    #[input(name = "dhb", default = "1e-4 m")]
    pub back_diameter: f64,
}

impl Physics for CheckOrifice {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(constants: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(constants, io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (d, l) = (io.input(Self::DIAMETER), io.input(Self::LENGTH));
        let (rho, eta) = (io.input(Self::DENSITY), io.input(Self::VISCOSITY));
        let (area, back) = (io.input(Self::AREA), io.input(Self::BACK_AREA));
        let delta = io.input(Self::LAMINAR_COEFFICIENT).squared();
        let laminar = (eta * (d + delta * l * 96.0) / (delta * d.squared())).squared();
        let turbulent = rho * 2.0 / io.input(Self::TURBULENT_COEFFICIENT).squared();
        let c = Dual::constant;
        // From `Pp` to `Pc`: a negative drop drives oil the way of the main area.
        let (q, drop) = orifice(io, false, |drop| {
            let area = Dual::select(drop.le(Dual::zero()), c(area), c(back));
            area * drop * 2.0 / (c(laminar) + c(turbulent) * drop.abs()).sqrt()
        });
        let reynolds = d * rho * q.abs() / ((area + d.squared() * 0.01) * eta);
        io.set_output(Self::REYNOLDS, reynolds);
        io.set_output(Self::SLENDERNESS, d * reynolds / (d * 0.1 + l));
        io.set_output(Self::FLOW_COEFFICIENT, coefficient(q, drop, area, rho));
    }
}

/// Slit.
///
/// q = 8·A·Δp/((32·ρ·Δp/C_d²)² + (η²·S²·(A² + 64·δ⁴·l²·(3 − f)²·S²)/(A⁴·δ⁴))²)^¼
///
/// Pressures are not below 0.
#[component("hopsan.HydraulicSlitOrifice", q)]
pub struct SlitOrifice {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2")]
    p2: Hydraulic,
    /// Re — Reynolds number [–]
    #[output(name = "Ro")]
    reynolds: Signal,
    /// – — Reynolds number times hydraulic diameter by length [–]
    #[output(name = "DRL")]
    slenderness: Signal,
    /// C_e — flow coefficient that results [–]
    #[output(name = "Cde", start = "0.611")]
    effective_coefficient: Signal,
    /// b — height of the slit [m]
    #[input(name = "b", default = "1e-4 m")]
    pub height: f64,
    /// ρ — density of the oil [kg/m³]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// η — viscosity of the oil [Pa*s]
    #[input(name = "visc", default = "0.12 Pa*s")]
    pub viscosity: f64,
    /// A — area [m²]
    #[input(name = "Ao", default = "1e-7 m^2")]
    pub area: f64,
    /// S — wetted circumference [m]
    #[input(name = "So", default = "0.002 m")]
    pub circumference: f64,
    /// l — length [m]
    #[input(name = "lo", default = "0.001 m")]
    pub length: f64,
    /// C_d — flow coefficient of turbulent flow [–]
    #[input(name = "Cd", default = 0.611)]
    pub flow_coefficient: f64,
    /// δ — laminar flow coefficient [–]
    #[input(name = "del", default = 0.157)]
    pub laminar_coefficient: f64,
    /// f — shape factor [–]
    #[input(name = "sf", default = 0)]
    pub shape: f64,
}

impl Physics for SlitOrifice {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (a, s) = (io.input(Self::AREA), io.input(Self::CIRCUMFERENCE));
        let (b, l) = (io.input(Self::HEIGHT), io.input(Self::LENGTH));
        let (rho, eta) = (io.input(Self::DENSITY), io.input(Self::VISCOSITY));
        let delta = io.input(Self::LAMINAR_COEFFICIENT).squared().squared();
        let shape = (T::of(3.0) - io.input(Self::SHAPE)) * l * s;
        let laminar = (eta * s).squared() * (a.squared() + delta * shape.squared() * 64.0)
            / (a.squared().squared() * delta);
        let turbulent = rho * 32.0 / io.input(Self::FLOW_COEFFICIENT).squared();
        let c = Dual::constant;
        let (q, drop) = orifice(io, true, |drop| {
            let mix = (c(turbulent) * drop).squared() + c(laminar.squared());
            c(a * 8.0) * drop / mix.sqrt().sqrt()
        });
        let reynolds = rho * q.abs() * 4.0 / (s * eta);
        io.set_output(Self::REYNOLDS, reynolds);
        io.set_output(Self::SLENDERNESS, b * reynolds * 2.0 / (b * 0.1 + l));
        io.set_output(Self::EFFECTIVE_COEFFICIENT, coefficient(q, drop, a, rho));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, bench};

    #[test]
    fn flow_meets_the_law_of_its_drop_in_both_directions() {
        for waves in [(1e6, 2e7), (2e7, 1e6)] {
            let mut orifice = bench::<CheckOrifice>(1e-3, &[(CheckOrifice::DIAMETER, 0.01)]);
            orifice.line(0, waves.0, 1e8).line(1, waves.1, 1e8).start();
            let drop = orifice.effort(1) - orifice.effort(0);
            let area = if drop > 0.0 { 3e-4 } else { 1e-4 };
            let (d, delta) = (0.01f64, 0.02f64 * 0.02);
            let laminar = (0.12 * (d + 96.0 * delta * 0.001) / (delta * d * d)).powi(2);
            let divisor = (laminar + 2.0 * 870.0 * drop.abs() / (0.67 * 0.67)).sqrt();
            assert_near(orifice.flow(0), 2.0 * area * drop / divisor, 1e-9);
            assert_near(orifice.flow(1), -orifice.flow(0), 1e-12);
            assert_near(orifice.effort(0), waves.0 + 1e8 * orifice.flow(0), 1e-12);
        }
    }

    #[test]
    fn a_slit_is_turbulent_at_high_and_laminar_at_low_pressure() {
        let set = [(SlitOrifice::VISCOSITY, 1e-6)];
        let mut slit = bench::<SlitOrifice>(1e-3, &set);
        slit.line(0, 1e7, 0.0).line(1, 0.0, 0.0).start().step();
        assert_near(slit.flow(1), 0.611 * 1e-7 * (2.0 * 1e7 / 870.0f64).sqrt(), 1e-6);
        assert_near(slit.output(SlitOrifice::EFFECTIVE_COEFFICIENT), 0.611, 1e-6);
        let mut slit = bench::<SlitOrifice>(1e-3, &[]);
        slit.line(0, 2.0, 0.0).line(1, 1.0, 0.0).start().step();
        // 8·A/(η·S·√(A² + 64·δ⁴·l²·9·S²)/(A²·δ²)) per pressure drop.
        let (a, s, l, delta) = (1e-7f64, 0.002, 0.001, 0.157f64 * 0.157);
        let divisor = 0.12 * s * (a * a + 64.0 * (3.0 * delta * l * s).powi(2)).sqrt();
        assert_near(slit.flow(1), 8.0 * a * a * a * delta / divisor, 1e-6);
    }
}
