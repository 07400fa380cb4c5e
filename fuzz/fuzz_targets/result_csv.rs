//! Result files: any bytes are read as a table whose columns are equally long, or refused.
#![no_main]

use fluxline_formats::results::parse_csv;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(table) = parse_csv(bytes, "fuzz.csv") {
        assert_eq!(table.names.len(), table.columns.len());
        assert!(table.time < table.names.len());
        assert!(table.columns.iter().all(|column| column.len() == table.rows()));
    }
});
