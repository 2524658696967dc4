//! Imports of a real server's files, and of files that are made by hand.

mod captures;
mod made;
mod made_files;
mod members;
mod merged;

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{ImportError, ImportOptions, Imported, ServerFiles, import};
use crate::record::Store;
use crate::record::history::{History, HistoryQuery, PastContender};
use lockscope_base::znode::{TimeBounds, Timestamp};

/// Files with their names, in a folder of their own.
struct Folder(TempDir);

/// What an import said, and the history of its recording.
#[derive(Debug)]
struct Told {
    imported: Imported,
    history: History,
}

impl Folder {
    fn of(files: &[(&str, &[u8])]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, bytes) in files {
            fs::write(folder.path(name), bytes).unwrap();
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Imports everything.
    fn import(&self) -> Result<Told, ImportError> {
        let store = self.path("history.db");
        let imported = self.import_into(&store);
        assert_eq!(store.exists(), imported.is_ok());
        let imported = imported?;
        let query = HistoryQuery { limit: 1_000, ..HistoryQuery::default() };
        let history = History::read(&mut Store::open(&store).unwrap(), &query).unwrap();
        fs::remove_file(store).unwrap();
        Ok(Told { imported, history })
    }

    /// Imports everything into a recording.
    fn import_into(&self, store: &Path) -> Result<Imported, ImportError> {
        ServerFiles::find(&[self.0.path().to_owned()])
            .and_then(|files| import(files, store, &ImportOptions::default(), &mut |_| true))
    }
}

impl Told {
    /// Returns all contenders, each with whether it held, in the order in which they came.
    fn contenders(&self) -> Vec<(&PastContender, bool)> {
        let (holds, waits) = (self.history.holds.iter(), self.history.waits.iter());
        let mut all: Vec<_> = holds.map(|one| (one, true)).chain(waits.map(|one| (one, false))).collect();
        all.sort_by_key(|(one, _)| one.node.clone());
        all
    }

    /// Returns `NODE held|waited ACQUIRED END ENDED` of each contender, in the order of the nodes.
    fn rows(&self) -> Vec<String> {
        let line = |(one, held): (&PastContender, bool)| {
            let time = |at: Option<Timestamp>| at.map_or("-".to_owned(), |at| at.0.to_string());
            let acquired = time(one.acquired.and_then(TimeBounds::exactly));
            let ended = time(one.ended.and_then(TimeBounds::exactly));
            let held = if held { "held" } else { "waited" };
            format!("{} {held} {acquired} {} {ended}", one.node, one.end.id())
        };
        self.contenders().into_iter().map(line).collect()
    }
}
