//! How circuits answer to signals: frequency response, loops, spectra.
//!
//! A circuit is linearised exactly as it is simulated: [`linear`] differentiates the step of the wave
//! method itself, with dual numbers, and keeps the delays of lines as delays. What comes out is the
//! response of the simulated circuit at every frequency up to half the sampling rate, without fitting.
//! [`measure`] finds the same by simulation, where the circuit may also be far from linear, and
//! [`spectrum`] looks at any recorded signals.

pub mod eigen;
pub mod fourier;
pub mod linear;
pub mod loops;
pub mod measure;
pub mod place;
pub mod spectrum;
pub mod system;

pub use nalgebra::Complex;
