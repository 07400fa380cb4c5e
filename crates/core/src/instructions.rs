//! Which vector instructions the machine has, and work compiled for each of them.
//!
//! One binary runs anywhere: the same generic code is compiled for the plain instructions of the
//! architecture and for wider ones, and the machine is asked which of them it has. Wider
//! instructions do more numbers at a time; each number comes out the same, because nothing here lets
//! the compiler contract `a·b + c`.

/// Work that is worth compiling for wide instructions. [`Work::run`] must be `#[inline(always)]`,
/// and so must all that it calls, or go through [`Num::within`](crate::number::Num::within); else that
/// part is compiled for the plain ones.
pub trait Work {
    /// Does it.
    fn run(self);
}

/// A way to compute several numbers at once that this machine has.
pub trait Instructions: Copy + Send + Sync + 'static {
    /// All of this kind that the machine has, the widest last.
    fn all() -> Vec<Self>;
    /// Does work with it.
    fn run<W: Work>(self, work: W);
    /// Name for reports.
    fn name(self) -> &'static str;
}

/// For four doubles: in registers of that width; where the architecture is not known here, in
/// whatever it has. Every kind costs a compilation of all component types, so that there is none for
/// old machines whose registers hold two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Four(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    #[cfg(not(target_arch = "x86_64"))]
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Instructions for Four {
    fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return vec![Self(Set::Avx2)];
        }
        #[cfg(not(target_arch = "x86_64"))]
        return vec![Self(Set::Plain)];
        #[cfg(target_arch = "x86_64")]
        Vec::new()
    }

    #[inline(always)]
    fn run<W: Work>(self, work: W) {
        match self.0 {
            #[cfg(not(target_arch = "x86_64"))]
            Set::Plain => work.run(),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => wide::run_avx2(work),
        }
    }

    fn name(self) -> &'static str {
        match self.0 {
            #[cfg(not(target_arch = "x86_64"))]
            Set::Plain => "plain",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "AVX2",
        }
    }
}

/// For eight doubles: only in registers of that width, since in narrower ones four are as fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eight(Avx512);

/// Exists only where the machine has been asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Avx512 {
    #[cfg(target_arch = "x86_64")]
    Detected,
}

impl Instructions for Eight {
    fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512vl")
            && std::arch::is_x86_feature_detected!("avx512dq")
        {
            return vec![Self(Avx512::Detected)];
        }
        Vec::new()
    }

    #[inline(always)]
    fn run<W: Work>(self, work: W) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Avx512::Detected => wide::run_avx512(work),
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = work;
    }

    fn name(self) -> &'static str {
        "AVX-512"
    }
}

/// The only unsafe code of this file. Calling a function that was compiled for instructions which the
/// machine lacks is undefined; `Set::Avx2` and `Avx512::Detected` are private and made only in
/// [`Instructions::all`], which has asked the machine for exactly the features named below.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "see above")]
mod wide {
    use super::Work;

    #[inline(always)]
    pub(super) fn run_avx2<W: Work>(work: W) {
        #[target_feature(enable = "avx2")]
        fn with_avx2<W: Work>(work: W) {
            work.run();
        }
        // SAFETY: reached for `Set::Avx2` alone, which is made only where AVX2 was detected.
        unsafe { with_avx2(work) }
    }

    #[inline(always)]
    pub(super) fn run_avx512<W: Work>(work: W) {
        #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
        fn with_avx512<W: Work>(work: W) {
            work.run();
        }
        // SAFETY: reached for `Avx512::Detected` alone, made only where all three were detected.
        unsafe { with_avx512(work) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [f64], &'a mut f64);

    impl Work for Sum<'_> {
        #[inline(always)]
        fn run(self) {
            *self.1 = self.0.iter().map(|x| x * 1.1 + 0.3).fold(0.0, |a, b| a + b);
        }
    }

    #[test]
    fn all_instructions_of_the_machine_give_the_same_bits() {
        let numbers: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 0.37).sin()).collect();
        let mut plain = 0.0;
        Sum(&numbers, &mut plain).run();
        let mut results = Vec::new();
        for instructions in Four::all() {
            let mut sum = 0.0;
            instructions.run(Sum(&numbers, &mut sum));
            results.push(sum.to_bits());
        }
        for instructions in Eight::all() {
            let mut sum = 0.0;
            instructions.run(Sum(&numbers, &mut sum));
            results.push(sum.to_bits());
        }
        assert!(results.iter().all(|&bits| bits == plain.to_bits()));
    }
}
