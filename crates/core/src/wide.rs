//! Numbers side by side, in the vector instructions of the machine.
//!
//! [`Lanes`] says what several numbers at once mean, in plain loops that any processor runs. From such
//! loops compilers make vector code only where they see through everything at once, and lose it at
//! masks, copies and functions too long to inline. The types here lie in memory exactly as [`Lanes`]
//! do, and name the instruction for each operation; component types step in them. Bits are those of
//! single numbers: each instruction rounds as its single form does, and nothing contracts `a·b + c`.
//!
//! What makes it sound: calling these instructions where the machine lacks them is undefined. The
//! types are private to this crate, so that nothing else can name them. Here they are used by
//! `lanes` alone, where constants are packed and groups stepped, and there only together with
//! the [`Instructions`] of which they are the numbers; those exist only where the machine was asked.
#![allow(unsafe_code, reason = "see the argument above")]

use crate::instructions::{Eight, Four, Instructions};
use crate::number::{Lanes, Num};
use crate::step::LiesAs;

/// What numbers side by side are computed in.
pub(crate) trait Vectors<const N: usize>: Instructions {
    /// N of them.
    type Number: LiesAs<Lanes<N>>;
}

#[cfg(target_arch = "x86_64")]
impl Vectors<4> for Four {
    type Number = x86::Wide4;
}

#[cfg(target_arch = "x86_64")]
impl Vectors<8> for Eight {
    type Number = x86::Wide8;
}

#[cfg(not(target_arch = "x86_64"))]
impl Vectors<4> for Four {
    type Number = Lanes<4>;
}

#[cfg(not(target_arch = "x86_64"))]
impl Vectors<8> for Eight {
    type Number = Lanes<8>;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use crate::number::Mask;
    use crate::trig;
    use std::arch::x86_64::*;
    use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, Mul, Neg, Not, Sub, SubAssign};

    /// Four numbers, with AVX2.
    #[derive(Clone, Copy, Debug)]
    #[repr(transparent)]
    pub(crate) struct Wide4(Lanes<4>);

    /// Eight numbers, with AVX-512.
    #[derive(Clone, Copy, Debug)]
    #[repr(transparent)]
    pub(crate) struct Wide8(Lanes<8>);

    /// All bits of a lane, or none.
    #[derive(Clone, Copy, Debug)]
    #[repr(transparent)]
    pub(crate) struct Mask4([u64; 4]);

    /// One bit for each lane.
    #[derive(Clone, Copy, Debug)]
    #[repr(transparent)]
    pub(crate) struct Mask8(u8);

    // SAFETY: transparent.
    unsafe impl LiesAs<Lanes<4>> for Wide4 {
        fn lying(stored: Lanes<4>) -> Self {
            Self(stored)
        }
    }
    // SAFETY: transparent.
    unsafe impl LiesAs<Lanes<8>> for Wide8 {
        fn lying(stored: Lanes<8>) -> Self {
            Self(stored)
        }
    }

    // SAFETY, for every operation below: the machine has the instructions, see the head of this file;
    // numbers and registers have the same size and no bits without meaning.

    impl Wide4 {
        #[inline(always)]
        fn register(self) -> __m256d {
            unsafe { std::mem::transmute(self.0.0) }
        }
        #[inline(always)]
        fn from(register: __m256d) -> Self {
            Self(Lanes(unsafe { std::mem::transmute::<__m256d, [f64; 4]>(register) }))
        }
        #[inline(always)]
        fn less(self, other: Self) -> Mask4 {
            let (one, other) = (self.register(), other.register());
            Mask4::from(unsafe { _mm256_cmp_pd::<_CMP_LT_OQ>(one, other) })
        }
        #[inline(always)]
        fn not_more(self, other: Self) -> Mask4 {
            let (one, other) = (self.register(), other.register());
            Mask4::from(unsafe { _mm256_cmp_pd::<_CMP_LE_OQ>(one, other) })
        }
        #[inline(always)]
        fn chosen(mask: Mask4, yes: Self, no: Self) -> Self {
            let (yes, no) = (yes.register(), no.register());
            Self::from(unsafe { _mm256_blendv_pd(no, yes, mask.register()) })
        }
        #[inline(always)]
        fn whole(self) -> Self {
            Self::from(unsafe { _mm256_floor_pd(self.register()) })
        }
    }

    impl Wide8 {
        #[inline(always)]
        fn register(self) -> __m512d {
            unsafe { std::mem::transmute(self.0.0) }
        }
        #[inline(always)]
        fn from(register: __m512d) -> Self {
            Self(Lanes(unsafe { std::mem::transmute::<__m512d, [f64; 8]>(register) }))
        }
        #[inline(always)]
        fn less(self, other: Self) -> Mask8 {
            let (one, other) = (self.register(), other.register());
            Mask8(unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(one, other) })
        }
        #[inline(always)]
        fn not_more(self, other: Self) -> Mask8 {
            let (one, other) = (self.register(), other.register());
            Mask8(unsafe { _mm512_cmp_pd_mask::<_CMP_LE_OQ>(one, other) })
        }
        #[inline(always)]
        fn chosen(mask: Mask8, yes: Self, no: Self) -> Self {
            let (yes, no) = (yes.register(), no.register());
            Self::from(unsafe { _mm512_mask_blend_pd(mask.0, no, yes) })
        }
        #[inline(always)]
        fn whole(self) -> Self {
            const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
            Self::from(unsafe { _mm512_roundscale_pd::<DOWN>(self.register()) })
        }
    }

    impl Mask4 {
        #[inline(always)]
        fn register(self) -> __m256d {
            unsafe { std::mem::transmute(self.0) }
        }
        #[inline(always)]
        fn from(register: __m256d) -> Self {
            Self(unsafe { std::mem::transmute::<__m256d, [u64; 4]>(register) })
        }
    }

    impl Mask for Mask4 {
        #[inline(always)]
        fn any(self) -> bool {
            self.bits() != 0
        }
        #[inline(always)]
        fn all(self) -> bool {
            self.bits() == 0b1111
        }
        #[inline(always)]
        fn bits(self) -> u64 {
            u64::from(unsafe { _mm256_movemask_pd(self.register()) }.unsigned_abs())
        }
    }
    impl BitAnd for Mask4 {
        type Output = Self;
        #[inline(always)]
        fn bitand(self, other: Self) -> Self {
            Self::from(unsafe { _mm256_and_pd(self.register(), other.register()) })
        }
    }
    impl BitOr for Mask4 {
        type Output = Self;
        #[inline(always)]
        fn bitor(self, other: Self) -> Self {
            Self::from(unsafe { _mm256_or_pd(self.register(), other.register()) })
        }
    }
    impl Not for Mask4 {
        type Output = Self;
        #[inline(always)]
        fn not(self) -> Self {
            let all = unsafe { _mm256_castsi256_pd(_mm256_set1_epi64x(-1)) };
            Self::from(unsafe { _mm256_xor_pd(self.register(), all) })
        }
    }

    impl Mask for Mask8 {
        #[inline(always)]
        fn any(self) -> bool {
            self.0 != 0
        }
        #[inline(always)]
        fn all(self) -> bool {
            self.0 == u8::MAX
        }
        #[inline(always)]
        fn bits(self) -> u64 {
            u64::from(self.0)
        }
    }
    impl BitAnd for Mask8 {
        type Output = Self;
        #[inline(always)]
        fn bitand(self, other: Self) -> Self {
            Self(self.0 & other.0)
        }
    }
    impl BitOr for Mask8 {
        type Output = Self;
        #[inline(always)]
        fn bitor(self, other: Self) -> Self {
            Self(self.0 | other.0)
        }
    }
    impl Not for Mask8 {
        type Output = Self;
        #[inline(always)]
        fn not(self) -> Self {
            Self(!self.0)
        }
    }

    macro_rules! wide {
        (
            $wide:ident, $mask:ident, $features:literal;
            of $of:ident, sqrt $sqrt:ident, clear $clear:ident, flip $flip:ident;
            $($operator:ident $method:ident $instruction:ident;)*
        ) => {
            $(
                impl $operator for $wide {
                    type Output = Self;
                    #[inline(always)]
                    fn $method(self, other: Self) -> Self {
                        Self::from(unsafe { $instruction(self.register(), other.register()) })
                    }
                }
                impl $operator<f64> for $wide {
                    type Output = Self;
                    #[inline(always)]
                    fn $method(self, other: f64) -> Self {
                        $operator::$method(self, Self::of(other))
                    }
                }
            )*
            impl Neg for $wide {
                type Output = Self;
                #[inline(always)]
                fn neg(self) -> Self {
                    Self::from(unsafe { $flip($of(-0.0), self.register()) })
                }
            }
            impl AddAssign for $wide {
                #[inline(always)]
                fn add_assign(&mut self, other: Self) {
                    *self = *self + other;
                }
            }
            impl SubAssign for $wide {
                #[inline(always)]
                fn sub_assign(&mut self, other: Self) {
                    *self = *self - other;
                }
            }
            impl Num for $wide {
                type Mask = $mask;
                const IS_WIDE: bool = true;
                #[inline(always)]
                fn within<R>(work: impl FnOnce() -> R) -> R {
                    #[target_feature(enable = $features)]
                    #[inline]
                    fn do_it<R>(work: impl FnOnce() -> R) -> R {
                        work()
                    }
                    unsafe { do_it(work) }
                }
                #[inline(always)]
                fn where_any(
                    mask: $mask,
                    some: impl FnOnce() -> Self,
                    none: impl FnOnce() -> Self,
                ) -> Self {
                    if mask.any() { Self::within(some) } else { Self::within(none) }
                }
                #[inline(always)]
                fn of(value: f64) -> Self {
                    Self::from(unsafe { $of(value) })
                }
                #[inline(always)]
                fn first(self) -> f64 {
                    self.0.first()
                }
                #[inline(always)]
                fn sqrt(self) -> Self {
                    Self::from(unsafe { $sqrt(self.register()) })
                }
                #[inline(always)]
                fn abs(self) -> Self {
                    Self::from(unsafe { $clear($of(-0.0), self.register()) })
                }
                #[inline(always)]
                fn exp(self) -> Self {
                    self.apply(|x| (x.exp(), 0.0))
                }
                #[inline(always)]
                fn ln(self) -> Self {
                    self.apply(|x| (x.ln(), 0.0))
                }
                #[inline(always)]
                fn powf(self, exponent: Self) -> Self {
                    Self(self.0.powf(exponent.0))
                }
                // Long, and called: what holds several of them would be too long itself.
                #[inline(always)]
                fn sin(self) -> Self {
                    Self::within(|| trig::sin(self))
                }
                #[inline(always)]
                fn cos(self) -> Self {
                    Self::within(|| trig::cos(self))
                }
                #[inline(always)]
                fn asin(self) -> Self {
                    Self::within(|| trig::asin(self))
                }
                #[inline(always)]
                fn acos(self) -> Self {
                    Self::within(|| trig::acos(self))
                }
                #[inline(always)]
                fn tanh(self) -> Self {
                    self.apply(|x| (x.tanh(), 0.0))
                }
                #[inline(always)]
                fn floor(self) -> Self {
                    self.whole()
                }
                #[inline(always)]
                fn lt(self, other: Self) -> $mask {
                    self.less(other)
                }
                #[inline(always)]
                fn le(self, other: Self) -> $mask {
                    self.not_more(other)
                }
                #[inline(always)]
                fn select(mask: $mask, yes: Self, no: Self) -> Self {
                    Self::chosen(mask, yes, no)
                }
                #[inline(always)]
                fn apply(self, f: impl Fn(f64) -> (f64, f64)) -> Self {
                    Self(self.0.apply(f))
                }
                #[inline(always)]
                fn apply2(self, other: Self, f: impl Fn(f64, f64) -> (f64, f64, f64)) -> Self {
                    Self(self.0.apply2(other.0, f))
                }
            }
        };
    }

    wide! {
        Wide4, Mask4, "avx2";
        of _mm256_set1_pd, sqrt _mm256_sqrt_pd, clear _mm256_andnot_pd, flip _mm256_xor_pd;
        Add add _mm256_add_pd;
        Sub sub _mm256_sub_pd;
        Mul mul _mm256_mul_pd;
        Div div _mm256_div_pd;
    }

    wide! {
        Wide8, Mask8, "avx512f,avx512vl,avx512dq";
        of _mm512_set1_pd, sqrt _mm512_sqrt_pd, clear _mm512_andnot_pd, flip _mm512_xor_pd;
        Add add _mm512_add_pd;
        Sub sub _mm512_sub_pd;
        Mul mul _mm512_mul_pd;
        Div div _mm512_div_pd;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instructions::Work;
    use crate::number::Mask;
    use proptest::prelude::*;

    /// All operations on two numbers, with a closure.
    #[crate::wide]
    fn all<T: Num>(x: T, y: T) -> [T; 24] {
        let truth = |mask: T::Mask| T::select(mask, T::one(), T::zero());
        let (below, not_above) = (x.lt(y), x.le(y));
        [
            x + y,
            x - y,
            x * y,
            x / y,
            x + 0.7,
            x - 0.7,
            x * 0.7,
            x / 0.7,
            -x,
            x.abs().sqrt(),
            x.abs(),
            x.floor(),
            x.min(y),
            x.max(y),
            x.signed_sqrt(),
            truth(below),
            truth(not_above),
            truth(!below & not_above),
            truth(below | !not_above),
            x.exp(),
            (x.abs() + 0.1).powf(y * 0.1),
            x.sin() + y.cos() + (x / 9.0).asin() * (y / 9.0).acos(),
            x.tanh() + (x.abs() + 0.1).ln(),
            x.apply(|x| (x * x, 0.0)) + x.apply2(y, |x, y| (x.hypot(y), 0.0, 0.0)),
        ]
    }

    struct Try<'a, const N: usize, I: Vectors<N>> {
        x: I::Number,
        y: I::Number,
        results: &'a mut [I::Number; 24],
        truths: &'a mut [u64; 3],
    }

    impl<const N: usize, I: Vectors<N>> Work for Try<'_, N, I> {
        #[inline(always)]
        fn run(self) {
            *self.results = all(self.x, self.y);
            let below = self.x.lt(self.y);
            *self.truths = [below.bits(), u64::from(below.any()), u64::from(below.all())];
        }
    }

    fn have_the_bits_of_single_numbers<const N: usize, I: Vectors<N>>(
        x: [f64; N],
        y: [f64; N],
        numbers: impl Fn(I::Number) -> [f64; N],
    ) {
        for instructions in I::all() {
            let (x_wide, y_wide) = (I::Number::lying(Lanes(x)), I::Number::lying(Lanes(y)));
            let (mut results, mut truths) = ([x_wide; 24], [0; 3]);
            let (results, truths) = (&mut results, &mut truths);
            instructions.run(Try::<N, I> { x: x_wide, y: y_wide, results, truths });
            for lane in 0..N {
                for (at, single) in all(x[lane], y[lane]).into_iter().enumerate() {
                    let wide = numbers(results[at])[lane];
                    let same =
                        wide.to_bits() == single.to_bits() || wide.is_nan() && single.is_nan();
                    assert!(same, "operation {at} on {} and {}: {wide}", x[lane], y[lane]);
                }
            }
            let below: Vec<bool> = (0..N).map(|lane| x[lane] < y[lane]).collect();
            let bits = (0..N).map(|lane| u64::from(below[lane]) << lane).sum();
            let (any, all) = (below.contains(&true), !below.contains(&false));
            assert_eq!(*truths, [bits, u64::from(any), u64::from(all)]);
        }
    }

    proptest! {
        #[test]
        fn vector_instructions_give_the_bits_of_single_numbers(
            x in prop::array::uniform8(-9.0..9.0f64),
            y in prop::array::uniform8(-9.0..9.0f64),
            odd in prop::array::uniform8(prop::num::f64::ANY),
            alike in 0..8usize,
        ) {
            let mut same = y;
            same[alike] = x[alike];
            for (x, y) in [(x, y), (x, same), (x, odd), (odd, y), (x, x), (x, x.map(|x| x + 1.0))] {
                // SAFETY: both lie as `Lanes` do.
                have_the_bits_of_single_numbers::<8, Eight>(x, y, |x| unsafe { std::mem::transmute_copy(&x) });
                let four = |x: [f64; 8]| [x[0], x[1], x[2], x[alike]];
                have_the_bits_of_single_numbers::<4, Four>(four(x), four(y), |x| unsafe { std::mem::transmute_copy(&x) });
            }
        }
    }
}
