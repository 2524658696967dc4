//! What to import.

use lockscope_base::recipe::OwnRecipe;
use lockscope_base::znode::{TimeRange, ZnodePath};
use lockscope_model::diagnose::Thresholds;
use lockscope_model::queue::Expectation;

/// What to import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The nodes below which locks are followed; none for all.
    pub roots: Vec<ZnodePath>,
    /// The nodes that are locks by themselves, whatever their names.
    pub named: Vec<ZnodePath>,
    /// The user's own recipes.
    pub recipes: Vec<OwnRecipe>,
    /// What the user expects of elections.
    pub expected: Vec<Expectation>,
    /// When to report findings.
    pub thresholds: Thresholds,
    /// The time to cover. Files that are needed for none of it are left out. The recording may begin
    /// earlier, with the state from which that time follows.
    pub time: TimeRange,
    /// Whether the data of contenders are recorded; they may hold secrets.
    pub with_data: bool,
}

impl ImportOptions {
    /// Returns the nodes below which locks are followed.
    pub(super) fn roots(&self) -> Vec<ZnodePath> {
        if self.roots.is_empty() { vec![ZnodePath::root()] } else { self.roots.clone() }
    }
}
