//! Flow sensors.

use fluxline_core::component;
use fluxline_core::component::{Environment, Law, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wave::laminar_flow;

/// Flow sensor between two lines.
///
/// q = G·(p_a − p_b), with G so large (1e-4 m³/(s·Pa), 10 Pa at 60 l/min) that nothing is lost: between
/// lines q = (c_a − c_b)/(Z_a + Z_b + 1/G)
#[component("hydraulic.flow_sensor", q)]
pub struct FlowSensor {
    /// where positive flow enters
    #[port(also = "P1")]
    a: Hydraulic,
    /// where positive flow leaves
    #[port(also = "P2")]
    b: Hydraulic,
    /// q — flow from a to b [m³/s]
    #[output]
    out: Output,
}

/// G, m³/(s·Pa).
const CONDUCTANCE: f64 = 1e-4;

impl Physics for FlowSensor {
    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }
    fn law<T: Num>(_: &NoConstants<T>, law: &mut Law<'_, T>) {
        let flow = (law.effort[Self::A] - law.effort[Self::B]) * CONDUCTANCE;
        law.flow[Self::A] = -flow;
        law.flow[Self::B] = flow;
        law.output[Self::OUT] = flow;
    }
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let flow = laminar_flow(
            T::of(CONDUCTANCE),
            io.wave(Self::A) - io.wave(Self::B),
            io.impedance(Self::A) + io.impedance(Self::B),
        );
        io.set_flow(Self::A, -flow);
        io.set_flow(Self::B, flow);
        io.set_output(Self::OUT, flow);
    }
}

/// Flow probe: looks at the flow of a connection, positive out of the component that drives it (a
/// valve, pump or orifice) into the line or volume.
#[component("hydraulic.flow_probe", s, also = "hopsan:HydraulicFlowSensor")]
pub struct FlowProbe {
    /// the connection to look at
    #[port(observes, also = "P1")]
    port: Hydraulic,
    /// q — flow [m³/s]
    #[output]
    out: Output,
}

impl Physics for FlowProbe {
    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }
    fn law<T: Num>(_: &NoConstants<T>, law: &mut Law<'_, T>) {
        law.output[Self::OUT] = law.flow[Self::PORT];
    }
    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
    }
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let flow = io.flow(Self::PORT);
        io.set_output(Self::OUT, flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::number::Lanes;
    use fluxline_core::testing::{Bench, Surroundings};
    use proptest::prelude::*;

    #[test]
    fn both_sides_see_one_pressure_and_one_flow() {
        let mut bench = Bench::new(&FlowSensor {}, 1e-4);
        bench.line(0, 100e5, 2e9).line(1, 80e5, 3e9).step();
        // (c_a − c_b)/(Z_a + Z_b), to 1/(G·Z)
        assert!((bench.output(0) / (20e5 / 5e9) - 1.0).abs() < 1e-5);
        assert!((bench.effort(0) - bench.effort(1)).abs() < 10.0);
        assert_eq!(bench.flow(0), -bench.flow(1));
        bench.line(0, 1e5, 0.0).line(1, 1e5, 0.0).step();
        assert_eq!(bench.output(0), 0.0);
    }

    #[test]
    fn probe_shows_the_flow_and_leaves_the_line_alone() {
        let mut bench = Bench::new(&FlowProbe {}, 1e-4);
        bench.line(0, 1e5, 1e9).impose_flow(0, 3e-4);
        let before = bench.state.bonds[0];
        bench.step();
        assert_eq!(bench.output(0), 3e-4);
        assert_eq!(bench.state.bonds[0], before);
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let place = Surroundings::of::<FlowSensor>(1e-4);
        let mut lanes = Bench::lanes([&FlowSensor {}; 4], &place).unwrap();
        for n in 0..50 {
            let waves: [f64; 4] = std::array::from_fn(|lane| 1e6 * (n as f64 + lane as f64).sin());
            lanes.line(0, Lanes(waves), Lanes([1e9; 4]));
            lanes.line(1, Lanes([2e5; 4]), Lanes([3e9; 4])).step();
            for (lane, wave) in waves.into_iter().enumerate() {
                let mut scalar = Bench::new(&FlowSensor {}, 1e-4);
                scalar.line(0, wave, 1e9).line(1, 2e5, 3e9).step();
                assert_eq!(lanes.output(0).0[lane], scalar.output(0));
            }
        }
    }

    proptest! {
        #[test]
        fn closed_form_equals_the_generic_step(ca in 0.0..4e7f64, cb in 0.0..4e7f64, za in 0.0..1e11f64, zb in 0.0..1e11f64) {
            let (mut closed, mut generic) = (Bench::new(&FlowSensor {}, 1e-4), Bench::new(&FlowSensor {}, 1e-4));
            closed.line(0, ca, za).line(1, cb, zb).step();
            generic.line(0, ca, za).line(1, cb, zb).step_generic();
            let (c, g) = (closed.flow(1), generic.flow(1));
            prop_assert!((c - g).abs() <= 1e-9 * g.abs() + 1e-12, "{c} {g}");
        }
    }
}
