//! Options whose values are variants of a type from another crate.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Deserializer, de::Error};

/// Replaces `ValueEnum` for such types.
pub(super) trait Choice: Copy + Send + Sync + 'static {
    const ALL: &'static [Self];

    /// Returns the name on the command line, and the help.
    fn named(self) -> (&'static str, &'static str);
}

/// Returns a parser of values by name.
pub(super) fn parser<T: Choice>() -> impl TypedValueParser<Value = T> {
    let value = |&choice: &T| {
        let (name, help) = choice.named();
        PossibleValue::new(name).help(help)
    };
    PossibleValuesParser::new(T::ALL.iter().map(value))
        .map(|name| by_name(&name).expect("clap lets only possible values through"))
}

/// Reads a value of the config file by its name on the command line.
pub(super) fn deserialize<'de, D: Deserializer<'de>, T: Choice>(from: D) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(from)?;
    let names = || T::ALL.iter().map(|choice| choice.named().0);
    by_name(&text).map(Some).ok_or_else(|| D::Error::custom(unknown(&text, names())))
}

/// Returns the sentence that a value is none of the possible ones.
pub(super) fn unknown<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> String {
    format!("{text:?} is none of {}", names.collect::<Vec<_>>().join(", "))
}

fn by_name<T: Choice>(name: &str) -> Option<T> {
    T::ALL.iter().copied().find(|choice| choice.named().0 == name)
}
