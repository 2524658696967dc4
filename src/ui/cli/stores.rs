//! Several recordings at once: files, and folders of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::output::note;
use super::past;
use super::resolved::ResolvedOptions;
use lockscope_past::record::history::RecordedEnsemble;

/// The most recordings of one command.
const MAX_STORES: usize = 1_000;

/// The recordings that a command reads.
pub(super) enum Stores {
    One(PathBuf),
    /// Several files, or those of a folder.
    Several(Vec<NamedStore>),
}

/// One of several recordings.
#[derive(Clone, Debug)]
pub(super) struct NamedStore {
    /// The name of the file without its extension, or the path where two files have the same name.
    pub name: String,
    pub path: PathBuf,
}

impl Stores {
    /// Finds the recordings that were named. Those of a folder are its files `*.db`.
    pub(super) fn find(named: &[PathBuf]) -> anyhow::Result<Self> {
        if let [only] = named
            && !only.is_dir()
        {
            return Ok(Self::One(only.clone()));
        }
        let mut paths = Vec::new();
        for path in named {
            if path.is_dir() {
                paths.extend(recordings_in(path)?);
            } else {
                paths.push(path.clone());
            }
        }
        ensure!(paths.len() <= MAX_STORES, "there are {} recordings: name at most {MAX_STORES}", paths.len());
        let stem = |path: &Path| path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let is_alone = |name: &str| paths.iter().filter(|path| stem(path) == name).count() == 1;
        let name = |path: &PathBuf| Some(stem(path)).filter(|name| is_alone(name));
        let named = paths.iter().map(|path| NamedStore {
            name: name(path).unwrap_or_else(|| path.to_string_lossy().into_owned()),
            path: path.clone(),
        });
        Ok(Self::Several(named.collect()))
    }
}

fn recordings_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut found = Vec::new();
    for entry in read {
        let path = entry.with_context(|| format!("cannot read the folder {}", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "db") && path.is_file() {
            found.push(path);
        }
    }
    ensure!(
        !found.is_empty(),
        "{} is not a recording, and has none: name a file that `lockscope record` made, or a folder with files *.db",
        folder.display()
    );
    found.sort();
    Ok(found)
}

impl NamedStore {
    /// Returns the settings under which the output names this recording.
    pub(super) fn settings(&self, settings: &ResolvedOptions) -> ResolvedOptions {
        ResolvedOptions { context: Some(self.name.clone()), is_one_of_several: true, ..settings.clone() }
    }

    /// Reads of which ensemble it is, and how its clock differs. The state at the end tells both.
    pub(super) fn ensemble(&self, settings: &ResolvedOptions) -> anyhow::Result<RecordedEnsemble> {
        let at_end = past::moment(&self.path, None, settings.utc)?;
        Ok(RecordedEnsemble {
            context: self.name.clone(),
            connect: at_end.ensemble.connect().to_owned(),
            clock_ahead_ms: at_end.state.table.clock_ahead_ms(),
        })
    }
}

/// The recordings that a command could not read.
#[derive(Debug, Default)]
pub(super) struct Unread(Vec<(String, String)>);

impl Unread {
    /// Names a recording that cannot be read, on standard error.
    pub(super) fn add(&mut self, store: &NamedStore, error: &anyhow::Error) {
        note(&format!("{}: {error:#}", store.name));
        self.0.push((store.name.clone(), format!("{error:#}")));
    }

    /// Returns their names, each with the reason.
    pub(super) fn each(&self) -> &[(String, String)] {
        &self.0
    }

    /// Fails if a recording could not be read.
    pub(super) fn end(self, all: usize) -> anyhow::Result<()> {
        let names: Vec<String> = self.0.into_iter().map(|(name, _)| name).collect();
        ensure!(names.is_empty(), "{} of {all} recordings could not be read: {}", names.len(), names.join(", "));
        Ok(())
    }
}
