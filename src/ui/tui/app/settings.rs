//! The options that the console was started with.

use std::path::PathBuf;

use super::{KnownContext, ScreensChosen};
use crate::tui::keymap::Bindings;
use crate::tui::own_command::OwnCommand;
use lockscope_base::recipe::OwnRecipe;
use lockscope_base::znode::ZnodePath;
use lockscope_model::diagnose::Thresholds;
use lockscope_model::queue::{Expectation, LockTable};

/// The options that the console was started with.
#[expect(clippy::struct_excessive_bools, reason = "the switches are independent of each other")]
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The connect string.
    pub connect: String,
    /// Whether `connect` is the default, because the user named no servers.
    pub connect_is_default: bool,
    /// The active context of the config file.
    pub context: Option<String>,
    /// The context that marks the ensemble as production.
    pub production: Option<String>,
    /// The contexts of the config file.
    pub contexts: Vec<KnownContext>,
    /// The roots below which locks are searched; an empty list means the whole chroot.
    pub roots: Vec<ZnodePath>,
    /// Nodes that are single-node locks, although their names do not show it.
    pub named: Vec<ZnodePath>,
    /// The user's own recipes.
    pub recipes: Vec<OwnRecipe>,
    /// What the user expects of elections.
    pub expected: Vec<Expectation>,
    /// Whether the console may change the ensemble.
    pub write: bool,
    /// The path of the audit log; `None` when there is no place for one.
    pub audit_log: Option<PathBuf>,
    /// Whether times are shown in UTC. A key switches this.
    pub utc: bool,
    /// Whether the screen draws only ASCII.
    pub ascii: bool,
    /// Whether the servers are asked about themselves.
    pub asks_servers: bool,
    /// The thresholds of the findings.
    pub thresholds: Thresholds,
    /// The key bindings that differ from the defaults.
    pub bindings: Bindings,
    /// The initial columns, order and filter of the lists.
    pub screens: ScreensChosen,
    /// The user's own commands.
    pub commands: Vec<OwnCommand>,
}

impl Settings {
    /// Returns an empty table for the locks to show.
    pub fn table(&self) -> LockTable {
        let table = LockTable::new(self.named.iter().cloned());
        table.with_recipes(&self.recipes).with_expectations(&self.expected)
    }
}
