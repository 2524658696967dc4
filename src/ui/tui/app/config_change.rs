//! The result of reading the config file again.

use super::ScreensChosen;
use crate::tui::keymap::Bindings;
use crate::tui::own_command::OwnCommand;

/// A context of the config file: an ensemble with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownContext {
    /// The name of the context.
    pub name: String,
    /// Whether the context is marked as production.
    pub production: bool,
}

/// The settings of a changed config file that take effect without a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// The contexts of the file.
    pub contexts: Vec<KnownContext>,
    /// The context that marks this ensemble as production.
    pub production: Option<String>,
    /// The key bindings that differ from the defaults.
    pub bindings: Bindings,
    /// The initial columns, order and filter of the lists.
    pub screens: ScreensChosen,
    /// The user's own commands.
    pub commands: Vec<OwnCommand>,
    /// Which changes took effect and which did not, as sentences.
    pub notice: String,
    /// Whether the file has an error.
    pub wrong: bool,
}
