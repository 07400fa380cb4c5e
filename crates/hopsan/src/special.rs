//! Types that only keep a processor busy, for measurements of speed.
//!
//! Each multiplies 1 by the whole numbers from 0 to below its input: the result is 0 once there is
//! a factor, and 1 without one. The time it would take is not spent.

use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;

/// The types of this file.
pub const TYPES: &[&[ComponentType]] = &[&[
    ComponentType::of::<DummyC>(),
    ComponentType::of::<DummyQ>(),
    ComponentType::of::<DummySignal>(),
]];

fn product<T: Num>(factors: T) -> T {
    T::select(factors.gt(T::zero()), T::zero(), T::one())
}

macro_rules! dummy {
    ($(#[$doc:meta])* $name:literal $type:ident $kind:ident { $($field:tt)* } $write:expr) => {
        $(#[$doc])*
        #[component($name, $kind)]
        pub struct $type {
            $($field)*
            /// n — number of factors [–]
            #[input(name = "in", default = 0)]
            pub factors: f64,
        }

        impl Physics for $type {
            const HAS_LAW: bool = false;

            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }

            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                let write: fn(&mut Step<'_, T>, T) = $write;
                write(io, product(io.input(Self::FACTORS)));
            }
        }
    };
}

dummy! {
    /// Sets the wave of a line: 0 with factors, 1 without.
    "hopsan.HydraulicDummyC" DummyC c {
        /// line
        #[port(name = "P1", optional)]
        line: Hydraulic,
    } |io, value| io.bond_mut(Self::LINE).wave = value
}

dummy! {
    /// Sets the pressure of a line: 0 with factors, 1 without.
    "hopsan.HydraulicDummyQ" DummyQ q {
        /// line
        #[port(name = "P1", optional)]
        line: Hydraulic,
    } |io, value| io.bond_mut(Self::LINE).effort = value
}

dummy! {
    /// Signal: 0 with factors, 1 without.
    "hopsan.SignalDummy" DummySignal s {
        /// – — product [–]
        #[output(name = "out")]
        product: Signal,
    } |io, value| io.set_output(Self::PRODUCT, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bench;

    #[test]
    fn a_product_from_zero_on_is_zero_and_an_empty_one_is_one() {
        for (factors, product) in [(-1.0, 1.0), (0.0, 1.0), (0.5, 0.0), (1e6, 0.0)] {
            let mut c = bench::<DummyC>(1e-3, &[(DummyC::FACTORS, factors)]);
            assert_eq!(c.step().state.bonds[0].wave, product);
            let mut q = bench::<DummyQ>(1e-3, &[(DummyQ::FACTORS, factors)]);
            assert_eq!(q.step().effort(0), product);
            let mut s = bench::<DummySignal>(1e-3, &[(DummySignal::FACTORS, factors)]);
            assert_eq!(s.step().output(0), product);
        }
    }
}
