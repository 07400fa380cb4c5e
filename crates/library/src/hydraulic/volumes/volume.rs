//! Plain oil volume.

use fluxline_core::component::{BalanceRole, Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::fluid::Stiffness;
use fluxline_core::number::Num;
use fluxline_core::wave::Store;
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// Oil in a rigid vessel, with any number of ports.
///
/// dp/dt = β/V·Σq
///
/// As a delay line of one step: Z = N·β·T/(2·V·(1−α)), with the parasitic inertia β·T²/V. Where the
/// bulk modulus depends on pressure, Z follows it and the waves are corrected. Below the vapour
/// pressure a cavity opens; no oil is lost. In the lumped view a state p below the vapour pressure p_v
/// stands for a cavity of V_c = (p_v − p)·V/β, and ports show p_v. Pollmeier (thesis, University of
/// Bath), section 2.3.3.
#[component("hydraulic.volume", c, constants = VolumeConstants, also = "hopsan:HydraulicVolumeMultiPort")]
pub struct Volume {
    /// connections, any number
    #[port(many)]
    port: Hydraulic,
    /// V — volume [m³]
    #[parameter(default = "1 l", min = ">0 l", also = "V")]
    pub volume: f64,
    /// p₀ — pressure at the start, absolute; the circuit's start pressure when not given [Pa]
    #[parameter(min = "0 bar")]
    pub start_pressure: Option<f64>,
    /// p — pressure [Pa]
    #[state(start = "start_pressure")]
    pressure: State,
    /// V_c — volume of vapour [m³]
    #[memory]
    cavity: Memory,
    /// – — steps with vapour [–]
    #[memory(counts = "cavitation")]
    cavitated: Memory,
}

/// Constants of [`Volume`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct VolumeConstants<T> {
    store: Store<T>,
    stiffness: Stiffness<T>,
    volume: T,
    start_pressure: T,
    vapour_pressure: T,
}

impl<T: Num> VolumeConstants<T> {
    /// The store at the present pressure: the same when stiffness is constant.
    #[inline(always)]
    fn store_at(&self, pressure: T) -> Store<T> {
        if self.stiffness.is_constant() {
            return self.store;
        }
        let ratio = self.stiffness.at(pressure) / self.stiffness.liquid;
        Store {
            capacitance: self.store.capacitance / ratio,
            impedance: self.store.impedance * ratio,
            ..self.store
        }
    }
}

impl Physics for Volume {
    fn prepare(&self, environment: &Environment) -> Result<VolumeConstants<f64>, Refusal> {
        let capacitance = self.volume / environment.fluid.bulk_modulus;
        Ok(VolumeConstants {
            store: Store::new(capacitance, environment.bonds, environment),
            stiffness: environment.fluid.stiffness(),
            volume: self.volume,
            start_pressure: self.start_pressure.unwrap_or(environment.start_pressure),
            vapour_pressure: environment.fluid.vapour_pressure,
        })
    }

    #[wide]
    fn law<T: Num>(k: &VolumeConstants<T>, law: &mut Law<'_, T>) {
        let shown = law.state[Self::PRESSURE].max(k.vapour_pressure);
        law.effort.fill(shown);
        let inflow = law.flow.iter().fold(T::zero(), |sum, &q| sum + q);
        law.rate[Self::PRESSURE] = k.stiffness.at(shown) / k.volume * inflow;
    }

    fn show(k: &VolumeConstants<f64>, settle: &mut Settle<'_>) {
        let missing = (k.vapour_pressure - settle.state[Self::PRESSURE]).max(0.0);
        settle.memory[Self::CAVITY] = missing * k.volume / k.stiffness.at(k.vapour_pressure);
        settle.count(Self::CAVITATED, missing > 0.0);
    }

    fn volumes(k: &VolumeConstants<f64>) -> Vec<(usize, f64)> {
        vec![(Self::PRESSURE, k.volume)]
    }

    fn start<T: Num>(k: &VolumeConstants<T>, io: &mut Step<'_, T>) {
        k.store_at(k.start_pressure).start(io, k.start_pressure);
        io.set_state(Self::PRESSURE, k.start_pressure);
    }

    #[inline(always)]
    fn step<T: Num>(k: &VolumeConstants<T>, io: &mut Step<'_, T>) {
        if k.stiffness.is_constant() {
            k.store.scatter(io);
            k.store.cavitate(io, k.vapour_pressure, Self::CAVITY, Self::CAVITATED);
        } else {
            let store = k.store_at(io.state(Self::PRESSURE));
            store.scatter(io);
            let new = k.store_at(store.mean_wave(io));
            new.correct_waves(store.impedance, io);
            new.cavitate(io, k.vapour_pressure, Self::CAVITY, Self::CAVITATED);
        }
        let pressure = k.store.mean_wave(io);
        io.set_state(Self::PRESSURE, pressure);
    }

    fn change_step<T: Num>(
        old: &VolumeConstants<T>,
        new: &VolumeConstants<T>,
        io: &mut Step<'_, T>,
    ) {
        let pressure = io.state(Self::PRESSURE);
        let (old, new) = (old.store_at(pressure), new.store_at(pressure));
        new.change_step(&old, io, Some(Self::CAVITY));
    }

    fn history(k: &VolumeConstants<f64>) -> usize {
        k.store.history()
    }

    fn is_lumped(_: &VolumeConstants<f64>) -> bool {
        true
    }

    const ROLE: BalanceRole = BalanceRole::Storage;

    fn energy<T: Num>(k: &VolumeConstants<T>, io: &Step<'_, T>) -> T {
        k.store.mean_effort(io).squared() * k.store.capacitance * 0.5
    }

    fn content<T: Num>(k: &VolumeConstants<T>, io: &Step<'_, T>) -> T {
        k.volume + k.store.content(io) - io.memory(Self::CAVITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::component::Filter;
    use fluxline_core::testing::{Bench, Surroundings};

    fn bench(bonds: usize, filter: Filter) -> Bench<Volume> {
        let around =
            Surroundings { places: vec![bonds], filter, ..Surroundings::of::<Volume>(1e-4) };
        let volume = Volume { volume: 1e-3, start_pressure: Some(10e5) };
        let mut bench = Bench::within(&volume, &around).unwrap();
        bench.start();
        bench
    }

    const FILTERS: [Filter; 3] = [Filter::None, Filter::Wave(0.2), Filter::Pressure(0.2)];

    #[test]
    fn filling_at_constant_flow_raises_pressure_at_the_rate_of_stiffness() {
        for filter in FILTERS {
            for bonds in [1, 2, 5] {
                let mut bench = bench(bonds, filter);
                for _ in 0..2000 {
                    for port in 0..bonds {
                        bench.impose_flow(port, 1e-4 / bonds as f64);
                    }
                    bench.step();
                }
                // β/V·q·t above the start, whatever the filter (Pollmeier: slope 1.0000)
                let expected = 10e5 + 1.6e9 / 1e-3 * 1e-4 * 0.2;
                let pressure = bench.get_state(Volume::PRESSURE);
                assert!((pressure / expected - 1.0).abs() < 1e-3, "{filter:?} {bonds}: {pressure}");
            }
        }
    }

    #[test]
    fn oil_is_conserved_to_rounding_through_flow_reversal_and_cavitation() {
        for filter in FILTERS {
            let mut bench = bench(3, filter);
            let start = bench.content();
            let mut entered = 0.0;
            let mut cavitated = false;
            for n in 0..5000 {
                let t = n as f64 * 1e-4;
                for port in 0..3 {
                    let flow = 2e-4 * (20.0 * t + port as f64).sin() * (1.0 + port as f64);
                    bench.impose_flow(port, flow);
                    entered += flow * 1e-4;
                }
                let error = bench.content() - start - entered;
                assert!(error.abs() < 1e-15, "{filter:?} step {n}: {error}");
                bench.step();
                cavitated |= bench.state.states[2 + Volume::CAVITY] > 0.0;
            }
            assert!(cavitated);
        }
    }

    #[test]
    fn pressure_never_falls_below_vapour_pressure() {
        let mut bench = bench(2, Filter::None);
        for _ in 0..100 {
            bench.impose_flow(0, -1e-4).impose_flow(1, -1e-4).step();
        }
        assert_eq!(bench.get_state(Volume::PRESSURE), 300.0);
        for _ in 0..101 {
            bench.impose_flow(0, 1e-4).impose_flow(1, 1e-4).step();
        }
        assert!(bench.get_state(Volume::PRESSURE) > 10e5);
    }
}
