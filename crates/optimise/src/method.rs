//! The methods by name, with their settings: what study files, messages and the book are made from.

use crate::cma_es::CmaEs;
use crate::complex::Complex;
use crate::differential_evolution::DifferentialEvolution;
use crate::genetic::{self, Genetic, Search};
use crate::hooke_jeeves::HookeJeeves;
use crate::levenberg_marquardt as lm;
use crate::nelder_mead::NelderMead;
use crate::nsga2::Nsga2;
use crate::particle_swarm::ParticleSwarm;
use crate::quasi_newton::QuasiNewton;
use crate::space::Space;
use crate::{Optimiser, Point};

/// A setting of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Its name in study files.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// The value when none is given; NaN where it follows from the number of variables.
    pub default: f64,
    /// The least.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// Only whole numbers.
    pub is_whole: bool,
}

/// A method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Method {
    /// Its name in study files.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// For several objectives at once.
    pub is_pareto: bool,
    /// It can keep constraints.
    pub takes_constraints: bool,
    /// It can choose among levels.
    pub takes_levels: bool,
    /// It works on residuals, not on an objective: for identification.
    pub is_least_squares: bool,
    /// Settings.
    pub settings: &'static [Setting],
}

const fn whole(
    name: &'static str,
    meaning: &'static str,
    default: f64,
    least: f64,
    most: f64,
) -> Setting {
    Setting { name, meaning, default, least, most, is_whole: true }
}

const fn real(
    name: &'static str,
    meaning: &'static str,
    default: f64,
    least: f64,
    most: f64,
) -> Setting {
    Setting { name, meaning, default, least, most, is_whole: false }
}

const TOLERANCE: Setting = real(
    "tolerance",
    "it ends when its points are as close, as a share of the range",
    1e-6,
    0.0,
    1.0,
);
const DIFFERENCE: Setting = real(
    "difference",
    "step of the differences where derivatives are not exact, as a share of the range",
    1e-4,
    1e-12,
    0.1,
);

const GENETIC: [Setting; 7] = [
    whole("populations", "sub-populations", 12.0, 1.0, 1e4),
    whole("members", "members of each", 30.0, 4.0, 1e6),
    whole("generations", "generations", 40.0, 1.0, 1e9),
    real("crossover", "probability that a pair mixes its values", 0.8, 0.0, 1.0),
    real(
        "mutation",
        "probability that a variable changes; one of all by default",
        f64::NAN,
        0.0,
        1.0,
    ),
    whole("migrants", "members that move on to the next sub-population", 4.0, 0.0, 1e6),
    whole("interval", "generations between migrations", 3.0, 1.0, 1e9),
];

const SEARCH: [Setting; 4] = [
    real("step", "first step, as a share of the range", 0.2, 1e-12, 1.0),
    real("last_step", "it ends with this step", 1e-6, 1e-15, 1.0),
    real("reduction", "factor by which steps shrink", 0.5, 0.01, 0.99),
    real("pattern", "factor by which pattern moves go on", 2.0, 1.0, 10.0),
];

/// All methods.
pub const METHODS: &[Method] = &[
    Method {
        name: "complex",
        summary: "Complex-RF: a cloud of points whose worst is reflected, with randomisation and forgetting",
        is_pareto: false,
        takes_constraints: true,
        takes_levels: true,
        is_least_squares: false,
        settings: &[
            whole(
                "points",
                "points of the cloud; twice the variables by default",
                f64::NAN,
                2.0,
                1e4,
            ),
            real("reflection", "how far the worst point is reflected", 1.3, 0.1, 1.99),
            real(
                "randomisation",
                "share of the cloud's extent by which new points are moved",
                0.3,
                0.0,
                10.0,
            ),
            real("forgetting", "how fast old values count as worse", 0.3, 0.0, 10.0),
            TOLERANCE,
        ],
    },
    Method {
        name: "nelder_mead",
        summary: "the simplex of Nelder and Mead",
        is_pareto: false,
        takes_constraints: true,
        takes_levels: false,
        is_least_squares: false,
        settings: &[
            real("size", "first size of the simplex, as a share of the range", 0.1, 1e-9, 1.0),
            whole("restarts", "restarts around the best point", 2.0, 0.0, 1e4),
            TOLERANCE,
        ],
    },
    Method {
        name: "hooke_jeeves",
        summary: "the pattern search of Hooke and Jeeves",
        is_pareto: false,
        takes_constraints: true,
        takes_levels: true,
        is_least_squares: false,
        settings: &SEARCH,
    },
    Method {
        name: "differential_evolution",
        summary: "differential evolution whose factors adapt themselves",
        is_pareto: false,
        takes_constraints: true,
        takes_levels: true,
        is_least_squares: false,
        settings: &[
            whole(
                "population",
                "members; five for each variable by default, 24 or more",
                f64::NAN,
                4.0,
                1e6,
            ),
            TOLERANCE,
        ],
    },
    Method {
        name: "particle_swarm",
        summary: "a swarm of particles on a ring",
        is_pareto: false,
        takes_constraints: true,
        takes_levels: true,
        is_least_squares: false,
        settings: &[
            whole("population", "particles", 40.0, 3.0, 1e6),
            whole("neighbours", "neighbours that each sees on either side", 1.0, 1.0, 1e6),
            TOLERANCE,
        ],
    },
    Method {
        name: "cma_es",
        summary: "an evolution strategy that learns the shape of the valley, with restarts",
        is_pareto: false,
        takes_constraints: true,
        takes_levels: false,
        is_least_squares: false,
        settings: &[
            whole(
                "population",
                "points of a generation; by the number of variables when 0",
                0.0,
                0.0,
                1e6,
            ),
            real("size", "first standard deviation, as a share of the range", 0.25, 1e-9, 1.0),
            whole("restarts", "restarts, each with a doubled population", 5.0, 0.0, 1e4),
            Setting { default: 1e-9, ..TOLERANCE },
        ],
    },
    Method {
        name: "genetic",
        summary: "a genetic algorithm with sub-populations and migration",
        is_pareto: false,
        takes_constraints: true,
        takes_levels: true,
        is_least_squares: false,
        settings: &GENETIC,
    },
    Method {
        name: "genetic_search",
        summary: "the genetic algorithm, then a pattern search from the best of each sub-population",
        is_pareto: false,
        takes_constraints: true,
        takes_levels: true,
        is_least_squares: false,
        settings: &{
            let mut all = [GENETIC[0]; 11];
            let mut i = 0;
            while i < 7 {
                all[i] = GENETIC[i];
                i += 1;
            }
            while i < 11 {
                all[i] = SEARCH[i - 7];
                i += 1;
            }
            // As in the thesis, section 7.3.1: from 64 times the last step, by fours.
            all[7].default = 0.02;
            all[8].default = 0.02 / 64.0;
            all[9].default = 0.25;
            all
        },
    },
    Method {
        name: "quasi_newton",
        summary: "BFGS with bounds, on exact derivatives through the run where there are some; for smooth objectives without constraints",
        is_pareto: false,
        takes_constraints: false,
        takes_levels: false,
        is_least_squares: false,
        settings: &[DIFFERENCE, Setting { default: 1e-7, ..TOLERANCE }],
    },
    Method {
        name: "levenberg_marquardt",
        summary: "least squares with derivatives of all residuals; for identification",
        is_pareto: false,
        takes_constraints: false,
        takes_levels: false,
        is_least_squares: true,
        settings: &[
            whole(
                "samples",
                "points to choose the beginning from, beside the start",
                32.0,
                0.0,
                1e6,
            ),
            whole("starts", "how many of the best of them to begin from", 3.0, 1.0, 1e6),
            whole("iterations", "iterations at most, from each", 60.0, 1.0, 1e6),
            Setting { default: 1e-3, ..DIFFERENCE },
            real("tolerance", "it ends when a step brings a smaller share", 1e-6, 0.0, 1.0),
        ],
    },
    Method {
        name: "nsga2",
        summary: "NSGA-II: the front of best compromises between several objectives",
        is_pareto: true,
        takes_constraints: true,
        takes_levels: true,
        is_least_squares: false,
        settings: &[
            whole("population", "members", 80.0, 4.0, 1e6),
            whole("generations", "generations", 100.0, 1.0, 1e9),
            real("crossover", "probability that a pair mixes its values", 0.9, 0.0, 1.0),
            real(
                "mutation",
                "probability that a variable changes; one of all by default",
                f64::NAN,
                0.0,
                1.0,
            ),
        ],
    },
];

/// The method of a name.
pub fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// A method with values of its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Which.
    pub method: &'static Method,
    values: Vec<f64>,
}

impl Chosen {
    /// With the usual settings.
    pub fn new(method: &'static Method) -> Self {
        Self { method, values: method.settings.iter().map(|one| one.default).collect() }
    }

    /// Sets a value; false when there is no such setting or the value is out of its range.
    pub fn set(&mut self, name: &str, value: f64) -> bool {
        let settings = self.method.settings.iter().zip(&mut self.values);
        for (setting, own) in settings {
            if setting.name == name {
                let is_sound = (setting.least..=setting.most).contains(&value)
                    && (!setting.is_whole || value.fract() == 0.0);
                if is_sound {
                    *own = value;
                }
                return is_sound;
            }
        }
        false
    }

    /// The value of a setting; `otherwise` where it follows from the number of variables.
    fn get(&self, name: &str, otherwise: f64) -> f64 {
        let at = self.method.settings.iter().position(|setting| setting.name == name);
        at.map(|i| self.values[i]).filter(|x| !x.is_nan()).unwrap_or(otherwise)
    }

    fn genetic(&self, n: usize, search: Option<Search>) -> genetic::Settings {
        genetic::Settings {
            populations: self.get("populations", 12.0) as usize,
            members: self.get("members", 30.0) as usize,
            generations: self.get("generations", 40.0) as u64,
            crossover: self.get("crossover", 0.8),
            mutation: self.get("mutation", 1.0 / n as f64),
            migrants: self.get("migrants", 4.0) as usize,
            interval: self.get("interval", 3.0) as u64,
            search,
        }
    }

    fn search(&self) -> Search {
        Search {
            first: self.get("step", 0.2),
            last: self.get("last_step", 1e-6),
            reduction: self.get("reduction", 0.5),
            pattern: self.get("pattern", 2.0),
        }
    }

    /// The optimiser; `None` for a method of least squares.
    pub fn optimiser(&self, space: &Space, start: &Point, seed: u64) -> Option<Box<dyn Optimiser>> {
        let n = space.dimensions();
        let size = n as f64;
        let tolerance = self.get("tolerance", 1e-6);
        Some(match self.method.name {
            "complex" => {
                let factors = ["reflection", "randomisation", "forgetting", "tolerance"];
                let points = self.get("points", (2.0 * size).max(4.0)) as usize;
                Box::new(Complex::new(start, points, factors.map(|name| self.get(name, 0.0)), seed))
            }
            "nelder_mead" => {
                let restarts = self.get("restarts", 0.0) as usize;
                Box::new(NelderMead::new(start, self.get("size", 0.1), tolerance, restarts))
            }
            "hooke_jeeves" => {
                let Search { first, last, reduction, pattern } = self.search();
                Box::new(HookeJeeves::new(space, start.clone(), first, last, reduction, pattern))
            }
            "differential_evolution" => {
                let count = self.get("population", (5.0 * size).max(24.0)) as usize;
                Box::new(DifferentialEvolution::new(start, count, tolerance, seed))
            }
            "particle_swarm" => {
                let count = self.get("population", 40.0) as usize;
                let neighbours = self.get("neighbours", 1.0) as usize;
                Box::new(ParticleSwarm::new(start, count, neighbours, tolerance, seed))
            }
            "cma_es" => {
                let count = self.get("population", 0.0) as usize;
                let restarts = self.get("restarts", 0.0) as usize;
                let size = self.get("size", 0.25);
                Box::new(CmaEs::new(start, size, count, tolerance, restarts, seed))
            }
            "genetic" => Box::new(Genetic::new(space, start, self.genetic(n, None), seed)),
            "genetic_search" => {
                let settings = self.genetic(n, Some(self.search()));
                Box::new(Genetic::new(space, start, settings, seed))
            }
            "quasi_newton" => {
                Box::new(QuasiNewton::new(start, self.get("difference", 1e-4), tolerance))
            }
            "nsga2" => {
                let (count, generations) =
                    (self.get("population", 80.0), self.get("generations", 100.0));
                let (crossover, mutation) =
                    (self.get("crossover", 0.9), self.get("mutation", 1.0 / size));
                Box::new(Nsga2::new(
                    start,
                    count as usize,
                    generations as u64,
                    crossover,
                    mutation,
                    seed,
                ))
            }
            _ => return None,
        })
    }

    /// The method of least squares, where it is one.
    pub fn least_squares(&self, start: &Point, seed: u64) -> Option<lm::LevenbergMarquardt> {
        self.method.is_least_squares.then(|| {
            let settings = lm::Settings {
                samples: self.get("samples", 32.0) as usize,
                starts: self.get("starts", 3.0) as usize,
                difference: self.get("difference", 1e-3),
                tolerance: self.get("tolerance", 1e-6),
                iterations: self.get("iterations", 60.0) as u64,
            };
            lm::LevenbergMarquardt::new(start, settings, seed)
        })
    }
}
