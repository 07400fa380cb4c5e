//! Ensembles: what they compute, what they do with variants that fail, and that nothing depends on
//! how they are run.

use fluxline_core::circuit::{Circuit, Registry};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_formats::{Override, load_text};
use fluxline_study::ensemble::{
    Effort, Ensemble, Evaluation, Model, Outcome, Parameter, ReasonKind, Refused, Variant, Wanted,
};
use fluxline_study::team::{self, Helpers, Leader, Shared};
use fluxline_units::{Dimension, Quantity};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

struct Text {
    registry: Registry,
    text: &'static str,
    loads: AtomicUsize,
}

impl Text {
    fn new(text: &'static str) -> Self {
        Self::of(fluxline_library::registry(), text)
    }
    fn of(registry: Registry, text: &'static str) -> Self {
        Self { registry, text, loads: AtomicUsize::new(0) }
    }
}

impl Model for Text {
    fn registry(&self) -> &Registry {
        &self.registry
    }
    fn load(&self, overrides: &[Override]) -> Result<Circuit, Refused> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        let loaded = load_text("test.toml", self.text, "", &self.registry, overrides);
        loaded.circuit.ok_or(Refused { problems: loaded.diagnostics, sources: loaded.sources })
    }
}

fn parameter(name: &str, unit: &str) -> Parameter {
    let dimension = Quantity::parse(&format!("1 {unit}")).unwrap().dimension;
    Parameter::number(name, dimension)
}

fn ensemble<'m>(
    model: &'m Text,
    parameters: &[(&str, &str)],
    metrics: &[&str],
    examples: &[Variant],
) -> Ensemble<'m> {
    let parameters = parameters.iter().map(|(name, unit)| parameter(name, unit)).collect();
    let wanted =
        Wanted { metrics: metrics.iter().map(|m| (*m).to_owned()).collect(), ..Wanted::default() };
    Ensemble::new(model, parameters, wanted, examples.iter().cloned())
        .unwrap_or_else(|refused| panic!("{:?}", refused.problems))
}

/// Bits of the results, to compare.
fn bits(outcomes: &[Outcome]) -> Vec<Result<Vec<u64>, ReasonKind>> {
    let of = |evaluation: &Evaluation| evaluation.metrics.iter().map(|x| x.to_bits()).collect();
    outcomes.iter().map(|outcome| outcome.as_ref().map(of).map_err(|reason| reason.kind)).collect()
}

const OSCILLATOR: &str = r#"
[run]
stop = "2 s"
step = "0.2 ms"
[parameters]
softness = 1
[components.mass]
type = "translational.mass"
mass = "1 kg"
start_position = "10 mm"
[components.spring]
type = "translational.spring_damper"
stiffness = "100 N/m / softness"
damping = "0 N*s/m"
[components.wall]
type = "translational.fixed"
[[connect]]
from = "wall.port"
to = "spring.a"
[[connect]]
from = "spring.b"
to = "mass.a"
"#;

/// x = x₀·cos(ωt) with ω² = k/m: closed forms of all metrics over whole periods.
#[test]
fn metrics_are_those_of_the_closed_form() {
    let model = Text::new(OSCILLATOR);
    let metrics = [
        "max(mass.x)",
        "min(mass.x)",
        "final(mass.x)",
        "initial(mass.x)",
        "rms(mass.v)",
        "peak_to_peak(mass.x)",
        "integral(mass.x * mass.x)",
        "max(mass.x) - 5 mm",
        "max(max(mass.v), 2 m/s)",
        "iae(mass.x, mass.x)",
    ];
    // Ten periods in 2 s, twenty in another.
    let stiffness = |periods: f64| (std::f64::consts::TAU * periods / 2.0).powi(2);
    let variants: Vec<Variant> = vec![vec![stiffness(10.0)], vec![stiffness(20.0)]];
    let ensemble = ensemble(&model, &[("spring.stiffness", "N/m")], &metrics, &variants);
    let dimensions: Vec<Dimension> = ensemble.metrics().all.iter().map(|m| m.dimension).collect();
    assert_eq!(dimensions[4], Quantity::parse("1 m/s").unwrap().dimension);
    assert_eq!(dimensions[6], Quantity::parse("1 m^2*s").unwrap().dimension);
    for (outcome, variant) in ensemble.evaluate(&variants).iter().zip(&variants) {
        let found = &outcome.as_ref().unwrap().metrics;
        let speed = 0.01 * variant[0].sqrt();
        let expected = [
            0.01,
            -0.01,
            0.01,
            0.01,
            speed / 2f64.sqrt(),
            0.02,
            0.5 * 0.01 * 0.01 * 2.0,
            0.005,
            2.0,
            0.0,
        ];
        for ((metric, x), expected) in metrics.iter().zip(found).zip(expected) {
            // The wave method shifts the frequency by (ωT)²/24: less than 1e-4 of a radian here.
            let allowed = 2e-3 * expected.abs() + 1e-9;
            assert!((x - expected).abs() < allowed, "{metric}: {x} for {expected}");
        }
    }
}

const STEP: &str = r#"
[run]
stop = "1 s"
step = "1 ms"
[components.demand]
type = "signal.step"
base = 0
amplitude = 1
time = "1 ms"
[components.lag]
type = "signal.second_order"
natural_frequency = "20 rad/s"
damping = 0.5
[[connect]]
from = "demand.out"
to = "lag.input"
"#;

/// A second-order lag after a step: overshoot e^(−πD/√(1−D²)), settling within 2 % of the whole way.
#[test]
fn overshoot_and_times_are_those_of_a_second_order_lag() {
    let model = Text::new(STEP);
    let variants: Vec<Variant> = [0.3, 0.5, 0.7].map(|d| vec![d]).to_vec();
    let metrics =
        ["overshoot(lag.out, demand.out)", "settling_time(lag.out)", "rise_time(lag.out)"];
    let ensemble = ensemble(&model, &[("lag.damping", "")], &metrics, &variants);
    for (outcome, variant) in ensemble.evaluate(&variants).iter().zip(&variants) {
        let [overshoot, settling, rise] = outcome.as_ref().unwrap().metrics[..] else { panic!() };
        let d = variant[0];
        let damped = (1.0 - d * d).sqrt();
        assert!(
            (overshoot - (-std::f64::consts::PI * d / damped).exp()).abs() < 0.01,
            "{overshoot}"
        );
        // The envelope e^(−Dωt)/√(1−D²) is within 2 % by then, and not long before.
        let envelope = -(0.02 * damped).ln() / (d * 20.0);
        assert!(settling <= envelope + 0.002 && settling > 0.5 * envelope, "{settling} {envelope}");
        let swing = std::f64::consts::PI / (20.0 * damped);
        assert!(rise > 0.1 * swing && rise < swing, "{rise}");
    }
}

#[test]
fn results_do_not_depend_on_lanes_and_threads() {
    let model = Text::new(OSCILLATOR);
    let variants: Vec<Variant> =
        (0..13).map(|i| vec![100.0 + 7.0 * f64::from(i), 0.01 * f64::from(i)]).collect();
    let parameters = [("spring.stiffness", "N/m"), ("mass.start_position", "m")];
    let mut ensemble = ensemble(&model, &parameters, &["rms(mass.v)", "final(mass.x)"], &variants);
    let mut all = Vec::new();
    for (threads, lanes) in [(1, 1), (1, 4), (1, 8), (3, 0), (2, 1), (16, 8)] {
        ensemble.effort = Effort { threads, lanes };
        all.push(bits(&ensemble.evaluate(&variants)));
    }
    assert!(all.iter().all(|one| *one == all[0]));
    assert!(all[0].iter().all(Result::is_ok));
}

/// A parameter of the circuit reaches what depends on it; a parameter of a component does not need
/// the file again.
/// Helpers that are threads; one of them takes its first parcel with it.
struct Hands {
    to: Vec<Mutex<mpsc::Sender<Vec<u64>>>>,
    from: Vec<Mutex<mpsc::Receiver<Vec<u64>>>>,
    lost: Vec<AtomicBool>,
}

impl Helpers for Hands {
    fn count(&self) -> usize {
        self.to.len()
    }
    fn send(&self, helper: usize, words: &[u64]) {
        // To one that is gone, as to nobody.
        let _ = self.to[helper].lock().unwrap().send(words.to_vec());
    }
    fn receive(&self, helper: usize) -> Option<Vec<u64>> {
        self.from[helper].lock().unwrap().try_recv().ok()
    }
    fn is_lost(&self, helper: usize) -> bool {
        self.lost[helper].load(Ordering::Relaxed)
    }
}

struct Head {
    from: Mutex<mpsc::Receiver<Vec<u64>>>,
    to: Mutex<mpsc::Sender<Vec<u64>>>,
}

impl Leader for Head {
    fn receive(&self) -> Vec<u64> {
        self.from.lock().unwrap().recv().unwrap_or_default()
    }
    fn send(&self, words: &[u64]) {
        let _ = self.to.lock().unwrap().send(words.to_vec());
    }
}

/// Evaluates with helpers, the last of which is lost where `loses`.
fn shared(
    ensemble: &Ensemble,
    variants: &[Variant],
    helpers: usize,
    loses: bool,
) -> (Vec<Outcome>, Shared) {
    let mut hands = Hands { to: vec![], from: vec![], lost: vec![] };
    let mut heads = Vec::new();
    for _ in 0..helpers {
        let ((to, theirs), (back, from)) = (mpsc::channel(), mpsc::channel());
        hands.to.push(Mutex::new(to));
        hands.from.push(Mutex::new(from));
        hands.lost.push(AtomicBool::new(false));
        heads.push(Head { from: Mutex::new(theirs), to: Mutex::new(back) });
    }
    let hands = &hands;
    std::thread::scope(|scope| {
        for (helper, head) in heads.into_iter().enumerate() {
            scope.spawn(move || {
                if loses && helper + 1 == helpers {
                    head.receive();
                    hands.lost[helper].store(true, Ordering::Relaxed);
                    return;
                }
                team::serve(ensemble, &head, variants.len());
            });
        }
        let mut results = Vec::new();
        let shared = team::evaluate_each(
            ensemble,
            hands,
            variants.len(),
            &|i| variants[i].clone(),
            &mut |i, outcome| {
                assert_eq!(i, results.len(), "in order");
                results.push(outcome);
            },
        );
        team::dismiss(hands);
        (results, shared)
    })
}

#[test]
fn results_do_not_depend_on_helpers_nor_on_those_that_are_lost() {
    let model = Text::new(OSCILLATOR);
    // Every seventh mass is refused.
    let mass = |i: usize| if i.is_multiple_of(7) { -1.0 } else { 0.5 + 0.01 * i as f64 };
    let variants: Vec<Variant> = (0..61).map(|i| vec![mass(i)]).collect();
    let mut ensemble =
        ensemble(&model, &[("mass.mass", "kg")], &["max(mass.v)", "final(mass.x)"], &variants[1..]);
    ensemble.effort = Effort { threads: 1, lanes: 0 };
    let alone = ensemble.evaluate(&variants);
    for (helpers, loses) in [(0, false), (1, false), (3, false), (1, true), (3, true)] {
        let (results, shared) = shared(&ensemble, &variants, helpers, loses);
        assert_eq!(bits(&results), bits(&alone), "{helpers} helpers, one lost: {loses}");
        assert_eq!(shared.lost.len(), usize::from(loses));
        assert_eq!(shared.again > 0, loses);
        assert!(helpers == 0 || loses || shared.elsewhere > 0);
    }
}

#[test]
fn parameters_of_the_circuit_reach_expressions() {
    let model = Text::new(OSCILLATOR);
    let variants: Vec<Variant> = vec![vec![1.0], vec![2.0], vec![4.0]];
    let through_file = ensemble(&model, &[("softness", "")], &["rms(mass.v)"], &variants);
    let by_expression = bits(&through_file.evaluate(&variants));
    let before = model.loads.load(Ordering::Relaxed);
    let same: Vec<Variant> = vec![vec![100.0], vec![50.0], vec![25.0]];
    let direct = ensemble(&model, &[("spring.stiffness", "N/m")], &["rms(mass.v)"], &same);
    assert_eq!(bits(&direct.evaluate(&same)), by_expression);
    assert_eq!(model.loads.load(Ordering::Relaxed), before + 1);
}

const RUNAWAY: &str = r#"
[run]
stop = "0.5 s"
step = "0.1 ms"
[components.pump]
type = "hydraulic.flow_source"
[components.feedback]
type = "signal.gain"
gain = 1e-12
[components.orifice]
type = "hydraulic.turbulent_orifice"
area = "0.1 mm^2"
[components.tank]
type = "hydraulic.tank"
[[connect]]
from = "pump.outlet.pressure"
to = "feedback.input"
[[connect]]
from = "feedback.out"
to = "pump.flow"
[[connect]]
from = "pump.outlet"
to = "orifice.inlet"
line = { volume = "1 l" }
[[connect]]
from = "orifice.outlet"
to = "tank.port"
"#;

/// What is not a number in one lane does not touch the others.
#[test]
fn variants_that_diverge_or_are_refused_do_not_disturb_the_others() {
    let model = Text::new(RUNAWAY);
    let variants: Vec<Variant> = (0..24)
        .map(|i| match i % 4 {
            1 => vec![3e-8 * f64::from(i), 1e-7],
            2 if i % 8 == 2 => vec![1e-12, -1e-7],
            _ => vec![1e-12 * f64::from(i), 1e-7],
        })
        .collect();
    let parameters = [("feedback.gain", ""), ("orifice.area", "m^2")];
    let mut ensemble = ensemble(&model, &parameters, &["max(pump.outlet.pressure)"], &variants);
    ensemble.effort = Effort { threads: 1, lanes: 1 };
    let alone = ensemble.evaluate(&variants);
    for lanes in [4, 8] {
        ensemble.effort = Effort { threads: 2, lanes };
        assert_eq!(bits(&ensemble.evaluate(&variants)), bits(&alone));
    }
    for (i, outcome) in alone.iter().enumerate() {
        match (i % 4, outcome) {
            (1, Err(reason)) => {
                assert_eq!(reason.kind, ReasonKind::Diverged);
                assert!(reason.message.contains(" diverges at t = "), "{}", reason.message);
            }
            (2, Err(reason)) if i % 8 == 2 => {
                assert_eq!(reason.kind, ReasonKind::Refused);
                assert!(reason.message.contains("area"), "{}", reason.message);
            }
            (_, Ok(_)) => {}
            _ => panic!("{i}: {outcome:?}"),
        }
    }
}

/// A root that is spared where it is nought: alone, one of a negative number is spared, too, while in
/// lanes it is taken when another lane needs its own.
#[component("test.spared_root", s)]
pub struct SparedRoot {
    /// x — number [any]
    #[input(default = 1)]
    pub number: f64,
    /// y — its root [any]
    #[output]
    out: Output,
}

impl Physics for SparedRoot {
    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }
    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
    }
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let x = io.input(Self::NUMBER);
        let root = T::where_any(x.gt(T::zero()), || x.sqrt(), T::zero);
        io.set_output(Self::OUT, root);
    }
}

const ROOT: &str = r#"
[run]
stop = "1 s"
step = "1 ms"
[components.root]
type = "test.spared_root"
"#;

/// Results of a variant are those of its single run, also where only its lane finds something wrong.
#[test]
fn a_variant_that_is_sound_by_itself_counts_whatever_its_lane_finds() {
    let registry = Registry::new([ComponentType::of::<SparedRoot>()]);
    let model = Text::of(registry, ROOT);
    let variants: Vec<Variant> =
        (0..24).map(|i| vec![if i % 5 == 2 { -182.0 } else { f64::from(i + 1) }]).collect();
    let mut ensemble = ensemble(&model, &[("root.number", "")], &["final(root.out)"], &variants);
    for lanes in [1, 4, 8] {
        ensemble.effort = Effort { threads: 2, lanes };
        for (outcome, variant) in ensemble.evaluate(&variants).iter().zip(&variants) {
            let expected = variant[0].max(0.0).sqrt();
            let found = outcome.as_ref().map(|found| found.metrics[0]);
            assert_eq!(found, Ok(expected), "{lanes} lanes, root of {}", variant[0]);
        }
    }
}

const RELAY: &str = r#"
[run]
stop = "50 ms"
step = "1 ms"
[components.relay]
type = "signal.relay"
input = 0.5
on_value = 3
off_value = 2
"#;

#[test]
fn a_switch_is_varied_with_numbers_and_words_that_are_none_are_refused() {
    let model = Text::new(RELAY);
    let switch = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        vec![
            Parameter { words, ..parameter("relay.start_on", "") },
            parameter("relay.on_value", ""),
        ]
    };
    let wanted = || Wanted { metrics: vec!["final(relay.out)".to_owned()], ..Wanted::default() };
    let variants: Vec<Variant> = (0..20).map(|i| vec![f64::from(i % 2), f64::from(i)]).collect();
    let mut ensemble =
        Ensemble::new(&model, switch(&["true", "false"]), wanted(), variants.iter().cloned())
            .unwrap_or_else(|refused| panic!("{:?}", refused.problems));
    for lanes in [1, 4, 8] {
        ensemble.effort = Effort { threads: 2, lanes };
        for (outcome, variant) in ensemble.evaluate(&variants).iter().zip(&variants) {
            let expected = if variant[0] == 0.0 { variant[1] } else { 2.0 };
            assert_eq!(outcome.as_ref().map(|found| found.metrics[0]), Ok(expected));
        }
    }
    let slip = Ensemble::new(&model, switch(&["true", "flase"]), wanted(), variants);
    let said = slip.err().map(|refused| refused.first_error()).unwrap_or_default();
    assert!(said.contains("relay.start_on") && said.contains("switch"), "{said}");
}

const LINE: &str = r#"
[run]
stop = "0.2 s"
step = "0.1 ms"
begin = "rest"
[components.pump]
type = "hydraulic.flow_source"
flow = "10 l/min"
[components.orifice]
type = "hydraulic.turbulent_orifice"
area = "5 mm^2"
[components.tank]
type = "hydraulic.tank"
[components.knock]
type = "signal.step"
base = 5e-6
amplitude = -4e-6
time = "50 ms"
[[connect]]
from = "pump.outlet"
to = "orifice.inlet"
line = { length = "10 m", bore = "16 mm" }
[[connect]]
from = "orifice.outlet"
to = "tank.port"
[[connect]]
from = "knock.out"
to = "orifice.area"
"#;

#[track_caller]
fn assert_lanes_give_the_bits_of_single_runs(ensemble: &mut Ensemble, variants: &[Variant]) {
    ensemble.effort = Effort { threads: 1, lanes: 1 };
    let alone = bits(&ensemble.evaluate(variants));
    assert!(alone.iter().all(Result::is_ok), "{alone:?}");
    for (threads, lanes) in [(1, 4), (2, 8)] {
        ensemble.effort = Effort { threads, lanes };
        assert_eq!(bits(&ensemble.evaluate(variants)), alone);
    }
}

/// Variants come to rest at different times, and lines remember where they were: they still give
/// the bits of single runs.
#[test]
fn variants_that_begin_at_rest_keep_their_bits() {
    let model = Text::new(LINE);
    let variants: Vec<Variant> = (0..20).map(|i| vec![1e-4 + 1.5e-5 * f64::from(i)]).collect();
    let metrics =
        ["max(pump.outlet.pressure)", "initial(pump.outlet.pressure)", "final(orifice.inlet.flow)"];
    let mut ensemble = ensemble(&model, &[("pump.flow", "m^3/s")], &metrics, &variants);
    assert_lanes_give_the_bits_of_single_runs(&mut ensemble, &variants);
}

/// A cylinder remembers at fixed places, not by the number of the step: variants that came to rest after
/// other numbers of steps run side by side, with the bits of single runs.
#[test]
fn variants_of_a_cylinder_that_begin_at_rest_keep_their_bits() {
    let rig = include_str!("../../../examples/studies/rig.toml");
    let text = rig.replace("stop = \"4 s\"", "stop = \"0.3 s\"");
    let model = Text::new(Box::leak(text.into_boxed_str()));
    let variants: Vec<Variant> =
        (0..9).map(|i| vec![3e3 + 1e3 * f64::from(i), 3.0 + 0.2 * f64::from(i)]).collect();
    let metrics = ["rms(pressure_difference.out)", "initial(trolley.x)", "final(trolley.x)"];
    let parameters = [("actuator.viscous_friction", "N*s/m"), ("valve.gain_pa", "rad")];
    let mut ensemble = ensemble(&model, &parameters, &metrics, &variants);
    assert_lanes_give_the_bits_of_single_runs(&mut ensemble, &variants);
}

/// Variants whose delays have other lengths do not fit side by side and are run by themselves.
#[test]
fn variants_that_differ_in_more_than_numbers_are_run_too() {
    let text = STEP.replace("signal.second_order", "signal.delay");
    let text =
        text.replace("natural_frequency = \"20 rad/s\"\ndamping = 0.5\n", "delay = \"10 ms\"\n");
    let model = Text::new(Box::leak(text.into_boxed_str()));
    let variants: Vec<Variant> = (0..9).map(|i| vec![0.01 * f64::from(i % 3 + 1)]).collect();
    let ensemble = ensemble(&model, &[("lag.delay", "s")], &["integral(lag.out)"], &variants);
    for (outcome, variant) in ensemble.evaluate(&variants).iter().zip(&variants) {
        let [integral] = outcome.as_ref().unwrap().metrics[..] else { panic!() };
        assert!((integral - (1.0 - variant[0])).abs() < 2e-3, "{integral} {variant:?}");
    }
}

/// A pulsating pump, a volume, an orifice and a line with delay: smooth where nothing reverses.
const SMOOTH: &str = r#"
[run]
stop = "0.3 s"
step = "0.5 ms"
start_pressure = "30 bar"
[components.pump]
type = "hydraulic.flow_source"
flow = "12 l/min"
[components.first]
type = "hydraulic.orifice"
diameter = "2.2 mm"
[components.second]
type = "hydraulic.laminar_orifice"
conductance = "0.3 l/min/bar"
[components.tank]
type = "hydraulic.tank"
[components.push]
type = "signal.sine"
amplitude = 0.3
offset = 1
frequency = "5 Hz"
[components.drive]
type = "signal.gain"
gain = 0.0002
[[connect]]
from = "push.out"
to = "drive.input"
[[connect]]
from = "drive.out"
to = "pump.flow"
[[connect]]
ends = ["pump.outlet", "first.inlet"]
line = { name = "high", volume = "0.4 l" }
[[connect]]
ends = ["first.outlet", "second.inlet"]
line = { name = "low", length = "1.7 m", bore = "16 mm" }
[[connect]]
ends = ["second.outlet", "tank.port"]
"#;

/// Derivatives against differences of fourth order of whole runs: truncation 1e-4⁴ and rounding
/// 1e-15/1e-4 are below a part in a million, where the circuit is smooth.
#[test]
fn derivatives_through_a_run_equal_central_differences_of_runs() {
    use fluxline_study::sensitivity::derivatives;
    let model = Text::new(SMOOTH);
    let parameters = [
        ("high.volume", "m^3"),
        ("first.diameter", "m"),
        ("second.conductance", "m^3/(s*Pa)"),
        ("drive.gain", "rad"),
        ("push.frequency", "1/s"),
        ("low.bore", "m"),
        ("push.offset", "rad"),
        ("push.amplitude", "rad"),
        ("fluid.density", "kg/m^3"),
    ];
    let metrics = [
        "energy(pump.outlet)",
        "rms(first.inlet.flow)",
        "final(second.inlet.pressure)",
        "rms(pump.outlet.pressure) / mean(first.inlet.flow)",
        "settling_time(pump.outlet.pressure)",
    ];
    let nominal = vec![4e-4, 2.2e-3, 5e-11, 2e-4, 5.0, 16e-3, 1.0, 0.3, 870.0];
    let named: Vec<Parameter> =
        parameters.iter().map(|(name, unit)| parameter(name, unit)).collect();
    let texts: Vec<String> = metrics.iter().map(|m| (*m).to_owned()).collect();
    let never = std::sync::atomic::AtomicBool::new(false);
    let found = derivatives(&model, &named, &nominal, &texts, &never)
        .unwrap_or_else(|refused| panic!("{:?}", refused.problems));
    let ensemble = ensemble(&model, &parameters, &metrics, std::slice::from_ref(&nominal));
    let at = |variant: Variant| ensemble.evaluate(&[variant]).remove(0).unwrap().metrics;
    // The values are those of a plain run.
    let plain: Vec<u64> = at(nominal.clone()).iter().map(|x| x.to_bits()).collect();
    let followed: Vec<u64> = found.metrics.iter().map(|x| x.to_bits()).collect();
    assert_eq!(plain, followed);
    for (p, (name, _)) in parameters.iter().enumerate() {
        let step = 2e-4 * nominal[p];
        let moved = |places: f64| {
            let mut variant = nominal.clone();
            variant[p] += places * step;
            at(variant)
        };
        let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(moved);
        for (m, metric) in metrics.iter().enumerate() {
            let Some(exact) = found.slopes[p][m] else {
                assert_eq!(m, 4, "only times jump");
                continue;
            };
            let difference = (8.0 * (c[m] - b[m]) - (d[m] - a[m])) / (12.0 * step);
            // Against the size of the metric over that of the parameter, where both nearly vanish.
            let scale = exact.abs().max(1e-3 * found.metrics[m].abs() / nominal[p]);
            assert!(
                (exact - difference).abs() < 1e-6 * scale,
                "{metric} by {name}: {exact} {difference}"
            );
        }
    }
}

/// The same for recorded rows by coordinates of the unit cube, on linear and logarithmic scales, in the
/// middle of ranges and at their ends, where differences have one side only.
#[test]
fn derivatives_of_recorded_rows_equal_differences_of_runs() {
    use fluxline_optimise::space::{Scale, Space, Variable};
    use fluxline_study::derivative::rows;
    let model = Text::new(SMOOTH);
    let named = [
        parameter("high.volume", "m^3"),
        parameter("first.diameter", "m"),
        parameter("second.conductance", "m^3/(s*Pa)"),
        parameter("drive.gain", "rad"),
    ];
    let range = |low: f64, high: f64, scale| Variable::Continuous { low, high, scale };
    let space = Space {
        variables: vec![
            range(1e-4, 4e-3, Scale::Log),
            range(2e-3, 3e-3, Scale::Linear),
            range(1e-11, 1e-10, Scale::Log),
            range(1e-4, 2e-4, Scale::Linear),
        ],
    };
    let point = [0.37, 0.21, 0.0, 1.0];
    let steps: Vec<u64> = (0..=85).map(|i| i * 7).collect();
    let wanted = Wanted {
        record: vec!["pump.outlet.pressure".to_owned(), "first.inlet.flow".to_owned()],
        steps: steps.clone().into(),
        ..Wanted::default()
    };
    let ensemble = Ensemble::new(&model, named.to_vec(), wanted, [space.decode(&point)])
        .unwrap_or_else(|refused| panic!("{:?}", refused.problems));
    let found =
        rows(&ensemble, &space, &point).unwrap_or_else(|refused| panic!("{:?}", refused.problems));
    assert_eq!(found.runs, 1, "all four in one run");
    let at = |u: [f64; 4]| ensemble.evaluate(&[space.decode(&u)]).remove(0).unwrap().rows;
    let width = 3;
    for i in 0..point.len() {
        // Differences over so little that what they leave out, their third or fifth power, is nothing.
        let h = 1e-4;
        let moved = |places: f64| {
            let mut u = point;
            u[i] += places * h;
            at(u)
        };
        let middle = at(point);
        let (weights, places): (&[f64], &[f64]) = match i {
            2 => (&[-25.0 / 12.0, 4.0, -3.0, 4.0 / 3.0, -0.25], &[0.0, 1.0, 2.0, 3.0, 4.0]),
            3 => (&[25.0 / 12.0, -4.0, 3.0, -4.0 / 3.0, 0.25], &[0.0, -1.0, -2.0, -3.0, -4.0]),
            _ => (&[1.0 / 12.0, -8.0 / 12.0, 8.0 / 12.0, -1.0 / 12.0], &[-2.0, -1.0, 1.0, 2.0]),
        };
        let runs: Vec<Vec<f64>> = places.iter().map(|&p| moved(p)).collect();
        for column in 1..width {
            let largest = |values: &dyn Fn(usize) -> f64| {
                (0..steps.len()).map(values).fold(0.0f64, |most, x| most.max(x.abs()))
            };
            let exact = |row: usize| found.slopes[i][row * width + column];
            let difference = |row: usize| {
                let at = row * width + column;
                let terms = weights.iter().zip(&runs).map(|(w, run)| w * (run[at] - middle[at]));
                terms.sum::<f64>() / h
            };
            let scale = largest(&exact);
            assert!(scale > 0.0);
            let worst = largest(&|row| exact(row) - difference(row));
            assert!(worst < 1e-6 * scale, "{i} {column}: {worst} of {scale}");
        }
    }
}

/// A mean is linear: a constant in a signal shifts it, a factor scales it, in SI units.
#[test]
fn quantities_in_signals_are_read_with_their_units() {
    let model = Text::new(SMOOTH);
    let metrics = [
        "mean(pump.outlet.pressure)",
        "mean(pump.outlet.pressure - 45 bar)",
        "mean(2e-3 l/min + first.inlet.flow * 3)",
        "mean(first.inlet.flow)",
        "mean((pump.outlet.pressure - 1 MPa) * 2 m^2)",
    ];
    let nominal = [vec![2.2e-3]];
    let ensemble = ensemble(&model, &[("first.diameter", "m")], &metrics, &nominal);
    let found = ensemble.evaluate(&nominal).remove(0).unwrap().metrics;
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b.abs(), "{a} {b}");
    near(found[1], found[0] - 45e5);
    near(found[2], 2e-6 / 60.0 + 3.0 * found[3]);
    near(found[4], 2.0 * (found[0] - 1e6));
    let dimensions: Vec<Dimension> = ensemble.metrics().all.iter().map(|m| m.dimension).collect();
    assert_eq!(dimensions[1], dimensions[0]);
    assert_eq!(dimensions[4], Quantity::parse("1 N").unwrap().dimension);
    let wanted =
        Wanted { metrics: vec!["rms(pump.outlet.pressure - 3 mm)".into()], ..Wanted::default() };
    let refused = Ensemble::new(&model, vec![parameter("first.diameter", "m")], wanted, nominal);
    let told = format!("{:?}", refused.err().unwrap().problems);
    assert!(told.contains("cannot be added or subtracted"), "{told}");
}

/// A sum of metrics, made small.
struct Sum;

impl fluxline_study::search::Judge for Sum {
    fn metrics(&self, evaluation: &Evaluation) -> Vec<f64> {
        evaluation.metrics.clone()
    }
    fn value(&self, metrics: &[f64]) -> fluxline_optimise::Value {
        fluxline_optimise::Value::new(vec![1e-5 * metrics.iter().sum::<f64>()], 0.0)
    }
    fn slope(&self, changes: &[f64]) -> Option<f64> {
        Some(1e-5 * changes.iter().sum::<f64>())
    }
}

/// Two throttles in a row that are to hold two pressures: the descent comes to the same optimum with
/// exact derivatives as with differences, which cost four runs for each gradient.
#[test]
fn a_descent_on_exact_derivatives_finds_the_optimum_of_one_on_differences_in_fewer_runs() {
    use fluxline_optimise::method::{Chosen, find};
    use fluxline_optimise::space::{Scale, Space, Variable};
    use fluxline_study::search::{Ended, Runs, Slopes, optimise};
    let model = Text::new(SMOOTH);
    let named = [("first.diameter", "m"), ("second.conductance", "m^3/(s*Pa)")];
    let range = |low: f64, high: f64| Variable::Continuous { low, high, scale: Scale::Log };
    let space = Space { variables: vec![range(1.5e-3, 3e-3), range(2e-11, 2e-10)] };
    let start = vec![0.5, 0.5];
    let metrics = ["rms(pump.outlet.pressure - 45 bar)", "rms(second.inlet.pressure - 20 bar)"];
    let ensemble = ensemble(&model, &named, &metrics, &[space.decode(&start)]);
    let search = |slopes: &mut Slopes| {
        let mut runs = Runs::new(&ensemble, &Sum, 10_000, Vec::new(), None);
        let method = Chosen::new(find("quasi_newton").unwrap());
        let mut optimiser = method.optimiser(&space, &start, 1).unwrap();
        let ended = optimise(&mut runs, optimiser.as_mut(), &space, slopes, &mut |_| {});
        assert!(matches!(ended, Ended::Converged), "{ended:?}");
        (space.encode(&runs.best().unwrap().variant), runs.log.len())
    };
    let mut exact = Slopes::default();
    let (found, runs) = search(&mut exact);
    assert_eq!(exact.refusal, None);
    let mut refused = Slopes::by_differences("asked for");
    let (expected, by_differences) = search(&mut refused);
    for (a, b) in found.iter().zip(&expected) {
        assert!((a - b).abs() < 1e-4, "{found:?} {expected:?}");
    }
    assert!(
        runs as u64 + exact.exact < by_differences as u64,
        "{runs} and {}, not {by_differences}",
        exact.exact
    );
}

#[test]
fn a_parameter_that_changes_a_delay_has_no_exact_derivative() {
    use fluxline_study::sensitivity::derivatives;
    let text = SMOOTH.replace("1.7 m", "100 m");
    let model = Text::new(Box::leak(text.into_boxed_str()));
    // 100 m are 147 steps and a fraction: a tenth of a percent of length crosses a whole one.
    let named = [parameter("low.length", "m"), parameter("fluid.density", "kg/m^3")];
    let never = std::sync::atomic::AtomicBool::new(false);
    let texts = ["max(pump.outlet.pressure)".to_owned()];
    let steps = |length: f64| length / (1.6e9f64 / 870.0).sqrt() / 5e-4;
    let length = 100.0 * steps(100.0).ceil() / steps(100.0) * (1.0 - 1e-5);
    let refused = derivatives(&model, &named, &[length, 870.0], &texts, &never).unwrap_err();
    let told = format!("{:?}", refused.problems);
    assert!(told.contains("delays"), "{told}");
}

/// What a table holds is no number of a component: a derivative by it would be a zero that is wrong.
#[test]
fn a_parameter_that_changes_a_table_has_no_exact_derivative() {
    use fluxline_study::sensitivity::derivatives;
    let sine = "type = \"signal.sine\"\namplitude = 0.3\noffset = 1\nfrequency = \"5 Hz\"\n";
    let table = "type = \"signal.table\"\ntable = [[0, \"level\"], [1, \"level\"]]\n";
    let text = format!("{}\n[parameters]\nlevel = 1\n", SMOOTH.replace(sine, table));
    let model = Text::new(Box::leak(text.into_boxed_str()));
    let never = std::sync::atomic::AtomicBool::new(false);
    let metrics = ["rms(pump.outlet.pressure)".to_owned()];
    let by = |name: &str, value: f64| {
        derivatives(&model, &[parameter(name, "rad")], &[value], &metrics, &never)
    };
    assert!(by("drive.gain", 2e-4).is_ok());
    let told = format!("{:?}", by("level", 1.0).unwrap_err().problems);
    assert!(told.contains("points of a table"), "{told}");
}
