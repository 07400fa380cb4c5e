//! Leakage gap.

use fluxline_core::component;
use fluxline_core::component::{Environment, Law, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wave::laminar_flow;

/// Leakage gap: flow in proportion to the pressure drop.
///
/// q = G·Δp
#[component("example.leakage", q)]
pub struct Leakage {
    /// upstream side when flow is positive
    #[port]
    inlet: Hydraulic,
    /// downstream side
    #[port]
    outlet: Hydraulic,
    /// G — conductance [m³/(s·Pa)]
    #[input(default = "1 l/min/bar", min = "0 l/min/bar")]
    pub conductance: f64,
}

impl Physics for Leakage {
    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn law<T: Num>(_: &NoConstants<T>, law: &mut Law<'_, T>) {
        let drop = law.effort[Self::INLET] - law.effort[Self::OUTLET];
        let through = law.input[Self::CONDUCTANCE] * drop;
        law.flow[Self::INLET] = -through;
        law.flow[Self::OUTLET] = through;
    }

    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let through = laminar_flow(
            io.input(Self::CONDUCTANCE),
            io.wave(Self::INLET) - io.wave(Self::OUTLET),
            io.impedance(Self::INLET) + io.impedance(Self::OUTLET),
        );
        io.set_flow(Self::INLET, -through);
        io.set_flow(Self::OUTLET, through);
    }
}
