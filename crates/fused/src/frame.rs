//! The C around a program: types, macros for numbers and masks, and the two functions that are called.

use crate::roots;
use crate::text::{self, Language, Text};
use fluxline_core::plan::Plan;
use fluxline_core::program::Moment;
use fluxline_core::settings::Convention;
use std::fmt::Write;

/// Time and step number of each moment.
pub(crate) fn moments(moments: &[Moment]) -> (Vec<String>, Vec<String>) {
    let time = |moment: &Moment| match moment.of {
        1 if moment.rate == 0 => "end".to_owned(),
        _ => format!("(begin + {:?} * {:?})", f64::from(moment.sub + 1), moment.dt),
    };
    let tick = |moment: &Moment| match moment.of {
        1 => "tick".to_owned(),
        n => format!("((tick - 1) * {n} + {})", moment.sub + 1),
    };
    (moments.iter().map(time).collect(), moments.iter().map(tick).collect())
}

/// Begin and end of a step, as the plan has them.
pub(crate) fn step_times(plan: &Plan) -> (String, String) {
    let (start, dt) =
        (text::literal(Language::C, plan.start), text::literal(Language::C, plan.step));
    match plan.convention {
        Convention::Fluxline => (
            format!("{start} + (double)(long long)step * {dt}"),
            format!("{start} + (double)(long long)(step + 1) * {dt}"),
        ),
        Convention::Hopsan => ("time".into(), format!("time + {dt}")),
    }
}

/// What every C text begins with.
pub(crate) const HEAD: &str = "\
typedef unsigned long long count;
double exp(double); double log(double); double sin(double); double cos(double);
double tanh(double); double pow(double, double); double atan2(double, double);
double atan(double);
double sinh(double); double cosh(double); double log10(double); double ceil(double); double round(double);
struct faults {
    count unconverged, first_step, unconverged_lanes, stopped_lanes;
    unsigned first_component, stop_requested;
};
struct clock { double time; count step, rest; };
";

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

/// Of a single run: operations that a processor has and a compiler does not find, because they would
/// not be those of its language for what is not a number. The least of two takes AMD's processors one
/// cycle (older compilers take the fourth kind for the third), Intel's four: there it stays a branch,
/// which is guessed and takes none.
pub(crate) const SINGLE: &str = "
#if defined(__GNUC__)
#define APART(a, b) __builtin_islessgreater(a, b)
#endif
#if defined(__GNUC__) && defined(__AVX512F__) && \\
    (defined(__znver3__) || defined(__znver4__) || defined(__znver5__))
static inline double least(double a, double b) {
    double x;
    __asm__(\"vminsd %2, %1, %0\" : \"=v\"(x) : \"v\"(a), \"vm\"(b));
    return x;
}
static inline double largest(double a, double b) {
    double x;
    __asm__(\"vmaxsd %2, %1, %0\" : \"=v\"(x) : \"v\"(a), \"vm\"(b));
    return x;
}
#define LEAST(a, b) least(a, b)
#define LARGEST(a, b) largest(a, b)
#endif
";

/// The same in any C, where they are not there yet.
pub(crate) const IN_ANY_C: &str = "\
#ifndef LEAST
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define LARGEST(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef APART
#define APART(a, b) ((a) < (b) || (a) > (b))
#endif
";

/// Numbers and masks of several lanes: in registers of AVX-512 or AVX2 where they fit, else in what
/// the compiler makes of vectors.
const MACROS: &str = "
#if defined(__AVX512F__) && defined(__AVX512DQ__) && LANES == 8
#include <immintrin.h>
typedef __m512d numbers;
typedef __mmask8 mask;
#define LOAD(p) _mm512_loadu_pd(p)
#define STORE(p, x) _mm512_storeu_pd(p, x)
#define ALL(x) _mm512_set1_pd(x)
#define LESS(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)
#define NOT_ABOVE(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ)
#define EQUAL(a, b) _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ)
#define APART(a, b) _mm512_cmp_pd_mask(a, b, _CMP_NEQ_OQ)
#define LEAST(a, b) _mm512_min_pd(a, b)
#define LARGEST(a, b) _mm512_max_pd(a, b)
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
#define LOAD(p) _mm256_loadu_pd(p)
#define STORE(p, x) _mm256_storeu_pd(p, x)
#define ALL(x) _mm256_set1_pd(x)
#define LESS(a, b) _mm256_cmp_pd(a, b, _CMP_LT_OQ)
#define NOT_ABOVE(a, b) _mm256_cmp_pd(a, b, _CMP_LE_OQ)
#define EQUAL(a, b) _mm256_cmp_pd(a, b, _CMP_EQ_OQ)
#define APART(a, b) _mm256_cmp_pd(a, b, _CMP_NEQ_OQ)
#define LEAST(a, b) _mm256_min_pd(a, b)
#define LARGEST(a, b) _mm256_max_pd(a, b)
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
#define LOAD(p) ((numbers)*(const loose *)(p))
#define STORE(p, x) (*(loose *)(p) = (x))
#define ALL(x) (((numbers){0} + 1.0) * (x))
#define LESS(a, b) ((mask)((a) < (b)))
#define NOT_ABOVE(a, b) ((mask)((a) <= (b)))
#define EQUAL(a, b) ((mask)((a) == (b)))
#define APART(a, b) EITHER(LESS(a, b), LESS(b, a))
#define LEAST(a, b) CHOOSE(LESS(a, b), a, b)
#define LARGEST(a, b) CHOOSE(LESS(b, a), a, b)
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
#define SPREAD(m) ((m) ? EVERY : NONE)
#define EACH(f, a) ({ numbers x_ = (a); for (int i_ = 0; i_ < LANES; i_++) x_[i_] = f(x_[i_]); x_; })
#define PAIRS(f, a, b) ({ numbers x_ = (a), y_ = (b); \\
    for (int i_ = 0; i_ < LANES; i_++) x_[i_] = f(x_[i_], y_[i_]); x_; })
";

/// What code for so many lanes begins with.
pub(crate) fn of_lanes(lanes: usize) -> String {
    format!("#define LANES {lanes}\n{MACROS}{}", roots::in_c())
}

/// Where numbers of runs side by side are.
const SIDE_BY_SIDE: &str = "
#define GET(A, i) LOAD((A) + LANES * (i))
#define SET(A, i, x) STORE((A) + LANES * (i), x)
";

/// The whole text for so many runs side by side, which hands out `seen` numbers after every step, or of
/// a single run, in rows. Where the engine is never called, nobody else writes to the arrays.
pub(crate) fn frame(
    plan: &Plan,
    text: &Text,
    (lanes, seen): (usize, usize),
    calls_engine: bool,
) -> String {
    let alone = if calls_engine { "" } else { "restrict " };
    let (begin, end) = step_times(plan);
    let mut code = format!("{HEAD}{REPORTS}");
    if lanes > 1 {
        let _ = write!(code, "{}{SIDE_BY_SIDE}", of_lanes(lanes));
    } else {
        let _ = writeln!(code, "{SINGLE}{IN_ANY_C}");
    }
    // Runs side by side hand out numbers after every step; a single run does at the end of each
    // stretch but the last, and keeps its numbers at hand in the meantime.
    let single = ["for (count row = 0; row <= rows; row++) ", "stretches[row]", ""];
    let beside = format!("W += {};\n        ", seen * lanes);
    let [each_row, stretch, each_step] = match lanes {
        1 => single,
        _ => ["", "*stretches", &beside],
    };
    let _ = write!(
        code,
        "
void fluxline_prepare(const double *B, const double *S, const double *X, const double *V,
                      const double *P, double *K) {{
{}}}

void fluxline_steps(double *{alone}B, double *{alone}S, double *{alone}X, const double *{alone}V,
                    double *{alone}F, const double *{alone}P, const double *{alone}K,
                    double *{alone}W, struct clock *clock, struct faults *faults,
                    const count *{alone}stretches, count rows,
                    void (*engine)(void *, unsigned, double, count), void *context) {{
    double time = clock->time;
    count step = clock->step;
{}    {each_row}
    for (count left = {stretch}; left > 0; left--) {{
        const count tick = step + clock->rest + 1;
        const double begin = {begin};
        const double end = {end};
{}        {each_step}step += 1;
        time = end;
    }}
{}    clock->time = time;
    clock->step = step;
}}
",
        text.prepare, text.around[0], text.step, text.around[1],
    );
    code
}
