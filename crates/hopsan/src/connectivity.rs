//! Interfaces through which another program takes part in a model.
//!
//! In a run of its own nobody writes to them: they keep what the start values say.

use fluxline_core::component;
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::Num;

/// The types of this file.
pub const TYPES: &[&[ComponentType]] = &[&[
    ComponentType::of::<SignalInput>(),
    ComponentType::of::<SignalOutput>(),
    ComponentType::of::<HydraulicC>(),
    ComponentType::of::<HydraulicQ>(),
    ComponentType::of::<MechanicC>(),
    ComponentType::of::<MechanicQ>(),
    ComponentType::of::<MechanicRotationalC>(),
    ComponentType::of::<MechanicRotationalQ>(),
    ComponentType::of::<ElectricC>(),
    ComponentType::of::<ElectricQ>(),
    ComponentType::of::<PneumaticC>(),
    ComponentType::of::<PneumaticQ>(),
]];

/// Writes [`Physics`] for an interface, with what it does in a step, if anything.
macro_rules! idle {
    ($type:ident $(, $step:expr)?) => {
        impl Physics for $type {
            const HAS_LAW: bool = false;
            const ROLE: BalanceRole = BalanceRole::Boundary;

            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }

            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                let _ = &io;
                $($step(io);)?
            }
        }
    };
}

/// A signal from another program.
///
/// out stays at its start value unless it is written from outside.
#[component("hopsan.SignalInputInterface", s)]
pub struct SignalInput {
    /// y — signal [any]
    #[output]
    out: Output,
}
idle!(SignalInput);

/// A signal for another program.
#[component("hopsan.SignalOutputInterface", s)]
pub struct SignalOutput {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
}
idle!(SignalOutput);

/// Declares the two interfaces of a domain.
macro_rules! interfaces {
    ($($domain:ident: $c:ident = $c_name:literal, $q:ident = $q_name:literal $(, $step:expr)?;)*) => {$(
        /// C-side of a connection to another program.
        ///
        /// c and Z stay at their start values unless they are written from outside.
        #[component($c_name, c)]
        pub struct $c {
            /// the connection
            #[port(name = "P1")]
            p1: $domain,
        }
        idle!($c);

        /// Q-side of a connection to another program.
        ///
        /// Flow stays at its start value unless it is written from outside, and so does effort; only
        /// torque follows from it, T = c + Z·ω.
        #[component($q_name, q)]
        pub struct $q {
            /// the connection
            #[port(name = "P1")]
            p1: $domain,
        }
        idle!($q $(, $step)?);
    )*};
}
interfaces! {
    Hydraulic: HydraulicC = "hopsan.HydraulicInterfaceC", HydraulicQ = "hopsan.HydraulicInterfaceQ";
    Translational: MechanicC = "hopsan.MechanicInterfaceC", MechanicQ = "hopsan.MechanicInterfaceQ";
    Rotational: MechanicRotationalC = "hopsan.MechanicRotationalInterfaceC",
        MechanicRotationalQ = "hopsan.MechanicRotationalInterfaceQ",
        |io: &mut Step<'_, T>| io.set_flow(Self::P1, io.flow(Self::P1));
    Electrical: ElectricC = "hopsan.ElectricInterfaceC", ElectricQ = "hopsan.ElectricInterfaceQ";
    Pneumatic: PneumaticC = "hopsan.PneumaticInterfaceC", PneumaticQ = "hopsan.PneumaticInterfaceQ";
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    #[test]
    fn interfaces_leave_the_connection_as_it_is_but_torque_follows_the_wave() {
        let mut c = Bench::new(&HydraulicC {}, 1e-3);
        c.line(0, 2e5, 0.0).impose_flow(0, 1.0).start().step();
        assert_eq!((c.state.bonds[0].wave, c.state.bonds[0].impedance), (2e5, 0.0));
        let mut q = Bench::new(&ElectricQ {}, 1e-3);
        q.line(0, 5.0, 2.0).start().step();
        assert_eq!((q.flow(0), q.effort(0)), (0.0, 0.0));
        let mut shaft = Bench::new(&MechanicRotationalQ {}, 1e-3);
        shaft.impose_flow(0, 3.0).line(0, 5.0, 2.0).start().step();
        assert_eq!((shaft.flow(0), shaft.effort(0)), (3.0, 11.0));
    }

    #[test]
    fn signal_interfaces_keep_their_values() {
        let mut input = Bench::new(&SignalInput {}, 1e-3);
        input.with(|io| io.set_output(SignalInput::OUT, 4.0)).start().step();
        assert_eq!(input.output(0), 4.0);
        Bench::new(&SignalOutput { input: 0.0 }, 1e-3).input(0, 1.0).start().step();
    }
}
