//! What a config file that was read again says.

use super::ScreensChosen;
use crate::tui::keymap::Bindings;

/// An ensemble that the config file knows by a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownContext {
    /// Its name.
    pub name: String,
    /// Whether people depend on it.
    pub production: bool,
}

/// What a config file that has changed says now, as far as it counts at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// The ensembles that it knows by a name.
    pub contexts: Vec<KnownContext>,
    /// The context that marks this ensemble as one that people depend on.
    pub production: Option<String>,
    /// The keys that are not the usual ones.
    pub bindings: Bindings,
    /// How the lists look at first.
    pub screens: ScreensChosen,
    /// What was taken in and what was not; sentences.
    pub notice: String,
    /// Whether something in the file is wrong.
    pub wrong: bool,
}
