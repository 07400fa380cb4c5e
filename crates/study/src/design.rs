//! Designs: which values the parameters of each run take.

use crate::random::{place_in_order, uniform};
use crate::sobol::{MOST_DIMENSIONS, MOST_POINTS, Sobol};
use crate::vary::{Vary, plain_name};
use fluxline_diagnostics::{Code, Diagnostic};

/// How runs are spread over what is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Every combination of levels.
    Grid,
    /// Latin hypercube: each parameter is cut into as many layers as there are runs, each of which is
    /// met once.
    LatinHypercube,
    /// The Sobol sequence: even in all parameters together, however many runs there are.
    Sobol,
    /// By chance, each run by itself (Monte Carlo).
    Random,
}

/// The most runs of a study.
pub const MOST_RUNS: u64 = 1 << 32;

/// What each run of a study is.
#[derive(Clone, Debug)]
pub struct Design {
    /// What is varied.
    pub vary: Vec<Vary>,
    /// How.
    pub scheme: Scheme,
    /// As many runs.
    pub runs: u64,
    /// Where chance begins.
    pub seed: u64,
    sobol: Option<Sobol>,
}

impl Design {
    /// A design. Without a scheme, a grid where only levels are given and no number of runs, a Latin
    /// hypercube otherwise.
    pub fn new(
        vary: Vec<Vary>,
        scheme: Option<Scheme>,
        runs: Option<u64>,
        seed: u64,
    ) -> Result<Self, Diagnostic> {
        let wrong = |message: String, help: &str| {
            Err(Diagnostic::error(Code::BadDesign, message).help(help))
        };
        if vary.is_empty() {
            return wrong(
                "nothing is varied".to_owned(),
                "say what: --vary \"valve.diameter=5 mm..15 mm:11\"",
            );
        }
        for (i, one) in vary.iter().enumerate() {
            let name = plain_name(&one.name);
            if vary[..i].iter().any(|before| plain_name(&before.name) == name) {
                return wrong(
                    format!("`{}` is varied twice", one.name),
                    "give all its values in one `--vary`",
                );
            }
        }
        let only_levels = vary.iter().all(|one| one.levels().is_some());
        let scheme = scheme.unwrap_or(match only_levels && runs.is_none() {
            true => Scheme::Grid,
            false => Scheme::LatinHypercube,
        });
        let grid = || {
            vary.iter()
                .try_fold(1u64, |product, one| product.checked_mul(one.levels()? as u64))
                .filter(|&count| count <= MOST_RUNS)
        };
        let runs = match (scheme, runs) {
            (Scheme::Grid, _) if !only_levels => {
                let open = vary.iter().find(|one| one.levels().is_none());
                let name = open.map_or("", |one| one.name.as_str());
                return wrong(
                    format!("a grid needs levels, and `{name}` has none"),
                    "give their number, as in \"5 mm..15 mm:11\", or choose another design: --design lhs --runs 1000",
                );
            }
            (Scheme::Grid, given) => match (grid(), given) {
                (None, _) => {
                    return wrong(
                        "the grid has more runs than can be counted".to_owned(),
                        "vary fewer parameters, or choose some of its points: --design lhs --runs 1000",
                    );
                }
                (Some(all), Some(given)) if given != all => {
                    return wrong(
                        format!("the grid has {all} runs, not {given}"),
                        "leave `--runs` away, or choose another design: --design lhs",
                    );
                }
                (Some(all), _) => all,
            },
            (_, None) => {
                return wrong(
                    "the number of runs is missing".to_owned(),
                    "say how many: --runs 1000; a grid needs levels for every parameter",
                );
            }
            (_, Some(runs)) => runs,
        };
        if runs == 0 || runs > MOST_RUNS {
            return wrong(
                format!("{runs} runs are not possible"),
                "take at least 1 and at most 2³² runs",
            );
        }
        let sobol = match scheme {
            Scheme::Sobol if vary.len() > MOST_DIMENSIONS || runs > MOST_POINTS => {
                return wrong(
                    format!(
                        "{} parameters are varied, and a Sobol sequence has {MOST_DIMENSIONS}",
                        vary.len()
                    ),
                    "use a Latin hypercube: --design lhs",
                );
            }
            Scheme::Sobol => Some(Sobol::new(vary.len(), seed)),
            _ => None,
        };
        Ok(Self { vary, scheme, runs, seed, sobol })
    }

    /// The values of a run, in the order of what is varied, in SI units. They depend on nothing but
    /// the design, its seed and the number of the run.
    pub fn values(&self, run: u64) -> Vec<f64> {
        let mut rest = run;
        let mut values: Vec<f64> = Vec::with_capacity(self.vary.len());
        // On a grid the last parameter changes fastest, as in nested loops.
        if self.scheme == Scheme::Grid {
            for one in self.vary.iter().rev() {
                let Some(levels) = one.levels() else { continue };
                values.push(one.level((rest % levels as u64) as usize));
                rest /= levels as u64;
            }
            values.reverse();
            return values;
        }
        for (parameter, one) in self.vary.iter().enumerate() {
            let chance = || uniform(self.seed, parameter, run);
            let u = match (&self.scheme, &self.sobol) {
                (Scheme::Sobol, Some(sobol)) => sobol.coordinate(parameter, run),
                (Scheme::LatinHypercube, _) => {
                    let layer = place_in_order(self.seed, parameter, run, self.runs);
                    (layer as f64 + chance()) / self.runs as f64
                }
                _ => chance(),
            };
            values.push(one.quantile(u));
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(
        vary: &[&str],
        scheme: Option<Scheme>,
        runs: Option<u64>,
    ) -> Result<Design, Diagnostic> {
        let vary = vary.iter().map(|text| Vary::parse(text).unwrap()).collect();
        Design::new(vary, scheme, runs, 1)
    }

    #[test]
    fn a_grid_is_every_combination_in_the_order_of_nested_loops() {
        let grid = design(&["a=1..2:2", "b=[10, 20, 30]"], None, None).unwrap();
        assert_eq!((grid.scheme, grid.runs), (Scheme::Grid, 6));
        let all: Vec<Vec<f64>> = (0..6).map(|run| grid.values(run)).collect();
        assert_eq!(all[0], [1.0, 10.0]);
        assert_eq!(all[1], [1.0, 20.0]);
        assert_eq!(all[5], [2.0, 30.0]);
    }

    #[test]
    fn a_latin_hypercube_meets_every_layer_once() {
        let lhs = design(&["a=0..1", "b=0..1"], None, Some(100)).unwrap();
        assert_eq!(lhs.scheme, Scheme::LatinHypercube);
        for parameter in 0..2 {
            let mut seen = [false; 100];
            for run in 0..100 {
                let layer = (lhs.values(run)[parameter] * 100.0) as usize;
                assert!(!std::mem::replace(&mut seen[layer], true));
            }
        }
    }

    #[test]
    fn levels_and_distributions_may_be_mixed_and_keep_their_shares() {
        let mixed = design(&["a=1..4:4", "b=lognormal(100 kg, 0.2)"], None, Some(400)).unwrap();
        let values: Vec<Vec<f64>> = (0..400).map(|run| mixed.values(run)).collect();
        assert_eq!(values.iter().filter(|v| v[0] == 3.0).count(), 100);
        let below = values.iter().filter(|v| v[1] < 100.0).count();
        assert_eq!(below, 200);
    }

    /// Written down once: whoever changes the numbers breaks the repetition of old studies.
    #[test]
    fn the_numbers_of_a_seed_never_change() {
        let random = design(&["a=0..1"], Some(Scheme::Random), Some(10)).unwrap();
        let bits: Vec<u64> = (0..2).map(|run| random.values(run)[0].to_bits()).collect();
        let again: Vec<u64> = (0..2).map(|run| uniform(1, 0, run).to_bits()).collect();
        assert_eq!(bits, again);
    }

    #[test]
    fn designs_that_make_no_sense_are_told() {
        let error =
            |vary: &[&str], scheme, runs| design(vary, scheme, runs).unwrap_err().to_string();
        assert!(error(&[], None, None).contains("nothing is varied"));
        assert!(error(&["a=1..2:2", "a=3"], None, None).contains("varied twice"));
        assert!(error(&["l.mass=1", "components.l.mass=3"], None, None).contains("varied twice"));
        assert!(error(&["supply=1", "parameters.supply=3"], None, None).contains("varied twice"));
        assert!(error(&["a=1..2"], None, None).contains("number of runs"));
        assert!(error(&["a=1..2"], Some(Scheme::Grid), None).contains("needs levels"));
        assert!(error(&["a=1..2:3"], Some(Scheme::Grid), Some(4)).contains("3 runs, not 4"));
        assert!(error(&["a=1..2"], None, Some(0)).contains("0 runs"));
    }
}
