//! Merges values from several sources, where one source overrides another.

/// Values that can be overridden by those of another source.
pub(super) trait Merge {
    /// Returns these values, with absent ones taken from `below`.
    fn merge(self, below: Self) -> Self;
}

impl<T> Merge for Option<T> {
    fn merge(self, below: Self) -> Self {
        self.or(below)
    }
}
