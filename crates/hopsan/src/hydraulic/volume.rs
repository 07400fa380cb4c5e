//! Volumes of oil.

use fluxline_core::component::{BalanceRole, ComponentType, Environment, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<Volume>(), ComponentType::of::<VolumeMultiPort>()];

/// Volume between two ports.
///
/// Z = β·T/(V·(1−α));  c₁ ← α·c₁ + (1−α)·(c₂ + 2·Z·q₂),  c₂ ← α·c₂ + (1−α)·(c₁ + 2·Z·q₁)
///
/// Z is that of the start, whatever α does later.
#[component("hopsan.HydraulicVolume", c, constants = Stiffness)]
pub struct Volume {
    /// one end
    #[port(name = "P1")]
    p1: Hydraulic,
    /// other end
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// α — filter factor [–]
    #[input(name = "alpha", default = 0.1)]
    pub filter: f64,
    /// V — volume [m^3]
    #[parameter(name = "V", default = "1e-3 m^3")]
    pub volume: f64,
    /// β — effective bulk modulus [Pa]
    #[parameter(name = "Beta_e", default = "1e9 Pa")]
    pub bulk_modulus: f64,
    /// p_high — pressure that pictures show as high; without effect [Pa]
    #[parameter(name = "P_high", default = "2e7 Pa")]
    pub high_pressure: f64,
}

/// Constants of [`Volume`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct Stiffness<T> {
    /// β·T/V.
    impedance: T,
}

impl Physics for Volume {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, environment: &Environment) -> Result<Stiffness<f64>, Refusal> {
        Ok(Stiffness { impedance: self.bulk_modulus / self.volume * environment.step })
    }

    #[wide]
    fn start<T: Num>(k: &Stiffness<T>, io: &mut Step<'_, T>) {
        let z = k.impedance / (T::one() - io.input(Self::FILTER));
        let [from_1, from_2] = [Self::P1, Self::P2].map(|port| io.effort(port) + z * io.flow(port));
        io.set_wave(Self::P1, from_2, z);
        io.set_wave(Self::P2, from_1, z);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &Stiffness<T>, io: &mut Step<'_, T>) {
        let (z, keep) = (io.impedance(Self::P1), io.input(Self::FILTER));
        let (c1, c2) = (io.wave(Self::P1), io.wave(Self::P2));
        let [from_1, from_2] =
            [Self::P1, Self::P2].map(|port| io.wave(port) + z * io.flow(port) * 2.0);
        io.set_wave(Self::P1, keep * c1 + (T::one() - keep) * from_2, z);
        io.set_wave(Self::P2, keep * c2 + (T::one() - keep) * from_1, z);
    }
}

/// Volume with any number of ports, whose size and stiffness may be driven.
///
/// Z = N·β·T/(2·V·(1−α));  p̄ = Σ(c_i + 2·Z·q_i)/N;  c_i ← α·c_i + (1−α)·(2·p̄ − c_i − 2·Z·q_i)
///
/// Z follows the inputs from step to step; the waves are not corrected for it. All ports start with
/// one pressure and flow.
#[component("hopsan.HydraulicVolumeMultiPort", c, constants = Meeting)]
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
    /// p_high — pressure that pictures show as high; without effect [Pa]
    #[parameter(name = "P_high", default = "2e7 Pa")]
    pub high_pressure: f64,
}

/// New waves where N line ends meet, N known beforehand.
#[wide]
#[inline(always)]
fn meet<T: Num, const N: usize>(share: f64, io: &mut Step<'_, T>, z: T, keep: T) {
    let waves: [T; N] = std::array::from_fn(|i| io.wave(i));
    let doubled: [T; N] = std::array::from_fn(|i| z * io.flow(i) * 2.0);
    let mut sum = T::zero();
    for i in 0..N {
        sum += waves[i] + doubled[i];
    }
    let twice_mean = sum * share;
    let take = T::one() - keep;
    for i in 0..N {
        let ideal = twice_mean - waves[i] - doubled[i];
        io.set_wave(i, keep * waves[i] + take * ideal, z);
    }
}

/// The same for any number.
#[wide]
fn meet_many<T: Num>(share: f64, io: &mut Step<'_, T>, z: T, keep: T) {
    let mut sum = T::zero();
    for i in 0..io.port_count() {
        sum += io.wave(i) + z * io.flow(i) * 2.0;
    }
    let twice_mean = sum * share;
    let take = T::one() - keep;
    for i in 0..io.port_count() {
        let ideal = twice_mean - io.wave(i) - z * io.flow(i) * 2.0;
        let wave = keep * io.wave(i) + take * ideal;
        io.set_wave(i, wave, z);
    }
}

/// Constants of [`VolumeMultiPort`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct Meeting<T> {
    /// No signal drives its size, stiffness or filter.
    is_constant: bool,
    /// Z, where it is constant.
    impedance: T,
    /// α, where it is constant.
    filter: T,
    /// 2/N.
    share: f64,
}

impl VolumeMultiPort {
    /// Z for a volume V, a bulk modulus β, a filter α, and N ports.
    #[inline(always)]
    fn impedance_of<T: Num>((volume, modulus, filter): (T, T, T), ports: usize, dt: f64) -> T {
        modulus / volume * (0.5 * ports as f64 * dt) / (T::one() - filter)
    }

    #[wide]
    #[inline(always)]
    fn impedance<T: Num>(io: &Step<'_, T>) -> T {
        let [volume, modulus, filter] =
            [Self::VOLUME, Self::BULK_MODULUS, Self::FILTER].map(|i| io.input(i));
        Self::impedance_of((volume, modulus, filter), io.port_count(), io.dt)
    }
}

impl Physics for VolumeMultiPort {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, environment: &Environment) -> Result<Meeting<f64>, Refusal> {
        let inputs = [Self::VOLUME, Self::BULK_MODULUS, Self::FILTER];
        let values = (self.volume, self.bulk_modulus, self.filter);
        Ok(Meeting {
            is_constant: environment.holds(&inputs),
            impedance: Self::impedance_of(values, environment.bonds, environment.step),
            filter: self.filter,
            share: 2.0 / environment.bonds as f64,
        })
    }

    fn start<T: Num>(_: &Meeting<T>, io: &mut Step<'_, T>) {
        let z = Self::impedance(io);
        for i in 0..io.port_count() {
            let wave = io.effort(i) + z * io.flow(i);
            io.set_wave(i, wave, z);
        }
    }

    #[inline(always)]
    fn step<T: Num>(k: &Meeting<T>, io: &mut Step<'_, T>) {
        let (z, keep) = match k.is_constant {
            true => (k.impedance, k.filter),
            false => (Self::impedance(io), io.input(Self::FILTER)),
        };
        // What usual numbers of ports share is compiled for each of them.
        match io.port_count() {
            2 => meet::<T, 2>(k.share, io, z, keep),
            3 => meet::<T, 3>(k.share, io, z, keep),
            4 => meet::<T, 4>(k.share, io, z, keep),
            _ => meet_many(k.share, io, z, keep),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::{Bench, Surroundings};

    const VOLUME: f64 = 1e-3;
    const MODULUS: f64 = 1e9;
    const STEP: f64 = 1e-4;

    fn volume(filter: f64) -> Bench<Volume> {
        let volume = Volume { filter, volume: VOLUME, bulk_modulus: MODULUS, high_pressure: 2e7 };
        let mut bench = Bench::new(&volume, STEP);
        bench.input(Volume::FILTER, filter);
        bench
    }

    /// The mean wave is the mean pressure of the oil: it rises by β·T·Σq/V in a step, the inflow of
    /// the start included.
    #[test]
    fn what_flows_into_a_volume_raises_its_mean_wave() {
        let many =
            VolumeMultiPort { volume: 0.0, bulk_modulus: 0.0, filter: 0.0, high_pressure: 0.0 };
        for filter in [0.0, 0.1, 0.5] {
            let around =
                Surroundings { places: vec![3], ..Surroundings::of::<VolumeMultiPort>(STEP) };
            let mut many = Bench::within(&many, &around).unwrap();
            many.input(VolumeMultiPort::VOLUME, VOLUME).input(VolumeMultiPort::FILTER, filter);
            many.input(VolumeMultiPort::BULK_MODULUS, MODULUS).start();
            let mut two = volume(filter);
            two.start();
            let flows = [2e-4, -5e-5, 1e-4];
            for _ in 0..20 {
                let wave = |b: &[fluxline_core::state::Bond<f64>]| {
                    b.iter().map(|b| b.wave).sum::<f64>() / b.len() as f64
                };
                let before = (wave(&two.state.bonds), wave(&many.state.bonds));
                (0..2).for_each(|i| _ = two.impose_flow(i, flows[i]));
                (0..3).for_each(|i| _ = many.impose_flow(i, flows[i]));
                two.step();
                many.step();
                let rise = |q: f64| MODULUS * STEP * q / VOLUME;
                let two_rise = wave(&two.state.bonds) - before.0;
                let many_rise = wave(&many.state.bonds) - before.1;
                assert!((two_rise - rise(1.5e-4)).abs() < 1e-9 * two_rise);
                assert!((many_rise - rise(2.5e-4)).abs() < 1e-9 * many_rise);
            }
        }
    }

    #[test]
    fn a_volume_with_two_ports_is_the_same_however_it_is_declared() {
        let other =
            VolumeMultiPort { volume: 0.0, bulk_modulus: 0.0, filter: 0.0, high_pressure: 0.0 };
        let around = Surroundings { places: vec![2], ..Surroundings::of::<VolumeMultiPort>(STEP) };
        let mut other = Bench::within(&other, &around).unwrap();
        other.input(VolumeMultiPort::VOLUME, VOLUME).input(VolumeMultiPort::FILTER, 0.2);
        other.input(VolumeMultiPort::BULK_MODULUS, MODULUS);
        let mut one = volume(0.2);
        for bench in [&mut one.state, &mut other.state] {
            bench.bonds.iter_mut().for_each(|b| b.effort = 3e5);
        }
        one.start();
        other.start();
        for n in 0..50 {
            for i in 0..2 {
                let q = 1e-4 * f64::from(n * (i as i32 + 1)).sin();
                one.impose_flow(i, q);
                other.impose_flow(i, q);
            }
            one.step();
            other.step();
            for i in 0..2 {
                let (a, b) = (one.state.bonds[i].wave, other.state.bonds[i].wave);
                assert!((a - b).abs() < 1e-9 * a.abs(), "{a} {b}");
            }
        }
    }

    #[test]
    fn a_volume_starts_with_the_waves_that_come_from_its_other_end() {
        let mut bench = volume(0.1);
        bench.state.bonds[0].effort = 1e5;
        bench.state.bonds[0].flow = 1e-3;
        bench.state.bonds[1].effort = 3e5;
        bench.start();
        let z = MODULUS * STEP / (VOLUME * 0.9);
        assert!((bench.state.bonds[0].impedance - z).abs() < 1e-9 * z);
        assert_eq!(bench.state.bonds[0].wave, 3e5);
        assert_eq!(bench.state.bonds[1].wave, 1e5 + bench.state.bonds[0].impedance * 1e-3);
    }
}
