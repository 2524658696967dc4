//! Takes the past in from the transaction logs of a server on this machine.

use std::path::{Path, PathBuf};

use super::{App, Effect, Recording, Screen, TakeIn, TakenIn, Update};
use lockscope_live::zk::servers;
use lockscope_model::queue::ConnectionState;
use lockscope_model::text::human::{count, date_and_time};

/// The state of the import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PastImport {
    /// The folders of the servers on this machine.
    found: Vec<PathBuf>,
    /// Whether an import is under way.
    reads: bool,
    /// Whether the past was taken in.
    is_done: bool,
}

impl App {
    pub(super) fn server_files_found(&mut self, found: Vec<PathBuf>) -> Update {
        self.past_import.found = found;
        self.offer_import();
        Update::redraw()
    }

    /// Says in the footer of the Timeline that the past can be taken in.
    pub(super) fn offer_import(&mut self) {
        let PastImport { found, reads, is_done } = &*self.past_import;
        let can = !*reads
            && !*is_done
            && self.shown.is_live()
            && self.recording.as_ref().is_some_and(Recording::is_written_here);
        if can && self.screen() == Screen::Timeline && !found.is_empty() && self.footer.notice.is_none() {
            let text = format!("`:import` takes in the past from {}.", folder_names(found));
            self.show_notice(text);
        }
    }

    /// Asks to take the past in from these files, or from those that were found.
    pub(super) fn import_past(&mut self, named: Option<&str>) -> Update {
        let folders = named.map_or_else(|| self.past_import.found.clone(), |named| vec![PathBuf::from(named)]);
        let session = match self.live.table().connection() {
            ConnectionState::Connected { session, .. } => Some(*session),
            _ => None,
        };
        let until = self
            .recording
            .as_ref()
            .filter(|recording| recording.is_written_here())
            .map(|recording| recording.since().unwrap_or(self.wall));
        let (Some(session), Some(until)) = (session, until) else {
            let why = if until.is_none() {
                "The past can be taken in only where this console keeps it in memory: see `lockscope import`."
            } else {
                "There is no session: the past can be taken in once the console is connected."
            };
            return self.refuse(why.to_owned());
        };
        if let Some(why) = self.why_no_import(&folders) {
            return self.refuse(why.to_owned());
        }
        let wish = TakeIn { folders: folders.clone(), session, until, leaderless: self.leaderless().collect() };
        self.past_import.reads = true;
        self.show_notice(format!("The past is taken in from {}…", folder_names(&folders)));
        Update { redraw: true, effects: vec![Effect::TakeIn(Box::new(wish))] }
    }

    fn why_no_import(&self, folders: &[PathBuf]) -> Option<&'static str> {
        if self.past_import.reads {
            Some("The past is being taken in already.")
        } else if self.past_import.is_done {
            Some("The past was taken in already.")
        } else if servers(&self.settings.connect).is_ok_and(|(_, chroot)| chroot.is_some()) {
            Some("Below a chroot the past cannot be taken in here: use `lockscope import --root`.")
        } else if folders.is_empty() {
            Some(
                "No server on this machine names a folder that can be read: name it, as in `:import /var/lib/zookeeper`.",
            )
        } else {
            None
        }
    }

    pub(super) fn past_taken_in(&mut self, taken: Result<TakenIn, String>) -> Update {
        self.past_import.reads = false;
        match taken {
            Ok(TakenIn { since, transactions, leaders }) => {
                self.past_import.is_done = true;
                self.live.learn_leaders(leaders);
                if let Some(recording) = &mut self.recording {
                    recording.begins(since);
                }
                let begins = date_and_time(since, self.settings.utc);
                let transactions = count(transactions);
                self.show_notice(format!(
                    "The past begins at {begins}: {transactions} transactions were read. `:at start` goes there."
                ));
            }
            Err(why) => self.show_failure(format!("The past was not taken in: {}.", why.trim_end_matches('.'))),
        }
        Update::redraw()
    }
}

/// Returns the names of folders as a part of a sentence.
pub fn folder_names(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| Path::display(folder).to_string()).collect::<Vec<_>>().join(", ")
}
