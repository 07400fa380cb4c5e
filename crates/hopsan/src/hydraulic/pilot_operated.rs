//! Valves whose spool a pressure moves against a spring.

use super::spool::{Ports, Spool, SpoolValve, Travel, conductance_per_opening, pass, spool_valve};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, Physics, Refusal, Step};
use fluxline_core::number::Num;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Valve22>(),
    ComponentType::of::<Valve22Closing>(),
    ComponentType::of::<Valve42>(),
    ComponentType::of::<Valve42Closing>(),
    ComponentType::of::<Valve42Crossing>(),
];

/// Declares a valve whose spool follows the pilot pressure between two pressures of its spring:
/// x_ref = x_vmax·clip((c_c − F_min)/(F_max − F_min), 0, 1). It starts at x = 0. Nothing flows at
/// the pilot port.
macro_rules! piloted_valve {
    (
        $(#[$doc:meta])*
        $name:literal, $type:ident { $($own:tt)* }
        |$io:ident, $open:ident, $closing:ident| $flow:expr
    ) => {
        spool_valve! {
            $(#[$doc])*
            ///
            /// The spool follows x_vmax·clip((c_c − F_min)/(F_max − F_min), 0, 1).
            $name, position = "x_v", damping = 1,
            $type {
                $($own)*
                /// pilot
                #[port(name = "PC")]
                pilot: Hydraulic,
                /// F_min — pilot pressure at which the spool begins to move [Pa]
                #[input(name = "Fs_min", default = "1e5 Pa")]
                pub spring_start: f64,
                /// F_max — pilot pressure at which the spool is at its end [Pa]
                #[input(name = "Fs_max", default = "1e6 Pa")]
                pub spring_end: f64,
                /// f_pa — share of the circumference that edge p–a opens [–]
                #[input(name = "f_pa", default = 1)]
                pub share_pa: f64,
                /// f_bt — share of the circumference that edge b–t opens [–]
                #[input(name = "f_bt", default = 1)]
                pub share_bt: f64,
            }
        }

        impl Ports for $type {
            const TRAVEL: Travel = Travel::OneWay;

            #[inline(always)]
            fn command<T: Num>(io: &Step<'_, T>) -> T {
                let (low, high) = (io.input(Self::SPRING_START), io.input(Self::SPRING_END));
                let share = (io.wave(Self::PILOT) - low) / (high - low);
                share.max(T::zero()).min(T::one()) * io.input(Self::STROKE)
            }
            fn start_position<T: Num>(_: &Step<'_, T>) -> T {
                T::zero()
            }
            #[inline(always)]
            fn flow<T: Num>(_: &SpoolValve<T>, $io: &mut Step<'_, T>, x: T, gain: T) {
                let ($open, $closing) = (gain * x, gain * ($io.input(Self::STROKE) - x));
                $flow;
                $io.set_flow(Self::PILOT, T::zero());
            }
        }
    };
}

/// Valves between two ports.
macro_rules! piloted_valve_22 {
    ($(#[$doc:meta])* $name:literal, $type:ident, |$open:ident, $closing:ident| $used:expr) => {
        piloted_valve! {
            $(#[$doc])*
            $name, $type {
                /// supply
                #[port(name = "PP")]
                p: Hydraulic,
                /// work port
                #[port(name = "PA", side = "b")]
                a: Hydraulic,
            }
            |io, $open, $closing| {
                pass::<T, 2, 1>(io, [($used * io.input(Self::SHARE_PA), Self::P, Self::A)])
            }
        }
    };
}

piloted_valve_22! {
    /// 2/2 valve that a pilot pressure opens.
    ///
    /// Edge p–a opens with x. The share f_bt has no effect.
    "hopsan.HydraulicPressureControlled22Valve", Valve22, |open, _closing| open
}

piloted_valve_22! {
    /// 2/2 valve that a pilot pressure closes.
    ///
    /// Edge p–a opens with x_vmax − x. The share f_bt has no effect.
    "hopsan.HydraulicPressureControlled22Valve2", Valve22Closing, |_open, closing| closing
}

/// Valves between four ports.
macro_rules! piloted_valve_42 {
    (
        $(#[$doc:meta])*
        $name:literal, $type:ident { $($own:tt)* }
        |$io:ident, $open:ident, $closing:ident| $flow:expr
    ) => {
        piloted_valve! {
            $(#[$doc])*
            $name, $type {
                /// supply
                #[port(name = "PP")]
                p: Hydraulic,
                /// tank
                #[port(name = "PT")]
                t: Hydraulic,
                /// work port a
                #[port(name = "PA")]
                a: Hydraulic,
                /// work port b
                #[port(name = "PB")]
                b: Hydraulic,
                $($own)*
            }
            |$io, $open, $closing| $flow
        }
    };
}

piloted_valve_42! {
    /// 4/2 valve that a pilot pressure opens.
    ///
    /// Edges p–a and b–t open with x.
    "hopsan.HydraulicPressureControlled42Valve", Valve42 {}
    |io, open, _closing| pass::<T, 4, 2>(
        io,
        [
            (open * io.input(Self::SHARE_PA), Self::P, Self::A),
            (open * io.input(Self::SHARE_BT), Self::B, Self::T),
        ],
    )
}

piloted_valve_42! {
    /// 4/2 valve that a pilot pressure closes.
    ///
    /// Edges p–a and b–t open with x_vmax − x.
    "hopsan.HydraulicPressureControlled42Valve2", Valve42Closing {}
    |io, _open, closing| pass::<T, 4, 2>(
        io,
        [
            (closing * io.input(Self::SHARE_PA), Self::P, Self::A),
            (closing * io.input(Self::SHARE_BT), Self::B, Self::T),
        ],
    )
}

piloted_valve_42! {
    /// 4/2 valve that a pilot pressure crosses over.
    ///
    /// Edges p–b and a–t open with x, p–a and b–t with x_vmax − x.
    "hopsan.HydraulicPressureControlled42Valve3", Valve42Crossing {
        /// f_pb — share of the circumference that edge p–b opens [–]
        #[input(name = "f_pb", default = 1)]
        pub share_pb: f64,
        /// f_at — share of the circumference that edge a–t opens [–]
        #[input(name = "f_at", default = 1)]
        pub share_at: f64,
    }
    |io, open, closing| pass::<T, 4, 4>(
        io,
        [
            (closing * io.input(Self::SHARE_PA), Self::P, Self::A),
            (open * io.input(Self::SHARE_PB), Self::P, Self::B),
            (open * io.input(Self::SHARE_AT), Self::A, Self::T),
            (closing * io.input(Self::SHARE_BT), Self::B, Self::T),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::super::spool::tests::{assert_edges, bench};
    use super::*;

    /// Asserts the openings at rest with a third of the way from the beginning of the spring's
    /// force to its end as the pilot pressure.
    fn assert_at_a_third<M: Physics>(
        (low, high): (usize, usize),
        pilot: usize,
        edges: &[(usize, usize, f64)],
    ) {
        let mut valve = bench::<M>();
        // The last port is the pilot: the pressure that `assert_edges` gives it is a third.
        let pressure = [8e6, 1.2e7][usize::from(pilot == 4)];
        valve.input(low, pressure - 1e6).input(high, pressure + 2e6).start();
        (0..2000).for_each(|_| _ = valve.line(pilot, pressure, 0.0).step());
        assert_edges(&mut valve, edges);
        assert_eq!(valve.effort(pilot), pressure);
    }

    #[test]
    fn a_pilot_pressure_moves_the_spool_between_the_forces_of_its_spring() {
        let (third, rest) = (0.01 / 3.0, 0.02 / 3.0);
        let of_22 = (Valve22::SPRING_START, Valve22::SPRING_END);
        assert_at_a_third::<Valve22>(of_22, 2, &[(0, 1, third)]);
        assert_at_a_third::<Valve22Closing>(of_22, 2, &[(0, 1, rest)]);
        let (p, t, a, b) = (Valve42::P, Valve42::T, Valve42::A, Valve42::B);
        let of_42 = (Valve42::SPRING_START, Valve42::SPRING_END);
        assert_at_a_third::<Valve42>(of_42, 4, &[(p, a, third), (b, t, third)]);
        assert_at_a_third::<Valve42Closing>(of_42, 4, &[(p, a, rest), (b, t, rest)]);
        let of_crossing = (Valve42Crossing::SPRING_START, Valve42Crossing::SPRING_END);
        let edges = [(p, a, rest), (b, t, rest), (p, b, third), (a, t, third)];
        assert_at_a_third::<Valve42Crossing>(of_crossing, 4, &edges);
    }
}
