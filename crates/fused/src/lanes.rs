//! Variants of a circuit side by side in compiled code.
//!
//! The code is written once for all variants. Constants in which they differ are loaded, one for each
//! lane; those in which they agree are part of the code, and every variant is compared with them
//! before it is run.

use crate::compiler::{self, Made, NotCompiled};
use crate::library::Code;
use crate::run::{HEAD, moments, step_times};
use crate::text::{self, Language, Style, Text};
use fluxline_core::circuit::Registry;
use fluxline_core::lanes::are_alike;
use fluxline_core::number::Lanes;
use fluxline_core::plan::Plan;
use fluxline_core::program::{Obstacle, Unit, Wanted, constants, program};
use fluxline_core::state::State;
use fluxline_core::trace::Width;
use std::fmt::Write;

/// Paths that are written out in each unit; beyond, both sides are computed and chosen from.
const PATHS: usize = 3;

/// The code of variants, before it is compiled.
pub struct LaneSource {
    plan: Plan,
    /// C.
    pub code: String,
    /// Statements.
    pub statements: usize,
    layout: fluxline_core::program::Layout,
    kept: usize,
    /// Constants of the first variant.
    constants: Vec<f64>,
    /// Those that differ.
    parameters: Vec<u32>,
    lanes: usize,
}

/// Variants of a circuit in compiled code.
pub struct LaneCode {
    plan: Plan,
    code: Code,
    made: Made,
    constants: Vec<f64>,
    parameters: Vec<u32>,
    /// Whether a constant is loaded.
    is_loaded: Vec<bool>,
}

impl LaneSource {
    /// Writes the code for variants of `plan` that differ from it in those constants in which it
    /// differs from some of the others.
    pub fn of(
        plan: Plan,
        others: &[Plan],
        registry: &Registry,
        lanes: usize,
    ) -> Result<Self, Vec<Obstacle>> {
        let not_alike = || vec![Obstacle { component: None, why: "variants differ in kind" }];
        let base = constants(&plan, registry).ok_or_else(not_alike)?;
        let mut differs = vec![false; base.len()];
        for other in others {
            if !are_alike(&plan, other, registry) {
                continue;
            }
            let theirs = constants(other, registry).ok_or_else(not_alike)?;
            if theirs.len() != base.len() {
                return Err(not_alike());
            }
            for (differs, (a, b)) in differs.iter_mut().zip(base.iter().zip(&theirs)) {
                *differs |= a.to_bits() != b.to_bits();
            }
        }
        let wanted = Wanted { watch: false, width: Width::Lanes, with_engine: false, paths: PATHS };
        let is_different = |index: u32| differs.get(index as usize) == Some(&true);
        let program = program(&plan, registry, &plan.initial, wanted, &is_different)?;
        let (times, ticks) = moments(&program.moments);
        let comment = |_: &Unit| None;
        let style = Style { language: Language::Lanes, comment: &comment, times, ticks };
        let text = text::write(&program, &style);
        let code = frame(&plan, &text, lanes);
        Ok(Self {
            plan,
            code,
            statements: text.statements,
            layout: program.layout,
            kept: text.kept,
            constants: base,
            parameters: program.parameters,
            lanes,
        })
    }

    /// Compiles it, or finds what it became before.
    pub fn compile(self) -> Result<LaneCode, NotCompiled> {
        let made = compiler::make(&self.code)?;
        let count = self.parameters.len();
        let code = Code::open(&made, self.layout, self.kept, count, self.lanes)?;
        let mut is_loaded = vec![false; self.constants.len()];
        for &index in &self.parameters {
            is_loaded[index as usize] = true;
        }
        let Self { plan, constants, parameters, .. } = self;
        Ok(LaneCode { plan, code, made, constants, parameters, is_loaded })
    }
}

impl LaneCode {
    /// What the compiler took; nothing when the code was there.
    pub fn made(&self) -> &Made {
        &self.made
    }

    /// How many it steps at once.
    pub fn lanes(&self) -> usize {
        self.code.lanes()
    }

    /// Variants in the lanes of the code; `None` when one of them differs from it in more than what
    /// is loaded.
    pub fn run<const N: usize>(
        &self,
        plans: &[&Plan; N],
        registry: &Registry,
    ) -> Option<LaneRun<'_, N>> {
        if self.lanes() != N {
            return None;
        }
        let mut parameters = vec![0.0; self.parameters.len() * N];
        for (lane, plan) in plans.iter().enumerate() {
            if !are_alike(&self.plan, plan, registry) {
                return None;
            }
            let theirs = constants(plan, registry)?;
            let is_same = theirs.len() == self.constants.len()
                && std::iter::zip(&theirs, &self.constants)
                    .zip(&self.is_loaded)
                    .all(|((a, b), is_loaded)| *is_loaded || a.to_bits() == b.to_bits());
            if !is_same {
                return None;
            }
            for (place, &index) in self.parameters.iter().enumerate() {
                parameters[place * N + lane] = theirs[index as usize];
            }
        }
        let kept = vec![0.0; self.code.kept()];
        Some(LaneRun { code: &self.code, parameters, kept })
    }
}

/// N variants that are being run.
pub struct LaneRun<'c, const N: usize> {
    code: &'c Code,
    parameters: Vec<f64>,
    kept: Vec<f64>,
}

impl<const N: usize> LaneRun<'_, N> {
    /// Before the first step.
    pub fn begin(&mut self, state: &mut State<Lanes<N>>) {
        self.code.prepare(state, &self.parameters, &mut self.kept);
    }

    /// Takes so many steps.
    pub fn advance(&mut self, state: &mut State<Lanes<N>>, steps: u64) {
        self.code.advance_lanes(state, &self.parameters, &self.kept, steps);
    }
}

const REPORTS: &str = "
static void unconverged(struct faults *faults, unsigned component, count tick, count lanes) {
    faults->unconverged_lanes |= lanes;
    if (faults->unconverged == 0) {
        faults->first_component = component + 1;
        faults->first_step = tick;
    }
    faults->unconverged++;
}
static void stop(struct faults *faults, unsigned component, count tick, count lanes) {
    faults->stopped_lanes |= lanes;
    if (faults->stop_requested == 0) faults->stop_requested = component + 1;
}
";

/// Numbers and masks of several lanes: in registers of AVX-512 or AVX2 where they fit, else in what
/// the compiler makes of vectors.
const LANES: &str = "
#if defined(__AVX512F__) && defined(__AVX512DQ__) && LANES == 8
#include <immintrin.h>
typedef __m512d numbers;
typedef __mmask8 mask;
#define GET(A, i) _mm512_loadu_pd((A) + 8 * (i))
#define SET(A, i, x) _mm512_storeu_pd((A) + 8 * (i), x)
#define ALL(x) _mm512_set1_pd(x)
#define LESS(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)
#define NOT_ABOVE(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ)
#define BOTH(a, b) ((mask)((a) & (b)))
#define EITHER(a, b) ((mask)((a) | (b)))
#define NOT(a) ((mask)~(a))
#define EVERY ((mask)0xff)
#define NONE ((mask)0)
#define CHOOSE(m, yes, no) _mm512_mask_blend_pd(m, no, yes)
#define ANY_OF(m) ((m) != 0)
#define ALL_OF(m) ((m) == 0xff)
#define BITS(m) ((count)(m))
#define ROOT(a) _mm512_sqrt_pd(a)
#define SIZE(a) _mm512_abs_pd(a)
#define WHOLE(a) _mm512_roundscale_pd(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#elif defined(__AVX2__) && LANES == 4
#include <immintrin.h>
typedef __m256d numbers;
typedef __m256d mask;
#define GET(A, i) _mm256_loadu_pd((A) + 4 * (i))
#define SET(A, i, x) _mm256_storeu_pd((A) + 4 * (i), x)
#define ALL(x) _mm256_set1_pd(x)
#define LESS(a, b) _mm256_cmp_pd(a, b, _CMP_LT_OQ)
#define NOT_ABOVE(a, b) _mm256_cmp_pd(a, b, _CMP_LE_OQ)
#define BOTH(a, b) _mm256_and_pd(a, b)
#define EITHER(a, b) _mm256_or_pd(a, b)
#define EVERY _mm256_castsi256_pd(_mm256_set1_epi64x(-1))
#define NONE _mm256_setzero_pd()
#define NOT(a) _mm256_xor_pd(a, EVERY)
#define CHOOSE(m, yes, no) _mm256_blendv_pd(no, yes, m)
#define ANY_OF(m) (_mm256_movemask_pd(m) != 0)
#define ALL_OF(m) (_mm256_movemask_pd(m) == 15)
#define BITS(m) ((count)_mm256_movemask_pd(m))
#define ROOT(a) _mm256_sqrt_pd(a)
#define SIZE(a) _mm256_andnot_pd(_mm256_set1_pd(-0.0), a)
#define WHOLE(a) _mm256_floor_pd(a)
#else
typedef double numbers __attribute__((vector_size(8 * LANES)));
typedef double loose __attribute__((vector_size(8 * LANES), aligned(8)));
typedef long long mask __attribute__((vector_size(8 * LANES)));
#define GET(A, i) ((numbers)*(const loose *)((A) + LANES * (i)))
#define SET(A, i, x) (*(loose *)((A) + LANES * (i)) = (x))
#define ALL(x) (((numbers){0} + 1.0) * (x))
#define LESS(a, b) ((mask)((a) < (b)))
#define NOT_ABOVE(a, b) ((mask)((a) <= (b)))
#define BOTH(a, b) ((a) & (b))
#define EITHER(a, b) ((a) | (b))
#define NOT(a) (~(a))
#define EVERY (~(mask){0})
#define NONE ((mask){0})
#define CHOOSE(m, yes, no) ((numbers)(((mask)(yes) & (m)) | ((mask)(no) & ~(m))))
static inline count bits(mask m) {
    count all = 0;
    for (int i = 0; i < LANES; i++) all |= (count)(m[i] & 1) << i;
    return all;
}
#define BITS(m) bits(m)
#define ANY_OF(m) (bits(m) != 0)
#define ALL_OF(m) (bits(m) == (1u << LANES) - 1)
#define ROOT(a) EACH(__builtin_sqrt, a)
#define SIZE(a) EACH(__builtin_fabs, a)
#define WHOLE(a) EACH(__builtin_floor, a)
#endif
#define EACH(f, a) ({ numbers x_ = (a); for (int i_ = 0; i_ < LANES; i_++) x_[i_] = f(x_[i_]); x_; })
#define PAIRS(f, a, b) ({ numbers x_ = (a), y_ = (b); \\
    for (int i_ = 0; i_ < LANES; i_++) x_[i_] = f(x_[i_], y_[i_]); x_; })
";

fn frame(plan: &Plan, text: &Text, lanes: usize) -> String {
    let (begin, end) = step_times(plan);
    let mut code = format!("#define LANES {lanes}\n{HEAD}{REPORTS}{LANES}");
    let _ = write!(
        code,
        "
void fluxline_prepare(const double *B, const double *S, const double *X, const double *V,
                      const double *P, double *K) {{
{}}}

void fluxline_steps(double *B, double *S, double *X, const double *V, double *F, const double *P,
                    const double *K, struct clock *clock, struct faults *faults, count steps,
                    void (*engine)(void *, unsigned, double, count), void *context) {{
    double time = clock->time;
    count step = clock->step;
    for (count left = steps; left > 0; left--) {{
        const count tick = step + clock->rest + 1;
        const double begin = {begin};
        const double end = {end};
{}        step += 1;
        time = end;
    }}
    clock->time = time;
    clock->step = step;
}}
",
        text.prepare, text.step
    );
    code
}
