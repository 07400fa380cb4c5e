//! Published cases, repeated: what a paper or lecture states beside what Fluxline computes.

mod filters;
mod lumped;
mod mapping;
mod mass_spring;
mod rare_exchange;
mod relief_line;
mod study;

use fluxline_core::circuit::Registry;
use fluxline_diagnostics::Diagnostics;
use std::fmt;

/// A published case.
pub struct Case {
    /// Name on the command line: `tlm/mass-spring`.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Runs it.
    pub run: fn(&Extent) -> Result<Vec<Figure>, Diagnostics>,
}

/// How much of a case is run.
pub struct Extent<'r> {
    /// The component types.
    pub registry: &'r Registry,
    /// All of it, with speed measured; otherwise what a test has time for.
    pub is_whole: bool,
    /// Random sequences to run, where a case has them.
    pub seeds: u32,
}

/// One number of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is.
    pub quantity: String,
    /// What it should be; `None` where nothing is stated.
    pub reference: Option<f64>,
    /// Where the reference comes from.
    pub origin: Origin,
    /// What we compute.
    pub ours: f64,
    /// Unit of both.
    pub unit: &'static str,
    /// How far apart they may be.
    pub band: Band,
}

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Stated in the source.
    Published,
    /// Follows from the method in closed form.
    ClosedForm,
    /// What we ask of ourselves.
    Bar,
    /// Another program, or another solver, in the same run.
    Compared,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Published => "published",
            Self::ClosedForm => "closed form",
            Self::Bar => "bar",
            Self::Compared => "compared",
        })
    }
}

/// How far two numbers may be apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// As part of the reference.
    Relative(f64),
    /// In the unit of the figure.
    Absolute(f64),
    /// Not above the reference.
    AtMost,
    /// Not below the reference.
    AtLeast,
    /// Between these.
    Within(f64, f64),
    /// Shown for comparison.
    Any,
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative(part) => write!(f, "±{} %", crate::display::rounded(part * 100.0, 3)),
            Self::Absolute(value) => write!(f, "±{}", crate::display::rounded(*value, 3)),
            Self::AtMost => f.write_str("at most"),
            Self::AtLeast => f.write_str("at least"),
            Self::Within(low, high) => {
                let shown = |value: f64| crate::display::rounded(value, 3);
                write!(f, "{} to {}", shown(*low), shown(*high))
            }
            Self::Any => f.write_str("–"),
        }
    }
}

impl Figure {
    /// Whether it lies within its band; one without a reference does.
    pub fn agrees(&self) -> bool {
        if let Band::Within(low, high) = self.band {
            return self.ours >= low && self.ours <= high;
        }
        let Some(reference) = self.reference else { return self.ours.is_finite() };
        let apart = (self.ours - reference).abs();
        match self.band {
            Band::Relative(part) => apart <= part * reference.abs(),
            Band::Absolute(value) => apart <= value,
            Band::AtMost => self.ours <= reference,
            Band::AtLeast => self.ours >= reference,
            Band::Within(..) | Band::Any => self.ours.is_finite(),
        }
    }
}

/// All cases.
pub const CASES: &[Case] = &[
    relief_line::CASE,
    mass_spring::CASE,
    filters::CASE,
    lumped::circuit1::CASE,
    lumped::circuit2::CASE,
    lumped::circuit3::CASE,
    lumped::circuit4::CASE,
    lumped::cylinder_drive::CASE,
    lumped::run_off::CASE,
    lumped::flow_control_valve::CASE,
    lumped::stiffness::CASE,
    mapping::CASE,
    rare_exchange::CASE,
    study::identification_rig::CASE,
    study::sensitivity_rig::CASE,
    study::servo_tuning::CASE,
];

/// A circuit built by a case is wrong: the component library has changed under it.
pub(crate) fn broken(mistake: String) -> Diagnostics {
    use fluxline_diagnostics::{Code, Diagnostic};
    Diagnostic::error(Code::InconsistentParameters, mistake).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_agrees() {
        let registry = crate::registry();
        for case in CASES {
            let extent = Extent { registry: &registry, is_whole: false, seeds: 1 };
            let figures = (case.run)(&extent).unwrap();
            assert!(!figures.is_empty(), "{}", case.name);
            for figure in figures {
                assert!(figure.agrees(), "{}: {figure:?}", case.name);
            }
        }
    }

    #[test]
    fn a_band_is_kept_or_not() {
        let figure = |ours, band| Figure {
            quantity: String::new(),
            reference: Some(10.0),
            origin: Origin::Published,
            ours,
            unit: "kg",
            band,
        };
        assert!(figure(10.05, Band::Relative(0.01)).agrees());
        assert!(!figure(10.2, Band::Relative(0.01)).agrees());
        assert!(!figure(f64::NAN, Band::Absolute(1.0)).agrees());
        assert_eq!(Band::Relative(0.005).to_string(), "±0.5 %");
    }
}
