//! One figure of `mntr` or `monitor`.

/// The value of a figure, as text or as a number.
pub(super) struct Figure {
    pub(super) text: Option<String>,
    pub(super) number: Option<u64>,
    /// The number with its decimals.
    pub(super) decimal: Option<f64>,
}
