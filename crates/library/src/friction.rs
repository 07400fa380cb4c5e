//! Friction between sliding surfaces, shared by actuators, masses and inertias.
//!
//! Amplitude of dry friction: g(v) = F_c + (F_s − F_c)·exp(−(v/v_s)²)  (Stribeck; F_c alone for
//! Coulomb). Dry friction is not a function of velocity at rest: Coulomb and Stribeck give an
//! amplitude only, and the body that carries the friction solves sticking exactly.
//!
//! A solver of the lumped view needs a function: F = g(v)·clamp(h + v/v₀, −1, 1), v₀ = 10 µm/s. The share
//! h that holds at rest is remembered, and renewed after every step: what held the body then holds it
//! without creep from there on. So a body that sticks moves by less than v₀ times the length of a step
//! for all changes of the load together, which vanishes with the step; with h = 0 throughout it would
//! creep for ever.
//!
//! LuGre: F = σ₀·z + σ₁·dz/dt,  dz/dt = v − σ₀·|v|·z/g(v), with the mean bristle deflection z as a
//! state; |z| ≤ F_s/σ₀ always. Canudas de Wit, Olsson, Åström and Lischinsky, IEEE Transactions on
//! Automatic Control 40 (1995). Viscous friction is added by the component.
//!
//! For a step of length T the LuGre law is linear in the new velocity, F = c + Z·v. The decay rate
//! a = σ₀·|v|/g(v) is taken at the old velocity and integrated with an L-stable rational
//! approximation of e^(−aT), so neither stiff bristles nor fast sliding limit the step:
//! E = 1/(1 + aT + (aT)²/2),  z = E·z₋ + (1 − E)/(aT)·T·(v₋ + v)/2,  dz/dt = E·(v − a·z₋). It is exact in
//! steady sliding and the trapezoidal rule of a spring σ₀ with a damper σ₁ at rest; Z > 0 for every a.

use fluxline_core::Constants;
use fluxline_core::component::Refusal;
use fluxline_core::number::Num;

fluxline_core::choice! {
    /// How dry friction depends on motion.
    pub enum FrictionModel {
        /// No dry friction.
        None = "none",
        /// The same amplitude at all speeds.
        Coulomb = "coulomb",
        /// Larger at rest than in motion.
        Stribeck = "stribeck",
        /// Elastic before it slides, with a state.
        Lugre = "lugre",
    }
}

/// Parameters of a friction law as components declare them; forces in N or torques in N·m.
#[derive(Clone, Copy, Debug)]
pub struct FrictionParameters {
    /// Which law.
    pub model: FrictionModel,
    /// F_c — amplitude at high speed.
    pub coulomb: f64,
    /// F_s — amplitude at rest; F_c when not given.
    pub at_rest: Option<f64>,
    /// v_s — speed at which the excess at rest has fallen to 1/e.
    pub stribeck_velocity: f64,
    /// σ₀ — stiffness of the bristles.
    pub bristle_stiffness: f64,
    /// σ₁ — damping of the bristles.
    pub bristle_damping: f64,
}

/// A dry friction law, ready to step.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Friction<T> {
    /// The law.
    pub model: FrictionModel,
    coulomb: T,
    /// F_s − F_c.
    excess: T,
    inverse_stribeck_velocity: T,
    bristle_stiffness: T,
    bristle_damping: T,
}

/// One LuGre step, linear in the new velocity.
#[derive(Clone, Copy, Debug)]
pub struct Bristles<T> {
    /// c — force at zero new velocity.
    pub wave: T,
    /// Z — force per new velocity.
    pub impedance: T,
    deflection: T,
    deflection_per_velocity: T,
    limit: T,
}

/// Change of velocity that turns dry friction from none to all of it in the lumped view, m/s or rad/s.
pub const STICK_VELOCITY: f64 = 1e-5;

/// The share of dry friction that acts at a velocity in the lumped view, −1 to 1, where `held` acts at
/// rest.
#[inline(always)]
pub fn grip<T: Num>(velocity: T, held: T) -> T {
    (velocity / STICK_VELOCITY + held).clamp_to(-1.0, 1.0)
}

/// What is remembered after a step of a solver, of the share that acts: all of it near rest; in motion,
/// where the whole amplitude acts whatever is remembered, none.
pub fn hold(share: f64, velocity: f64) -> f64 {
    let moves = velocity.abs() >= 2.0 * STICK_VELOCITY;
    if moves || share.is_nan() { 0.0 } else { Num::clamp(share, -1.0, 1.0) }
}

impl Friction<f64> {
    /// Checks the parameters, which components declare as `static_friction`, `coulomb_friction`,
    /// `stribeck_velocity` and `bristle_stiffness`.
    pub fn new(p: &FrictionParameters) -> Result<Self, Refusal> {
        let at_rest = match p.model {
            FrictionModel::Coulomb => p.coulomb,
            _ => p.at_rest.unwrap_or(p.coulomb),
        };
        if p.model != FrictionModel::None && at_rest < p.coulomb {
            return Err(Refusal::new(
                "static_friction",
                format!(
                    "friction at rest ({at_rest} N) is smaller than friction in motion ({} N)",
                    p.coulomb
                ),
                "give static_friction at least the value of coulomb_friction, or leave it out",
            ));
        }
        if p.model == FrictionModel::Lugre && p.coulomb <= 0.0 {
            return Err(Refusal::new(
                "coulomb_friction",
                format!("the LuGre law divides by coulomb_friction, which is {} N", p.coulomb),
                "give coulomb_friction a positive value, or choose friction = \"none\"",
            ));
        }
        Ok(Self {
            model: p.model,
            coulomb: p.coulomb,
            excess: at_rest - p.coulomb,
            inverse_stribeck_velocity: 1.0 / p.stribeck_velocity,
            bristle_stiffness: p.bristle_stiffness,
            bristle_damping: p.bristle_damping,
        })
    }
}

impl<T: Num> Friction<T> {
    /// True when it has the state z.
    #[inline(always)]
    pub fn has_bristles(&self) -> bool {
        self.model == FrictionModel::Lugre
    }

    /// g(v) — amplitude at a velocity.
    #[inline(always)]
    pub fn amplitude(&self, velocity: T) -> T {
        match self.model {
            FrictionModel::None => T::zero(),
            FrictionModel::Coulomb => self.coulomb,
            FrictionModel::Stribeck | FrictionModel::Lugre => {
                let ratio = velocity * self.inverse_stribeck_velocity;
                self.coulomb + self.excess * (-(ratio * ratio)).exp()
            }
        }
    }

    /// Amplitude that the moving body solves for exactly: that of the last velocity, and none with
    /// bristles.
    #[inline(always)]
    pub fn dry(&self, velocity: T) -> T {
        if self.has_bristles() { T::zero() } else { self.amplitude(velocity) }
    }

    /// The step of the bristles from deflection `z` and velocity `v`; all zero without bristles.
    #[inline(always)]
    pub fn bristles(&self, z: T, v: T, dt: f64) -> Bristles<T> {
        if !self.has_bristles() {
            let zero = T::zero();
            return Bristles {
                wave: zero,
                impedance: zero,
                deflection: zero,
                deflection_per_velocity: zero,
                limit: zero,
            };
        }
        let (stiffness, damping) = (self.bristle_stiffness, self.bristle_damping);
        let decay = stiffness * v.abs() / self.amplitude(v);
        let x = decay * dt;
        let keep = (x + x * x * 0.5 + 1.0).recip();
        let per_velocity = (x * 0.5 + 1.0) * keep * (0.5 * dt);
        let deflection = keep * z + per_velocity * v;
        // dz/dt at the end of the step, E·(v − a·z₋): exact in sliding and in rest.
        let damping = damping * keep;
        Bristles {
            wave: stiffness * deflection - damping * decay * z,
            impedance: stiffness * per_velocity + damping,
            deflection,
            deflection_per_velocity: per_velocity,
            limit: (self.coulomb + self.excess) / stiffness,
        }
    }

    /// True when it sticks: there is a share to remember in the lumped view.
    #[inline(always)]
    pub fn sticks(&self) -> bool {
        matches!(self.model, FrictionModel::Coulomb | FrictionModel::Stribeck)
    }

    /// Friction force and rate of z in the continuous view; `held` is the share of dry friction that
    /// acts at rest.
    #[inline(always)]
    pub fn law(&self, velocity: T, z: T, held: T) -> (T, T) {
        if !self.has_bristles() {
            return (self.amplitude(velocity) * grip(velocity, held), T::zero());
        }
        let decay = self.bristle_stiffness * velocity.abs() / self.amplitude(velocity);
        let rate = velocity - decay * z;
        (self.bristle_stiffness * z + self.bristle_damping * rate, rate)
    }

    /// Energy in the bristles, J.
    pub fn energy(&self, z: T) -> T {
        if self.has_bristles() { self.bristle_stiffness * z * z * 0.5 } else { T::zero() }
    }
}

impl<T: Num> Bristles<T> {
    /// Deflection once the new velocity is known.
    #[inline(always)]
    pub fn deflection_at(&self, velocity: T) -> T {
        (self.deflection + self.deflection_per_velocity * velocity).clamp(-self.limit, self.limit)
    }
    /// Friction force at the new velocity.
    #[inline(always)]
    pub fn force_at(&self, velocity: T) -> T {
        self.wave + self.impedance * velocity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::number::Lanes;
    use proptest::prelude::*;

    /// The example of Canudas de Wit et al. (1995), table I.
    const PUBLISHED: FrictionParameters = FrictionParameters {
        model: FrictionModel::Lugre,
        coulomb: 1.0,
        at_rest: Some(1.5),
        stribeck_velocity: 0.001,
        bristle_stiffness: 1e5,
        bristle_damping: 316.227_766_016_837_9,
    };

    fn friction(model: FrictionModel) -> Friction<f64> {
        Friction::new(&FrictionParameters { model, ..PUBLISHED }).unwrap()
    }

    #[test]
    fn amplitude_falls_from_static_to_coulomb() {
        let f = friction(FrictionModel::Stribeck);
        assert_eq!(f.amplitude(0.0), 1.5);
        assert!((f.amplitude(0.001) - (1.0 + 0.5 * (-1f64).exp())).abs() < 1e-15);
        assert!((f.amplitude(-0.1) - 1.0).abs() < 1e-15);
        assert_eq!(friction(FrictionModel::Coulomb).amplitude(0.0), 1.0);
        assert_eq!(friction(FrictionModel::None).amplitude(0.3), 0.0);
        assert_eq!(friction(FrictionModel::Lugre).dry(0.0), 0.0);
    }

    #[test]
    fn steady_sliding_gives_the_amplitude_at_any_step() {
        let f = friction(FrictionModel::Lugre);
        for dt in [1e-4, 1e-3, 1e-2] {
            for v in [-0.2, 0.0005, 0.01, 3.0] {
                let mut z = 0.0;
                for _ in 0..20_000 {
                    z = f.bristles(z, v, dt).deflection_at(v);
                }
                let steady = f.amplitude(v) * v.signum();
                let force = f.bristles(z, v, dt).force_at(v);
                assert!((force / steady - 1.0).abs() < 1e-9, "{dt} {v}: {force}");
                assert!((f.law(v, z, 0.0).0 / steady - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn small_deflections_are_a_damped_spring() {
        // dz/dt = v within |z|·σ₀/g, here 1e-5 of the breakaway deflection
        let f = friction(FrictionModel::Lugre);
        let (dt, mut z, mut x) = (1e-4, 0.0, 0.0);
        let mut before = 0.0;
        for n in 1..=100 {
            let v = 1e-8 * (n as f64 * 0.1).sin();
            z = f.bristles(z, before, dt).deflection_at(v);
            x += 0.5 * dt * (before + v);
            before = v;
        }
        assert!((z / x - 1.0).abs() < 1e-4, "{z} {x}");
    }

    #[test]
    fn bristles_converge_with_first_order() {
        let f = friction(FrictionModel::Lugre);
        let run = |steps: usize| {
            let dt = 0.02 / steps as f64;
            let (mut z, mut before) = (0.0, 0.0);
            for n in 1..=steps {
                let v = 1e-3 * (100.0 * n as f64 * dt).sin();
                z = f.bristles(z, before, dt).deflection_at(v);
                before = v;
            }
            z
        };
        // The rate of decay is taken at the old velocity, which costs one order.
        let reference = run(1 << 17);
        let (coarse, fine) = ((run(1 << 9) - reference).abs(), (run(1 << 10) - reference).abs());
        assert!((coarse / fine - 2.0).abs() < 0.3, "{}", coarse / fine);
    }

    #[test]
    fn contradictory_friction_is_refused() {
        let smaller = FrictionParameters { at_rest: Some(0.5), ..PUBLISHED };
        assert_eq!(Friction::new(&smaller).unwrap_err().parameter, "static_friction");
        let none = FrictionParameters { coulomb: 0.0, at_rest: None, ..PUBLISHED };
        assert_eq!(Friction::new(&none).unwrap_err().parameter, "coulomb_friction");
    }

    proptest! {
        /// The line-end form has a positive resistance and keeps the deflection within F_s/σ₀.
        #[test]
        fn bristles_resist_and_stay_bounded(z in -1.5e-5..1.5e-5f64, v in -5.0..5.0f64, next in -5.0..5.0f64, dt in 1e-6..1e-1f64) {
            let f = friction(FrictionModel::Lugre);
            let b = f.bristles(z, v, dt);
            prop_assert!(b.impedance > 0.0);
            prop_assert!(b.deflection_at(next).abs() <= 1.5e-5 * (1.0 + 1e-15));
        }

        #[test]
        fn lanes_give_the_bits_of_scalars(z in -1.5e-5..1.5e-5f64, v in -5.0..5.0f64, next in -5.0..5.0f64) {
            let f = friction(FrictionModel::Lugre);
            let scalar = f.bristles(z, v, 1e-4);
            let lanes = f.map(&mut Lanes::<4>::of).bristles(Lanes::of(z), Lanes::of(v), 1e-4);
            prop_assert_eq!(lanes.force_at(Lanes::of(next)).0, [scalar.force_at(next); 4]);
            prop_assert_eq!(lanes.deflection_at(Lanes::of(next)).0, [scalar.deflection_at(next); 4]);
        }
    }
}
