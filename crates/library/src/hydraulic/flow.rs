//! Flow through restrictions: laws, sizes from geometry or catalogue, and the solution between line
//! ends for restrictions whose opening follows pressures.
//!
//! Everything here is plain functions of numbers; valves and orifices are declarations on top.

use fluxline_core::Constants;
use fluxline_core::choice;
use fluxline_core::component::{Law, Refusal, Step};
use fluxline_core::fluid::{ATMOSPHERE, Fluid};
use fluxline_core::number::{Dual, Mask, Num};
use fluxline_core::wave::turbulent_flow;
use fluxline_core::wide;
use std::f64::consts::PI;

choice! {
    /// How flow depends on the pressure drop below the transition to turbulence.
    #[derive(Default)]
    pub enum FlowLaw {
        #[default]
        /// Cubic, smooth in value and slope (Åman 2.10–2.16).
        TwoRegime = "two_regime",
        /// Turbulent down to zero: infinite slope there.
        Turbulent = "turbulent",
        /// Linear, discharge coefficient proportional to √Re (Merritt); the slope jumps.
        Merritt = "merritt",
        /// Quadratic, smooth in value and slope, from 9/4 of the transition drop (Ellman and Piché).
        Ellman = "ellman",
    }
}

impl FlowLaw {
    /// q for a drop Δp. `conductance` is K = q/√Δp when turbulent, `critical` is K·Δp₀ with Δp₀ the
    /// drop of transition; both may be zero conductance without harm.
    ///
    /// With y = |Δp|/Δp₀ and q₀ = K·√Δp₀: q = q₀·g(y) for y < 1, K·√|Δp| beyond.
    #[inline(always)]
    pub fn flow<T: Num>(self, conductance: T, critical: T, drop: T) -> T {
        let turbulent = conductance * drop.abs().sqrt();
        if self == FlowLaw::Turbulent {
            return turbulent.with_sign_of(drop);
        }
        let critical = self.critical(critical);
        let y = drop.abs() * conductance / critical;
        let laminar = (critical * conductance).sqrt() * self.shape(y);
        T::select(y.lt(T::one()), laminar, turbulent).with_sign_of(drop)
    }

    /// The same between two line ends: Δp = Δc − Z·q. Exact, but for a cubic that four Newton
    /// iterations solve to rounding.
    #[inline(always)]
    pub fn flow_through<T: Num>(
        self,
        conductance: T,
        critical: T,
        wave_difference: T,
        impedance: T,
    ) -> T {
        let turbulent = turbulent_flow(conductance, wave_difference, impedance);
        if self == FlowLaw::Turbulent {
            return turbulent;
        }
        let critical = self.critical(critical);
        let q0 = (critical * conductance).sqrt();
        let per_drop = conductance / critical;
        let y0 = wave_difference.abs() * per_drop;
        let zeta = impedance * q0 * per_drop;
        let below = y0.lt(zeta + 1.0);
        if !below.any() {
            return turbulent;
        }
        let y = self.solve(T::select(below, y0, T::zero()), zeta);
        let laminar = (q0 * self.shape(y)).with_sign_of(wave_difference);
        T::select(below, laminar, turbulent)
    }

    /// K·Δp₀ with this law's own drop of transition.
    #[inline(always)]
    fn critical<T: Num>(self, critical: T) -> T {
        match self {
            FlowLaw::Ellman => critical * 2.25,
            _ => critical,
        }
    }

    /// g(y) on 0 ≤ y < 1.
    #[inline(always)]
    fn shape<T: Num>(self, y: T) -> T {
        match self {
            FlowLaw::TwoRegime => y * (T::of(5.0) - y * y) * 0.25,
            FlowLaw::Turbulent => y.sqrt(),
            FlowLaw::Merritt => y,
            FlowLaw::Ellman => y * (T::of(3.0) - y) * 0.5,
        }
    }

    /// y in 0…1 with y + ζ·g(y) = y₀.
    #[inline(always)]
    fn solve<T: Num>(self, y0: T, zeta: T) -> T {
        match self {
            FlowLaw::Merritt => y0 / (zeta + 1.0),
            FlowLaw::Ellman => {
                let linear = zeta * 1.5 + 1.0;
                y0 * 2.0 / (linear + (linear * linear - zeta * y0 * 2.0).sqrt())
            }
            // y − κ·y³ = b with κ ≤ 1/5, b ≤ 1 − κ. The start is exact at both ends and within
            // 0.03 between; the slope is at least 2/5, so the error falls as 1.5·e².
            FlowLaw::TwoRegime | FlowLaw::Turbulent => {
                let share = (zeta * 5.0 + 4.0).recip();
                let (kappa, b) = (zeta * share, y0 * share * 4.0);
                let ratio = b / (T::one() - kappa);
                let mut y = b + kappa * ratio * ratio * ratio;
                for _ in 0..4 {
                    let bent = kappa * y * y;
                    y = (b - bent * y * 2.0) / (T::one() - bent * 3.0);
                }
                y
            }
        }
    }
}

/// A restriction that a valve opens from 0 to 1.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Restriction<T> {
    /// K — flow over √Δp when fully open and turbulent.
    pub conductance: T,
    /// K·Δp₀/ν² = Re_tr²·π·√ρ/(√32·C_d), the same at every opening (Åman 2.17–2.21).
    pub transition: T,
    /// The law.
    pub law: FlowLaw,
}

impl<T: Num> Restriction<T> {
    /// Flow for a drop.
    #[inline(always)]
    pub fn flow(&self, opening: T, drop: T, viscosity: T) -> T {
        let critical = self.transition * viscosity * viscosity;
        self.law.flow(self.conductance * opening, critical, drop)
    }

    /// Flow between line ends with this opening.
    #[inline(always)]
    pub fn flow_between(&self, opening: T, ends: &Ends<T>) -> T {
        let critical = self.transition * ends.viscosity * ends.viscosity;
        self.law.flow_through(
            self.conductance * opening,
            critical,
            ends.difference(),
            ends.impedance(),
        )
    }
}

/// How large a restriction is: exactly one of area, bore, flow coefficient and catalogue point.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    /// A, m².
    pub area: Option<f64>,
    /// d, m.
    pub diameter: Option<f64>,
    /// K, m³/(s·√Pa).
    pub flow_coefficient: Option<f64>,
    /// q_n, m³/s.
    pub nominal_flow: Option<f64>,
    /// Δp_n, Pa.
    pub nominal_pressure_drop: Option<f64>,
    /// C_d.
    pub discharge: f64,
    /// Re_tr.
    pub transition_reynolds: f64,
    /// Flow below the transition.
    pub law: FlowLaw,
}

impl Size {
    /// The restriction of this size. `opening_at_nominal` is how far a valve is open at its nominal
    /// pressure drop.
    pub fn restriction(
        &self,
        fluid: &Fluid,
        opening_at_nominal: impl FnOnce(f64) -> Result<f64, Refusal>,
    ) -> Result<Restriction<f64>, Refusal> {
        let transition =
            self.transition_reynolds.powi(2) * PI * (fluid.density / 32.0).sqrt() / self.discharge;
        let of_area = |area: f64| self.discharge * area * (2.0 / fluid.density).sqrt();
        let mut ways = Vec::new();
        if let Some(area) = self.area {
            ways.push(("area", format!("{} mm²", area * 1e6), of_area(area)));
        }
        if let Some(d) = self.diameter {
            let text = format!("{} mm", d * 1e3);
            ways.push(("diameter", text, of_area(0.25 * PI * d * d)));
        }
        if let Some(k) = self.flow_coefficient {
            ways.push(("flow_coefficient", format!("{k} m³/(s·√Pa)"), k));
        }
        if let Some((flow, drop)) = point(
            ("nominal_flow", self.nominal_flow),
            ("nominal_pressure_drop", self.nominal_pressure_drop),
        )? {
            let opening = opening_at_nominal(drop)?;
            let nu = fluid.viscosity_at(fluid.temperature, ATMOSPHERE);
            let k = conductance_at(self.law, flow, drop, transition * nu * nu) / opening;
            let text = format!("{} at {}", litres(flow), bar(drop));
            ways.push(("nominal_flow", text, k));
        }
        match ways[..] {
            [(_, _, conductance)] => Ok(Restriction { conductance, transition, law: self.law }),
            [] => Err(Refusal::new(
                "nominal_flow",
                "the size of the restriction is not given",
                "give a catalogue point (nominal_flow and nominal_pressure_drop, such as \
                 \"40 l/min\" at \"5 bar\"), or an area, a bore or a flow coefficient",
            )),
            [(first, ref given, _), (second, ref also, _), ..] => Err(Refusal::new(
                second,
                format!("the size is given twice: {first} = {given} and {second} = {also}"),
                format!("keep one of them, {first} or {second}"),
            )),
        }
    }
}

/// K that passes a flow at a drop, laminar or turbulent.
fn conductance_at(law: FlowLaw, flow: f64, drop: f64, critical: f64) -> f64 {
    let turbulent = flow / drop.sqrt();
    let own = law.critical(critical);
    if law == FlowLaw::Turbulent || turbulent * drop >= own {
        return turbulent;
    }
    // Flow grows with K from below the turbulent K, so the K wanted lies above it.
    let (mut low, mut high) = (turbulent, own / drop);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if law.flow(middle, critical, drop) < flow {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// A catalogue point: both numbers, or none.
pub fn point(
    (flow_name, flow): (&'static str, Option<f64>),
    (drop_name, drop): (&'static str, Option<f64>),
) -> Result<Option<(f64, f64)>, Refusal> {
    match (flow, drop) {
        (Some(flow), Some(drop)) => Ok(Some((flow, drop))),
        (None, None) => Ok(None),
        (Some(flow), None) => Err(Refusal::new(
            drop_name,
            format!("{flow_name} = {} has no pressure to it", litres(flow)),
            format!("give {drop_name} as well"),
        )),
        (None, Some(drop)) => Err(Refusal::new(
            flow_name,
            format!("{drop_name} = {} has no flow to it", bar(drop)),
            format!("give {flow_name} as well"),
        )),
    }
}

/// A pressure as messages show it.
pub fn bar(pressure: f64) -> String {
    format!("{} bar", round(pressure / 1e5))
}

/// A flow as messages show it.
pub fn litres(flow: f64) -> String {
    format!("{} l/min", round(flow * 60e3))
}

/// Six digits: what was typed, not what became of it in binary.
fn round(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

/// Declares a component with the parameters that size a restriction, after its own fields, and
/// gives it `size()`.
macro_rules! sized {
    ($(#[$attribute:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        $(#[$attribute])*
        pub struct $name {
            $($fields)*
            /// A — flow area when fully open [m^2]
            #[parameter(min = ">0 mm^2")]
            pub area: Option<f64>,
            /// d — bore of a round opening of that area [m]
            #[parameter(min = ">0 mm")]
            pub diameter: Option<f64>,
            /// K — flow over the root of the pressure drop when fully open [m^3/(s*sqrt(Pa))]
            #[parameter(min = ">0 m^3/(s*sqrt(Pa))", also = "K_s")]
            pub flow_coefficient: Option<f64>,
            /// q_n — flow at the nominal pressure drop [m^3/s]
            #[parameter(min = ">0 l/min")]
            pub nominal_flow: Option<f64>,
            /// Δp_n — pressure drop at the nominal flow [Pa]
            #[parameter(min = ">0 bar")]
            pub nominal_pressure_drop: Option<f64>,
            /// C_d — discharge coefficient when turbulent [–]
            #[parameter(default = 0.67, min = ">0", max = 1, also = "C_q")]
            pub discharge: f64,
            /// Re_tr — Reynolds number of the transition to turbulence [–]
            #[parameter(default = 1000, min = ">0")]
            pub transition_reynolds: f64,
            /// – — flow below the transition to turbulence: two_regime, turbulent, merritt or ellman [–]
            #[parameter(default = "two_regime")]
            pub law: $crate::hydraulic::flow::FlowLaw,
        }
        impl $name {
            fn size(&self) -> $crate::hydraulic::flow::Size {
                $crate::hydraulic::flow::Size {
                    area: self.area,
                    diameter: self.diameter,
                    flow_coefficient: self.flow_coefficient,
                    nominal_flow: self.nominal_flow,
                    nominal_pressure_drop: self.nominal_pressure_drop,
                    discharge: self.discharge,
                    transition_reynolds: self.transition_reynolds,
                    law: self.law,
                }
            }
        }
    };
}
pub(crate) use sized;

/// Root of an increasing function between bounds that enclose it, by Newton; by halving where
/// Newton would leave the bounds or be slow. A lane that is done is kept, so that lanes give the
/// bits of scalars.
///
/// `noise` is the size of the terms that cancel in `f`: no closer answer than their rounding is
/// asked for.
#[inline(always)]
pub fn increasing_root<T: Num>(
    low: T,
    high: T,
    start: T,
    noise: T,
    f: impl Fn(Dual<T>) -> Dual<T>,
) -> T {
    let (mut low, mut high) = (low, high);
    let mut x = start.clamp(low, high);
    let mut last = (high - low) * 2.0;
    let mut done = T::one().lt(T::zero());
    for _ in 0..200 {
        let at = f(Dual::variable(x));
        let above = at.value.gt(T::zero());
        high = T::select(above, x, high);
        low = T::select(above, low, x);
        let newton = x - at.value / at.slope;
        let move_by = (newton - x).abs();
        let tolerance = x.abs() * 4e-16 + noise * 4e-16 / at.slope.abs();
        // A root function is vertical at zero drop: Newton would take that for arrival.
        let sloped = at.slope.gt(T::zero()) & at.slope.lt(T::of(1e100));
        let arrived = (move_by.le(tolerance) & sloped) | at.value.abs().le(T::zero());
        // A root at a bound may be overshot by rounding.
        let within = newton.ge(low - tolerance) & newton.le(high + tolerance);
        let quick = within & (move_by * 2.0).le(last) & sloped;
        let middle = (low + high) * 0.5;
        let next = T::select(quick, newton.clamp(low, high), middle);
        // The last move is Newton's, so that a root of dual numbers has the right slope.
        let last_move = T::select(sloped, newton, x);
        let next = T::select(arrived, last_move, next);
        let step = (next - x).abs();
        last = T::select(quick, step, step * 2.0);
        x = T::select(done, x, next);
        done = done | arrived | step.le(x.abs() * 2e-16);
        if done.all() {
            break;
        }
    }
    x
}

/// The two line ends that a restriction joins.
#[derive(Clone, Copy, Debug)]
pub struct Ends<T> {
    inlet: (T, T),
    outlet: (T, T),
    /// Kinematic viscosity, mean of both ends.
    pub viscosity: T,
}

impl<T: Num> Ends<T> {
    /// Two ends, each a wave and an impedance.
    #[inline(always)]
    pub fn new(inlet: (T, T), outlet: (T, T), viscosity: T) -> Self {
        Self { inlet, outlet, viscosity }
    }

    /// The ends at two ports.
    #[inline(always)]
    pub fn of(io: &Step<'_, T>, inlet: usize, outlet: usize) -> Self {
        Self::new(
            (io.wave(inlet), io.impedance(inlet)),
            (io.wave(outlet), io.impedance(outlet)),
            (io.viscosity(inlet) + io.viscosity(outlet)) * 0.5,
        )
    }

    /// Δc.
    #[inline(always)]
    pub fn difference(&self) -> T {
        self.inlet.0 - self.outlet.0
    }

    /// Z₁ + Z₂.
    #[inline(always)]
    pub fn impedance(&self) -> T {
        self.inlet.1 + self.outlet.1
    }

    /// A linear combination of pressures as a function of the drop: with q = (Δc − Δp)/Z both
    /// pressures are linear in Δp, also for Z = 0, where Δp = Δc.
    #[inline(always)]
    pub fn along(&self, control: Control<T>) -> Line<T> {
        let inverse = (self.impedance() + f64::MIN_POSITIVE).recip();
        let (by_inlet, by_outlet) = (self.inlet.1 * inverse, self.outlet.1 * inverse);
        let difference = self.difference();
        Line {
            at_rest: control.inlet * (self.inlet.0 - by_inlet * difference)
                + control.outlet * (self.outlet.0 + by_outlet * difference)
                + control.offset,
            slope: control.inlet * by_inlet - control.outlet * by_outlet,
        }
    }

    /// Drop at which a passive restriction and the line ends agree: Δp + Z·q(Δp) = Δc. `last_flow`
    /// starts the search.
    #[wide]
    #[inline(always)]
    pub fn drop(&self, last_flow: T, flow: impl Fn(Dual<T>) -> Dual<T>) -> T {
        let (dc, z) = (self.difference(), self.impedance());
        let (low, high) = (dc.min(T::zero()), dc.max(T::zero()));
        let (lifted_dc, lifted_z) = (Dual::constant(dc), Dual::constant(z));
        increasing_root(low, high, dc - z * last_flow, dc.abs(), |drop| {
            drop + lifted_z * flow(drop) - lifted_dc
        })
    }
}

/// What moves a valve: inlet·p_in + outlet·p_out + offset, as a fraction of full opening.
#[derive(Clone, Copy, Debug)]
pub struct Control<T> {
    /// Weight of the inlet pressure.
    pub inlet: T,
    /// Weight of the outlet pressure.
    pub outlet: T,
    /// Springs and pilots.
    pub offset: T,
}

impl<T: Num> Control<T> {
    /// The value at given pressures.
    #[inline(always)]
    pub fn at(&self, inlet: T, outlet: T) -> T {
        self.inlet * inlet + self.outlet * outlet + self.offset
    }
}

/// A straight line over the pressure drop.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Line<T> {
    /// Value at 0.
    pub at_rest: T,
    /// Slope.
    pub slope: T,
}

impl<T: Num> Line<T> {
    /// Its value.
    #[inline(always)]
    pub fn at(&self, drop: T) -> T {
        self.slope * drop + self.at_rest
    }
}

/// Position held between closed and fully open.
#[inline(always)]
pub fn opening<T: Num>(position: T) -> T {
    position.clamp_to(0.0, 1.0)
}

/// The range of a valve that is shut at 0 and fully open at 1.
#[inline(always)]
pub fn open_or_shut<T: Num>() -> (T, T) {
    (T::zero(), T::one())
}

/// A position that follows its target as a first-order lag, by the trapezoidal rule:
///
/// τ·dx/dt = u − x;  x = kept + gain·u
#[derive(Clone, Copy, Debug, Constants)]
pub struct Lag<T> {
    /// 1/τ, 0 when it follows at once.
    rate: T,
    keep: T,
    gain: T,
    half_step: f64,
}

impl Lag<f64> {
    /// A lag with a time constant; none follows at once.
    pub fn new(time_constant: Option<f64>, step: f64) -> Self {
        let ratio = time_constant.map(|tau| 0.5 * step / tau);
        Self {
            rate: time_constant.map_or(0.0, f64::recip),
            keep: ratio.map_or(0.0, |r| 1.0 / (1.0 + r)),
            gain: ratio.map_or(1.0, |r| r / (1.0 + r)),
            half_step: 0.5 * step,
        }
    }
}

impl<T: Num> Lag<T> {
    /// New position as a function of the new target.
    ///
    /// A lag that follows at once keeps nothing.
    #[inline(always)]
    pub fn advance(&self, position: T, rate: T) -> Line<T> {
        Line { at_rest: (position + rate * self.half_step) * self.keep, slope: self.gain }
    }

    /// dx/dt.
    #[inline(always)]
    pub fn rate(&self, position: T, target: T) -> T {
        (target - position) * self.rate
    }
}

/// A restriction whose opening follows pressures.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Follower<T> {
    /// The edge.
    pub restriction: Restriction<T>,
    /// How it moves.
    pub lag: Lag<T>,
    /// It seats like a poppet: no flow from outlet to inlet.
    pub one_way: bool,
}

impl<T: Num> Follower<T> {
    /// Flow with a position of the moving part.
    #[inline(always)]
    pub fn flow(&self, position: T, drop: T, viscosity: T) -> T {
        let through = self.restriction.flow(opening(position), drop, viscosity);
        if self.one_way { T::select(drop.gt(T::zero()), through, T::zero()) } else { through }
    }

    /// Flow between line ends and the position it leads to. `controls` push the moving part, the
    /// strongest one counts; `moved` is the new position as a function of where they push it to,
    /// within `range`.
    #[wide]
    #[inline(always)]
    pub fn solve<const N: usize>(
        &self,
        ends: &Ends<T>,
        controls: [Control<T>; N],
        range: (T, T),
        moved: Line<T>,
        last_flow: T,
    ) -> Followed<T> {
        let lift = &mut Dual::constant;
        let targets = controls.map(|control| ends.along(control));
        let (valve, motion) = (self.map(lift), moved.map(lift));
        let along = targets.map(|target| target.map(lift));
        let (viscosity, low, high) = (lift(ends.viscosity), lift(range.0), lift(range.1));
        let drop = ends.drop(last_flow, |drop| {
            let position = motion.at(strongest(along, drop).clamp(low, high));
            valve.flow(position, drop, viscosity)
        });
        let target = strongest(targets, drop).clamp(range.0, range.1);
        let position = moved.at(target);
        Followed { flow: self.flow(position, drop, ends.viscosity), target, position }
    }

    /// One step of a valve with one state, `position`.
    #[inline(always)]
    pub fn step(
        &self,
        io: &mut Step<'_, T>,
        [inlet, outlet]: [usize; 2],
        control: Control<T>,
        position: usize,
    ) -> T {
        let ends = Ends::of(io, inlet, outlet);
        let moved = self.lag.advance(io.state(position), io.rate(position));
        let new = self.solve(&ends, [control], open_or_shut(), moved, io.flow(outlet));
        io.set_flow(inlet, -new.flow);
        io.set_flow(outlet, new.flow);
        io.set_state(position, new.position);
        io.set_rate(position, self.lag.rate(new.position, new.target));
        opening(new.position)
    }

    /// The continuous law of a valve with one state.
    #[inline(always)]
    pub fn law(
        &self,
        law: &mut Law<'_, T>,
        [inlet, outlet]: [usize; 2],
        control: Control<T>,
        position: usize,
    ) -> T {
        let (p_in, p_out) = (law.effort[inlet], law.effort[outlet]);
        let viscosity = (law.viscosity[inlet] + law.viscosity[outlet]) * 0.5;
        let x = law.state[position];
        let through = self.flow(x, p_in - p_out, viscosity);
        law.flow[inlet] = -through;
        law.flow[outlet] = through;
        law.rate[position] = self.lag.rate(x, opening(control.at(p_in, p_out)));
        opening(x)
    }
}

#[wide]
#[inline(always)]
fn strongest<T: Num, const N: usize>(lines: [Line<T>; N], drop: T) -> T {
    lines[1..].iter().fold(lines[0].at(drop), |most, line| most.max(line.at(drop)))
}

/// What a [`Follower`] does in a step.
#[derive(Clone, Copy, Debug)]
pub struct Followed<T> {
    /// Flow from inlet to outlet.
    pub flow: T,
    /// Where it wants to be.
    pub target: T,
    /// Where it is.
    pub position: T,
}

#[cfg(test)]
pub(crate) mod testing {
    use fluxline_core::component::{BalanceRole, Physics};
    use fluxline_core::number::Lanes;
    use fluxline_core::testing::{Bench, Surroundings};
    use fluxline_core::values::default_settings;
    use proptest::test_runner::{Config, TestRunner};

    /// A component as declared, for tests to change what they need.
    pub fn declared<M: Physics>() -> M {
        default_settings().expect("every parameter has a default or is optional")
    }

    /// 40 l/min in SI.
    pub const FLOW_40: f64 = 40e-3 / 60.0;

    /// Four components stepped as lanes give the bits of four stepped alone, on random line ends
    /// and inputs between the given bounds.
    pub fn lanes_give_the_bits_of_scalars<M: Physics>(
        components: [&M; 4],
        inputs: &[(f64, f64)],
        waves: (f64, f64),
    ) {
        let around = Surroundings::of::<M>(1e-4);
        let ports: usize = around.places.iter().sum();
        let numbers = 12 * (2 * ports + inputs.len());
        let strategy = proptest::collection::vec(0.0..1.0f64, numbers * 4);
        let mut runner = TestRunner::new(Config { cases: 40, ..Config::default() });
        let states = M::DECLARATION.states.len();
        let run = runner.run(&strategy, |random| {
            let mut random = random.into_iter();
            let mut next = |(low, high): (f64, f64)| low + (high - low) * random.next().unwrap();
            let mut together = Bench::lanes(components, &around).unwrap();
            let mut alone = components.map(|component| Bench::within(component, &around).unwrap());
            for _ in 0..12 {
                for port in 0..ports {
                    let c: [f64; 4] = std::array::from_fn(|_| next(waves));
                    // a quarter of the ends is stiff
                    let z: [f64; 4] = std::array::from_fn(|_| next((-1e9, 3e9)).max(0.0));
                    together.line(port, Lanes(c), Lanes(z));
                    for (i, bench) in alone.iter_mut().enumerate() {
                        bench.line(port, c[i], z[i]);
                    }
                }
                for (index, &bounds) in inputs.iter().enumerate() {
                    let u: [f64; 4] = std::array::from_fn(|_| next(bounds));
                    together.input(index, Lanes(u));
                    for (i, bench) in alone.iter_mut().enumerate() {
                        bench.input(index, u[i]);
                    }
                }
                together.step();
                for (i, bench) in alone.iter_mut().enumerate() {
                    bench.step();
                    for port in 0..ports {
                        let (lane, scalar) = (together.flow(port).0[i], bench.flow(port));
                        assert_eq!(lane.to_bits(), scalar.to_bits(), "{lane} {scalar}");
                    }
                    for state in 0..2 * states {
                        let lane = together.get_state(state).0[i];
                        assert_eq!(lane.to_bits(), bench.get_state(state).to_bits());
                    }
                }
            }
            Ok(())
        });
        run.unwrap();
    }

    /// The component's own step and the generic one agree: flows within `tolerance` of their size
    /// plus a hundredth of a litre per minute, states likewise within `tolerance`. A component that
    /// stores nothing delivers no power.
    pub fn agrees_with_the_generic_step<M: Physics>(
        mount: impl Fn() -> Bench<M>,
        tolerance: f64,
    ) -> Result<(), proptest::test_runner::TestCaseError> {
        let (mut own, mut generic) = (mount(), mount());
        own.step();
        generic.step_generic();
        proptest::prop_assume!(generic.state.faults.unconverged == 0);
        let declaration = M::DECLARATION;
        if M::ROLE == BalanceRole::Through {
            let power: f64 =
                (0..declaration.ports.len()).map(|i| own.flow(i) * own.effort(i)).sum();
            proptest::prop_assert!(power <= 1e-9, "delivers {power} W");
        }
        for port in 0..declaration.ports.len() {
            let (a, b) = (own.flow(port), generic.flow(port));
            proptest::prop_assert!((a - b).abs() <= tolerance * (b.abs() + 1.7e-7), "{a} {b}");
        }
        for state in 0..2 * declaration.states.len() {
            let (a, b) = (own.get_state(state), generic.get_state(state));
            proptest::prop_assert!(
                (a - b).abs() <= tolerance * (1.0 + b.abs()),
                "state {state}: {a} {b}"
            );
        }
        for output in 0..declaration.outputs.len() {
            let (a, b) = (own.output(output), generic.output(output));
            proptest::prop_assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} {b}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LAWS: [FlowLaw; 4] =
        [FlowLaw::TwoRegime, FlowLaw::Turbulent, FlowLaw::Merritt, FlowLaw::Ellman];

    /// Åman 2.15: the cubic has the value and the slope of the root at the transition.
    #[test]
    fn laminar_and_turbulent_laws_meet_at_the_transition() {
        let (k, critical) = (9e-7, 2e-2);
        for law in LAWS {
            let p0 = law.critical(critical) / k;
            let flow = |p: f64| law.flow(Dual::of(k), Dual::of(critical), Dual::variable(p));
            let (below, above) = (flow(p0 * (1.0 - 1e-9)), flow(p0 * (1.0 + 1e-9)));
            assert!((below.value / above.value - 1.0).abs() < 3e-9, "{law:?}");
            if law != FlowLaw::Merritt {
                assert!((below.slope / above.slope - 1.0).abs() < 1e-8, "{law:?}");
            } else {
                assert!((below.slope / above.slope - 2.0).abs() < 1e-8);
            }
        }
        // a₁ = 5K/(4√Δp₀), the slope at zero drop
        let p0: f64 = critical / k;
        let slope = FlowLaw::TwoRegime.flow(Dual::of(k), Dual::of(critical), Dual::variable(0.0));
        assert!((slope.slope / (1.25 * k / p0.sqrt()) - 1.0).abs() < 1e-12);
    }

    /// Re = C_d·d·√(2Δp₀/ρ)/ν at the drop of transition is Re_tr (Åman 2.17).
    #[test]
    fn drop_of_transition_has_the_reynolds_number_of_transition() {
        let fluid = Fluid::default();
        let size = Size {
            diameter: Some(3e-3),
            discharge: 0.61,
            transition_reynolds: 700.0,
            ..Size::default()
        };
        let r = size.restriction(&fluid, |_| Ok(1.0)).unwrap();
        let p0 = r.transition * fluid.viscosity * fluid.viscosity / r.conductance;
        let reynolds = 0.61 * 3e-3 * (2.0 * p0 / fluid.density).sqrt() / fluid.viscosity;
        assert!((reynolds / 700.0 - 1.0).abs() < 1e-12, "{reynolds}");
    }

    #[test]
    fn a_catalogue_point_is_met_also_where_it_is_laminar() {
        let fluid = Fluid::default();
        for (flow, drop) in [(40e-3 / 60.0, 5e5), (0.2e-3 / 60.0, 0.1e5)] {
            let size = Size {
                nominal_flow: Some(flow),
                nominal_pressure_drop: Some(drop),
                discharge: 0.67,
                transition_reynolds: 1000.0,
                ..Size::default()
            };
            let r = size.restriction(&fluid, |_| Ok(1.0)).unwrap();
            let got = r.flow(1.0, drop, fluid.viscosity);
            assert!((got / flow - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_size_given_twice_or_not_at_all_is_refused_with_both_values() {
        let fluid = Fluid::default();
        let none = Size { discharge: 0.67, transition_reynolds: 1000.0, ..Size::default() };
        let refused = |size: Size| size.restriction(&fluid, |_| Ok(1.0)).unwrap_err();
        assert!(refused(none).message.contains("not given"));
        let twice = refused(Size {
            area: Some(10e-6),
            nominal_flow: Some(40e-3 / 60.0),
            nominal_pressure_drop: Some(5e5),
            ..none
        });
        assert_eq!(twice.parameter, "nominal_flow");
        assert!(twice.message.contains("10 mm²") && twice.message.contains("40 l/min at 5 bar"));
        let half = refused(Size { nominal_flow: Some(1e-3), ..none });
        assert_eq!(half.parameter, "nominal_pressure_drop");
        assert!(half.message.contains("60 l/min"));
    }

    proptest! {
        /// Each law with p = c + Z·q at both ends, from laminar to turbulent, Z from 0 to stiff.
        #[test]
        fn flow_through_lines_satisfies_the_law(
            sign in prop::bool::ANY, dc in -3.0..7.6f64, z in 0.0..13.0f64, k in -10.0..-5.0f64, law in 0..4usize,
        ) {
            let (dc, z, k) = (10f64.powf(dc) * if sign { 1.0 } else { -1.0 }, 10f64.powf(z) - 1.0, 10f64.powf(k));
            let (law, critical) = (LAWS[law], 2e-2);
            let q = law.flow_through(k, critical, dc, z);
            // The drop is known to rounding of Δc; the flow must lie between those of its neighbours.
            let (drop, rounding) = (dc - z * q, 1e-15 * dc.abs());
            let least = law.flow(k, critical, drop - rounding);
            let most = law.flow(k, critical, drop + rounding);
            let slack = 1e-13 * q.abs();
            prop_assert!(least - slack <= q && q <= most + slack, "{least} {q} {most}");
            prop_assert_eq!(law.flow_through(k, critical, -dc, z), -q);
        }

        #[test]
        fn a_closed_restriction_passes_nothing(dc in -4e7..4e7f64, z in 0.0..1e12f64) {
            for law in LAWS {
                prop_assert_eq!(law.flow_through(0.0, 2e-2, dc, z), 0.0);
                prop_assert_eq!(law.flow(0.0, 2e-2, dc), 0.0);
            }
        }

        /// It does not stick where a turbulent restriction has its vertical tangent.
        #[test]
        fn a_vertical_tangent_is_not_a_root(pressure in 1e5..1e7f64) {
            let f = |p: Dual<f64>| {
                let out = turbulent_flow(Dual::of(2e-6), p - pressure, Dual::of(0.0));
                out - Dual::of(1e-3)
            };
            let p = increasing_root(0.0, 4e7, pressure, 0.0, f);
            prop_assert!(((p - pressure) / 2.5e5 - 1.0).abs() < 1e-9);
        }

        /// Differentiating through the search gives the slope of the root: x³ + x = p.
        #[test]
        fn root_of_dual_numbers_has_its_slope(p in -10.0..10.0f64) {
            let p = Dual::variable(p);
            let x = increasing_root(Dual::of(-10.0), Dual::of(10.0), Dual::of(1.0), Dual::of(10.0), |x| {
                x * x * x + x - Dual::constant(p)
            });
            prop_assert!((x.slope * (3.0 * x.value * x.value + 1.0) - 1.0).abs() < 1e-9);
        }

        /// The search lands on roots of nasty functions: flat, steep, with a kink.
        #[test]
        fn roots_are_found_within_their_bounds(root in -1e7..1e7f64, start in -1e7..1e7f64, power in 0..3usize) {
            let f = |x: Dual<f64>| {
                let d = (x - root) * 1e-7;
                match power {
                    0 => d * d * d,
                    1 => d.signed_sqrt(),
                    _ => d + d.max(Dual::of(0.0)) * 1e6,
                }
            };
            let x = increasing_root(-1e7, 1e7, start, 0.0, f);
            let error: f64 = (x - root).abs();
            // a triple root is as sharp as the cube root of the smallest number
            prop_assert!(error <= 1e-7 * 1e-1 + 1e-15 * root.abs(), "{error}");
        }
    }
}
