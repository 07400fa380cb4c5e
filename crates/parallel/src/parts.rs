//! Which component runs in which part, and the file that says so.
//!
//! ```toml
//! parts = 2
//!
//! [part_of]
//! pump = 0
//! relief = 0
//! "boom.valve" = 1
//! ```
//!
//! Parts count from 0, as threads and ranks do. Every component of the circuit is named, the lines
//! that were inserted between ports included.

use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, Place, SourceId, Span};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// The largest number of parts.
pub const MOST_PARTS: usize = 1 << 16;

/// Which component runs in which part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The part of each component, in the order of the plan's variables (`plan.variables.entries`).
    pub part_of: Vec<u32>,
    /// Number of parts. A part may be empty.
    pub parts: usize,
}

impl Partition {
    /// Everything in one part.
    pub fn whole(components: usize) -> Self {
        Self { part_of: vec![0; components], parts: 1 }
    }

    /// The components of a part, in order.
    pub fn members(&self, part: usize) -> impl Iterator<Item = usize> {
        let of = move |&(_, &p): &(usize, &u32)| p as usize == part;
        self.part_of.iter().enumerate().filter(of).map(|(component, _)| component)
    }

    /// The file form. `names` are those of the plan's components.
    pub fn render<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> String {
        let mut text = format!("parts = {}\n\n[part_of]\n", self.parts);
        for (name, part) in names.into_iter().zip(&self.part_of) {
            let is_bare = !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
            // Writing to a text does not fail.
            let _ = match is_bare {
                true => writeln!(text, "{name} = {part}"),
                false => writeln!(
                    text,
                    "\"{}\" = {part}",
                    name.replace('\\', "\\\\").replace('"', "\\\"")
                ),
            };
        }
        text
    }

    /// Reads the file form for a circuit with components of these names. All mistakes are told.
    pub fn parse(text: &str, source: SourceId, names: &[&str]) -> Result<Self, Diagnostics> {
        let mut reader = Reader { source, found: Diagnostics::new() };
        let partition = reader.read(text, names);
        match partition {
            Some(partition) if !reader.found.has_errors() => Ok(partition),
            _ => Err(reader.found),
        }
    }
}

struct Reader {
    source: SourceId,
    found: Diagnostics,
}

impl Reader {
    fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.source, range)
    }

    fn wrong(&mut self, message: String, at: Range<usize>, label: &str, help: &str) {
        let at = self.span(at);
        self.found.push(Diagnostic::error(Code::BadPartition, message).at(at, label).help(help));
    }

    /// A whole number below `limit`.
    fn whole(&mut self, name: &str, value: &toml::Spanned<DeValue>, limit: usize) -> Option<usize> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => usize::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let good = number.filter(|&number| number < limit);
        if good.is_none() {
            self.wrong(
                format!("`{name}` is no whole number from 0 to {}", limit - 1),
                value.span(),
                "not a part",
                "parts count from 0",
            );
        }
        good
    }

    fn read(&mut self, text: &str, names: &[&str]) -> Option<Partition> {
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                let at = self.span(error.span().unwrap_or(0..0));
                self.found
                    .push(Diagnostic::error(Code::InvalidToml, error.message()).at(at, "here"));
                return None;
            }
        };
        let table = table.into_inner();
        for (key, _) in &table {
            if !["parts", "part_of"].contains(&key.get_ref().as_ref()) {
                let at = self.span(key.span());
                let message = format!("a partition has no `{}`", key.get_ref());
                self.found.push(
                    Diagnostic::error(Code::UnknownKey, message)
                        .at(at, "unknown")
                        .suggest(key.get_ref(), ["parts", "part_of"]),
                );
            }
        }
        let end = text.len()..text.len();
        let Some(count) = table.get("parts") else {
            self.wrong(
                "the partition does not say how many parts there are".to_owned(),
                end,
                "`parts` is missing",
                "begin the file with `parts = 2`",
            );
            return None;
        };
        let parts = self.whole("parts", count, MOST_PARTS + 1)?;
        if parts == 0 {
            self.wrong(
                "a circuit has at least one part".to_owned(),
                count.span(),
                "none",
                "give 1",
            );
            return None;
        }
        let Some((DeValue::Table(part_of), _)) =
            table.get("part_of").map(|value| (value.get_ref(), value.span()))
        else {
            self.wrong(
                "the partition does not say where the components run".to_owned(),
                end,
                "the table `[part_of]` is missing",
                "write `[part_of]` and below it one line for each component: `pump = 0`",
            );
            return None;
        };
        let index: HashMap<&str, usize> = names.iter().enumerate().map(|(i, n)| (*n, i)).collect();
        let mut given = vec![u32::MAX; names.len()];
        for (key, value) in part_of {
            let name = key.get_ref().as_ref();
            let part = self.whole(name, value, parts);
            match (index.get(name), part) {
                (Some(&i), Some(part)) => given[i] = part as u32,
                (Some(&i), None) => given[i] = 0,
                (None, _) => {
                    let at = self.span(key.span());
                    self.found.push(
                        Diagnostic::error(
                            Code::BadPartition,
                            format!("the circuit has no component `{name}`"),
                        )
                        .at(at, "not in the circuit")
                        .suggest(name, names.iter().copied())
                        .help("partition the circuit as it is now: `fluxline partition`"),
                    );
                }
            }
        }
        let missing: Vec<&str> =
            (0..names.len()).filter(|&i| given[i] == u32::MAX).map(|i| names[i]).collect();
        if let Some(first) = missing.first() {
            let others = match missing.len() - 1 {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            let at = self.span(end);
            self.found.push(
                Diagnostic::error(
                    Code::BadPartition,
                    format!("the partition leaves out `{first}`{others}"),
                )
                .at(at, "missing here")
                .on(Place::component(*first))
                .help("every component needs a part; partition the circuit as it is now: `fluxline partition`"),
            );
        }
        Some(Partition { part_of: given, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_diagnostics::SourceMap;

    fn read(text: &str) -> Result<Partition, String> {
        let mut sources = SourceMap::new();
        let id = sources.add("parts.toml", text);
        Partition::parse(text, id, &["pump", "boom.valve", "odd \"name\""])
            .map_err(|found| found.render(&sources, false, 100))
    }

    #[test]
    fn what_is_written_is_read_back() {
        let partition = Partition { part_of: vec![0, 2, 1], parts: 3 };
        let text = partition.render(["pump", "boom.valve", "odd \"name\""]);
        assert_eq!(read(&text).unwrap(), partition, "{text}");
        assert_eq!(partition.members(2).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_partition_that_does_not_fit_the_circuit_is_refused_with_its_place() {
        let said = read("parts = 2\n[part_of]\npump = 0\n\"boom.valv\" = 2\n").unwrap_err();
        for part in [
            "F1501",
            "parts.toml:4",
            "boom.valve",
            "from 0 to 1",
            "leaves out `boom.valve` and 1 more",
        ] {
            assert!(said.contains(part), "{part}:\n{said}");
        }
        for (text, part) in [
            ("", "`parts` is missing"),
            ("parts = 0", "at least one part"),
            ("parts = 2", "`[part_of]`"),
            ("parts = \"two\"", "no whole number"),
            ("parts = 2\n[partof]", "`partof`"),
            ("parts = [", "F0101"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(part), "{text}: {part}:\n{said}");
        }
    }
}
