//! Saved states: everything that changes during a run, bit for bit.
//!
//! Layout, all little-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `FLXSTATE` |
//! | 4 | version, 2 |
//! | 8 | fingerprint of the plan |
//! | 8 | time at the start, s |
//! | 8 | step, s |
//! | 8 | time reached, s |
//! | 8 | steps taken |
//! | 8 | steps taken to come to rest |
//! | 6 × 8 | lengths of the arrays that follow |
//! | … | bonds (flow, effort, wave, impedance, displacement, dry friction), signals, states, viscosity, temperature in lines, temperature delivered |
//! | 8 | checksum of all bytes before it (FNV-1a, 64 bits) |
//!
//! What a run counts (equations not converged, a request to stop) belongs to that run and is not
//! saved.

use fluxline_core::plan::Plan;
use fluxline_core::state::{Bond, State};
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_units::{Dimension, Quantity};
use std::io::{self, Write};

const MAGIC: &[u8; 8] = b"FLXSTATE";
const VERSION: u32 = 2;
const BOND: usize = 6;

/// Writes a state.
pub fn write_state(out: &mut impl Write, plan: &Plan, state: &State<f64>) -> io::Result<()> {
    let mut out = Summing { out, sum: Checksum::default() };
    out.write_all(MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    out.write_all(&plan.fingerprint.to_le_bytes())?;
    out.number(plan.start)?;
    out.number(plan.step)?;
    out.number(state.time)?;
    out.count(state.step)?;
    out.count(state.rest_steps)?;
    let arrays = [
        &state.signals,
        &state.states,
        &state.viscosity,
        &state.line_temperature,
        &state.delivered_temperature,
    ];
    out.count(state.bonds.len() as u64)?;
    for array in arrays {
        out.count(array.len() as u64)?;
    }
    for bond in &state.bonds {
        for value in
            [bond.flow, bond.effort, bond.wave, bond.impedance, bond.displacement, bond.dry]
        {
            out.number(value)?;
        }
    }
    for &value in arrays.into_iter().flatten() {
        out.number(value)?;
    }
    let Summing { out, sum } = out;
    out.write_all(&sum.0.to_le_bytes())
}

/// Reads a state for a plan. `name` stands for the file in messages.
pub fn read_state(bytes: &[u8], name: &str, plan: &Plan) -> Result<State<f64>, Diagnostic> {
    let corrupt = |what: &str| {
        Diagnostic::error(Code::StateCorrupt, format!("`{name}` {what}"))
            .note("nothing was restored")
            .help(Code::StateCorrupt.info().cure)
    };
    if !bytes.starts_with(MAGIC) {
        return Err(corrupt("is not a saved state"));
    }
    let mut rest = Reader(&bytes[MAGIC.len()..]);
    let version = rest.take().map(u32::from_le_bytes);
    if version.is_some_and(|version| version != VERSION) {
        return Err(corrupt("was saved by an incompatible version"));
    }
    let Some((content, sum)) = bytes.split_last_chunk::<8>() else {
        return Err(corrupt("is incomplete"));
    };
    let mut checksum = Checksum::default();
    checksum.add(content);
    if checksum.0 != u64::from_le_bytes(*sum) {
        return Err(corrupt("is incomplete or was altered"));
    }
    let mut read = || -> Option<(u64, [f64; 2], State<f64>, bool)> {
        let fingerprint = rest.count()?;
        let times = [rest.number()?, rest.number()?];
        let (time, step, rest_steps) = (rest.number()?, rest.count()?, rest.count()?);
        let mut lengths = [0; 6];
        for length in &mut lengths {
            *length = usize::try_from(rest.count()?).ok()?;
        }
        let blank = &plan.blank;
        let fits = lengths
            == [
                blank.bonds.len(),
                blank.signals.len(),
                blank.states.len(),
                blank.viscosity.len(),
                blank.line_temperature.len(),
                blank.delivered_temperature.len(),
            ];
        let mut state = blank.clone();
        (state.time, state.step, state.rest_steps) = (time, step, rest_steps);
        if fits {
            for bond in &mut state.bonds {
                let mut values = [0.0; BOND];
                for value in &mut values {
                    *value = rest.number()?;
                }
                let [flow, effort, wave, impedance, displacement, dry] = values;
                *bond = Bond { flow, effort, wave, impedance, displacement, dry };
            }
            for array in [
                &mut state.signals,
                &mut state.states,
                &mut state.viscosity,
                &mut state.line_temperature,
                &mut state.delivered_temperature,
            ] {
                for value in array {
                    *value = rest.number()?;
                }
            }
            // Nothing but the checksum is left.
            if rest.0.len() != size_of_val(sum) {
                return None;
            }
        }
        Some((fingerprint, times, state, fits))
    };
    let (fingerprint, [start, step], state, fits) =
        read().ok_or_else(|| corrupt("is incomplete or holds too much"))?;
    let another = |why: String| {
        Diagnostic::error(Code::StateOfAnotherCircuit, format!("`{name}` does not fit: {why}"))
            .note("nothing was restored")
    };
    if fingerprint != plan.fingerprint || !fits {
        let problem = another("it was saved by a circuit with other components".to_owned());
        return Err(problem.help(Code::StateOfAnotherCircuit.info().cure));
    }
    let time = |t: f64| Quantity::new(t, Dimension::TIME).to_string();
    if step.to_bits() != plan.step.to_bits() || start.to_bits() != plan.start.to_bits() {
        let why = format!(
            "it was saved by a run from {} with a step of {}, this one starts at {} with a step of {}",
            time(start),
            time(step),
            time(plan.start),
            time(plan.step)
        );
        return Err(another(why).help("restore with the same `start` and `step`"));
    }
    Ok(state)
}

/// FNV-1a: enough against accidents, and the same on every machine.
struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

struct Summing<'a, W> {
    out: &'a mut W,
    sum: Checksum,
}

impl<W: Write> Summing<'_, W> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.add(bytes);
        self.out.write_all(bytes)
    }
    fn count(&mut self, value: u64) -> io::Result<()> {
        self.write_all(&value.to_le_bytes())
    }
    fn number(&mut self, value: f64) -> io::Result<()> {
        self.write_all(&value.to_bits().to_le_bytes())
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }
    fn count(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
    fn number(&mut self) -> Option<f64> {
        self.count().map(f64::from_bits)
    }
}
