//! What the console was started with.

use std::path::PathBuf;

use super::{KnownContext, ScreensChosen};
use crate::tui::keymap::Bindings;
use lockscope_base::recipe::OwnRecipe;
use lockscope_base::znode::ZnodePath;
use lockscope_model::diagnose::Thresholds;

/// What the console was started with.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, and any mixture of them is good")]
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The connect string.
    pub connect: String,
    /// Whether nobody named these servers.
    pub connect_is_default: bool,
    /// The context of the config file that is in force.
    pub context: Option<String>,
    /// The context that marks the ensemble as one that people depend on.
    pub production: Option<String>,
    /// The ensembles that the config file knows by a name.
    pub contexts: Vec<KnownContext>,
    /// Below which nodes locks are looked for; none is the whole chroot.
    pub roots: Vec<ZnodePath>,
    /// Nodes that are single-node locks though their names do not show it.
    pub named: Vec<ZnodePath>,
    /// The recipes of the user's own.
    pub recipes: Vec<OwnRecipe>,
    /// Whether it may change the ensemble.
    pub write: bool,
    /// Where the audit log is; `None` when there is no place for it.
    pub audit_log: Option<PathBuf>,
    /// Whether times are shown in UTC at first.
    pub utc: bool,
    /// Whether only ASCII is drawn.
    pub ascii: bool,
    /// Whether the servers are asked about themselves.
    pub asks_servers: bool,
    /// From when on something is called a finding.
    pub thresholds: Thresholds,
    /// Keys that are others than the usual ones.
    pub bindings: Bindings,
    /// How the lists look at first.
    pub screens: ScreensChosen,
}
