//! Cylinders whose chambers are lines (C) and a cylinder with a mass of its own (Q).

use super::chamber::{Chamber, Floor, Piston, equivalent_mass};
use crate::blocks::{End, FirstOrder, SecondOrder, limit};
use fluxline_core::component::{BalanceRole, ComponentType, Environment, Physics, Refusal, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<CylinderC>(),
    ComponentType::of::<SymmetricCylinderC>(),
    ComponentType::of::<SpringLoadedPistonC>(),
    ComponentType::of::<FourChamberPiston>(),
    ComponentType::of::<CylinderQ>(),
];

/// Cylinder with two chambers, leakage between them and end stops.
///
/// V₁ = V₀₁ − A₁·x,  V₂ = V₀₂ + A₂·(s + x), from x = 0 (in) to x = −s (out);
/// Z = (N + 2)·β·T/(2·V·(1−α)), α = 0.1;  each chamber is a volume with the ports, the piston
/// (q = ±A·v) and the leakage q_l = c_l·(p₁ − p₂);
/// c₃ = A₁·c_p1 − A₂·c_p2 + c_stop,  Z₃ = A₁²·Z₁ + A₂²·Z₂ + B + Z_stop
///
/// A chamber in which the pressure at a port is 0 pushes with max(c_p, 0) and without impedance.
#[component("hopsan.HydraulicCylinderC", c, constants = Bonds)]
pub struct CylinderC {
    /// chamber that pushes the piston out
    #[port(name = "P1", many)]
    p1: Hydraulic,
    /// chamber that pushes the piston in
    #[port(name = "P2", many)]
    p2: Hydraulic,
    /// piston rod
    #[port(name = "P3")]
    rod: Translational,
    /// q_l — leakage from the first chamber to the second [m^3/s]
    #[output(name = "q_leak")]
    leak: Signal,
    /// A₁ — area of the piston at the first chamber [m^2]
    #[input(name = "A_1", default = "0.001 m^2")]
    pub area_1: f64,
    /// A₂ — area of the piston at the second chamber [m^2]
    #[input(name = "A_2", default = "0.001 m^2")]
    pub area_2: f64,
    /// s — stroke [m]
    #[input(name = "s_l", default = "1 m")]
    pub stroke: f64,
    /// V₀₁ — dead volume of the first chamber [m^3]
    #[input(name = "V_1", default = "0.0003 m^3")]
    pub volume_1: f64,
    /// V₀₂ — dead volume of the second chamber [m^3]
    #[input(name = "V_2", default = "0.0003 m^3")]
    pub volume_2: f64,
    /// B — viscous friction [N*s/m]
    #[input(name = "B_p", default = "1000 N*s/m")]
    pub friction: f64,
    /// β — bulk modulus [Pa]
    #[input(name = "Beta_e", default = "1e9 Pa")]
    pub bulk_modulus: f64,
    /// c_l — leakage coefficient [m^3/(s*Pa)]
    #[input(name = "c_leak", default = "1e-11 m^3/(s*Pa)")]
    pub leakage: f64,
    /// – — the stroke has stops [–]
    #[parameter(name = "use_sl", default = "true")]
    pub stops: bool,
    /// – — wave at the piston in the first chamber [Pa]
    #[memory]
    piston_wave_1: Memory,
    /// – — wave of the leakage in the first chamber [Pa]
    #[memory]
    leak_wave_1: Memory,
    /// – — wave at the piston in the second chamber [Pa]
    #[memory]
    piston_wave_2: Memory,
    /// – — wave of the leakage in the second chamber [Pa]
    #[memory]
    leak_wave_2: Memory,
}

/// [`CylinderC`] with one area for both sides of the piston.
#[component("hopsan.HydraulicSymmetricCylinderC", c, constants = Bonds)]
pub struct SymmetricCylinderC {
    /// chamber that pushes the piston out
    #[port(name = "P1", many)]
    p1: Hydraulic,
    /// chamber that pushes the piston in
    #[port(name = "P2", many)]
    p2: Hydraulic,
    /// piston rod
    #[port(name = "P3")]
    rod: Translational,
    /// q_l — leakage from the first chamber to the second [m^3/s]
    #[output(name = "q_leak")]
    leak: Signal,
    /// s — stroke [m]
    #[input(name = "s_l", default = "1 m")]
    pub stroke: f64,
    /// V₀₁ — dead volume of the first chamber [m^3]
    #[input(name = "V_1", default = "0.0003 m^3")]
    pub volume_1: f64,
    /// V₀₂ — dead volume of the second chamber [m^3]
    #[input(name = "V_2", default = "0.0003 m^3")]
    pub volume_2: f64,
    /// B — viscous friction [N*s/m]
    #[input(name = "B_p", default = "1000 N*s/m")]
    pub friction: f64,
    /// β — bulk modulus [Pa]
    #[input(name = "Beta_e", default = "1e9 Pa")]
    pub bulk_modulus: f64,
    /// c_l — leakage coefficient [m^3/(s*Pa)]
    #[input(name = "c_leak", default = "1e-11 m^3/(s*Pa)")]
    pub leakage: f64,
    /// A — area of the piston on either side [m^2]
    #[input(name = "A", default = "0.001 m^2")]
    pub area: f64,
    /// – — the stroke has stops [–]
    #[parameter(name = "use_sl", default = "true")]
    pub stops: bool,
    /// – — wave at the piston in the first chamber [Pa]
    #[memory]
    piston_wave_1: Memory,
    /// – — wave of the leakage in the first chamber [Pa]
    #[memory]
    leak_wave_1: Memory,
    /// – — wave at the piston in the second chamber [Pa]
    #[memory]
    piston_wave_2: Memory,
    /// – — wave of the leakage in the second chamber [Pa]
    #[memory]
    leak_wave_2: Memory,
}

/// [`CylinderC`] with a constant force that pushes the piston in; no wave becomes negative, and a
/// chamber that has run dry keeps its impedance.
#[component("hopsan.HydraulicSpringLoadedPistonC", c, constants = Bonds)]
pub struct SpringLoadedPistonC {
    /// chamber that pushes the piston out
    #[port(name = "P1", many)]
    p1: Hydraulic,
    /// chamber that pushes the piston in
    #[port(name = "P2", many)]
    p2: Hydraulic,
    /// piston rod
    #[port(name = "P3")]
    rod: Translational,
    /// A₁ — area of the piston at the first chamber [m^2]
    #[input(name = "A_1", default = "0.001 m^2")]
    pub area_1: f64,
    /// A₂ — area of the piston at the second chamber [m^2]
    #[input(name = "A_2", default = "0.001 m^2")]
    pub area_2: f64,
    /// s — stroke [m]
    #[input(name = "s_l", default = "1 m")]
    pub stroke: f64,
    /// F — force of the spring [N]
    #[input(name = "F_s", default = "1000 N")]
    pub spring_force: f64,
    /// V₀₁ — dead volume of the first chamber [m^3]
    #[input(name = "V_1", default = "0.0003 m^3")]
    pub volume_1: f64,
    /// V₀₂ — dead volume of the second chamber [m^3]
    #[input(name = "V_2", default = "0.0003 m^3")]
    pub volume_2: f64,
    /// B — viscous friction [N*s/m]
    #[input(name = "B_p", default = "1000 N*s/m")]
    pub friction: f64,
    /// β — bulk modulus [Pa]
    #[input(name = "Beta_e", default = "1e9 Pa")]
    pub bulk_modulus: f64,
    /// c_l — leakage coefficient [m^3/(s*Pa)]
    #[input(name = "c_leak", default = "1e-11 m^3/(s*Pa)")]
    pub leakage: f64,
    /// – — the stroke has stops [–]
    #[parameter(name = "use_sl", default = "true")]
    pub stops: bool,
    /// – — wave at the piston in the first chamber [Pa]
    #[memory]
    piston_wave_1: Memory,
    /// – — wave of the leakage in the first chamber [Pa]
    #[memory]
    leak_wave_1: Memory,
    /// – — wave at the piston in the second chamber [Pa]
    #[memory]
    piston_wave_2: Memory,
    /// – — wave of the leakage in the second chamber [Pa]
    #[memory]
    leak_wave_2: Memory,
}

/// Piston between four chambers, with leakage between each two of them.
///
/// As [`CylinderC`]: chambers 1 and 3 push the piston out, 2 and 4 in. No wave becomes negative, and
/// a chamber that has run dry keeps its impedance. The end stops remember half of their last wave.
/// The fourth chamber meets the piston with the impedance of the third, and starts with a leakage
/// over it.
#[component("hopsan.HydraulicFourChamberPiston", c, constants = Bonds)]
pub struct FourChamberPiston {
    /// first chamber that pushes the piston out
    #[port(name = "P1", many)]
    p1: Hydraulic,
    /// first chamber that pushes the piston in
    #[port(name = "P2", many)]
    p2: Hydraulic,
    /// second chamber that pushes the piston out
    #[port(name = "P3", many)]
    p3: Hydraulic,
    /// second chamber that pushes the piston in
    #[port(name = "P4", many)]
    p4: Hydraulic,
    /// piston rod
    #[port(name = "P5")]
    rod: Translational,
    /// A₁ — area of the piston at chamber 1 [m^2]
    #[input(name = "A_1", default = "0.001 m^2")]
    pub area_1: f64,
    /// A₂ — area of the piston at chamber 2 [m^2]
    #[input(name = "A_2", default = "0.001 m^2")]
    pub area_2: f64,
    /// A₃ — area of the piston at chamber 3 [m^2]
    #[input(name = "A_3", default = "0.001 m^2")]
    pub area_3: f64,
    /// A₄ — area of the piston at chamber 4 [m^2]
    #[input(name = "A_4", default = "0.001 m^2")]
    pub area_4: f64,
    /// s — stroke [m]
    #[input(name = "s_l", default = "1 m")]
    pub stroke: f64,
    /// V₀₁ — dead volume of chamber 1 [m^3]
    #[input(name = "V_1", default = "0.0003 m^3")]
    pub volume_1: f64,
    /// V₀₂ — dead volume of chamber 2 [m^3]
    #[input(name = "V_2", default = "0.0003 m^3")]
    pub volume_2: f64,
    /// V₀₃ — dead volume of chamber 3 [m^3]
    #[input(name = "V_3", default = "0.0003 m^3")]
    pub volume_3: f64,
    /// V₀₄ — dead volume of chamber 4 [m^3]
    #[input(name = "V_4", default = "0.0003 m^3")]
    pub volume_4: f64,
    /// B — viscous friction [N*s/m]
    #[input(name = "B_p", default = "1000 N*s/m")]
    pub friction: f64,
    /// β — bulk modulus [Pa]
    #[input(name = "Beta_e", default = "1e9 Pa")]
    pub bulk_modulus: f64,
    /// c₁₂ — leakage coefficient between chambers 1 and 2 [m^3/(s*Pa)]
    #[input(name = "c_leak12", default = "1e-11 m^3/(s*Pa)")]
    pub leakage_12: f64,
    /// c₁₃ — leakage coefficient between chambers 1 and 3 [m^3/(s*Pa)]
    #[input(name = "c_leak13", default = "0 m^3/(s*Pa)")]
    pub leakage_13: f64,
    /// c₁₄ — leakage coefficient between chambers 1 and 4 [m^3/(s*Pa)]
    #[input(name = "c_leak14", default = "1e-11 m^3/(s*Pa)")]
    pub leakage_14: f64,
    /// c₂₃ — leakage coefficient between chambers 2 and 3 [m^3/(s*Pa)]
    #[input(name = "c_leak23", default = "0 m^3/(s*Pa)")]
    pub leakage_23: f64,
    /// c₂₄ — leakage coefficient between chambers 2 and 4 [m^3/(s*Pa)]
    #[input(name = "c_leak24", default = "0 m^3/(s*Pa)")]
    pub leakage_24: f64,
    /// c₃₄ — leakage coefficient between chambers 3 and 4 [m^3/(s*Pa)]
    #[input(name = "c_leak34", default = "1e-11 m^3/(s*Pa)")]
    pub leakage_34: f64,
    /// – — the stroke has stops [–]
    #[parameter(name = "use_sl", default = "true")]
    pub stops: bool,
    /// – — wave at the piston in chamber 1 [Pa]
    #[memory]
    piston_wave_1: Memory,
    /// – — wave of the leakage in chamber 1 [Pa]
    #[memory]
    leak_wave_1: Memory,
    /// – — wave at the piston in chamber 2 [Pa]
    #[memory]
    piston_wave_2: Memory,
    /// – — wave of the leakage in chamber 2 [Pa]
    #[memory]
    leak_wave_2: Memory,
    /// – — wave at the piston in chamber 3 [Pa]
    #[memory]
    piston_wave_3: Memory,
    /// – — wave of the leakage in chamber 3 [Pa]
    #[memory]
    leak_wave_3: Memory,
    /// – — wave at the piston in chamber 4 [Pa]
    #[memory]
    piston_wave_4: Memory,
    /// – — wave of the leakage in chamber 4 [Pa]
    #[memory]
    leak_wave_4: Memory,
    /// – — wave of the end stop [N]
    #[memory]
    stop_wave: Memory,
}

/// Cylinder with a mass, a spring and viscous friction of its own, from x = 0 (in) to x = s (out).
///
/// m·x'' + (B_l + B_p + Z)·x' + k·x = A₁·c₁ − A₂·c₂ − c₃,  Z = A₁²·Z₁ + A₂²·Z₂ + Z₃;
/// q₁ = −A₁·v,  q₂ = A₂·v
///
/// Position and speed are two recursions of their own; at a stop the speed is 0 and begins anew. A
/// chamber whose pressure would be negative has run dry (c = Z = 0), and the step is repeated.
#[component("hopsan.HydraulicCylinderQ", q, constants = CylinderMass)]
pub struct CylinderQ {
    /// chamber that pushes the piston out
    #[port(name = "P1")]
    p1: Hydraulic,
    /// chamber that pushes the piston in
    #[port(name = "P2")]
    p2: Hydraulic,
    /// piston rod
    #[port(name = "P3")]
    rod: Translational,
    /// A₁ — area of the piston at the first chamber [m^2]
    #[input(name = "A_1", default = "0.0001 m^2")]
    pub area_1: f64,
    /// A₂ — area of the piston at the second chamber [m^2]
    #[input(name = "A_2", default = "0.0001 m^2")]
    pub area_2: f64,
    /// B_p — viscous friction of the piston [N*s/m]
    #[input(name = "B_p", default = "0 N*s/m")]
    pub friction: f64,
    /// B_l — viscous friction of the load [N*s/m]
    #[input(name = "B_l", default = "0 N*s/m")]
    pub load_friction: f64,
    /// k — stiffness of the load [N/m]
    #[input(name = "k_l", default = "100 N/m")]
    pub stiffness: f64,
    /// m — mass of piston and load [kg]
    #[parameter(name = "m_l", default = "0.05 kg")]
    pub mass: f64,
    /// s — stroke [m]
    #[parameter(name = "s_l", default = "0.01 m")]
    pub stroke: f64,
    /// – — force one step ago, for the position [N]
    #[memory]
    force_1: Memory,
    /// – — force two steps ago [N]
    #[memory]
    force_2: Memory,
    /// – — position one step ago [m]
    #[memory]
    position_1: Memory,
    /// – — position two steps ago [m]
    #[memory]
    position_2: Memory,
    /// – — force one step ago, for the speed [N]
    #[memory]
    speed_force_1: Memory,
    /// – — speed one step ago [m/s]
    #[memory]
    speed_1: Memory,
    /// – — steps at an end stop [–]
    #[memory(counts = "limit")]
    stopped: Memory,
    /// – — steps with a chamber that had run dry [–]
    #[memory(counts = "cavitation")]
    dry: Memory,
}

/// Mass and stroke of [`CylinderQ`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct CylinderMass<T> {
    mass: T,
    stroke: T,
}

/// How many bonds each chamber has, and whether the stroke has stops.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Bonds<T> {
    counts: [usize; 4],
    has_stops: bool,
    /// No signal drives the piston or its leakage.
    is_constant: bool,
    /// Where they are constant: A₁ and A₂,
    areas: [T; 2],
    /// V₀₁ and V₀₂,
    dead_volumes: [T; 2],
    /// s,
    stroke: T,
    /// B,
    friction: T,
    /// β,
    bulk_modulus: T,
    /// c_l.
    leakage: T,
}

impl Bonds<f64> {
    fn new(environment: &Environment, has_stops: bool) -> Self {
        let places = environment.places;
        let counts = std::array::from_fn(|i| places.get(i).copied().unwrap_or(0));
        Self {
            counts,
            has_stops,
            is_constant: false,
            areas: [0.0; 2],
            dead_volumes: [0.0; 2],
            stroke: 0.0,
            friction: 0.0,
            bulk_modulus: 0.0,
            leakage: 0.0,
        }
    }
}

/// Two chambers with one bond each.
const ONE_EACH: [usize; 4] = [1, 1, 1, 0];

/// The chambers, whose remembered waves come first in memory.
#[inline(always)]
fn chambers<const N: usize>(counts: [usize; 4], floor: Floor) -> [Chamber; N] {
    let mut first = 0;
    std::array::from_fn(|i| {
        let chamber = Chamber { first, count: counts[i], waves: Chamber::MEMORY * i, floor };
        first += counts[i];
        chamber
    })
}

impl<T: Num> Bonds<T> {
    #[inline(always)]
    fn chambers<const N: usize>(&self, floor: Floor) -> [Chamber; N] {
        chambers(self.counts, floor)
    }
}

/// A cylinder between two chambers, as its inputs give it.
struct TwoChambers<T> {
    piston: Piston<T, 2>,
    chambers: [Chamber; 2],
    leakage: T,
    has_stops: bool,
}

impl<T: Num> TwoChambers<T> {
    fn rod(&self) -> usize {
        self.chambers[1].first + self.chambers[1].count
    }

    #[wide]
    fn start(&self, io: &mut Step<'_, T>) {
        let rod = self.rod();
        let (x, v) = (io.displacement(rod), io.flow(rod));
        let z = self.piston.impedances(&self.chambers, x, T::one(), io.dt);
        let [p1, p2] = self.chambers.map(|chamber| io.effort(chamber.first));
        let leak = self.leakage * (p1 - p2);
        let displaced = self.piston.displaced(v);
        for (i, leaked) in [-leak, leak].into_iter().enumerate() {
            self.chambers[i].start(io, z[i], displaced[i], z[i] * leaked);
        }
        let waves = self.chambers.map(|chamber| io.memory(chamber.waves));
        io.set_wave(rod, self.piston.force(waves), self.piston.resistance(z));
    }

    /// Takes a step and gives the leakage. Chambers that have run dry push without impedance if
    /// `yields`.
    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>, pull: T, yields: bool) -> T {
        let (rod, dt) = (self.rod(), io.dt);
        let (x, v) = (io.displacement(rod), io.flow(rod));
        let [one, two] = self.chambers;
        let mut leak = self.leakage * (one.leakage_wave(io) - two.leakage_wave(io));
        // Nobody waits for a division where nothing leaks.
        if (self.leakage.gt(T::zero()) | self.leakage.lt(T::zero())).any() {
            leak = leak / (self.leakage * (one.impedance(io) + two.impedance(io)) + 1.0);
        }
        let mass = equivalent_mass(io, rod);
        let z = self.piston.impedances(&self.chambers, x, mass, dt);
        let [displaced_1, displaced_2] = self.piston.displaced(v);
        let mut waves =
            [one.step(io, z[0], displaced_1, -leak), two.step(io, z[1], displaced_2, leak)];
        let mut felt = z;
        if yields {
            for (i, chamber) in self.chambers.into_iter().enumerate() {
                let dry = chamber.is_dry(io);
                waves[i] = T::select(dry, waves[i].max(T::zero()), waves[i]);
                felt[i] = T::select(dry, T::zero(), felt[i]);
            }
        }
        let (stop, stop_impedance) = match self.has_stops {
            true => self.piston.end_stop(x, v, mass, T::zero(), dt),
            false => (T::zero(), T::zero()),
        };
        let wave = self.piston.force(waves) + stop - pull;
        io.set_wave(rod, wave, self.piston.resistance(felt) + stop_impedance);
        leak
    }
}

/// The physics of a cylinder between two chambers: the inputs of its areas, where its waves are kept
/// from becoming negative, and what it does with a step.
macro_rules! two_chambers {
    (
        $cylinder:ident, [$($area:ident = $input:ident),*], $floor:expr,
        |$self:ident, $io:ident| $step:block
    ) => {
        impl Physics for $cylinder {
            const HAS_LAW: bool = false;
            const ROLE: BalanceRole = BalanceRole::Storage;

            fn prepare(&self, environment: &Environment) -> Result<Bonds<f64>, Refusal> {
                let read = [
                    $(Self::$input,)*
                    Self::VOLUME_1,
                    Self::VOLUME_2,
                    Self::STROKE,
                    Self::FRICTION,
                    Self::BULK_MODULUS,
                    Self::LEAKAGE,
                ];
                Ok(Bonds {
                    is_constant: environment.holds(&read),
                    areas: [$(self.$area),*],
                    dead_volumes: [self.volume_1, self.volume_2],
                    stroke: self.stroke,
                    friction: self.friction,
                    bulk_modulus: self.bulk_modulus,
                    leakage: self.leakage,
                    ..Bonds::new(environment, self.stops)
                })
            }

            fn start<T: Num>(k: &Bonds<T>, io: &mut Step<'_, T>) {
                Self::read(k, io).start(io);
            }

            #[inline(always)]
            fn step<T: Num>(k: &Bonds<T>, io: &mut Step<'_, T>) {
                let mut cylinder = Self::read(k, io);
                // Most chambers have one port: then all places are known here.
                if k.counts == ONE_EACH && io.port_count() == 3 {
                    cylinder.chambers = chambers(ONE_EACH, $floor);
                    return Self::take_step(&cylinder, io);
                }
                Self::take_step(&cylinder, io);
            }
        }

        impl $cylinder {
            #[inline(always)]
            fn take_step<T: Num>($self: &TwoChambers<T>, $io: &mut Step<'_, T>) $step

            #[wide]
            #[inline(always)]
            fn read<T: Num>(k: &Bonds<T>, io: &Step<'_, T>) -> TwoChambers<T> {
                let either = |constant: T, input: usize| match k.is_constant {
                    true => constant,
                    false => io.input(input),
                };
                let inputs = [$(Self::$input),*];
                TwoChambers {
                    piston: Piston {
                        areas: std::array::from_fn(|i| either(k.areas[i], inputs[i])),
                        dead_volumes: [
                            either(k.dead_volumes[0], Self::VOLUME_1),
                            either(k.dead_volumes[1], Self::VOLUME_2),
                        ],
                        stroke: either(k.stroke, Self::STROKE),
                        friction: either(k.friction, Self::FRICTION),
                        bulk_modulus: either(k.bulk_modulus, Self::BULK_MODULUS),
                    },
                    chambers: k.chambers($floor),
                    leakage: either(k.leakage, Self::LEAKAGE),
                    has_stops: k.has_stops,
                }
            }
        }
    };
}

two_chambers!(CylinderC, [area_1 = AREA_1, area_2 = AREA_2], Floor::Nowhere, |cylinder, io| {
    let leak = cylinder.step(io, T::zero(), true);
    io.set_output(Self::LEAK, leak);
});
two_chambers!(SymmetricCylinderC, [area = AREA, area = AREA], Floor::Nowhere, |cylinder, io| {
    let leak = cylinder.step(io, T::zero(), true);
    io.set_output(Self::LEAK, leak);
});
two_chambers!(
    SpringLoadedPistonC,
    [area_1 = AREA_1, area_2 = AREA_2],
    Floor::Everywhere,
    |cylinder, io| {
        let pull = io.input(Self::SPRING_FORCE);
        cylinder.step(io, pull, false);
    }
);

impl FourChamberPiston {
    /// Pairs of chambers that leak, with the input of the coefficient.
    const LEAKS: [(usize, usize, usize); 6] = [
        (0, 1, Self::LEAKAGE_12),
        (0, 2, Self::LEAKAGE_13),
        (0, 3, Self::LEAKAGE_14),
        (1, 2, Self::LEAKAGE_23),
        (1, 3, Self::LEAKAGE_24),
        (2, 3, Self::LEAKAGE_34),
    ];

    #[wide]
    #[inline(always)]
    fn piston<T: Num>(io: &Step<'_, T>) -> Piston<T, 4> {
        let areas = [Self::AREA_1, Self::AREA_2, Self::AREA_3, Self::AREA_4];
        let volumes = [Self::VOLUME_1, Self::VOLUME_2, Self::VOLUME_3, Self::VOLUME_4];
        Piston {
            areas: areas.map(|i| io.input(i)),
            dead_volumes: volumes.map(|i| io.input(i)),
            stroke: io.input(Self::STROKE),
            friction: io.input(Self::FRICTION),
            bulk_modulus: io.input(Self::BULK_MODULUS),
        }
    }

    /// Leakage into each chamber; every pair is computed as if it were alone.
    #[inline(always)]
    fn leaked<T: Num>(io: &Step<'_, T>, waves: [T; 4], z: [T; 4]) -> [T; 4] {
        let mut sums = [T::zero(); 4];
        for (from, to, input) in Self::LEAKS {
            let leakage = io.input(input);
            let flow = leakage * (waves[from] - waves[to]) / (leakage * (z[from] + z[to]) + 1.0);
            sums[from] -= flow;
            sums[to] += flow;
        }
        sums
    }
}

impl Physics for FourChamberPiston {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, environment: &Environment) -> Result<Bonds<f64>, Refusal> {
        Ok(Bonds::new(environment, self.stops))
    }

    #[wide]
    fn start<T: Num>(k: &Bonds<T>, io: &mut Step<'_, T>) {
        let (piston, chambers) = (Self::piston(io), k.chambers(Floor::Everywhere));
        let rod = k.counts.iter().sum();
        let (x, v) = (io.displacement(rod), io.flow(rod));
        let z = piston.impedances(&chambers, x, T::one(), io.dt);
        let displaced = piston.displaced(v);
        let p = chambers.map(|chamber| io.effort(chamber.first));
        let leaked = Self::leaked(io, p, [T::zero(); 4]);
        let mut rise: [T; 4] = std::array::from_fn(|i| z[i] * leaked[i]);
        // Leakage from chambers 1 and 3 into the fourth meets the third one's impedance.
        let strange =
            io.input(Self::LEAKAGE_14) * (p[0] - p[3]) + io.input(Self::LEAKAGE_34) * (p[2] - p[3]);
        rise[3] += (z[2] - z[3]) * strange;
        for i in 0..4 {
            chambers[i].start(io, z[i], displaced[i], rise[i]);
        }
        let waves = chambers.map(|chamber| io.memory(chamber.waves));
        io.set_wave(rod, piston.force(waves), piston.resistance(z));
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &Bonds<T>, io: &mut Step<'_, T>) {
        let (piston, chambers) = (Self::piston(io), k.chambers(Floor::Everywhere));
        let (rod, dt) = (k.counts.iter().sum(), io.dt);
        let (x, v) = (io.displacement(rod), io.flow(rod));
        let waves = chambers.map(|chamber| chamber.leakage_wave(io));
        let leaked = Self::leaked(io, waves, chambers.map(|chamber| chamber.impedance(io)));
        let mass = equivalent_mass(io, rod);
        let z = piston.impedances(&chambers, x, mass, dt);
        let displaced = piston.displaced(v);
        let waves = std::array::from_fn(|i| chambers[i].step(io, z[i], displaced[i], leaked[i]));
        let (stop, stop_impedance) = match k.has_stops {
            true => piston.end_stop(x, v, mass, io.memory(Self::STOP_WAVE), dt),
            false => (T::zero(), T::zero()),
        };
        io.set_memory(Self::STOP_WAVE, stop);
        let resistance = piston.resistance([z[0], z[1], z[2], z[2]]);
        io.set_wave(rod, piston.force(waves) + stop, resistance + stop_impedance);
    }
}

/// What a step of [`CylinderQ`] gives for line ends that it assumes.
struct Attempt<T> {
    pressures: [T; 2],
    x: T,
    v: T,
}

impl CylinderQ {
    const TRAVEL: SecondOrder = SecondOrder(Self::FORCE_1);
    const SPEED: FirstOrder = FirstOrder(Self::SPEED_FORCE_1);
    /// Remembered values that the motion needs.
    const MOTION: usize = SecondOrder::MEMORY + FirstOrder::MEMORY;

    #[inline(always)]
    fn attempt<T: Num>(
        k: &CylinderMass<T>,
        io: &mut Step<'_, T>,
        [one, two]: [End<T>; 2],
    ) -> Attempt<T> {
        let (a1, a2) = (io.input(Self::AREA_1), io.input(Self::AREA_2));
        let (stiffness, rod) = (io.input(Self::STIFFNESS), End::at(io, Self::ROD));
        let resistance = io.input(Self::FRICTION)
            + io.input(Self::LOAD_FRICTION)
            + a1 * a1 * one.impedance
            + a2 * a2 * two.impedance
            + rod.impedance;
        let force = a1 * one.wave - a2 * two.wave - rod.wave;
        let (zero, unit) = (T::zero(), T::one());
        let x = Self::TRAVEL.step(
            io,
            [unit, zero, zero],
            [stiffness, resistance, k.mass],
            force,
            (zero, k.stroke),
        );
        let stopped = x.le(zero) | x.ge(k.stroke);
        let mut v = Self::SPEED.free(io, [unit, zero], [resistance, k.mass], force - stiffness * x);
        if stopped.any() {
            v = T::select(stopped, zero, v);
            let kept = T::select(stopped, zero, io.memory(Self::SPEED_FORCE_1));
            Self::SPEED.start(io, kept, v);
        }
        Attempt { pressures: [one.effort(-a1 * v), two.effort(a2 * v)], x, v }
    }
}

impl Physics for CylinderQ {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<CylinderMass<f64>, Refusal> {
        Ok(CylinderMass { mass: self.mass, stroke: self.stroke })
    }

    fn start<T: Num>(k: &CylinderMass<T>, io: &mut Step<'_, T>) {
        let x = limit(io.displacement(Self::ROD), T::zero(), k.stroke);
        Self::TRAVEL.start(io, T::zero(), x, T::zero());
        let v = io.flow(Self::ROD);
        Self::SPEED.start(io, T::zero(), v);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &CylinderMass<T>, io: &mut Step<'_, T>) {
        let before: [T; Self::MOTION] = io.memories(Self::FORCE_1);
        let mut ends = [End::at(io, Self::P1), End::at(io, Self::P2)];
        let zero = T::zero();
        let mut result = Self::attempt(k, io, ends);
        let negative = |result: &Attempt<T>| result.pressures.map(|p| p.lt(zero));
        let [dry_1, dry_2] = negative(&result);
        if (dry_1 | dry_2).any() {
            io.count(Self::DRY, dry_1 | dry_2);
            let again = |io: &mut Step<'_, T>, ends: [End<T>; 2]| {
                io.set_memories(Self::FORCE_1, before);
                Self::attempt(k, io, ends)
            };
            ends = [ends[0].dry_where(dry_1), ends[1].dry_where(dry_2)];
            result = again(io, ends);
            // Once more only when the second chamber runs dry after the first; a first chamber that
            // does so after the second is left as it is.
            let [dry_1, dry_2] = negative(&result);
            if dry_2.any() {
                ends = [ends[0].dry_where(dry_1 & dry_2), ends[1].dry_where(dry_2)];
                result = again(io, ends);
            }
        }
        let Attempt { pressures, x, v } = result;
        io.count(Self::STOPPED, x.le(zero) | x.ge(k.stroke));
        let force = End::at(io, Self::ROD).effort(v);
        let flows = [-io.input(Self::AREA_1) * v, io.input(Self::AREA_2) * v];
        for i in 0..2 {
            let bond = io.bond_mut([Self::P1, Self::P2][i]);
            bond.flow = flows[i];
            bond.effort = pressures[i].max(zero);
        }
        io.set_motion(Self::ROD, v, x, force);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::{Bench, Surroundings};

    const DT: f64 = 1e-4;
    const BETA: f64 = 1.5e9;
    const MASS: f64 = 1000.0;

    fn mount<M: Physics>(cylinder: &M, inputs: &[(usize, f64)], places: &[usize]) -> Bench<M> {
        let mut around = Surroundings::of::<M>(DT);
        around.places = places.to_vec();
        let mut bench = Bench::within(cylinder, &around).unwrap();
        for &(input, value) in inputs {
            bench.input(input, value);
        }
        bench
    }

    const INPUTS: [(usize, f64); 8] = [
        (CylinderC::AREA_1, 1e-3),
        (CylinderC::AREA_2, 6e-4),
        (CylinderC::STROKE, 1.0),
        (CylinderC::VOLUME_1, 3e-4),
        (CylinderC::VOLUME_2, 2e-4),
        (CylinderC::FRICTION, 500.0),
        (CylinderC::BULK_MODULUS, BETA),
        (CylinderC::LEAKAGE, 1e-11),
    ];

    /// A cylinder at x = −0.4 with two lines at the first chamber and one at the second.
    fn cylinder(stops: bool) -> Bench<CylinderC> {
        let plain = CylinderC {
            area_1: 0.0,
            area_2: 0.0,
            stroke: 0.0,
            volume_1: 0.0,
            volume_2: 0.0,
            friction: 0.0,
            bulk_modulus: 0.0,
            leakage: 0.0,
            stops,
        };
        let mut bench = mount(&plain, &INPUTS, &[2, 1, 1]);
        for (bond, p) in [5e6, 5e6, 3e6].into_iter().enumerate() {
            bench.state.bonds[bond].effort = p;
        }
        bench.state.bonds[3].displacement = -0.4;
        bench.state.bonds[3].dry = MASS;
        bench.start();
        bench
    }

    /// Waves of a chamber, with those of piston and leakage.
    fn mean(bench: &Bench<CylinderC>, bonds: std::ops::Range<usize>, memory: usize) -> f64 {
        let inside = &bench.state.states[memory..memory + 2];
        let count = bonds.len() + 2;
        let outside: f64 = bench.state.bonds[bonds].iter().map(|bond| bond.wave).sum();
        (outside + inside.iter().sum::<f64>()) / count as f64
    }

    #[test]
    fn a_cylinder_at_rest_pushes_with_pressure_times_area() {
        let bench = cylinder(true);
        let rod = bench.state.bonds[3];
        assert!((rod.wave - (5e6 * 1e-3 - 3e6 * 6e-4)).abs() < 1e-9);
        let z1 = 4.0 / 2.0 * BETA * DT / (0.9 * (3e-4 + 0.4 * 1e-3));
        assert!((bench.state.bonds[0].impedance / z1 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn chambers_keep_the_oil_that_flows_in_leaks_and_is_displaced() {
        let mut bench = cylinder(true);
        let (v1, v2, speed) = (3e-4 + 0.4 * 1e-3, 2e-4 + 0.6 * 6e-4, 0.02);
        let mut expected = [mean(&bench, 0..2, 0), mean(&bench, 2..3, 2)];
        for _ in 0..50 {
            bench.impose_flow(0, 1e-4).impose_flow(1, -3e-5).impose_flow(2, 2e-5);
            bench.impose_flow(3, speed).step();
            let leak = bench.output(CylinderC::LEAK);
            assert!(leak > 0.0);
            expected[0] += BETA * DT / v1 * (7e-5 + 1e-3 * speed - leak);
            expected[1] += BETA * DT / v2 * (2e-5 - 6e-4 * speed + leak);
            for (found, expected) in
                [mean(&bench, 0..2, 0), mean(&bench, 2..3, 2)].iter().zip(expected)
            {
                assert!((found / expected - 1.0).abs() < 1e-10, "{found} {expected}");
            }
        }
    }

    #[test]
    fn a_dry_chamber_does_not_resist_and_a_stop_does() {
        let mut bench = cylinder(true);
        let soft = {
            bench.state.bonds[2].effort = 0.0;
            bench.step();
            bench.state.bonds[3].impedance
        };
        let z1 = bench.state.bonds[0].impedance;
        assert!((soft - (1e-6 * z1 + 500.0)).abs() < 1e-9 * soft);
        // 1 mm beyond the inner stop, at rest: half of 0.1·m/T²·x, and twice 0.1·m/T.
        let pushed = |stops: bool| {
            let mut bench = cylinder(stops);
            bench.state.bonds[3].displacement = 1e-3;
            bench.step();
            (bench.state.bonds[3].wave, bench.state.bonds[3].impedance)
        };
        let (with, without) = (pushed(true), pushed(false));
        let stiffness = 0.1 * MASS / DT;
        assert!((with.0 - without.0 - 0.5 * stiffness * 1e-3 / DT).abs() < 1e-6);
        assert!((with.1 - without.1 - 2.0 * stiffness).abs() < 1e-6);
    }

    #[test]
    fn relatives_of_the_cylinder_agree_where_they_are_the_same() {
        let symmetric = SymmetricCylinderC {
            stroke: 0.0,
            volume_1: 0.0,
            volume_2: 0.0,
            friction: 0.0,
            bulk_modulus: 0.0,
            leakage: 0.0,
            area: 0.0,
            stops: true,
        };
        let spring = SpringLoadedPistonC {
            area_1: 0.0,
            area_2: 0.0,
            stroke: 0.0,
            spring_force: 0.0,
            volume_1: 0.0,
            volume_2: 0.0,
            friction: 0.0,
            bulk_modulus: 0.0,
            leakage: 0.0,
            stops: true,
        };
        let four = FourChamberPiston {
            area_1: 0.0,
            area_2: 0.0,
            area_3: 0.0,
            area_4: 0.0,
            stroke: 0.0,
            volume_1: 0.0,
            volume_2: 0.0,
            volume_3: 0.0,
            volume_4: 0.0,
            friction: 0.0,
            bulk_modulus: 0.0,
            leakage_12: 0.0,
            leakage_13: 0.0,
            leakage_14: 0.0,
            leakage_23: 0.0,
            leakage_24: 0.0,
            leakage_34: 0.0,
            stops: true,
        };
        type S = SymmetricCylinderC;
        type L = SpringLoadedPistonC;
        type F = FourChamberPiston;
        let symmetric_inputs = [
            (S::AREA, 1e-3),
            (S::STROKE, 1.0),
            (S::VOLUME_1, 3e-4),
            (S::VOLUME_2, 3e-4),
            (S::FRICTION, 500.0),
            (S::BULK_MODULUS, BETA),
            (S::LEAKAGE, 1e-11),
        ];
        let spring_inputs = [
            (L::AREA_1, 1e-3),
            (L::AREA_2, 1e-3),
            (L::STROKE, 1.0),
            (L::SPRING_FORCE, 700.0),
            (L::VOLUME_1, 3e-4),
            (L::VOLUME_2, 3e-4),
            (L::FRICTION, 500.0),
            (L::BULK_MODULUS, BETA),
            (L::LEAKAGE, 1e-11),
        ];
        // The third and fourth chamber push with half of the first and second one's areas.
        let four_inputs = [
            (F::AREA_1, 5e-4),
            (F::AREA_2, 5e-4),
            (F::AREA_3, 5e-4),
            (F::AREA_4, 5e-4),
            (F::STROKE, 1.0),
            (F::VOLUME_1, 1.5e-4),
            (F::VOLUME_2, 1.5e-4),
            (F::VOLUME_3, 1.5e-4),
            (F::VOLUME_4, 1.5e-4),
            (F::FRICTION, 500.0),
            (F::BULK_MODULUS, BETA),
            (F::LEAKAGE_12, 5e-12),
            (F::LEAKAGE_34, 5e-12),
        ];
        let mut symmetric = mount(&symmetric, &symmetric_inputs, &[1, 1, 1]);
        let mut spring = mount(&spring, &spring_inputs, &[1, 1, 1]);
        let mut four = mount(&four, &four_inputs, &[1, 1, 1, 1, 1]);
        for (bond, p) in [5e6, 3e6, 5e6, 3e6].into_iter().enumerate() {
            four.state.bonds[bond].effort = p;
            if bond < 2 {
                symmetric.state.bonds[bond].effort = p;
                spring.state.bonds[bond].effort = p;
            }
        }
        for (state, rod) in
            [(&mut symmetric.state, 2), (&mut spring.state, 2), (&mut four.state, 4)]
        {
            state.bonds[rod].displacement = -0.5;
            state.bonds[rod].dry = MASS;
        }
        symmetric.start();
        spring.start();
        four.start();
        for n in 0..30 {
            let (flow, speed) = (1e-5 * f64::from(n % 7), 1e-3 * f64::from(n % 5));
            for (bond, q) in [flow, -flow].into_iter().enumerate() {
                symmetric.impose_flow(bond, q);
                spring.impose_flow(bond, q);
                four.impose_flow(bond, 0.5 * q).impose_flow(bond + 2, 0.5 * q);
            }
            symmetric.impose_flow(2, speed).step();
            spring.impose_flow(2, speed).step();
            four.impose_flow(4, speed).step();
            let force = symmetric.state.bonds[2].wave;
            assert!((spring.state.bonds[2].wave + 700.0 - force).abs() < 1e-6);
            assert!((four.state.bonds[4].wave - force).abs() < 1e-6);
            let z = symmetric.state.bonds[0].impedance;
            assert!((four.state.bonds[2].impedance / (2.0 * z) - 1.0).abs() < 1e-12);
        }
    }

    fn cylinder_q(load: f64) -> Bench<CylinderQ> {
        let plain = CylinderQ {
            area_1: 0.0,
            area_2: 0.0,
            friction: 0.0,
            load_friction: 0.0,
            stiffness: 0.0,
            mass: 2.0,
            stroke: 0.3,
        };
        let inputs = [
            (CylinderQ::AREA_1, 1e-3),
            (CylinderQ::AREA_2, 5e-4),
            (CylinderQ::FRICTION, 200.0),
            (CylinderQ::LOAD_FRICTION, 100.0),
            (CylinderQ::STIFFNESS, 1e4),
        ];
        let mut bench = mount(&plain, &inputs, &[1, 1, 1]);
        bench.start();
        bench.line(CylinderQ::ROD, load, 50.0);
        bench
    }

    #[test]
    fn a_cylinder_with_a_mass_comes_to_rest_where_forces_balance() {
        let mut bench = cylinder_q(300.0);
        for _ in 0..200_000 {
            bench.line(CylinderQ::P1, 3e6, 1e9).line(CylinderQ::P2, 1e6, 1e9).step();
        }
        let x = (3e6 * 1e-3 - 1e6 * 5e-4 - 300.0) / 1e4;
        assert!((bench.state.bonds[2].displacement - x).abs() < 1e-9);
        assert!(bench.flow(CylinderQ::P1).abs() < 1e-9);
    }

    #[test]
    fn a_stop_ends_the_motion_and_no_pressure_is_negative() {
        let mut bench = cylinder_q(-1e5);
        let mut dry = 0;
        for _ in 0..30_000 {
            bench.line(CylinderQ::P1, 1e5, 1e10).line(CylinderQ::P2, 1e5, 1e9).step();
            assert!(bench.effort(CylinderQ::P1) >= 0.0 && bench.effort(CylinderQ::P2) >= 0.0);
            dry += i32::from(bench.effort(CylinderQ::P1) == 0.0 && bench.flow(CylinderQ::P1) < 0.0);
        }
        assert!(dry > 0);
        assert_eq!(bench.state.bonds[2].displacement, 0.3);
        assert_eq!(bench.flow(CylinderQ::ROD), 0.0);
        assert_eq!(bench.effort(CylinderQ::ROD), -1e5);
    }
}
