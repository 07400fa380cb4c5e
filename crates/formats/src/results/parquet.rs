//! Results as a Parquet file: one column of doubles per variable, compressed.

use super::output::OutputFile;
use fluxline_core::recorder::Sink;
use parquet::basic::{Compression, Encoding, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::DoubleType;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io;
use std::sync::Arc;

/// Numbers held until they are written as a group of rows.
const GROUP: usize = 4 << 20;

/// Writes rows as they come: `time`, then the variables by their full names, in SI units. The unit
/// of each is in the file's metadata under its name.
pub struct ParquetWriter {
    writer: SerializedFileWriter<OutputFile>,
    columns: Vec<Vec<f64>>,
    rows_per_group: usize,
}

impl ParquetWriter {
    /// Writes the schema.
    pub fn new<'a>(
        output: OutputFile,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> io::Result<Self> {
        Self::with_columns(output, [("time", "s")].into_iter().chain(variables))
    }

    /// The same with all columns named, each with its unit.
    pub fn with_columns<'a>(
        output: OutputFile,
        columns: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> io::Result<Self> {
        let named: Vec<(&str, &str)> = columns.into_iter().collect();
        let fields = named
            .iter()
            .map(|(name, _)| {
                Type::primitive_type_builder(name, Physical::DOUBLE)
                    .with_repetition(Repetition::REQUIRED)
                    .build()
                    .map(Arc::new)
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        let schema =
            Type::group_type_builder("results").with_fields(fields).build().map_err(failed)?;
        let units =
            named.iter().map(|(name, unit)| KeyValue::new((*name).to_owned(), (*unit).to_owned()));
        // Neighbouring samples share their upper bytes: split into streams they compress well.
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::BYTE_STREAM_SPLIT)
            .set_key_value_metadata(Some(units.collect()))
            .build();
        let writer = SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties))
            .map_err(failed)?;
        let count = named.len();
        Ok(Self {
            writer,
            columns: vec![Vec::new(); count],
            rows_per_group: (GROUP / count).max(1024),
        })
    }

    fn write_group(&mut self) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(failed)?;
        let mut columns = self.columns.iter_mut();
        while let (Some(values), Some(mut column)) =
            (columns.next(), group.next_column().map_err(failed)?)
        {
            column.typed::<DoubleType>().write_batch(values, None, None).map_err(failed)?;
            column.close().map_err(failed)?;
            values.clear();
        }
        group.close().map_err(failed)?;
        Ok(())
    }

    /// Writes what is left and gives the file its name.
    pub fn finish(mut self) -> io::Result<()> {
        if self.columns.first().is_some_and(|column| !column.is_empty()) {
            self.write_group()?;
        }
        self.writer.into_inner().map_err(failed)?.finish()
    }
}

impl Sink for ParquetWriter {
    fn row(&mut self, row: &[f64]) -> io::Result<()> {
        for (column, &value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
        if self.columns.first().is_some_and(|column| column.len() >= self.rows_per_group) {
            self.write_group()?;
        }
        Ok(())
    }
}

/// Keeps the error of the system where there is one, so that a full disk is told as such.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    #[test]
    fn rows_and_units_are_read_back() {
        let path = std::env::temp_dir().join(format!("fluxline-{}.parquet", std::process::id()));
        let variables = [("pump.outlet.pressure", "Pa"), ("mass.x", "m")];
        let mut writer = ParquetWriter::new(OutputFile::create(&path).unwrap(), variables).unwrap();
        let rows: Vec<[f64; 3]> =
            (0..3000).map(|i| [f64::from(i) * 1e-3, 1.0 / f64::from(i + 1), -0.5]).collect();
        for row in &rows {
            writer.row(row).unwrap();
        }
        writer.finish().unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let metadata = reader.metadata().file_metadata();
        assert_eq!(metadata.num_rows(), 3000);
        let units = metadata.key_value_metadata().unwrap();
        assert_eq!(
            (units[1].key.as_str(), units[1].value.as_deref()),
            ("pump.outlet.pressure", Some("Pa"))
        );
        for (row, expected) in reader.get_row_iter(None).unwrap().zip(&rows) {
            let row = row.unwrap();
            for (column, x) in expected.iter().enumerate() {
                assert_eq!(row.get_double(column).unwrap().to_bits(), x.to_bits());
            }
        }
        std::fs::remove_file(&path).unwrap();
    }
}
