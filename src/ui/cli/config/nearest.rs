//! Suggestions for misspelled names.

/// Returns the most similar name, if any is similar at all.
pub(in crate::cli) fn nearest<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // The least similarity, from 0 (nothing in common) to 1 (equal).
    const ALIKE: f64 = 0.8;
    let given = given.to_lowercase().replace('_', "-");
    let likeness = |name: &str| strsim::jaro_winkler(&given, name);
    let best = names.into_iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (likeness(best) >= ALIKE).then_some(best)
}
