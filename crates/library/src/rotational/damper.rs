//! Rotational damper.

use crate::mechanics::physics_of_kernel;
use crate::mechanics::resistance::Resistance;
use fluxline_core::component;
use fluxline_core::component::{Environment, Refusal};

/// A viscous damper between two ends that turn.
///
/// M = B·(ω_a − ω_b),  positive when a turns faster than b
///
/// Z = B with the other end's speed of the last two steps: passive for every B; exact with one end at
/// rest, of first order in the step otherwise.
#[component("rotational.damper", c, constants = Resistance)]
pub struct Damper {
    /// rear end
    #[port]
    a: Rotational,
    /// front end
    #[port]
    b: Rotational,
    /// B — damping [N*m*s/rad]
    #[parameter(default = "10 N*m*s/rad", min = "0 N*m*s/rad")]
    pub damping: f64,
    /// ω_a₋ — last speed at the rear end [rad/s]
    #[memory]
    last_speed_a: Memory,
    /// ω_b₋ — last speed at the front end [rad/s]
    #[memory]
    last_speed_b: Memory,
}

impl Damper {
    fn kernel(&self, environment: &Environment) -> Result<Resistance<f64>, Refusal> {
        Ok(Resistance::new(self.damping, environment))
    }
}

physics_of_kernel!(Damper, Resistance);

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{Bench, assert_lanes_give_the_bits_of_scalars};

    #[test]
    fn the_torque_is_that_of_the_difference_of_speeds() {
        // a at 30 rad/s, b at 10 rad/s along the axis: bond speeds 30 and −10
        let mut bench = Bench::new(&Damper { damping: 3.0 }, 1e-3);
        bench.impose_flow(0, 30.0).impose_flow(1, -10.0).start().step();
        bench.impose_flow(0, 30.0).impose_flow(1, -10.0);
        assert_eq!((bench.effort(0), bench.effort(1)), (60.0, 60.0));
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let [a, b, c, d] = [0.0, 1.0, 1e3, 1e6].map(|damping| Damper { damping });
        assert_lanes_give_the_bits_of_scalars(
            [&a, &b, &c, &d],
            1e-3,
            |noise| Bond { flow: noise.between(-1.0, 1.0), ..Bond::at_rest(0.0) },
            |_| 0.0,
        );
    }
}
