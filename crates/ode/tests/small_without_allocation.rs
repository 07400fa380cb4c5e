//! Replacing fast states does not allocate while a run steps: counted by the allocator, for the thread that steps.

mod support;

use fluxline_ode::System as _;
use fluxline_ode::small::{Fast, InnerMethod, Reduced, Settings, SmallVolumes};
use support::{CircuitTwo, rk4};

#[test]
fn no_strategy_allocates_while_it_steps() {
    let held = |inner_method, pseudo_volume| Settings {
        inner_method,
        pseudo_volume,
        ..Settings::with(SmallVolumes::AdvPds)
    };
    for settings in [
        Settings::with(SmallVolumes::Integrate),
        Settings::with(SmallVolumes::Algebraic),
        held(InnerMethod::Euler, Some(1e-3)),
        held(InnerMethod::RungeKutta4, None),
        held(InnerMethod::ModifiedHeun, None),
    ] {
        let fast = [Fast { state: 0, volume: 1e-5 }];
        let initial = CircuitTwo::INITIAL;
        let circuit = CircuitTwo::new(1, 1e-5);
        let mut system = Reduced::new(circuit, settings, &fast, &[0, 1], &initial).unwrap();
        let mut x = vec![0.0; system.size()];
        system.gather(&initial, &mut x);
        let (mut room, mut rate, mut block) = (vec![0.0; 5 * x.len()], [0.0; 2], [0.0; 4]);
        let mut jacobian = vec![0.0; system.pattern().len()];
        let step = if settings.strategy == SmallVolumes::Integrate { 1e-7 } else { 1e-4 };
        let during = allocation_counter::measure(|| {
            for number in 0..5000 {
                let time = f64::from(number) * step;
                system.prepare_step(time, &x).unwrap();
                rk4(&mut system, time, step, &mut x, &mut room);
                system.jacobian(time, &x, &mut jacobian).unwrap();
                system.some_rates(time, &x, &[1, 0], &mut rate).unwrap();
                system.some_jacobian(time, &x, &[1, 0], &mut block).unwrap();
                system.settle(time + step, &mut x);
            }
        });
        assert_eq!(during.count_total, 0, "{settings:?}");
    }
}
