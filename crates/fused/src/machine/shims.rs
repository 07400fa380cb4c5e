//! What instructions call: functions of the mathematics library, as the engine has them, and reports.
//!
//! What makes it sound: instructions come from [`super::generator`] alone, which hands over a place on its
//! stack with as many numbers as there are lanes, a second argument behind room for the longest first one,
//! and the faults that the code was given by its caller, who waits.
#![allow(unsafe_code, reason = "see the argument above")]

use crate::library::RawFaults;
use fluxline_core::function::{Named, Pair};
use fluxline_core::number::Num;
use fluxline_core::trace::Function;

/// What instructions call, by address.
#[derive(Debug)]
pub struct Shims {
    lanes: usize,
    pub power: u64,
    pub angle: u64,
    pub unconverged: u64,
    pub stop: u64,
}

type OneNumber = unsafe extern "sysv64" fn(*mut f64);

/// Applies a function to each lane, in place.
///
/// # Safety
///
/// There are `N` numbers.
unsafe fn each<const N: usize>(numbers: *mut f64, f: impl Fn(f64) -> f64) {
    // SAFETY: what the caller keeps to.
    let numbers = unsafe { std::slice::from_raw_parts_mut(numbers, N) };
    numbers.iter_mut().for_each(|x| *x = f(*x));
}

/// A function of the engine's for so many lanes.
fn of_one<const N: usize>(function: Function) -> OneNumber {
    macro_rules! shim {
        ($f:expr) => {{
            unsafe extern "sysv64" fn shim<const N: usize>(numbers: *mut f64) {
                // SAFETY: the code hands over as many numbers as it has lanes.
                unsafe { each::<N>(numbers, $f) }
            }
            shim::<N>
        }};
    }
    match function {
        Function::Sqrt => shim!(Num::sqrt),
        Function::Abs => shim!(Num::abs),
        Function::Exp => shim!(Num::exp),
        Function::Ln => shim!(Num::ln),
        Function::Tanh => shim!(Num::tanh),
        Function::Floor => shim!(Num::floor),
        Function::Named(Named::Sin) => shim!(|x| Named::Sin.at(x).0),
        Function::Named(Named::Cos) => shim!(|x| Named::Cos.at(x).0),
        Function::Named(Named::Atan) => shim!(|x| Named::Atan.at(x).0),
        Function::Named(Named::Sinh) => shim!(|x| Named::Sinh.at(x).0),
        Function::Named(Named::Cosh) => shim!(|x| Named::Cosh.at(x).0),
        Function::Named(Named::Log10) => shim!(|x| Named::Log10.at(x).0),
        Function::Named(Named::Ceil) => shim!(|x| Named::Ceil.at(x).0),
        Function::Named(Named::Round) => shim!(|x| Named::Round.at(x).0),
    }
}

/// Numbers between the first argument of a function and the second.
const ARGUMENTS_APART: usize = 8;

/// Applies a function of two numbers to each lane.
///
/// # Safety
///
/// There are `N` numbers, and as many [`ARGUMENTS_APART`] from them.
unsafe fn each_pair<const N: usize>(numbers: *mut f64, pair: Pair) {
    // SAFETY: what the caller keeps to.
    unsafe {
        let second = std::slice::from_raw_parts(numbers.add(ARGUMENTS_APART), N);
        let first = std::slice::from_raw_parts_mut(numbers, N);
        std::iter::zip(first, second).for_each(|(x, &y)| *x = pair.at(*x, y).0);
    }
}

unsafe extern "sysv64" fn power<const N: usize>(numbers: *mut f64) {
    // SAFETY: the code hands over as many numbers as it has lanes.
    unsafe { each_pair::<N>(numbers, Pair::Power) }
}

unsafe extern "sysv64" fn angle<const N: usize>(numbers: *mut f64) {
    // SAFETY: as above.
    unsafe { each_pair::<N>(numbers, Pair::Atan2) }
}

unsafe extern "sysv64" fn unconverged(
    faults: *mut RawFaults,
    component: u32,
    tick: u64,
    lanes: u64,
) {
    // SAFETY: the code hands over the faults that it was given.
    let faults = unsafe { &mut *faults };
    faults.unconverged_lanes |= lanes;
    if faults.unconverged == 0 {
        (faults.first_component, faults.first_step) = (component + 1, tick);
    }
    faults.unconverged += 1;
}

unsafe extern "sysv64" fn stop(faults: *mut RawFaults, component: u32, _: u64, lanes: u64) {
    // SAFETY: as above.
    let faults = unsafe { &mut *faults };
    faults.stopped_lanes |= lanes;
    if faults.stop_requested == 0 {
        faults.stop_requested = component + 1;
    }
}

type Report = unsafe extern "sysv64" fn(*mut RawFaults, u32, u64, u64);

impl Shims {
    /// Those for so many lanes: one, four or eight.
    pub fn of(lanes: usize) -> Self {
        let [power, angle]: [OneNumber; 2] = match lanes {
            1 => [power::<1>, angle::<1>],
            4 => [power::<4>, angle::<4>],
            _ => [power::<8>, angle::<8>],
        };
        Self {
            lanes,
            power: power as usize as u64,
            angle: angle as usize as u64,
            unconverged: unconverged as Report as usize as u64,
            stop: stop as Report as usize as u64,
        }
    }

    /// A function of one number.
    pub fn function(&self, function: Function) -> u64 {
        let address: OneNumber = match self.lanes {
            1 => of_one::<1>(function),
            4 => of_one::<4>(function),
            _ => of_one::<8>(function),
        };
        address as usize as u64
    }
}
