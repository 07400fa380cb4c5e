//! Modes and stable steps, against closed forms and the published circuits.

use fluxline_ode::modes::{ExplicitMethod, Kind, Modes, NoModes};

/// Slope of the two-regime orifice at Δp = 0, a₁ = 5K/(4√Δp₀) with
/// Δp₀ = Re_tr²·ν²·π·√ρ/(√32·C_d·K) (Åman, thesis, Lappeenranta University of Technology, 2011,
/// eq. 2.10–2.21; the root over Δp₀ is missing in print).
fn slope_at_rest(conductance: f64) -> f64 {
    let (reynolds, viscosity, density, discharge) = (1000.0_f64, 30e-6_f64, 900.0_f64, 0.6);
    let transition = (reynolds * viscosity).powi(2) * std::f64::consts::PI * density.sqrt()
        / (32.0_f64.sqrt() * discharge * conductance);
    1.25 * conductance / transition.sqrt()
}

fn step(modes: &Modes, method: ExplicitMethod) -> f64 {
    modes.largest_stable_step(method).unwrap().step
}

/// Malysheva (thesis, LUT University, 2021), section 2.2.3: circuit 2 with K = 1e-6, k_t = 1e-7,
/// p_s = 200 bar, directional valve open, at the exact steady point. Three orifices in series carry
/// one flow, so Q² = p_s/(1/K² + 1/k_t² + 1/(k₁+k₂)²). The Jacobian is eq. 2.32 with a negative
/// entry (2,2).
#[test]
fn a_hundredth_of_the_volume_raises_the_condition_number_from_1_286_to_77_80() {
    let (bulk, second) = (1.5e9, 1e-3);
    let (compensator, throttle, outlet) = (1e-6_f64, 1e-7_f64, 5.62e-7 + 5.73e-7_f64);
    let flow = (200e5 / (compensator.powi(-2) + throttle.powi(-2) + outlet.powi(-2))).sqrt();
    // dQ/dΔp = K²/(2Q) of Q = K√Δp.
    let slope = |conductance: f64| conductance * conductance / (2.0 * flow);
    let (g1, gt, ge) = (slope(compensator), slope(throttle), slope(outlet));
    for (first, published) in [(1e-3, 1.286), (1e-5, 77.80)] {
        let jacobian = [
            -bulk / first * (g1 + gt),
            bulk / first * gt,
            bulk / second * gt,
            -bulk / second * (gt + ge),
        ];
        let modes = Modes::new(&jacobian, &[1e5, 1e5]).unwrap();
        let condition = modes.condition_number().unwrap();
        // Four digits are printed.
        assert!((condition / published - 1.0).abs() < 5e-4, "{condition} for {published}");
    }
}

/// Åman (thesis, Lappeenranta University of Technology, 2011), Table 3.1: valve – V₁ – orifice – V₂
/// – cylinder with mass, spring and damper, all flows zero.
#[test]
fn rk4_at_rest_is_stable_to_2_352_and_2_168_and_1_717_ms_on_the_cylinder_drive() {
    let (bulk, volume, mass, spring, damping) = (1.5e9, 3e-3, 5000.0, 180e3, 500.0);
    let area = std::f64::consts::PI / 4.0 * 0.06_f64.powi(2);
    let root = (2.0 / 900.0_f64).sqrt();
    let valve = slope_at_rest(0.6 * std::f64::consts::PI * 10e-3 * 5e-4 * root);
    for (diameter, expected) in [(1e-3_f64, 2.352e-3), (2e-3, 2.168e-3), (3e-3, 1.717e-3)] {
        let orifice = slope_at_rest(0.6 * std::f64::consts::PI / 4.0 * diameter.powi(2) * root);
        let stiffness = bulk / volume;
        #[rustfmt::skip]
        let jacobian = [
            -stiffness * (valve + orifice), stiffness * orifice, 0.0, 0.0,
            stiffness * orifice, -stiffness * orifice, -stiffness * area, 0.0,
            0.0, area / mass, -damping / mass, -spring / mass,
            0.0, 0.0, 1.0, 0.0,
        ];
        let modes = Modes::new(&jacobian, &[1e5, 1e5, 0.1, 0.1]).unwrap();
        let limit = modes.largest_stable_step(ExplicitMethod::RungeKutta4).unwrap();
        assert!((limit.step / expected - 1.0).abs() < 3e-4, "{} for {expected}", limit.step);
        // The pressures set it, and the first of them most.
        let fastest = &modes.modes()[limit.mode.unwrap()];
        assert_eq!(fastest.participation[0].0, 0);
        assert_eq!(limit.ignored, 0);
    }
}

/// RK4: the real root of z³ + 4z² + 12z + 24 = 0 and 2√2 (Hairer and Wanner, Solving Ordinary
/// Differential Equations II, section IV.2).
#[test]
fn rk4_reaches_2_785_on_the_real_and_2_828_on_the_imaginary_axis() {
    let rk4 = ExplicitMethod::RungeKutta4;
    assert!((rk4.stability_limit(-3.0, 0.0) - 2.785_293_563_405_282).abs() < 1e-12);
    assert!((rk4.stability_limit(0.0, 7.0) - 8.0_f64.sqrt()).abs() < 1e-12);
    assert!((ExplicitMethod::Heun.stability_limit(-1.0, 0.0) - 2.0).abs() < 1e-12);
    assert_eq!(ExplicitMethod::Heun.stability_limit(0.0, 1.0), 0.0);
}

#[test]
fn euler_is_stable_to_twice_the_time_constant_and_to_two_zeta_over_omega() {
    let modes = Modes::new(&[-250.0], &[1.0]).unwrap();
    assert!((step(&modes, ExplicitMethod::Euler) - 2.0 / 250.0).abs() < 1e-15);
    assert_eq!(step(&modes, ExplicitMethod::ModifiedHeun), f64::INFINITY);
    for damping in [1e-6, 1e-3, 0.1, 0.7] {
        let frequency = 300.0;
        let jacobian = [0.0, 1.0, -frequency * frequency, -2.0 * damping * frequency];
        let modes = Modes::new(&jacobian, &[1.0, 1.0]).unwrap();
        assert_eq!(modes.modes().len(), 1);
        let mode = &modes.modes()[0];
        assert!((mode.natural_frequency() / frequency - 1.0).abs() < 1e-13);
        assert!((mode.damping_ratio() - damping).abs() < 1e-13);
        assert!((mode.time_constant() * damping * frequency - 1.0).abs() < 1e-9);
        let damped = frequency * (1.0 - damping * damping).sqrt();
        assert!((mode.damped_frequency() / damped - 1.0).abs() < 1e-13);
        // Position and speed share an oscillation evenly.
        assert!((mode.participation[0].1 - 0.5).abs() < 1e-9);
        let limit = step(&modes, ExplicitMethod::Euler);
        assert!((limit * frequency / (2.0 * damping) - 1.0).abs() < 1e-9, "{damping}: {limit}");
    }
}

#[test]
fn an_undamped_oscillator_limits_rk4_and_is_left_out_for_euler() {
    let modes = Modes::new(&[0.0, 1.0, -1e6, 0.0], &[1.0, 1.0]).unwrap();
    assert_eq!(modes.count(Kind::Undamped), 2);
    let rk4 = modes.largest_stable_step(ExplicitMethod::RungeKutta4).unwrap();
    assert!((rk4.step - 8.0_f64.sqrt() / 1000.0).abs() < 1e-12);
    let euler = modes.largest_stable_step(ExplicitMethod::Euler).unwrap();
    assert_eq!((euler.step, euler.ignored), (f64::INFINITY, 2));
}

#[test]
fn a_free_mass_and_a_growing_state_are_counted_and_left_out() {
    // x' = v, v' = 0; a filter; a state that grows.
    #[rustfmt::skip]
    let jacobian = [
        0.0, 1.0, 0.0, 0.0,
        0.0, 0.0, 5.0, 0.0,
        0.0, 0.0, -100.0, 0.0,
        2.0, 0.0, 0.0, 3.0,
    ];
    let modes = Modes::new(&jacobian, &[1.0; 4]).unwrap();
    assert_eq!((modes.count(Kind::Constant), modes.count(Kind::Growing)), (2, 1));
    let limit = modes.largest_stable_step(ExplicitMethod::Euler).unwrap();
    assert!((limit.step - 0.02).abs() < 1e-15);
    assert_eq!(limit.ignored, 3);
    assert!((modes.condition_number().unwrap() - 100.0 / 3.0).abs() < 1e-12);
}

/// Modified Heun on two volumes in exchange, J = −g·[[1, −c], [−c, 1]]. With z = h·g the difference
/// of the two states is multiplied by 1 − z/(2+z)·(1+c)·(2 − c·z/(1+z)), which reaches −1 where
/// (c − c²)·z² − (4 − 2c)·z − 4 = 0. Uncoupled, or coupled so that the sum stays, there is no limit.
#[test]
fn modified_heun_is_limited_by_couplings_only() {
    for coupling in [0.0, 0.2, 0.5, 0.9, 1.0] {
        let rate = 1e4;
        let jacobian = [-rate, coupling * rate, coupling * rate, -rate];
        let modes = Modes::new(&jacobian, &[1.0, 1.0]).unwrap();
        let limit = step(&modes, ExplicitMethod::ModifiedHeun);
        let (a, b) = (coupling - coupling * coupling, 4.0 - 2.0 * coupling);
        if a == 0.0 {
            assert_eq!(limit, f64::INFINITY);
            continue;
        }
        let expected = (b + (b * b + 16.0 * a).sqrt()) / (2.0 * a) / rate;
        // The radius may pass 1 by 1e-7 before it counts, and it is flat there.
        assert!((limit / expected - 1.0).abs() < 1e-4, "{coupling}: {limit} for {expected}");
    }
    // An oscillator has no diagonal to lean on: it is limited as Heun is.
    let jacobian = [0.0, 1.0, -1e4, -2.0];
    let modes = Modes::new(&jacobian, &[1.0, 1.0]).unwrap();
    assert!(step(&modes, ExplicitMethod::ModifiedHeun) < 0.1);
}

/// Eigenvalues that are known: B = T·diag·T⁻¹ with entries spread over twenty orders by units.
#[test]
fn slow_modes_survive_badly_scaled_units() {
    // Two volumes exchanging through slopes g₁, g₂ of very different size, in Pa and in
    // conductances of 1e-9: the slow mode of [[−a, a], [b, −b−c]] has the product a·c.
    let (a, b, c) = (1.3e6, 7.0, 0.21);
    let units = [1.0, 1e-12];
    let jacobian = [-a, a / units[1], b * units[1], -b - c];
    let modes = Modes::new(&jacobian, &[1.0, 1e-12]).unwrap();
    let unscaled = Modes::new(&jacobian, &[1.0, 1.0]).unwrap();
    let half: f64 = 0.5 * (a + b + c);
    let fast = half + (half * half - a * c).sqrt();
    let slow = a * c / fast;
    for modes in [modes, unscaled] {
        assert!((-modes.modes()[0].real / fast - 1.0).abs() < 1e-12);
        assert!((-modes.modes()[1].real / slow - 1.0).abs() < 1e-9, "{:?}", modes.modes());
    }
}

#[test]
fn shares_of_a_chain_belong_to_the_states_that_move() {
    // A filter that drives a second filter: each mode is one state's own.
    let modes = Modes::new(&[-10.0, 0.0, 5.0, -2.0], &[1.0, 1.0]).unwrap();
    assert_eq!(modes.modes()[0].participation, [(0, 1.0)]);
    assert_eq!(modes.modes()[1].participation, [(1, 1.0)]);
    // Symmetric exchange: sum and difference, half each.
    let modes = Modes::new(&[-3.0, 1.0, 1.0, -3.0], &[1.0, 1.0]).unwrap();
    for mode in modes.modes() {
        assert!((mode.participation[0].1 - 0.5).abs() < 1e-9);
    }
}

#[test]
fn a_matrix_that_is_none_is_refused() {
    assert_eq!(Modes::new(&[1.0, 2.0], &[1.0, 1.0]).unwrap_err(), NoModes::Shape);
    let jacobian = [1.0, f64::NAN, 0.0, 1.0];
    assert_eq!(Modes::new(&jacobian, &[1.0, 1.0]).unwrap_err(), NoModes::NotFinite(0, 1));
    assert!(Modes::new(&[], &[]).unwrap().condition_number().is_none());
}

/// A fast volume between a supply and a slow one, J = [[−(a+b)/ε, b/ε], [b, −(b+c)]]: in its steady
/// state it passes on through a and b in series, so that −c − a·b/(a+b) is left whatever ε is.
#[test]
fn without_a_fast_volume_its_two_throttles_act_in_series() {
    let (a, b, c) = (3.0, 5.0, 0.7);
    for small in [1e-1, 1e-5, 1e-9] {
        let jacobian = [-(a + b) / small, b / small, b, -(b + c)];
        let modes = Modes::new(&jacobian, &[1e5, 1e5]).unwrap();
        let left = modes.without(&[0]).unwrap();
        assert_eq!(left.modes().len(), 1);
        let mode = &left.modes()[0];
        assert!((-mode.real / (c + a * b / (a + b)) - 1.0).abs() < 1e-14);
        // The second state keeps its number, also when more is taken away.
        assert_eq!(mode.participation, [(1, 1.0)]);
        assert_eq!(left.without(&[0]).unwrap().modes(), left.modes());
        assert!(left.without(&[1]).unwrap().modes().is_empty());
        // The slow mode of the whole tends to it as ε.
        let slow = modes.modes()[1].real;
        assert!((slow / mode.real - 1.0).abs() < small, "{slow} {}", mode.real);
    }
}

#[test]
fn a_state_without_a_steady_value_cannot_be_taken_away() {
    let modes = Modes::new(&[0.0, 1.0, 0.0, -1.0], &[1.0, 1.0]).unwrap();
    assert_eq!(modes.without(&[0]).unwrap_err(), NoModes::Singular);
}
