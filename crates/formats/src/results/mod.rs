//! Result files: rows of recorded variables in SI units.
//!
//! A file appears under its name only when it is whole: it is written as `NAME.part` next to it
//! and renamed at the end. When writing fails, the part is removed and a file of that name from
//! an earlier run stays as it was.

mod compare;
mod csv;
mod output;
#[cfg(feature = "parquet")]
mod parquet;

pub use compare::{Comparison, Deviation, compare, name_and_unit, noise_floor};
pub use csv::{CsvWriter, ResultTable, parse_csv, read_csv};
pub use output::{OutputFile, read_problem, remove_unfinished, write_problem};
#[cfg(feature = "parquet")]
pub use parquet::ParquetWriter;
