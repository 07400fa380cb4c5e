//! Variants shared among several processes.
//!
//! One process leads: it deals variants out in small parcels, to itself and to its helpers, and
//! hands results on in order. Who is faster gets more of them. A parcel whose helper is lost goes to
//! somebody else. Variants have the same bits wherever they are evaluated, so results do not depend
//! on any of this. How words travel is left to [`Helpers`].

use crate::ensemble::{Ensemble, Evaluation, Outcome, Reason, ReasonKind, Variant};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

/// Processes that evaluate variants for another one.
pub trait Helpers {
    /// How many there are.
    fn count(&self) -> usize;
    /// Sends words to one of them.
    fn send(&self, helper: usize, words: &[u64]);
    /// The next words of one of them, if there are any.
    fn receive(&self, helper: usize) -> Option<Vec<u64>>;
    /// Whether one of them will not answer any more.
    fn is_lost(&self, helper: usize) -> bool;
}

/// The process for which others evaluate.
pub trait Leader {
    /// Waits for its next words.
    fn receive(&self) -> Vec<u64>;
    /// Sends it words.
    fn send(&self, words: &[u64]);
}

/// What came of sharing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Variants that helpers evaluated.
    pub elsewhere: usize,
    /// Helpers that were lost.
    pub lost: Vec<usize>,
    /// Variants that were evaluated again because of that.
    pub again: usize,
}

/// Parcels for each process, so that those who are done early find something to do.
const PARCELS: usize = 8;
/// Between looks for answers and for helpers that are lost.
const PAUSE: Duration = Duration::from_micros(500);
const LOOKS: u32 = 100;

/// A parcel on its way.
struct Dealt {
    parcel: usize,
    range: Range<usize>,
}

/// Evaluates so many variants as [`Ensemble::evaluate_each`] does, with helpers.
pub fn evaluate_each(
    ensemble: &Ensemble,
    helpers: &dyn Helpers,
    count: usize,
    variant: &(dyn Fn(usize) -> Variant + Sync),
    hand_on: &mut dyn FnMut(usize, Outcome),
) -> Shared {
    let everybody = helpers.count() + 1;
    let size = parcel_size(ensemble, count, everybody);
    let parcels = count.div_ceil(size);
    let range = |parcel: usize| parcel * size..((parcel + 1) * size).min(count);
    ensemble.prepare(count.div_ceil(everybody), variant);
    let mut shared = Shared::default();
    let mut next = 0;
    let mut returned: VecDeque<usize> = VecDeque::new();
    let mut with: Vec<Option<Dealt>> = (0..helpers.count()).map(|_| None).collect();
    let mut is_lost = vec![false; helpers.count()];
    let mut waiting: BTreeMap<usize, Vec<Outcome>> = BTreeMap::new();
    let mut turn = 0;
    let is_stopped = || ensemble.stop.load(Ordering::Relaxed);
    let (to_own, own_work) = mpsc::channel::<(usize, Vec<Variant>)>();
    let (answer, from_own) = mpsc::channel::<(usize, Vec<Outcome>)>();
    std::thread::scope(|scope| {
        // This thread carries messages; another one evaluates.
        scope.spawn(move || {
            for (parcel, variants) in own_work {
                if answer.send((parcel, ensemble.evaluate(&variants))).is_err() {
                    return;
                }
            }
        });
        let mut own: Option<usize> = None;
        let mut looks = 0u32;
        while turn < parcels {
            // Results wait for their turn, and not too many of them: memory does not grow with the
            // number of variants.
            let ahead = turn + 4 * PARCELS * everybody;
            let mut deal = |returned: &mut VecDeque<usize>| {
                if is_stopped() {
                    return None;
                }
                let fresh = next;
                returned.pop_front().or_else(|| {
                    next += usize::from(fresh < parcels.min(ahead));
                    (fresh < next).then_some(fresh)
                })
            };
            let mut is_idle = true;
            for helper in 0..helpers.count() {
                if let Some(dealt) = &with[helper]
                    && let Some(words) = helpers.receive(helper)
                {
                    match decode(&words, dealt.range.len()) {
                        Some(outcomes) => {
                            shared.elsewhere += outcomes.len();
                            waiting.insert(dealt.parcel, outcomes);
                        }
                        None => returned.push_back(dealt.parcel),
                    }
                    with[helper] = None;
                    is_idle = false;
                }
                if with[helper].is_none()
                    && !is_lost[helper]
                    && let Some(parcel) = deal(&mut returned)
                {
                    let variants: Vec<Variant> = range(parcel).map(variant).collect();
                    helpers.send(helper, &encode_work(&variants));
                    with[helper] = Some(Dealt { parcel, range: range(parcel) });
                    is_idle = false;
                }
            }
            if let Ok((parcel, outcomes)) = from_own.try_recv() {
                waiting.insert(parcel, outcomes);
                own = None;
                is_idle = false;
            }
            if own.is_none()
                && let Some(parcel) = deal(&mut returned)
            {
                own = Some(parcel);
                // The thread takes work until this end is dropped.
                let _ = to_own.send((parcel, range(parcel).map(variant).collect()));
                is_idle = false;
            }
            while let Some(outcomes) = waiting.remove(&turn) {
                let is_whole = outcomes.iter().all(|one| !is_interrupted(one));
                let mut numbers = range(turn);
                for outcome in outcomes.into_iter().take_while(|one| !is_interrupted(one)) {
                    hand_on(numbers.next().unwrap_or(count), outcome);
                }
                if !is_whole {
                    // Nothing after it is handed on.
                    ensemble.stop.store(true, Ordering::Relaxed);
                    break;
                }
                turn += 1;
            }
            if is_stopped() && own.is_none() {
                break;
            }
            if !is_idle {
                continue;
            }
            looks += 1;
            if looks.is_multiple_of(LOOKS) {
                for helper in 0..helpers.count() {
                    if is_lost[helper] || !helpers.is_lost(helper) {
                        continue;
                    }
                    is_lost[helper] = true;
                    shared.lost.push(helper);
                    if let Some(dealt) = with[helper].take() {
                        shared.again += dealt.range.len();
                        returned.push_back(dealt.parcel);
                    }
                }
            }
            std::thread::sleep(PAUSE);
        }
        drop(to_own);
    });
    if is_stopped() {
        // Launchers stop all when they lose one: that may be why.
        let gone =
            (0..helpers.count()).filter(|&helper| !is_lost[helper] && helpers.is_lost(helper));
        shared.lost.extend(gone);
    }
    shared
}

/// Sends helpers home.
pub fn dismiss(helpers: &dyn Helpers) {
    (0..helpers.count()).for_each(|helper| helpers.send(helper, &[]));
}

/// Evaluates what a leader sends until it sends nothing more.
pub fn serve(ensemble: &Ensemble, leader: &dyn Leader, runs: usize) {
    let mut is_prepared = false;
    loop {
        let words = leader.receive();
        if words.is_empty() {
            return;
        }
        let variants = decode_work(&words);
        if !std::mem::replace(&mut is_prepared, true) && !variants.is_empty() {
            ensemble.prepare(runs, &|i| variants[i % variants.len()].clone());
        }
        leader.send(&encode(&ensemble.evaluate(&variants)));
    }
}

/// Whole lanes on all threads of a process, unless there are too few variants for that.
fn parcel_size(ensemble: &Ensemble, count: usize, everybody: usize) -> usize {
    let lanes = ensemble.effort.lanes();
    let most = 4 * lanes * ensemble.effort.threads();
    let even = count.div_ceil(PARCELS * everybody).next_multiple_of(lanes);
    // So few that most would stand idle are dealt out in smaller parcels.
    match even * everybody > count {
        true => count.div_ceil(everybody).max(1),
        false => even.min(most),
    }
}

fn is_interrupted(outcome: &Outcome) -> bool {
    matches!(outcome, Err(Reason { kind: ReasonKind::Interrupted, .. }))
}

/// Variants as words: how many, how long, and their values.
fn encode_work(variants: &[Variant]) -> Vec<u64> {
    let width = variants.first().map_or(0, Vec::len);
    let values = variants.iter().flatten().map(|x| x.to_bits());
    [variants.len() as u64, width as u64].into_iter().chain(values).collect()
}

fn decode_work(words: &[u64]) -> Vec<Variant> {
    let (count, width) = (words[0] as usize, words.get(1).map_or(0, |&width| width as usize));
    let values = words.get(2..).unwrap_or_default();
    let variant = |i: usize| {
        values[i * width..(i + 1) * width].iter().map(|&word| f64::from_bits(word)).collect()
    };
    (0..count).map(variant).collect()
}

/// Outcomes as words: numbers of metrics and of recorded values, and these; or a mark, the kind of a
/// failure, and its message.
fn encode(outcomes: &[Outcome]) -> Vec<u64> {
    let mut words = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(Evaluation { metrics, rows }) => {
                words.extend([metrics.len() as u64, rows.len() as u64]);
                words.extend(metrics.iter().chain(rows).map(|x| x.to_bits()));
            }
            Err(Reason { kind, message }) => {
                let kind = ReasonKind::ALL.iter().position(|one| one == kind).unwrap_or(0);
                words.extend([FAILED, kind as u64, message.len() as u64]);
                words.extend(message.as_bytes().chunks(8).map(|bytes| {
                    let mut word = [0; 8];
                    word[..bytes.len()].copy_from_slice(bytes);
                    u64::from_le_bytes(word)
                }));
            }
        }
    }
    words
}

/// In place of a number of metrics.
const FAILED: u64 = u64::MAX;

fn decode(words: &[u64], count: usize) -> Option<Vec<Outcome>> {
    let mut rest = words;
    let mut take = |number: usize| {
        let (some, after) = rest.split_at_checked(number)?;
        rest = after;
        Some(some)
    };
    let mut outcomes = Vec::with_capacity(count);
    for _ in 0..count {
        let metrics = take(1)?[0];
        if metrics == FAILED {
            let kind = *ReasonKind::ALL.get(take(1)?[0] as usize)?;
            let length = take(1)?[0] as usize;
            let bytes = take(length.div_ceil(8))?.iter().flat_map(|word| word.to_le_bytes());
            let message = String::from_utf8(bytes.take(length).collect()).ok()?;
            outcomes.push(Err(Reason { kind, message }));
            continue;
        }
        let rows = take(1)?[0] as usize;
        let numbers = |words: &[u64]| words.iter().map(|&word| f64::from_bits(word)).collect();
        let metrics = numbers(take(metrics as usize)?);
        outcomes.push(Ok(Evaluation { metrics, rows: numbers(take(rows)?) }));
    }
    Some(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_arrives_bit_for_bit() {
        let variants = vec![vec![1.0, -0.0], vec![f64::NAN, f64::MIN_POSITIVE]];
        let bits = |all: &[Variant]| all.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&decode_work(&encode_work(&variants))), bits(&variants));
        assert!(decode_work(&encode_work(&[vec![]])) == [vec![]]);
        let outcomes: Vec<Outcome> = vec![
            Ok(Evaluation { metrics: vec![0.1, f64::INFINITY], rows: vec![] }),
            Err(Reason { kind: ReasonKind::Diverged, message: "`größe` at 3 s".to_owned() }),
            Err(Reason { kind: ReasonKind::Refused, message: String::new() }),
            Ok(Evaluation { metrics: vec![], rows: vec![1e-300, 2.0, 3.0] }),
        ];
        let words = encode(&outcomes);
        assert_eq!(decode(&words, 4), Some(outcomes));
        assert_eq!(decode(&words[..words.len() - 1], 4), None);
    }
}
