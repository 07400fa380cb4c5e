//! Names of components: which characters they may have, and how clashes are resolved.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The name with every byte other than a letter, a digit or an underscore of ASCII replaced by an underscore.
pub fn sanitised(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let plain = name.bytes().map(|byte| if is_plain(byte) { char::from(byte) } else { '_' });
    Cow::Owned(plain.collect())
}

/// The names that one system has given out.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
    /// From which number on the variants of a stem are free.
    next: HashMap<String, usize>,
}

impl Names {
    /// The sanitised name, or the first free variant of it: `G`, `G_1`, `G_2`, and after `x_7` comes `x_1`.
    pub fn give(&mut self, name: &str) -> String {
        let name = sanitised(name);
        if !self.taken.contains(name.as_ref()) {
            self.taken.insert(name.to_string());
            return name.into_owned();
        }
        let stem = match name.rsplit_once('_') {
            Some((stem, tail)) if tail.starts_with(|c: char| c.is_ascii_digit()) => stem,
            _ => &name,
        };
        // Names are never given back, so the search can go on where it ended.
        let number = self.next.entry(stem.to_owned()).or_insert(1);
        loop {
            let candidate = format!("{stem}_{number}");
            *number += 1;
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }

    /// Whether the name has been given out.
    pub fn has(&self, name: &str) -> bool {
        self.taken.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_of_two_bytes_becomes_two_underscores() {
        assert_eq!(sanitised("Läge 1/2"), "L__ge_1_2");
        assert_eq!(sanitised("4_3_Valve"), "4_3_Valve");
    }

    #[test]
    fn a_clash_gets_a_number_in_place_of_the_one_it_has() {
        let mut names = Names::default();
        let given: Vec<String> = ["G", "G", "G_1", "G", "a_b", "a_b", "x_7", "x_7", "x_7y", "x_7y"]
            .map(|name| names.give(name))
            .into();
        assert_eq!(given, ["G", "G_1", "G_2", "G_3", "a_b", "a_b_1", "x_7", "x_1", "x_7y", "x_2"]);
    }

    #[test]
    fn a_hundred_thousand_equal_names_take_no_time() {
        let mut names = Names::default();
        for _ in 0..100_000 {
            names.give("G");
        }
        assert!(names.has("G_99999"));
        // Also where the stem itself is free.
        let mut names = Names::default();
        for _ in 0..20_000 {
            names.give("y_1");
        }
        assert!(names.has("y_19999"));
    }
}
