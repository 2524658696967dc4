//! Checks that an import of arbitrary files ends without a panic: in a recording that can be read,
//! or in an error that says something.

#![no_main]

mod files;

use std::fs;

use lockscope_past::import::{ImportOptions, ServerFiles, import};
use lockscope_past::record::Store;
use lockscope_past::record::history::{History, HistoryQuery};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in files::files(input) {
        fs::write(folder.path().join(name), bytes).expect("it can be written");
    }
    let options = ImportOptions { with_data: input.len() % 2 == 0, ..ImportOptions::default() };
    let store = folder.path().join("history.db");
    let imported = ServerFiles::find(&[folder.path().to_owned()])
        .and_then(|files| import(files, &store, &options, &mut |_| true));
    assert_eq!(store.exists(), imported.is_ok());
    match imported {
        Ok(imported) => {
            let query = HistoryQuery { limit: usize::MAX, ..HistoryQuery::default() };
            let history = History::read(&mut Store::open(&store).expect("a recording"), &query).expect("it is read");
            let told = (history.holds.len() as u64, history.waits.len() as u64);
            assert_eq!(told, (imported.holds, imported.waits));
        }
        Err(error) => assert!(error.to_string().contains(' ')),
    }
});
