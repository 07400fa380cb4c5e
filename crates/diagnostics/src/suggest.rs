//! Which valid name the user probably meant.

/// Longer names are not compared: nobody mistypes a name of that length, but a broken file may hold one.
const LONGEST: usize = 64;
const MOST: usize = 3;

/// The up to three candidates closest to `name`, best first; none if nothing is close.
///
/// Close means few mistyped, missing, extra or swapped letters (case, `-` and spaces do not count), or one name being
/// a part of the other, as `pressure` is of `cracking_pressure`.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name = letters(name);
    if name.is_empty() || name.len() > LONGEST {
        return Vec::new();
    }
    let mut close: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| score(&name, &letters(candidate)).map(|score| (score, candidate)))
        .collect();
    close.sort();
    close.dedup();
    close.truncate(MOST);
    close.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Names as a sentence lists them: `` `a`, `b` or `c` ``.
pub fn list_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

fn letters(name: &str) -> Vec<char> {
    let plain = |c| if matches!(c, '-' | ' ') { '_' } else { c };
    name.chars().take(LONGEST + 1).flat_map(char::to_lowercase).map(plain).collect()
}

/// Lower is closer; `None` is not close at all. A part ranks behind every misspelling.
fn score(name: &[char], candidate: &[char]) -> Option<usize> {
    if candidate.is_empty() || candidate.len() > LONGEST {
        return None;
    }
    let allowed = (name.len().max(candidate.len()) / 3).max(1);
    if name.len().abs_diff(candidate.len()) <= allowed {
        let distance = distance(name, candidate);
        // With as many edits as letters nothing of the name is left.
        if distance <= allowed && distance < name.len().max(candidate.len()) {
            return Some(distance);
        }
    }
    let (short, long) =
        if name.len() < candidate.len() { (name, candidate) } else { (candidate, name) };
    let part = short.len() >= 3 && long.windows(short.len()).any(|window| window == short);
    part.then_some(LONGEST + long.len() - short.len())
}

/// Edits (insert, delete, replace, swap neighbours) between two names.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut row = last.clone();
    for i in 1..=a.len() {
        row[0] = i;
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        std::mem::swap(&mut before_last, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["cracking_pressure", "nominal_flow", "bore", "rod", "stroke"];

    #[test]
    fn a_misspelled_name_finds_the_meant_one() {
        assert_eq!(nearest("craking_presure", NAMES), ["cracking_pressure"]);
        assert_eq!(nearest("borre", NAMES), ["bore"]);
        assert_eq!(nearest("rdo", NAMES), ["rod"]);
        assert_eq!(nearest("Nominal-Flow", NAMES), ["nominal_flow"]);
    }

    #[test]
    fn a_part_of_a_name_finds_the_whole() {
        assert_eq!(nearest("pressure", NAMES), ["cracking_pressure"]);
        assert_eq!(nearest("stroke_length", NAMES), ["stroke"]);
    }

    #[test]
    fn a_strange_name_finds_nothing() {
        assert!(nearest("viscosity", NAMES).is_empty());
        assert!(nearest("", NAMES).is_empty());
        assert!(nearest("x", ["y"]).is_empty());
        assert!(nearest(&"x".repeat(1_000_000), NAMES).is_empty());
    }

    #[test]
    fn names_read_as_a_sentence() {
        assert_eq!(list_names([]), "");
        assert_eq!(list_names(["a"]), "`a`");
        assert_eq!(list_names(["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
