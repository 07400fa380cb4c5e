//! Inputs that a component reads once, when it starts.
//!
//! Many of Hopsan's components take the signals at their parameters as they are at the start and do
//! not look at them again. The values are kept in the component's history.

use fluxline_core::component::Step;
use fluxline_core::number::Num;

/// A run of neighbouring inputs that are read at the start.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    first: usize,
    last: usize,
}

impl Held {
    /// The inputs from the first to the last, both included.
    pub const fn inputs(first: usize, last: usize) -> Self {
        Self { first, last }
    }

    /// Numbers of history it needs.
    pub const fn count(self) -> usize {
        self.last + 1 - self.first
    }

    /// Reads the inputs.
    pub fn start<T: Num>(self, io: &mut Step<'_, T>) {
        for i in 0..self.count() {
            let value = io.input(self.first + i);
            io.history()[i] = value;
        }
    }

    /// One of the inputs as it was at the start.
    #[inline(always)]
    pub fn get<T: Num>(self, io: &Step<'_, T>, input: usize) -> T {
        io.history_at(input - self.first)
    }
}
