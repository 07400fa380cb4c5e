//! "Did you mean …": the valid names closest to a mistyped one.

/// Cost of one inserted, deleted, replaced or swapped letter.
const EDIT: usize = 4;
/// Cost of a letter in the wrong case: `Bar` is much closer to `bar` than `car` is.
const CASE: usize = 1;
/// Names longer than this are not compared: nobody types them by hand, and the
/// cost grows with the square of the length.
const MAX_LETTERS: usize = 64;
const MAX_RESULTS: usize = 3;

/// The candidates closest to `name`, best first, at most three; empty when none is close.
///
/// Closeness counts inserted, deleted, replaced and swapped letters; a wrong
/// case weighs little. A candidate that contains the whole of a longer name
/// (`pressure` in `cracking_pressure`) comes last. Equal candidates keep their order.
///
/// ```
/// use fluxline_units::nearest;
///
/// assert_eq!(nearest("presure", ["pressure", "flow"]), ["pressure"]);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let letters: Vec<char> = name.chars().take(MAX_LETTERS + 1).collect();
    if letters.is_empty() || letters.len() > MAX_LETTERS {
        return Vec::new();
    }
    // One edit for names of up to five letters, then one more for each three.
    let allowed = EDIT * (letters.len() / 3).max(1);
    let lower = name.to_lowercase();

    let mut found: Vec<(usize, &str)> = Vec::new();
    for candidate in candidates {
        let other: Vec<char> = candidate.chars().take(MAX_LETTERS + 1).collect();
        if other.len() > MAX_LETTERS {
            continue;
        }
        let distance = distance(&letters, &other);
        // A replacement of the only letter leaves nothing in common.
        let shares_a_letter = distance < EDIT * letters.len().max(other.len());
        if distance <= allowed && shares_a_letter {
            found.push((distance, candidate));
        } else if letters.len() >= 4 && candidate.to_lowercase().contains(&lower) {
            found.push((allowed + 1, candidate));
        }
    }
    found.sort_by_key(|&(distance, _)| distance);
    found.dedup_by_key(|&mut (_, candidate)| candidate);
    found.truncate(MAX_RESULTS);
    found.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Optimal string alignment: Levenshtein with swaps of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).map(|j| j * EDIT).collect();
    let mut row = vec![0; b.len() + 1];
    for i in 1..=a.len() {
        row[0] = i * EDIT;
        for j in 1..=b.len() {
            let replace = last[j - 1] + replacement(a[i - 1], b[j - 1]);
            let mut best = replace.min(last[j] + EDIT).min(row[j - 1] + EDIT);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before_last[j - 2] + EDIT);
            }
            row[j] = best;
        }
        std::mem::swap(&mut before_last, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
}

fn replacement(a: char, b: char) -> usize {
    if a == b {
        0
    } else if a.to_lowercase().eq(b.to_lowercase()) {
        CASE
    } else {
        EDIT
    }
}

/// "`a`", "`a` or `b`", "`a`, `b` or `c`"; `None` for an empty list.
pub(crate) fn listed(names: &[&str]) -> Option<String> {
    let (last, rest) = names.split_last()?;
    if rest.is_empty() {
        return Some(format!("`{last}`"));
    }
    let rest: Vec<String> = rest.iter().map(|name| format!("`{name}`")).collect();
    Some(format!("{} or `{last}`", rest.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_case_is_closer_than_a_wrong_letter() {
        assert_eq!(nearest("Bar", ["car", "bar"])[0], "bar");
        assert_eq!(nearest("mpa", ["MPa", "mPa", "kPa"])[..2], ["mPa", "MPa"]);
    }

    #[test]
    fn swapped_and_missing_letters_are_found() {
        assert_eq!(
            nearest("crakcing_presure", ["cracking_pressure", "flow"]),
            ["cracking_pressure"]
        );
    }

    #[test]
    fn part_of_a_name_finds_the_whole() {
        assert_eq!(nearest("pressure", ["cracking_pressure", "flow"]), ["cracking_pressure"]);
    }

    #[test]
    fn nothing_close_gives_nothing() {
        assert!(nearest("x", ["m", "s"]).is_empty());
        assert!(nearest("", ["m"]).is_empty());
        assert!(nearest(&"a".repeat(10_000), ["a"]).is_empty());
    }
}
