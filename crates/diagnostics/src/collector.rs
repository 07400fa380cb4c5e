//! Many problems: gathered, without repetition, and in the order of the file.

use std::collections::BTreeMap;
use std::fmt;

use crate::{Category, Code, Diagnostic, Severity};

/// So many diagnostics of one code are kept; of the others only the number. A mistake in a generated file, or a
/// warning in every step of a run, then neither fills the memory nor hides the rest.
const KEPT_PER_CODE: usize = 50;

/// A collector of diagnostics.
///
/// Repetitions are dropped, and beyond a cap per code the rest is only counted ("and 12 more"). Beyond the cap
/// repetitions are no longer recognised, so the count may include some.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
    kinds: BTreeMap<(Code, Severity), Kind>,
    cap: usize,
}

#[derive(Clone, Debug, Default)]
struct Kind {
    kept: Vec<usize>,
    more: usize,
}

impl Default for Diagnostics {
    fn default() -> Self {
        Self::new()
    }
}

impl Diagnostics {
    /// Nothing reported yet; at most 50 of each code will be kept.
    pub fn new() -> Self {
        Self::with_cap(KEPT_PER_CODE)
    }

    /// Nothing reported yet; at most `cap` (at least one) of each code will be kept.
    pub fn with_cap(cap: usize) -> Self {
        Diagnostics { items: Vec::new(), kinds: BTreeMap::new(), cap: cap.max(1) }
    }

    /// Adds a problem.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let kind = self.kinds.entry((diagnostic.code(), diagnostic.severity())).or_default();
        if kind.kept.iter().any(|&index| self.items[index].repeats(&diagnostic)) {
            return;
        }
        if kind.kept.len() < self.cap {
            kind.kept.push(self.items.len());
            self.items.push(diagnostic);
        } else {
            kind.more += 1;
        }
    }

    /// Adds all that another collector holds.
    pub fn absorb(&mut self, other: Diagnostics) {
        self.extend(other.items);
        for (key, kind) in other.kinds {
            self.kinds.entry(key).or_default().more += kind.more;
        }
    }

    /// Changes those kept, for example to give them a place. Code and severity must stay.
    pub fn map(mut self, change: impl FnMut(Diagnostic) -> Diagnostic) -> Self {
        self.items = self.items.into_iter().map(change).collect();
        self
    }

    /// Adds the error of a result and gives its value, if it has one.
    pub fn take<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|diagnostic| self.push(diagnostic)).ok()
    }

    /// The value if there are no errors, else all diagnostics. Warnings are lost with the value; to keep them, ask
    /// [`has_errors`](Self::has_errors).
    pub fn into_result<T>(self, value: T) -> Result<T, Diagnostics> {
        if self.has_errors() { Err(self) } else { Ok(value) }
    }

    /// Whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether anything reported is an error.
    pub fn has_errors(&self) -> bool {
        self.errors() > 0
    }

    /// Number of errors, with those beyond the cap.
    pub fn errors(&self) -> usize {
        self.count(Severity::Error)
    }

    /// Number of warnings, with those beyond the cap.
    pub fn warnings(&self) -> usize {
        self.count(Severity::Warning)
    }

    fn count(&self, severity: Severity) -> usize {
        let of_it = self.kinds.iter().filter(|(key, _)| key.1 == severity);
        of_it.map(|(_, kind)| kind.kept.len() + kind.more).sum()
    }

    /// Those kept, in the order in which they were reported.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.items.iter()
    }

    /// Those kept, by file and position; those without a place in a file last, in the order of reporting.
    pub fn sorted(&self) -> Vec<&Diagnostic> {
        let mut sorted: Vec<&Diagnostic> = self.items.iter().collect();
        sorted.sort_by_key(|diagnostic| {
            let span = diagnostic.primary().map(|label| label.span);
            (span.is_none(), span)
        });
        sorted
    }

    /// How many were reported beyond the cap, by code.
    pub fn more(&self) -> impl Iterator<Item = (Code, Severity, usize)> {
        let more = self.kinds.iter().filter(|(_, kind)| kind.more > 0);
        more.map(|(&(code, severity), kind)| (code, severity, kind.more))
    }

    /// Who can cure the errors; `None` without errors. Where several apply the environment comes first, since other
    /// errors may follow from a file that cannot be read; then the input, from which a failed run may follow.
    pub fn category(&self) -> Option<Category> {
        let categories: Vec<Category> = self
            .kinds
            .iter()
            .filter(|(key, kind)| {
                key.1 == Severity::Error && (kind.more > 0 || !kind.kept.is_empty())
            })
            .map(|(key, _)| key.0.category())
            .collect();
        [Category::Environment, Category::Input, Category::Run]
            .into_iter()
            .find(|one| categories.contains(one))
    }

    /// Exit code of the command: 0 without errors, else that of the [`category`](Self::category).
    pub fn exit_code(&self) -> u8 {
        self.category().map_or(0, Category::exit_code)
    }

    /// One line for the end of a report: `2 errors, 1 warning`.
    pub fn summary(&self) -> String {
        let counted = |count: usize, one: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{count} {one}s")),
        };
        let parts: Vec<String> = [
            counted(self.errors(), "error"),
            counted(self.warnings(), "warning"),
            counted(self.count(Severity::Note), "note"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if parts.is_empty() { "no problems".into() } else { parts.join(", ") }
    }
}

/// One line for each, without the places in files.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.sorted().into_iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::from_iter([diagnostic])
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: I) {
        diagnostics.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(diagnostics: I) -> Self {
        let mut collected = Self::new();
        collected.extend(diagnostics);
        collected
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Place, SourceMap};

    #[test]
    fn repetitions_are_dropped_and_other_places_kept() {
        let mut sources = SourceMap::new();
        let file = sources.add("a", "0123456789");
        let at = |start| {
            Diagnostic::new(Code::UnknownKey, "unknown")
                .at(sources.span(file, start..start + 1), "")
        };
        let on =
            |name: &str| Diagnostic::new(Code::UnknownKey, "unknown").on(Place::component(name));
        let found: Diagnostics =
            [at(1), at(1), at(2), on("a"), on("a"), on("b")].into_iter().collect();
        assert_eq!((found.errors(), found.iter().count()), (4, 4));
    }

    #[test]
    fn a_flood_of_one_code_is_counted_not_kept() {
        let mut found = Diagnostics::new();
        found.extend((0..1000).map(|i| Diagnostic::new(Code::Cavitation, format!("step {i}"))));
        found.push(Diagnostic::new(Code::Diverged, "pressure is NaN"));
        assert_eq!(found.iter().count(), 51);
        assert_eq!((found.errors(), found.warnings()), (1, 1000));
        assert_eq!(found.more().collect::<Vec<_>>(), [(Code::Cavitation, Severity::Warning, 950)]);
        assert_eq!(found.summary(), "1 error, 1000 warnings");

        let mut all = Diagnostics::new();
        all.absorb(found.clone());
        all.absorb(found);
        assert_eq!((all.errors(), all.iter().count(), all.warnings()), (1, 51, 50 + 2 * 950));
    }

    #[test]
    fn the_order_is_that_of_the_files_then_of_reporting() {
        let mut sources = SourceMap::new();
        let (a, b) = (sources.add("a", "0123456789"), sources.add("b", "0123456789"));
        let mut found = Diagnostics::new();
        found.push(Diagnostic::new(Code::Diverged, "5"));
        found.push(Diagnostic::new(Code::UnknownKey, "4").at(sources.span(b, 1..2), ""));
        found.push(Diagnostic::new(Code::UnknownKey, "3").at(sources.span(a, 7..8), ""));
        found.push(Diagnostic::new(Code::WrongType, "1").at(sources.span(a, 2..3), ""));
        found.push(Diagnostic::new(Code::MissingKey, "2").at(sources.span(a, 2..3), ""));
        found.push(Diagnostic::new(Code::NotConverged, "6"));
        let order: String = found.sorted().iter().map(|diagnostic| diagnostic.message()).collect();
        assert_eq!(order, "123456");
    }

    #[test]
    fn the_exit_code_tells_who_can_cure_it() {
        let code = |codes: &[Code]| {
            let found: Diagnostics = codes.iter().map(|&code| Diagnostic::new(code, "")).collect();
            found.exit_code()
        };
        assert_eq!(code(&[]), 0);
        assert_eq!(code(&[Code::Cavitation]), 0);
        assert_eq!(code(&[Code::Cavitation, Code::Diverged]), 1);
        assert_eq!(code(&[Code::Diverged, Code::UnknownKey]), 2);
        assert_eq!(code(&[Code::UnknownKey, Code::CannotRead]), 3);
    }

    #[test]
    fn results_are_unpacked() {
        let mut found = Diagnostics::new();
        assert_eq!(found.take(Ok(1)), Some(1));
        assert_eq!(found.clone().into_result(1).unwrap(), 1);
        assert_eq!(found.take::<u8>(Err(Diagnostic::new(Code::UnknownKey, "x"))), None);
        assert_eq!(found.into_result(1).unwrap_err().to_string(), "error[F0104]: x");
        assert!(Diagnostics::default().is_empty());
    }
}
