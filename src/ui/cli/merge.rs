//! Values from several places, of which those from one override those from another.

/// Values of which those from one place override those from another.
pub(super) trait Merge {
    /// These values, and for each that is absent the one of `below`.
    fn merge(self, below: Self) -> Self;
}

impl<T> Merge for Option<T> {
    fn merge(self, below: Self) -> Self {
        self.or(below)
    }
}
