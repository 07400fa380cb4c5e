//! Statements as instructions of the processor, at once and without a compiler.
//!
//! [`crate::text`] has a compiler make code that is a little faster, but takes a good part of a second
//! for it. Here the same statements become instructions within milliseconds: `assembler` knows the
//! instructions, `registers` which number is in which register, `generator` goes through the
//! statements. Arithmetic and order are those of the statements, so that results are the same bits.
//!
//! There are instructions for x86-64 with AVX2, and for eight lanes with AVX-512.

#[cfg(target_arch = "x86_64")]
mod assembler;
#[cfg(target_arch = "x86_64")]
mod early;
#[cfg(target_arch = "x86_64")]
mod generator;
#[cfg(target_arch = "x86_64")]
mod registers;
#[cfg(target_arch = "x86_64")]
mod shims;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
#[cfg(target_arch = "x86_64")]
mod uses;

use crate::compiler::NotCompiled;
use crate::library::Code;
use crate::script::Script;
use fluxline_core::plan::Plan;
use fluxline_core::program::Program;

/// Instructions and what they need.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub(crate) struct Machine {
    /// Bytes; what is done before a run comes first.
    pub code: Vec<u8>,
    /// Constants.
    pub constants: Vec<u64>,
    /// Where the function that takes steps begins.
    pub steps: usize,
}

/// Whether this machine has the instructions for so many lanes.
pub fn is_there(lanes: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    return kind(lanes).is_some();
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = lanes;
        false
    }
}

/// Prepares what is needed to write instructions, on another thread: the encoder's tables take half a
/// millisecond the first time, while the circuit is followed.
pub(crate) fn get_ready() {
    #[cfg(target_arch = "x86_64")]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        // Where there is no thread to be had, it is done when it is needed.
        ONCE.call_once(|| {
            let prepare = || drop(iced_x86::Encoder::new(64));
            let _ = std::thread::Builder::new().spawn(prepare);
        });
    }
}

#[cfg(target_arch = "x86_64")]
fn kind(lanes: usize) -> Option<assembler::Kind> {
    // Windows has another way to call functions, by which the engine is called back there.
    if cfg!(windows) {
        return None;
    }
    let has_avx2 = std::arch::is_x86_feature_detected!("avx2");
    let has_avx512 = std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512dq");
    match lanes {
        1 => has_avx2.then_some(assembler::Kind::One),
        4 => has_avx2.then_some(assembler::Kind::Four),
        8 => has_avx512.then_some(assembler::Kind::Eight),
        _ => None,
    }
}

/// What this processor is given for so many lanes.
#[cfg(target_arch = "x86_64")]
fn target(kind: assembler::Kind) -> generator::Target {
    // AVX-512 has added as many registers again, to those of one number, too.
    let has_more = match kind {
        assembler::Kind::One => {
            std::arch::is_x86_feature_detected!("avx512vl")
                && std::arch::is_x86_feature_detected!("avx512dq")
        }
        assembler::Kind::Four => false,
        assembler::Kind::Eight => true,
    };
    // The least of two takes Intel's processors four cycles, AMD's one.
    let vendor = std::arch::x86_64::__cpuid(0);
    let vendor = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat();
    let registers = if has_more { 31 } else { 15 };
    generator::Target { kind, registers, guesses_least: vendor == b"GenuineIntel" }
}

/// The code of a program for so many runs side by side, which are given `parameters` numbers each and
/// hand out `seen` after every step, or in rows.
pub(crate) fn make(
    plan: &Plan,
    program: &Program,
    script: &Script,
    parameters: usize,
    (lanes, seen): (usize, usize),
) -> Result<Code, NotCompiled> {
    #[cfg(target_arch = "x86_64")]
    {
        use fluxline_core::settings::Convention;
        let kind = kind(lanes).ok_or(NotCompiled::NoInstructions)?;
        let adds_up = plan.convention == Convention::Hopsan;
        let times = generator::Times { start: plan.start, step: plan.step, adds_up };
        let shims = shims::Shims::of(lanes);
        let each_step = if lanes > 1 { seen } else { 0 };
        let machine =
            generator::generate(program, script, target(kind), (times, each_step), &shims)
                .map_err(NotCompiled::NotWritten)?;
        Code::of(machine, program.layout, script.kept.len(), parameters, (lanes, seen))
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (plan, program, script, parameters, lanes, seen);
        Err(NotCompiled::NoInstructions)
    }
}
