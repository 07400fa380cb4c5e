//! Square roots by multiplication, beside those by the processor's divider.
//!
//! Eight roots at once keep the divider of a processor busy for some twenty cycles, while the units
//! that multiply have nothing to do. So in code for eight lanes, where the divider has more to do than
//! they have, every second root is found by multiplication, with the same bits:
//!
//! - A first value y of 1/√x, good to 2⁻¹⁴, is what the processor has an instruction for. Then
//!   g = x·y and h = y/2 come nearer twice: r = ½ − g·h, g += g·r, h += h·r (Goldschmidt), each in one
//!   rounding. The error e of either is then below 2.93·2⁻⁵³: 1.5·(1.5·2⁻²⁸)² of the method, and the
//!   roundings of this and of the last round.
//! - At last g + (x − g²)·h, in one rounding. Before that it differs from √x by no more than
//!   e²/2 + e·e + e·2⁻⁵³ < 2⁻¹⁰² of it. It is rounded as √x is, unless √x is that close to the middle
//!   between two numbers.
//! - With x = X·2⁻⁵² or X·2⁻⁵¹ between 1 and 4, and a middle z·2⁻⁵³ with odd z, the distance is told by
//!   the whole number k = x·2¹⁰⁶ − z²: that close means |k| < 128. As z² is 1 modulo 8, k is 7 modulo
//!   8, and z² ≡ −k modulo 2⁵⁴ or 2⁵⁵ has four solutions for each k. These few numbers are
//!   [tried](are_exact) on the machine before the code is used there.
//!
//! The root of 0 is 0, and what is below 2⁻⁸⁹⁵ or above 2⁶⁴¹, negative or no number is left to the
//! divider.
#![allow(
    unsafe_code,
    reason = "one function for machines that have AVX-512, which is asked before"
)]

/// The macro by which code in lanes takes such roots: of the divider where they are not to be had.
pub(crate) fn in_c() -> &'static str {
    if are_exact() { IN_C } else { PLAIN_IN_C }
}

/// The root of eight numbers, step by step as in `roots`.
const IN_C: &str = "
#if defined(__AVX512F__) && defined(__AVX512DQ__) && LANES == 8
static inline __attribute__((always_inline)) numbers product_root(numbers x) {
    const numbers half = ALL(0.5);
    numbers y = _mm512_rsqrt14_pd(x), g = x * y, h = half * y, r = _mm512_fnmadd_pd(g, h, half);
    g = _mm512_fmadd_pd(g, r, g);
    h = _mm512_fmadd_pd(h, r, h);
    r = _mm512_fnmadd_pd(g, h, half);
    g = _mm512_fmadd_pd(g, r, g);
    h = _mm512_fmadd_pd(h, r, h);
    g = _mm512_fmadd_pd(_mm512_fnmadd_pd(g, g, x), h, g);
    const __m512i above = _mm512_castpd_si512(x) - _mm512_set1_epi64(0x0800000000000000);
    const mask fits = _mm512_cmplt_epu64_mask(above, _mm512_set1_epi64(0x6000000000000000));
    if (__builtin_expect(fits == EVERY, 1)) return g;
    return EITHER(fits, EQUAL(x, ALL(0.0))) == EVERY ? CHOOSE(fits, g, x) : ROOT(x);
}
#define PRODUCT_ROOT(x) product_root(x)
#else
#define PRODUCT_ROOT(x) ROOT(x)
#endif
";

const PLAIN_IN_C: &str = "#define PRODUCT_ROOT(x) ROOT(x)\n";

/// Beyond which |k| no root is near enough to a middle: eight times what is needed.
#[cfg(any(target_arch = "x86_64", test))]
const NEAR: i64 = 1024;

/// Whole numbers X of so many binary digits, and n, for which √(X·2ⁿ) is nearest to the middle z
/// between two numbers of as many digits, z odd with one digit more: k = X·2ⁿ − z², |k| < `near`.
#[cfg(any(target_arch = "x86_64", test))]
fn near_a_middle(digits: u32, near: i64) -> Vec<(u64, u32)> {
    let mut found = Vec::new();
    for k in (-near..near).filter(|k| k.rem_euclid(8) == 7).map(i128::from) {
        for n in [digits + 1, digits + 2] {
            // A root of −k modulo 8, then modulo each next power of two; there are three more.
            let mut z = 1_i128;
            for have in 3..n {
                if (z * z + k).rem_euclid(1 << (have + 1)) != 0 {
                    z += 1 << (have - 1);
                }
            }
            let half = 1 << (n - 1);
            for z in [z, -z, half + z, half - z].map(|z| z.rem_euclid(2 * half)) {
                let x = (z * z + k) >> n;
                if (1 << (digits - 1)..1 << digits).contains(&x) {
                    found.push((x as u64, n));
                }
            }
        }
    }
    found
}

/// Whether this machine finds roots by multiplication with the bits of those by its divider.
pub(crate) fn are_exact() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::sync::LazyLock;
        static ARE_EXACT: LazyLock<bool> = LazyLock::new(|| {
            std::arch::is_x86_feature_detected!("avx512f") && {
                let is_exact = |eight: [f64; 8]| {
                    // SAFETY: the machine has AVX-512.
                    let found = unsafe { roots(eight) };
                    found.map(f64::to_bits) == eight.map(|x| x.sqrt().to_bits())
                };
                // X·2⁵⁴ and X·2⁵⁵, brought to between 1 and 4.
                let scaled = |(x, n): (u64, u32)| x as f64 / 2_f64.powi(106 - n as i32);
                let numbers: Vec<f64> =
                    near_a_middle(f64::MANTISSA_DIGITS, NEAR).into_iter().map(scaled).collect();
                let (eights, rest) = numbers.as_chunks::<8>();
                let last = std::array::from_fn(|i| rest.get(i).copied().unwrap_or(1.0));
                eights.iter().all(|&eight| is_exact(eight)) && is_exact(last)
            }
        });
        *ARE_EXACT
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Roots by multiplication, step by step as in [`IN_C`].
///
/// # Safety
///
/// On a machine that has AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn roots(numbers: [f64; 8]) -> [f64; 8] {
    use std::arch::x86_64::*;
    let [a, b, c, d, e, f, g, h] = numbers;
    let x = _mm512_setr_pd(a, b, c, d, e, f, g, h);
    let half = _mm512_set1_pd(0.5);
    let y = _mm512_rsqrt14_pd(x);
    let (mut g, mut h) = (_mm512_mul_pd(x, y), _mm512_mul_pd(half, y));
    for _ in 0..2 {
        let r = _mm512_fnmadd_pd(g, h, half);
        (g, h) = (_mm512_fmadd_pd(g, r, g), _mm512_fmadd_pd(h, r, h));
    }
    let g = _mm512_fmadd_pd(_mm512_fnmadd_pd(g, g, x), h, g);
    let mut found = [0.0; 8];
    // SAFETY: there is room for eight.
    unsafe { _mm512_storeu_pd(found.as_mut_ptr(), g) };
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against all numbers of few digits.
    #[test]
    fn numbers_whose_roots_are_near_a_middle_are_all_found() {
        let (digits, near) = (14, 600);
        let mut all = Vec::new();
        for n in [digits + 1, digits + 2] {
            for x in 1_u64 << (digits - 1)..1 << digits {
                // The odd numbers on both sides of the root.
                let below = ((x << n).isqrt() - 1) | 1;
                let is_near = |z: u64| ((x << n) as i64 - (z * z) as i64).abs() < near;
                if is_near(below) || is_near(below + 2) {
                    all.push((x, n));
                }
            }
        }
        let mut found = near_a_middle(digits, near);
        all.sort_unstable();
        found.sort_unstable();
        assert!(found.len() > 100);
        assert_eq!(found, all);
    }

    /// The last number below 4: its root is 2⁻¹⁰⁸ from the middle between 2 − 2⁻⁵² and 2.
    #[test]
    fn the_root_of_the_last_number_below_4_is_near_a_middle() {
        assert!(near_a_middle(53, 8).contains(&((1 << 53) - 1, 55)));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_root_by_multiplication_has_the_bits_of_the_root() {
        if !are_exact() {
            eprintln!("left out: the machine has no AVX-512, or roots of its own");
            return;
        }
        let mut bits = 7_u64;
        for _ in 0..200_000 {
            let numbers: [f64; 8] = std::array::from_fn(|_| {
                bits = bits.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                // Any mantissa, exponents from −800 to 600.
                let exponent = 1023 - 800 + (bits & 0x7ff) % 1400;
                f64::from_bits((exponent << 52) | (bits >> 12))
            });
            // SAFETY: the machine has AVX-512.
            let found = unsafe { roots(numbers) };
            assert_eq!(found.map(f64::to_bits), numbers.map(|x| x.sqrt().to_bits()), "{numbers:?}");
        }
    }

    /// The macro itself, compiled: usual numbers, zeros of both signs, and those that are left to the
    /// divider, alone among usual ones and together.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_macro_gives_the_bits_of_the_root_whatever_the_numbers() {
        if !are_exact() {
            eprintln!("left out: the machine has no AVX-512, or roots of its own");
            return;
        }
        let code = format!(
            "{}{}\nvoid fluxline_roots(const double *x, double *y) {{ STORE(y, PRODUCT_ROOT(LOAD(x))); }}\n",
            crate::frame::HEAD,
            crate::frame::of_lanes(8)
        );
        let open = |path: &std::path::Path| {
            // SAFETY: nothing runs when it is opened.
            let opened = unsafe { libloading::Library::new(path) };
            opened.map_err(|e| crate::compiler::NotCompiled::NotOpened(e.to_string()))
        };
        let library = match crate::compiler::make(&code, &mut || true, open) {
            Ok((_, library)) => library,
            Err(why) => return eprintln!("left out: {why}"),
        };
        type Roots = unsafe extern "C" fn(*const f64, *mut f64);
        // SAFETY: the library has this function, of this type, for eight numbers each.
        let roots = |x: [f64; 8]| unsafe {
            let function = library.get::<Roots>(b"fluxline_roots\0").unwrap();
            let mut y = [0.0; 8];
            function(x.as_ptr(), y.as_mut_ptr());
            y
        };
        let usual = [2.0, 3.7e12, 1e-30, 4.0, 1e7, 0.3, 5e250, 1e-250];
        let odd = [0.0, -0.0, 5e-324, 1e-300, 1e300, f64::INFINITY, f64::NAN, -1.0];
        let mut cases = vec![usual, odd];
        for (at, &one) in odd.iter().enumerate() {
            cases.push(std::array::from_fn(|i| if i == at { one } else { usual[i] }));
        }
        cases.push(std::array::from_fn(|i| if i < 2 { odd[i] } else { usual[i] }));
        for x in cases {
            for (root, x) in roots(x).into_iter().zip(x) {
                let is_same =
                    root.to_bits() == x.sqrt().to_bits() || root.is_nan() && x.sqrt().is_nan();
                assert!(is_same, "√{x:e} is {root:e}");
            }
        }
    }
}
