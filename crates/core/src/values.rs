//! Declared units, ranges and defaults, read once per type.
//!
//! A declaration holds texts as a file would (`"10 mm^2"`, `">0 bar"`). [`Rules`] holds what they
//! mean in SI units; files, plans and documentation check values against it.

use crate::component::Declared;
use crate::declare::{ANY_UNIT, Declaration, Kind, Parameter, Value};
use crate::table::Table;
use fluxline_units::{Expr, Quantity, Unit};
use std::fmt;
use std::sync::Arc;

/// What the parameters of a declaration may be, in the order of the declaration.
#[derive(Clone, Debug)]
pub struct Rules {
    /// One for each parameter.
    pub parameters: Vec<Rule>,
}

/// What a parameter may be, in SI units.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its unit; a factor of 1 to SI.
    pub unit: Unit,
    /// Takes quantities of any dimension.
    pub any_unit: bool,
    /// Smallest value.
    pub min: Option<Bound>,
    /// Largest value.
    pub max: Option<Bound>,
    /// Value when none is given; [`Value::Absent`] where one must be given or none is needed.
    pub default: Value,
}

/// An end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// In SI units.
    pub value: f64,
    /// Whether the bound itself is allowed.
    pub included: bool,
}

/// A side of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The lower one.
    Min,
    /// The upper one.
    Max,
}

impl Rule {
    /// The end of the range that a value lies beyond, if any.
    pub fn beyond(&self, value: f64) -> Option<(End, Bound)> {
        let below = |b: &Bound| {
            if b.included { value < b.value } else { value <= b.value }
        };
        let above = |b: &Bound| {
            if b.included { value > b.value } else { value >= b.value }
        };
        self.min
            .filter(below)
            .map(|b| (End::Min, b))
            .or_else(|| self.max.filter(above).map(|b| (End::Max, b)))
    }
}

impl Rules {
    /// Reads the texts of a declaration.
    pub fn of(declaration: &'static Declaration) -> Result<Self, BadDeclaration> {
        let rule = |p: &'static Parameter| {
            let bad = |text: &'static str, reason: String| BadDeclaration {
                component: declaration.name,
                parameter: p.name,
                text,
                reason,
            };
            let any_unit = p.unit == ANY_UNIT;
            let text = if any_unit { "1" } else { p.unit };
            let unit = Unit::parse(text).map_err(|e| bad(p.unit, e.to_string()))?;
            let bound = |text: Option<&'static str>, mark: char| {
                let Some(text) = text else { return Ok(None) };
                let open = text.trim_start().strip_prefix(mark);
                let value = number(open.unwrap_or(text), &unit).map_err(|e| bad(text, e))?;
                Ok(Some(Bound { value, included: open.is_none() }))
            };
            let default = match p.default {
                None => Value::Absent,
                Some(text) => value(p, text, &unit).map_err(|e| bad(text, e))?,
            };
            let (mut min, max) = (bound(p.min, '>')?, bound(p.max, '<')?);
            if p.kind == Kind::Integer && min.is_none() {
                min = Some(Bound { value: 0.0, included: true });
            }
            Ok(Rule { unit, any_unit, min, max, default })
        };
        Ok(Self { parameters: declaration.parameters.iter().map(rule).collect::<Result<_, _>>()? })
    }
}

/// The default of each parameter; [`Value::Absent`] for those that a file must give.
pub fn defaults(declaration: &'static Declaration) -> Result<Vec<Value>, BadDeclaration> {
    Ok(Rules::of(declaration)?.parameters.into_iter().map(|rule| rule.default).collect())
}

/// Settings as they are when a file says nothing; `None` when one of them has no default.
pub fn default_settings<M: Declared>() -> Option<M> {
    M::from_values(&defaults(M::DECLARATION).ok()?)
}

/// A mistake in a component's declaration: one for the author of the component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadDeclaration {
    /// Type name.
    pub component: &'static str,
    /// Parameter name.
    pub parameter: &'static str,
    /// The unit, bound or default that is wrong.
    pub text: &'static str,
    /// Why.
    pub reason: String,
}

impl fmt::Display for BadDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { component, parameter, text, reason } = self;
        write!(f, "the declaration of `{component}.{parameter}` holds \"{text}\": {reason}")
    }
}

impl std::error::Error for BadDeclaration {}

/// A quantity in SI units; a plain number counts as one in the unit of the declaration.
fn number(text: &str, unit: &Unit) -> Result<f64, String> {
    let expression = Expr::parse(text, &|_| false).map_err(|e| e.to_string())?;
    let Quantity { value, dimension } =
        expression.evaluate(&|_| None).map_err(|e| e.to_string())?;
    if dimension == unit.dimension() {
        Ok(value)
    } else if dimension.is_dimensionless() {
        Ok(unit.to_si(value))
    } else {
        Err(format!(
            "{} where {} is declared",
            dimension.with_article(),
            unit.dimension().with_article()
        ))
    }
}

fn value(parameter: &Parameter, text: &str, unit: &Unit) -> Result<Value, String> {
    Ok(match parameter.kind {
        Kind::Quantity | Kind::OptionalQuantity => Value::Number(number(text, unit)?),
        Kind::Integer => {
            let value = number(text, unit)?;
            if value.fract() != 0.0 || value < 0.0 {
                return Err("not a whole number".to_owned());
            }
            Value::Number(value)
        }
        Kind::Switch => Value::Switch(text.parse().map_err(|_| "neither true nor false")?),
        Kind::Choice(words) => match words.iter().position(|word| *word == text) {
            Some(index) => Value::Choice(index),
            None => return Err(format!("not one of {}", words.join(", "))),
        },
        Kind::Text => Value::Text(text.to_owned()),
        Kind::List => Value::List(list(text, unit)?),
        Kind::Table => {
            let pairs = text
                .trim()
                .strip_prefix('[')
                .and_then(|text| text.strip_suffix(']'))
                .ok_or("write pairs: [[0, 1], [2, 3]]")?;
            let (mut knots, mut values) = (Vec::new(), Vec::new());
            for pair in pairs.split_inclusive(']') {
                let pair = pair.trim_start_matches([',', ' ', '\n']);
                if pair.is_empty() {
                    continue;
                }
                let [x, y] = list(pair, unit)?[..] else {
                    return Err("write pairs: [[0, 1], [2, 3]]".to_owned());
                };
                knots.push(x);
                values.push(y);
            }
            if !knots.is_sorted_by(|a, b| a < b) || knots.is_empty() {
                return Err("the first numbers of the pairs must increase".to_owned());
            }
            Value::Table(Arc::new(Table::curve(knots, values)))
        }
    })
}

fn list(text: &str, unit: &Unit) -> Result<Vec<f64>, String> {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    inner.split(',').filter(|one| !one.trim().is_empty()).map(|one| number(one, unit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{
        FluidSettings, LineDefaults, RecordSettings, RunSettings, SolverSettings,
    };

    #[test]
    fn settings_have_sound_defaults() {
        let run = default_settings::<RunSettings>().unwrap();
        assert_eq!((run.start, run.stop, run.step), (0.0, 1.0, 1e-4));
        let fluid = default_settings::<FluidSettings>().unwrap();
        assert_eq!((fluid.air_fraction, fluid.temperature), (0.005, 323.15));
        assert_eq!(fluid.second_viscosity, None);
        assert_eq!(default_settings::<LineDefaults>().unwrap().volume, 1e-4);
        assert_eq!(default_settings::<RecordSettings>().unwrap().samples, 2000);
    }

    #[test]
    fn every_default_of_the_settings_lies_in_its_range() {
        for declaration in [
            RunSettings::DECLARATION,
            SolverSettings::DECLARATION,
            FluidSettings::DECLARATION,
            LineDefaults::DECLARATION,
            RecordSettings::DECLARATION,
        ] {
            for (rule, parameter) in
                Rules::of(declaration).unwrap().parameters.iter().zip(declaration.parameters)
            {
                if let Value::Number(x) = rule.default {
                    assert_eq!(rule.beyond(x), None, "{}.{}", declaration.name, parameter.name);
                }
            }
        }
    }

    #[test]
    fn an_excluded_bound_is_beyond() {
        let rules = Rules::of(RunSettings::DECLARATION).unwrap();
        let factor = &rules.parameters[RunSettings::FILTER_FACTOR];
        assert_eq!(factor.beyond(0.0), None);
        assert_eq!(factor.beyond(1.0).unwrap().0, End::Max);
        assert_eq!(factor.beyond(-0.1).unwrap().0, End::Min);
    }

    #[test]
    fn lists_and_tables_are_read_as_a_file_writes_them() {
        let unit = Unit::parse("m").unwrap();
        assert_eq!(list("[1 mm, 2]", &unit).unwrap(), [1e-3, 2.0]);
        let table = Parameter {
            name: "curve",
            symbol: "",
            meaning: "",
            unit: "1",
            kind: Kind::Table,
            default: None,
            min: None,
            max: None,
            aliases: &[],
            input: None,
        };
        let one = Unit::parse("1").unwrap();
        let curve = Value::Table(Arc::new(Table::curve(vec![0.0, 2.0], vec![1.0, 3.0])));
        assert_eq!(value(&table, "[[0, 1], [2, 3]]", &one), Ok(curve));
        assert!(value(&table, "[[2, 1], [0, 3]]", &one).is_err());
    }
}
