//! What is varied: a name and the values that it takes, `valve.diameter=5 mm..15 mm:11`.

use crate::random::normal_quantile;
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_units::{Dimension, Expr, Quantity};

/// A parameter and the values that it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Vary {
    /// Any name that `--set` takes.
    pub name: String,
    /// What it takes.
    pub values: Values,
    /// The dimension of all of them.
    pub dimension: Dimension,
}

/// The values that a parameter takes; numbers in SI units.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Each of these.
    Levels(Vec<f64>),
    /// Each of these switches, choices or texts, as `--set` takes them. A value is the place of one.
    Words(Vec<String>),
    /// Anything between two values, all equally likely.
    Uniform {
        /// The lower one.
        low: f64,
        /// The upper one.
        high: f64,
    },
    /// Distributed normally.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
    },
    /// Its logarithm is distributed normally.
    Lognormal {
        /// Half of all values are below it.
        median: f64,
        /// Standard deviation of the natural logarithm: about the relative spread where it is small.
        deviation: f64,
    },
}

/// More levels are a slip.
const MOST_LEVELS: u64 = 1_000_000;

impl Vary {
    /// Reads `name=a..b:n`, `name=a..b`, `name=[a, b, c]`, `name=[true, false]`, `name=uniform(a, b)`,
    /// `name=normal(mean, deviation)` or `name=lognormal(median, spread)`.
    pub fn parse(argument: &str) -> Result<Self, Diagnostic> {
        let wrong = |message: String| {
            Diagnostic::error(Code::BadVariation, message)
                .note(format!("in `--vary \"{argument}\"`"))
                .help("write \"valve.diameter=5 mm..15 mm:11\", \"name=[1 bar, 2 bar]\", \"name=5 mm..15 mm\", \"name=normal(100 kg, 5 kg)\" or \"name=lognormal(100 kg, 0.2)\"")
        };
        let Some((name, text)) = argument.split_once('=') else {
            return Err(wrong(format!("`{argument}` says not what values it takes")));
        };
        let (name, text) = (name.trim(), text.trim());
        if name.is_empty() {
            return Err(wrong("the name of the parameter is missing".to_owned()));
        }
        let read =
            |text: &str| quantity(text).map_err(|reason| wrong(format!("`{name}`: {reason}")));
        let (values, dimension) = if let Some((function, inside)) = call(text) {
            let parts: Vec<&str> = split(inside);
            let [first, second] = parts[..] else {
                return Err(wrong(format!("`{name}`: `{function}` takes two values")));
            };
            let (a, b) = (read(first)?, read(second)?);
            let same = || match a.dimension == b.dimension {
                true => Ok(()),
                false => Err(wrong(mixed(name, &a, &b))),
            };
            let values = match function {
                "uniform" => {
                    same()?;
                    Values::Uniform { low: a.value, high: b.value }
                }
                "normal" => {
                    same()?;
                    Values::Normal { mean: a.value, deviation: b.value }
                }
                "lognormal" if !b.dimension.is_dimensionless() => {
                    return Err(wrong(format!(
                        "`{name}`: the spread of a lognormal distribution is a plain number, not {}",
                        b.dimension.with_article()
                    )));
                }
                "lognormal" => Values::Lognormal { median: a.value, deviation: b.value },
                _ => {
                    return Err(wrong(format!("`{name}`: there is no distribution `{function}`")));
                }
            };
            (values, a.dimension)
        } else if let Some(list) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let items = split(list);
            if items.is_empty() {
                return Err(wrong(format!("`{name}`: the list is empty")));
            }
            levels(name, &items, &read, &wrong)?
        } else if let Some((from, rest)) = text.split_once("..") {
            let (to, count) = match rest.rsplit_once(':') {
                Some((to, count)) => (to, Some(count.trim())),
                None => (rest, None),
            };
            let (from, to) = (read(from)?, read(to)?);
            if from.dimension != to.dimension {
                return Err(wrong(mixed(name, &from, &to)));
            }
            if from.value >= to.value {
                return Err(wrong(upside_down(name)));
            }
            let values = match count {
                None => Values::Uniform { low: from.value, high: to.value },
                Some(count) => {
                    let n = count.parse::<u64>().ok().filter(|n| (2..=MOST_LEVELS).contains(n));
                    let Some(n) = n else {
                        let is_number =
                            !count.is_empty() && count.bytes().all(|c| c.is_ascii_digit());
                        let message = match is_number && !matches!(count, "0" | "1") {
                            true => format!(
                                "`{name}`: {count} levels are too many: {MOST_LEVELS} at most"
                            ),
                            false => {
                                format!("`{name}`: `{count}` is not a number of values, 2 or more")
                            }
                        };
                        return Err(wrong(message));
                    };
                    // The ends exactly as they were given.
                    let at = |i: u64| {
                        let f = i as f64 / (n - 1) as f64;
                        if i == n - 1 { to.value } else { from.value + (to.value - from.value) * f }
                    };
                    Values::Levels((0..n).map(at).collect())
                }
            };
            (values, from.dimension)
        } else {
            levels(name, &[text], &read, &wrong)?
        };
        let is_sound = match &values {
            Values::Levels(levels) => levels.iter().all(|x| x.is_finite()),
            Values::Words(_) => true,
            Values::Uniform { low, high } => low < high,
            Values::Normal { deviation, .. } => *deviation >= 0.0,
            Values::Lognormal { median, deviation } => *median > 0.0 && *deviation >= 0.0,
        };
        if !is_sound {
            let message = match values {
                Values::Uniform { .. } => upside_down(name),
                Values::Lognormal { .. } => {
                    format!("`{name}`: a lognormal distribution has a positive median and spread")
                }
                _ => format!("`{name}`: the standard deviation is negative"),
            };
            return Err(wrong(message));
        }
        Ok(Self { name: name.to_owned(), values, dimension })
    }

    /// As many values as it takes; `None` where any between two is possible.
    pub fn levels(&self) -> Option<usize> {
        match &self.values {
            Values::Levels(levels) => Some(levels.len()),
            Values::Words(words) => Some(words.len()),
            _ => None,
        }
    }

    /// Its words, where it takes no numbers.
    pub fn words(&self) -> &[String] {
        match &self.values {
            Values::Words(words) => words,
            _ => &[],
        }
    }

    /// One of its levels.
    pub(crate) fn level(&self, at: usize) -> f64 {
        match &self.values {
            Values::Levels(levels) => levels.get(at).copied().unwrap_or(f64::NAN),
            _ => at as f64,
        }
    }

    /// The value below which a share `u` of all lies, 0 < u < 1.
    pub fn quantile(&self, u: f64) -> f64 {
        if let Some(levels) = self.levels() {
            return self.level(((u * levels as f64) as usize).min(levels - 1));
        }
        match &self.values {
            Values::Levels(_) | Values::Words(_) => f64::NAN,
            Values::Uniform { low, high } => low + (high - low) * u,
            Values::Normal { mean, deviation } => mean + deviation * normal_quantile(u),
            Values::Lognormal { median, deviation } => {
                median * libm::exp(deviation * normal_quantile(u))
            }
        }
    }
}

/// Levels, all of them numbers or all of them words.
fn levels(
    name: &str,
    items: &[&str],
    read: &dyn Fn(&str) -> Result<Quantity, Diagnostic>,
    wrong: &dyn Fn(String) -> Diagnostic,
) -> Result<(Values, Dimension), Diagnostic> {
    if let Some(word) = items.iter().find(|item| is_word(item)) {
        if let Some(other) = items.iter().find(|item| !is_word(item)) {
            // What is no quantity either is told first.
            read(other)?;
            return Err(wrong(format!("`{name}`: `{word}` is a word, but `{other}` is a number")));
        }
        let words = items.iter().map(|item| (*item).to_owned()).collect();
        return Ok((Values::Words(words), Dimension::DIMENSIONLESS));
    }
    let all: Vec<Quantity> = items.iter().map(|item| read(item)).collect::<Result<_, _>>()?;
    let dimension = all.first().map_or(Dimension::DIMENSIONLESS, |first| first.dimension);
    if let (Some(first), Some(other)) =
        (all.first(), all.iter().find(|one| one.dimension != dimension))
    {
        return Err(wrong(mixed(name, first, other)));
    }
    Ok((Values::Levels(all.iter().map(|one| one.value).collect()), dimension))
}

/// Whether an item of a list is a switch, a choice or a text: in quotes, or a name that is no number.
fn is_word(item: &str) -> bool {
    let quoted = ['"', '\''].iter().any(|&quote| {
        item.len() > 1 && item.starts_with(quote) && item[1..].find(quote) == Some(item.len() - 2)
    });
    let is_name = item.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && item.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
    quoted || matches!(item, "true" | "false") || (is_name && quantity(item).is_err())
}

/// A name without what it may be written with and without: names that give the same are of one parameter.
pub fn plain_name(name: &str) -> String {
    let name = name.trim();
    let inner = ["components.", "parameters."].iter().find_map(|part| name.strip_prefix(part));
    let name = inner.unwrap_or(name);
    // As Hopsan writes it.
    name.strip_suffix("#Value").unwrap_or(name).replace(['#', '$'], ".")
}

/// A word without its quotes.
pub fn shown(word: &str) -> &str {
    word.trim_matches(['"', '\''])
}

fn upside_down(name: &str) -> String {
    format!("`{name}`: the range is empty or upside down")
}

fn mixed(name: &str, a: &Quantity, b: &Quantity) -> String {
    format!(
        "`{name}`: {a} is {}, but {b} is {}",
        a.dimension.with_article(),
        b.dimension.with_article()
    )
}

/// A function and what stands in its brackets.
fn call(text: &str) -> Option<(&str, &str)> {
    let (function, rest) = text.split_once('(')?;
    let function = function.trim();
    let is_word =
        !function.is_empty() && function.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    Some((function, rest.strip_suffix(')')?)).filter(|_| is_word)
}

/// Parts between commas that are not in brackets or quotes.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut parts) = (0i32, 0, Vec::new());
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match c {
            _ if quote.is_some() => quote = quote.filter(|&open| open != c),
            '"' | '\'' if text[begin..at].trim().is_empty() => quote = Some(c),
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    let last = text[begin..].trim();
    if !last.is_empty() || !parts.is_empty() {
        parts.push(last);
    }
    parts
}

/// A quantity, or an expression of quantities.
pub fn quantity(text: &str) -> Result<Quantity, String> {
    let expression = Expr::parse(text.trim(), &|_| false).map_err(|e| e.to_string())?;
    expression.evaluate(&|_| None).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{PI, TAU};

    fn values(text: &str) -> Values {
        Vary::parse(text).unwrap_or_else(|e| panic!("{e}")).values
    }

    #[test]
    fn ranges_lists_and_distributions_are_read_with_their_units() {
        let Values::Levels(levels) = values("valve.diameter=5 mm..15 mm:11") else { panic!() };
        assert_eq!(levels.len(), 11);
        assert_eq!((levels[0], levels[10]), (0.005, 0.015));
        assert_eq!(values("a=[1 bar, 2 bar]"), Values::Levels(vec![1e5, 2e5]));
        assert_eq!(values("a=1 bar .. 3 bar"), Values::Uniform { low: 1e5, high: 3e5 });
        assert_eq!(
            values("load.mass = lognormal(100 kg, 0.2)"),
            Values::Lognormal { median: 100.0, deviation: 0.2 }
        );
        assert_eq!(values("a=normal(2 m, 3 mm)"), Values::Normal { mean: 2.0, deviation: 0.003 });
        assert_eq!(values("a=3"), Values::Levels(vec![3.0]));
    }

    #[test]
    fn lists_of_switches_choices_and_texts_are_read_as_they_are() {
        let words =
            |text: &str| Vary::parse(text).unwrap_or_else(|e| panic!("{e}")).words().to_vec();
        assert_eq!(words("pump.over_centre=[true, false]"), ["true", "false"]);
        assert_eq!(words("cylinder.friction=[stribeck, none]"), ["stribeck", "none"]);
        assert_eq!(words("title=[\"a, b\", 'c']"), ["\"a, b\"", "'c'"]);
        assert_eq!(words("run.begin=rest"), ["rest"]);
        assert_eq!(values("a=[pi, 2*pi]"), Values::Levels(vec![PI, TAU]));
        let choice = Vary::parse("a=[x, y, z]").unwrap();
        assert_eq!([0.1, 0.5, 0.99].map(|u| choice.quantile(u)), [0.0, 1.0, 2.0]);
    }

    #[test]
    fn mistakes_are_told() {
        for (text, part) in [
            ("a", "says not what values"),
            ("=3", "name of the parameter"),
            ("a=1 bar..2 m", "is a pressure, but 2 m is a length"),
            ("a=1..2:1", "2 or more"),
            ("a=1..2:x", "2 or more"),
            ("a=1..2:4000000000", "4000000000 levels are too many"),
            ("a=1..2:99999999999999999999", "levels are too many"),
            ("a=gamma(1, 2)", "no distribution `gamma`"),
            ("a=normal(1)", "takes two values"),
            ("a=lognormal(1 kg, 1 kg)", "plain number"),
            ("a=lognormal(-1 kg, 1)", "positive median"),
            ("a=uniform(2, 1)", "upside down"),
            ("a=50 mm..30 mm", "upside down"),
            ("a=50 mm..30 mm:3", "upside down"),
            ("a=[]", "empty"),
            ("a=[1, 2 bar]", "a pressure"),
            ("a=[true, 0.5]", "`true` is a word, but `0.5` is a number"),
            ("a=[none, 5 mmm]", "mmm"),
            ("a=[1 bar, two bar]", "operator"),
            ("a=5 mmm..6 mm", "mmm"),
        ] {
            let error = Vary::parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn quantiles_meet_the_middle_and_the_ends() {
        let lognormal = Vary::parse("m=lognormal(100 kg, 0.2)").unwrap();
        assert_eq!(lognormal.quantile(0.5), 100.0);
        let uniform = Vary::parse("m=2..4").unwrap();
        assert_eq!(uniform.quantile(0.25), 2.5);
        let levels = Vary::parse("m=1..3:3").unwrap();
        assert_eq!([0.1, 0.5, 0.99].map(|u| levels.quantile(u)), [1.0, 2.0, 3.0]);
    }
}
