//! Signals: sources, arithmetic, dynamics, controllers, logic.
//!
//! Every block has one output, `out`. Inputs are `input`, or `input1`, `input2` and so on. A block that
//! remembers starts at rest with its first input unless a start value is given.

mod block;
#[cfg(test)]
mod testing;
mod time;

pub mod arithmetic;
pub mod chirp;
pub mod constant;
pub mod delay;
pub mod events;
pub mod first_order;
pub mod function;
pub mod gain;
pub mod hysteresis;
pub mod integrator;
pub mod limit;
pub mod logic;
pub mod lookup;
pub mod pid;
pub mod pulse;
pub mod ramp;
pub mod random;
pub mod second_order;
pub mod sine;
pub mod step;
pub mod transfer_function;
pub mod wave;

use fluxline_core::component::ComponentType;

macro_rules! types {
    ($($type:path,)*) => { &[$(ComponentType::of::<$type>()),*] };
}

/// The signal components.
pub const TYPES: &[ComponentType] = types! {
    constant::Constant,
    constant::Time,
    step::Step,
    ramp::Ramp,
    ramp::SoftStep,
    sine::Sine,
    pulse::Pulse,
    pulse::PulseTrain,
    wave::Square,
    wave::Triangle,
    chirp::Chirp,
    random::RandomLevels,
    random::Noise,
    lookup::TimeTable,
    gain::Gain,
    arithmetic::Sum,
    arithmetic::Difference,
    arithmetic::Product,
    arithmetic::Divide,
    arithmetic::Minimum,
    arithmetic::Maximum,
    function::Absolute,
    function::Sign,
    function::Sqrt,
    function::Power,
    function::Atan2,
    function::Function,
    limit::Limit,
    limit::DeadBand,
    limit::Quantize,
    limit::Switch,
    hysteresis::Hysteresis,
    hysteresis::Relay,
    hysteresis::RateLimit,
    lookup::Lookup,
    lookup::Lookup2d,
    integrator::Integrator,
    first_order::FirstOrder,
    first_order::Derivative,
    first_order::HighPass,
    first_order::LeadLag,
    second_order::SecondOrder,
    transfer_function::TransferFunction,
    delay::Delay,
    delay::UnitDelay,
    delay::SampleHold,
    pid::Pid,
    logic::And,
    logic::Or,
    logic::Xor,
    logic::Inverse,
    logic::Compare,
    events::Latch,
    events::Timer,
    events::OneShot,
    events::Counter,
    events::Edge,
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_block_has_one_output_and_names_of_its_own() {
        let mut taken = HashSet::new();
        for entry in TYPES {
            let d = entry.declaration;
            assert!(d.ports.is_empty(), "{}", d.name);
            assert!(d.outputs.len() == 1 && d.outputs[0].name == "out", "{}", d.name);
            let names = std::iter::once(&d.name).chain(d.aliases);
            for name in names {
                assert!(taken.insert(*name), "{name} is taken");
            }
            let variables = d.states.iter().chain(d.outputs).chain(d.memory);
            let mut own = HashSet::new();
            for name in d.parameters.iter().map(|p| p.name).chain(variables.map(|v| v.name)) {
                assert!(own.insert(name), "{}.{name} is declared twice", d.name);
            }
        }
    }

    #[test]
    fn gain_multiplies() {
        let gain = gain::Gain { input: 0.0, gain: 0.0 };
        assert_eq!(testing::sequence(&gain, 0.1, &[[3.0, -2.0]]), [-6.0]);
        testing::lanes_match([0.0; 4].map(|gain| gain::Gain { input: 0.0, gain }));
    }
}
