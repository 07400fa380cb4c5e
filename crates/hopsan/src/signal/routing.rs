//! Switches between signals.

use super::block::memoryless;
use fluxline_core::component::{ComponentType, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<DualRoute>(),
    ComponentType::of::<TripleRoute>(),
    ComponentType::of::<QuadRoute>(),
];

/// Chooses one of two signals.
///
/// out = in1 for route < limit, else in2
#[component("hopsan.SignalDualRoute", s, constants = One)]
pub struct DualRoute {
    /// u₁ — first signal [any]
    #[input(name = "in1", default = 0)]
    pub input1: f64,
    /// u₂ — second signal [any]
    #[input(name = "in2", default = 0)]
    pub input2: f64,
    /// r — what decides [any]
    #[input(default = 0)]
    pub route: f64,
    /// – — from where on the second is chosen [any]
    #[parameter(name = "limit", default = 0.5)]
    pub limit12: f64,
    /// y — chosen signal [any]
    #[output]
    out: Output,
}

/// Chooses one of three signals.
///
/// out = in1 for route < limit12, in2 for route < limit23, else in3
#[component("hopsan.SignalTripleRoute", s, constants = Two)]
pub struct TripleRoute {
    /// u₁ — first signal [any]
    #[input(name = "in1", default = 0)]
    pub input1: f64,
    /// u₂ — second signal [any]
    #[input(name = "in2", default = 0)]
    pub input2: f64,
    /// u₃ — third signal [any]
    #[input(name = "in3", default = 0)]
    pub input3: f64,
    /// r — what decides [any]
    #[input(default = 0)]
    pub route: f64,
    /// – — from where on the second is chosen [any]
    #[parameter(default = 0.5)]
    pub limit12: f64,
    /// – — from where on the third is chosen [any]
    #[parameter(default = 1.5)]
    pub limit23: f64,
    /// y — chosen signal [any]
    #[output]
    out: Output,
}

/// Chooses one of four signals.
///
/// out = in1 for route < limit12, in2 for route < limit23, in3 for route < limit34, else in4
#[component("hopsan.SignalQuadRoute", s, constants = Three)]
pub struct QuadRoute {
    /// u₁ — first signal [any]
    #[input(name = "in1", default = 0)]
    pub input1: f64,
    /// u₂ — second signal [any]
    #[input(name = "in2", default = 0)]
    pub input2: f64,
    /// u₃ — third signal [any]
    #[input(name = "in3", default = 0)]
    pub input3: f64,
    /// u₄ — fourth signal [any]
    #[input(name = "in4", default = 0)]
    pub input4: f64,
    /// r — what decides [any]
    #[input(default = 0)]
    pub route: f64,
    /// – — from where on the second is chosen [any]
    #[parameter(default = 0.5)]
    pub limit12: f64,
    /// – — from where on the third is chosen [any]
    #[parameter(default = 1.5)]
    pub limit23: f64,
    /// – — from where on the fourth is chosen [any]
    #[parameter(default = 2.5)]
    pub limit34: f64,
    /// y — chosen signal [any]
    #[output]
    out: Output,
}

/// Declares switches by their number of limits; the inputs come first, what decides is the last.
macro_rules! routes {
    ($($type:ident: $constants:ident, $n:literal [$($limit:ident),*];)*) => {$(
        #[doc = concat!("Limits of [`", stringify!($type), "`].")]
        #[derive(Clone, Copy, Debug, Constants)]
        pub struct $constants<T> {
            limits: [T; $n],
        }
        impl $type {
            fn constants(&self) -> Result<$constants<f64>, Refusal> {
                Ok($constants { limits: [$(self.$limit),*] })
            }
            #[wide]
            #[inline(always)]
            fn value<T: Num>(k: &$constants<T>, io: &Step<'_, T>) -> T {
                let route = io.input(Self::ROUTE);
                // The first limit that is not reached decides, so the last is asked first.
                (0..$n).rev().fold(io.input($n), |chosen, i| {
                    T::select(route.lt(k.limits[i]), io.input(i), chosen)
                })
            }
        }
        memoryless!($type: $constants);
    )*};
}

routes! {
    DualRoute: One, 1 [limit12];
    TripleRoute: Two, 2 [limit12, limit23];
    QuadRoute: Three, 3 [limit12, limit23, limit34];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::block::sequence;

    #[test]
    fn the_first_limit_that_is_not_reached_decides() {
        let two = DualRoute { input1: 0.0, input2: 0.0, route: 0.0, limit12: 0.5 };
        let rows = [0.4, 0.5, -9.0].map(|route| [1.0, 2.0, route]);
        assert_eq!(sequence(&two, 0.1, &rows), [1.0, 2.0, 1.0]);
        let three = TripleRoute {
            input1: 0.0,
            input2: 0.0,
            input3: 0.0,
            route: 0.0,
            limit12: 0.5,
            limit23: 0.2,
        };
        let rows = [0.1, 0.3, 0.5, 9.0].map(|route| [1.0, 2.0, 3.0, route]);
        assert_eq!(sequence(&three, 0.1, &rows), [1.0, 1.0, 3.0, 3.0], "crossed limits");
        let four = QuadRoute {
            input1: 0.0,
            input2: 0.0,
            input3: 0.0,
            input4: 0.0,
            route: 0.0,
            limit12: 0.5,
            limit23: 1.5,
            limit34: 2.5,
        };
        let rows = [0.0, 1.0, 2.0, 2.5].map(|route| [1.0, 2.0, 3.0, 4.0, route]);
        assert_eq!(sequence(&four, 0.1, &rows), [1.0, 2.0, 3.0, 4.0]);
    }
}
