//! What somebody may have meant.

/// The name that is most like this one, if any is like it at all.
pub(in crate::cli) fn nearest<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // From 0 (nothing alike) to 1 (the same).
    const ALIKE: f64 = 0.8;
    let given = given.to_lowercase().replace('_', "-");
    let likeness = |name: &str| strsim::jaro_winkler(&given, name);
    let best = names.into_iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (likeness(best) >= ALIKE).then_some(best)
}
