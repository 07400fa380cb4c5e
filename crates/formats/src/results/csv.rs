//! Results as comma-separated values.

use super::output::{OutputFile, read_problem};
use fluxline_core::recorder::Sink;
use fluxline_diagnostics::{Code, Diagnostic};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

/// Writes rows as they come: `time`, then the variables by their full names, in SI units. Each
/// number has as many digits as it takes to read back the same bits.
#[derive(Debug)]
pub struct CsvWriter {
    output: OutputFile,
    line: Vec<u8>,
}

impl CsvWriter {
    /// Writes the header.
    pub fn new<'a>(
        mut output: OutputFile,
        names: impl IntoIterator<Item = &'a str>,
    ) -> io::Result<Self> {
        let mut header = String::from("time");
        for name in names {
            header.push(',');
            header.push_str(name);
        }
        header.push('\n');
        output.write_all(header.as_bytes())?;
        Ok(Self { output, line: Vec::new() })
    }

    /// Gives the file its name.
    pub fn finish(self) -> io::Result<()> {
        self.output.finish()
    }
}

impl Sink for CsvWriter {
    fn row(&mut self, row: &[f64]) -> io::Result<()> {
        let mut digits = ryu::Buffer::new();
        self.line.clear();
        for (index, &value) in row.iter().enumerate() {
            if index > 0 {
                self.line.push(b',');
            }
            // Minus zero is zero to every reader.
            let text = digits.format(value + 0.0);
            self.line.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
        }
        self.line.push(b'\n');
        self.output.write_all(&self.line)
    }
}

/// A table of numbers with named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultTable {
    /// Names of the columns, time included.
    pub names: Vec<String>,
    /// The columns. An empty cell is not a number.
    pub columns: Vec<Vec<f64>>,
    /// Which column is time.
    pub time: usize,
}

impl ResultTable {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Whether the column that is taken as time is called so.
    pub fn has_time(&self) -> bool {
        self.names.get(self.time).is_some_and(|name| is_time(name))
    }

    /// A column by its name.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let index = self.names.iter().position(|one| one == name)?;
        Some(&self.columns[index])
    }
}

/// Nobody's line is longer; a file without line ends is not read into memory as one.
const LONGEST_LINE: u64 = 64 << 20;

/// Reads a CSV file with a header: Fluxline's own, or any with a column of time.
///
/// Commas, semicolons or tabs separate the columns; lines that begin with `#` are comments. Time
/// is the column named `time` or `t`, with or without a unit, or else the first.
pub fn read_csv(path: &Path) -> Result<ResultTable, Diagnostic> {
    let file = File::open(path).map_err(|error| read_problem(path, &error))?;
    read(BufReader::new(file), &path.display().to_string(), path)
}

/// Reads a CSV text as [`read_csv`] does. `name` stands for the file in messages.
pub fn parse_csv(text: impl BufRead, name: &str) -> Result<ResultTable, Diagnostic> {
    read(text, name, Path::new(name))
}

fn read(mut input: impl BufRead, name: &str, path: &Path) -> Result<ResultTable, Diagnostic> {
    let mut table = ResultTable::default();
    let mut separator = ',';
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        let limited = &mut io::Read::take(&mut input, LONGEST_LINE);
        let length = limited
            .read_until(b'\n', &mut bytes)
            .map_err(|error| read_problem(path, &error))? as u64;
        if length == 0 {
            break;
        }
        number += 1;
        if length == LONGEST_LINE && bytes.last() != Some(&b'\n') {
            return Err(malformed(name, number, "the line is longer than 64 MiB"));
        }
        let line = std::str::from_utf8(&bytes)
            .map_err(|_| malformed(name, number, "the line is not UTF-8 text"))?;
        let line = line.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if table.names.is_empty() {
            separator = [',', ';', '\t'].into_iter().find(|&one| line.contains(one)).unwrap_or(',');
            table.names = header(line, separator);
            if table.names.iter().all(|name| name.parse::<f64>().is_ok()) {
                let problem = malformed(name, number, "the first line holds numbers, not names");
                return Err(problem.help("give the columns names: `time,pump.outlet.pressure`"));
            }
            table.columns = vec![Vec::new(); table.names.len()];
            continue;
        }
        row(&mut table, line, separator).map_err(|problem| {
            let problem = malformed(name, number, &problem);
            if separator == ';' && line.contains(',') {
                problem.help("write numbers with a decimal point")
            } else {
                problem
            }
        })?;
    }
    if table.names.is_empty() {
        return Err(malformed(name, 1, "the file is empty"));
    }
    table.time = table.names.iter().position(|name| is_time(name)).unwrap_or(0);
    Ok(table)
}

fn malformed(name: &str, line: usize, problem: &str) -> Diagnostic {
    Diagnostic::error(Code::TableMalformed, format!("`{name}`, line {line}: {problem}"))
}

fn is_time(name: &str) -> bool {
    let word = name.split(['[', '(', ' ', '/']).next().unwrap_or("");
    matches!(word.to_ascii_lowercase().as_str(), "time" | "t")
}

/// Names, with or without quotes; a name in quotes may hold the separator.
fn header(line: &str, separator: char) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            c if c == separator && !is_quoted => names.push(String::new()),
            c => names.last_mut().unwrap_or(&mut String::new()).push(c),
        }
    }
    names.iter().map(|name| name.trim().to_owned()).collect()
}

fn row(table: &mut ResultTable, line: &str, separator: char) -> Result<(), String> {
    let expected = table.columns.len();
    let found = line.split(separator).count();
    if found != expected {
        let are = if found == 1 { "is" } else { "are" };
        return Err(format!("there {are} {found} of {expected} columns"));
    }
    for (index, cell) in line.split(separator).enumerate() {
        let cell = cell.trim().trim_matches('"');
        let value = match cell {
            "" => f64::NAN,
            _ => cell.parse().map_err(|_| {
                let shown: String = cell.chars().take(40).collect();
                format!("column `{}` holds \"{shown}\", which is not a number", table.names[index])
            })?,
        };
        table.columns[index].push(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(text: &str) -> Result<ResultTable, Diagnostic> {
        read(text.as_bytes(), "a.csv", Path::new("a.csv"))
    }

    #[test]
    fn own_files_and_those_of_others_are_read() {
        let own = table("time,pump.outlet.pressure\n0,1e5\n1e-3,2.5\n").unwrap();
        assert_eq!(own.column("pump.outlet.pressure").unwrap(), [1e5, 2.5]);
        assert_eq!((own.rows(), own.time), (2, 0));

        let text = "\u{feff}# exported\r\n\"p; q\";Time [s]\r\n1;0\r\n;1\r\n\r\n";
        let foreign = table(text).unwrap();
        assert_eq!((foreign.names[0].as_str(), foreign.time), ("p; q", 1));
        assert!(foreign.columns[0][1].is_nan());
    }

    #[test]
    fn mistakes_are_told_with_line_and_column() {
        let message = |text| {
            let problem = table(text).unwrap_err();
            assert_eq!(problem.code(), Code::TableMalformed);
            problem.message().to_owned()
        };
        assert_eq!(
            message("time,p\n0,1\n1,x\n"),
            "`a.csv`, line 3: column `p` holds \"x\", which is not a number"
        );
        assert_eq!(message("time,p\n0\n"), "`a.csv`, line 2: there is 1 of 2 columns");
        assert_eq!(message(""), "`a.csv`, line 1: the file is empty");
        assert!(message("0,1\n1,2\n").contains("numbers, not names"));
        let comma = table("time;p\n0;1,5\n").unwrap_err();
        assert!(comma.helps()[0].contains("decimal point"));
    }

    proptest! {
        // Each case waits for the disk.
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// What is written reads back as the same bits.
        #[test]
        fn numbers_survive_a_round_trip(values in prop::collection::vec(any::<f64>(), 3..30)) {
            let path = std::env::temp_dir().join(format!("fluxline-rt-{}.csv", std::process::id()));
            let mut writer = CsvWriter::new(OutputFile::create(&path).unwrap(), ["a", "b"]).unwrap();
            let values: Vec<f64> =
                values.into_iter().filter(|x| x.is_finite()).collect();
            for row in values.chunks_exact(3) {
                writer.row(row).unwrap();
            }
            writer.finish().unwrap();
            let read = read_csv(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            for (r, row) in values.chunks_exact(3).enumerate() {
                for (c, x) in row.iter().enumerate() {
                    prop_assert_eq!(read.columns[c][r].to_bits(), (x + 0.0).to_bits());
                }
            }
        }

        /// No text makes the reader panic.
        #[test]
        fn any_text_is_read_or_refused(text in "[\\x00-\\x7f;,\"\n]{0,200}") {
            let _ = table(&text);
        }
    }
}
