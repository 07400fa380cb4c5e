//! Sine, cosine and their inverses by arithmetic alone: the same bits for one number and for several at a time, in the
//! engine, in code of its own, and on every machine. The mathematics library of a machine knows one
//! number at a time, and each library its own last bit.
//!
//! With n the whole number nearest to 2x/π, x = n·π/2 + r: π/2 is taken in three parts, so that the
//! products with n are exact (Cody and Waite), and r is right to its last place. Sine and cosine of
//! |r| ≤ π/4 are r + r³·S(r²) and 1 − r²/2 + r⁴·C(r²); S and C are polynomials of degree 5 with the
//! least relative error (Remez), some 10⁻¹⁹. The result is off by less than one unit of its last place.
//!
//! The inverse sine of |x| ≤ ½ is x + x³·A(x²), with A of degree 11; beyond, it is a quarter turn less twice
//! that of √((1 − |x|)/2). It is off by less than two units.

use crate::function::Named;
use crate::number::Num;
use crate::wide;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// Up to here n·π/2 is exact in parts, rad; beyond, the library is asked.
const NEAR: f64 = 5e5;

/// π/2: 33 bits, 33 more, and the rest.
const QUARTER: [f64; 3] = [1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21];

const SINE: [f64; 6] = [
    -0.16666666666666644,
    0.008333333333323667,
    -0.00019841269830149058,
    2.755731365359591e-06,
    -2.5050734856374035e-08,
    1.5894727578486204e-10,
];

const COSINE: [f64; 6] = [
    0.04166666666666665,
    -0.0013888888888882842,
    2.4801587294630725e-05,
    -2.755731573963907e-07,
    2.0875897907674064e-09,
    -1.1367991992904607e-11,
];

/// Sine of an angle in radians.
#[inline(always)]
pub fn sin<T: Num>(x: T) -> T {
    beyond(x, Named::Sin, turned(x, 0.0))
}

/// Cosine of an angle in radians.
#[inline(always)]
pub fn cos<T: Num>(x: T) -> T {
    beyond(x, Named::Cos, turned(x, 1.0))
}

/// π/2 rounded, and what that lacks.
const QUARTER_TURN: [f64; 2] = [FRAC_PI_2, 6.123233995736766e-17];

const ARC: [[f64; 6]; 2] = [
    [
        0.16666666666666172,
        0.07500000000190236,
        0.044642856925757576,
        0.030381955954121288,
        0.02237181726185153,
        0.01735903283135889,
    ],
    [
        0.013889996815318717,
        0.012148566268970288,
        0.0065775408962073885,
        0.01948701052303583,
        -0.01628857707378062,
        0.03203370650438955,
    ],
];

/// Where |x| > ½; the angle whose sine is |x|, or there √((1 − |x|)/2); and what that angle is more than its
/// sine.
#[inline(always)]
fn arc<T: Num>(x: T) -> (T::Mask, T, T) {
    let size = x.abs();
    let is_far = size.gt(T::of(0.5));
    let z = T::select(is_far, (-size + 1.0) * 0.5, size * size);
    let base = T::select(is_far, z.sqrt(), size);
    let sixth = z * z * z;
    let more = base * z * (polynomial(z, ARC[0]) + sixth * sixth * polynomial(z, ARC[1]));
    (is_far, base + more, more)
}

/// The angle whose sine is x, −π/2 to π/2; none beyond ±1.
#[inline(always)]
pub fn asin<T: Num>(x: T) -> T {
    let (is_far, angle, _) = arc(x);
    let [quarter, rest] = QUARTER_TURN;
    let far = -(angle * 2.0 - rest) + quarter;
    T::select(is_far, far, angle).with_sign_of(x)
}

/// The angle whose cosine is x, 0 to π; none beyond ±1.
#[inline(always)]
pub fn acos<T: Num>(x: T) -> T {
    let (is_far, angle, more) = arc(x);
    let [quarter, rest] = QUARTER_TURN;
    let near = -(x - (-more.with_sign_of(x) + rest)) + quarter;
    let twice = angle * 2.0;
    let behind = (-(angle - rest) + quarter) * 2.0;
    T::select(is_far, T::select(x.lt(T::zero()), behind, twice), near)
}

/// The library's value where x is large, or no number.
#[wide]
#[inline(always)]
fn beyond<T: Num>(x: T, function: Named, near: T) -> T {
    let is_near = x.abs().le(T::of(NEAR));
    T::where_any(!is_near, || T::select(is_near, near, x.call(function)), || near)
}

/// sin(x + k·π/2).
#[inline(always)]
fn turned<T: Num>(x: T, k: f64) -> T {
    let n = (x * FRAC_2_PI + 0.5).floor();
    // a − b is rounded; what is lost of it is known.
    let (a, b) = (x - n * QUARTER[0], n * QUARTER[1]);
    let main = a - b;
    let r = main + ((a - main - b) - n * QUARTER[2]);
    let z = r * r;
    let sine = r + r * z * polynomial(z, SINE);
    // 1 − h is rounded, too.
    let h = z * 0.5;
    let rest = -h + 1.0;
    let cosine = rest + ((-rest + 1.0 - h) + z * z * polynomial(z, COSINE));
    // Which quarter: 0 sin r, 1 cos r, 2 −sin r, 3 −cos r.
    let quarter = n + k;
    let part = |of: f64| quarter * of - (quarter * of).floor();
    let size = T::select(part(0.5).gt(T::of(0.25)), cosine, sine);
    T::select(part(0.25).gt(T::of(0.4)), -size, size)
}

/// In pairs, so that less waits for what is before it.
#[inline(always)]
fn polynomial<T: Num>(z: T, [a, b, c, d, e, f]: [f64; 6]) -> T {
    let square = z * z;
    let pair = |low: f64, high: f64| z * high + low;
    pair(a, b) + square * (pair(c, d) + square * pair(e, f))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Lanes;
    use std::f64::consts::PI;

    /// Distance in units of the last place of the true value.
    fn off(x: f64, truth: f64) -> f64 {
        let place = f64::from_bits(truth.abs().to_bits() + 1) - truth.abs();
        ((x - truth) / place).abs()
    }

    #[test]
    fn sine_and_cosine_are_those_of_the_library_to_the_last_place() {
        let mut worst = 0.0_f64;
        for i in -400_000..400_000 {
            let x = f64::from(i) * 0.0137 + f64::from(i % 1000) * 1e-7;
            for (ours, library) in [(sin(x), x.sin()), (cos(x), x.cos())] {
                // The library is right to half a place and a bit: two numbers that are both right
                // to one place differ by no more than this.
                worst = worst.max(off(ours, library));
            }
        }
        assert!(worst <= 1.0, "{worst} units of the last place");
    }

    #[test]
    fn inverse_sine_and_cosine_are_those_of_the_library_to_two_places() {
        let mut worst = [0.0_f64; 2];
        for i in -1_000_000..=1_000_000 {
            let x = f64::from(i) * 1e-6;
            worst[0] = worst[0].max(off(asin(x), x.asin()));
            worst[1] = worst[1].max(off(acos(x), x.acos()));
        }
        assert!(worst[0] <= 2.0 && worst[1] <= 2.0, "{worst:?} units of the last place");
        assert!(asin(1.0 + 1e-15_f64).is_nan() && acos(-1.1_f64).is_nan());
        assert_eq!((asin(1.0), acos(1.0), acos(-1.0)), (1.0_f64.asin(), 0.0, PI));
    }

    #[test]
    fn tangents_are_those_of_the_library_to_three_places() {
        for i in -300_000..300_000 {
            let x = f64::from(i) * 0.00137;
            assert!(off(Num::tan(x), x.tan()) <= 3.0, "{x}");
        }
    }

    #[test]
    fn near_multiples_of_a_quarter_turn_what_is_left_is_right() {
        // The library reduces angles exactly.
        for n in 1..200_000 {
            let x = f64::from(n) * std::f64::consts::FRAC_PI_2;
            for (ours, library) in [(sin(x), x.sin()), (cos(x), x.cos())] {
                assert!(off(ours, library) <= 1.0, "{x}: {ours} against {library}");
            }
        }
    }

    #[test]
    fn sines_of_large_angles_and_of_nothing_are_those_of_the_library() {
        for x in [6e5, -1e9, 1e300, f64::INFINITY, f64::NAN] {
            assert_eq!(sin(x).to_bits(), x.sin().to_bits());
            assert_eq!(cos(x).to_bits(), x.cos().to_bits());
        }
        assert_eq!((sin(0.0), cos(0.0)), (0.0, 1.0));
    }

    #[test]
    fn lanes_give_the_bits_of_single_numbers() {
        let x = [0.3, -2.0, 1e6, 40_000.7, f64::NAN, 1e-300, 5e5, -5.000001e5];
        let (s, c) = (sin(Lanes(x)), cos(Lanes(x)));
        let y = x.map(|x| x.sin());
        let (a, b) = (asin(Lanes(y)), acos(Lanes(y)));
        for i in 0..8 {
            assert_eq!(a.0[i].to_bits(), asin(y[i]).to_bits());
            assert_eq!(b.0[i].to_bits(), acos(y[i]).to_bits());
            assert_eq!(s.0[i].to_bits(), sin(x[i]).to_bits());
            assert_eq!(c.0[i].to_bits(), cos(x[i]).to_bits());
        }
    }
}
