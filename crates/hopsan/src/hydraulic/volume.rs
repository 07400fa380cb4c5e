//! Volumes of oil.

use fluxline_core::component;
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::Num;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[ComponentType::of::<VolumeMultiPort>()];

/// Volume with any number of ports, whose size and stiffness may be driven.
///
/// Z = N·β·T/(2·V·(1−α));  p̄ = Σ(c_i + 2·Z·q_i)/N;  c_i ← α·c_i + (1−α)·(2·p̄ − c_i − 2·Z·q_i)
///
/// Z follows the inputs from step to step; the waves are not corrected for it. All ports start with
/// one pressure and flow.
#[component("hopsan.HydraulicVolumeMultiPort", c)]
pub struct VolumeMultiPort {
    /// the volume
    #[port(name = "P1", many)]
    p1: Hydraulic,
    /// V — volume [m³]
    #[input(name = "V", default = "1e-3 m^3")]
    pub volume: f64,
    /// β — effective bulk modulus [Pa]
    #[input(name = "Beta_e", default = "1e9 Pa")]
    pub bulk_modulus: f64,
    /// α — filter factor [–]
    #[input(name = "alpha", default = 0.1)]
    pub filter: f64,
}

impl VolumeMultiPort {
    fn impedance<T: Num>(io: &Step<'_, T>) -> T {
        let stiffness = io.input(Self::BULK_MODULUS) / io.input(Self::VOLUME);
        stiffness * (0.5 * io.port_count() as f64 * io.dt) / (T::one() - io.input(Self::FILTER))
    }
}

impl Physics for VolumeMultiPort {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let z = Self::impedance(io);
        for i in 0..io.port_count() {
            let wave = io.effort(i) + z * io.flow(i);
            io.set_wave(i, wave, z);
        }
    }

    #[inline]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let z = Self::impedance(io);
        let mut sum = T::zero();
        for i in 0..io.port_count() {
            sum += io.wave(i) + z * io.flow(i) * 2.0;
        }
        let twice_mean = sum * (2.0 / io.port_count() as f64);
        let keep = io.input(Self::FILTER);
        for i in 0..io.port_count() {
            let ideal = twice_mean - io.wave(i) - z * io.flow(i) * 2.0;
            let wave = keep * io.wave(i) + (T::one() - keep) * ideal;
            io.set_wave(i, wave, z);
        }
    }
}
