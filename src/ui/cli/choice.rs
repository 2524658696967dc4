//! Options whose values are those of a type that another crate defines.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Deserializer, de::Error};

/// What `ValueEnum` is for our own types.
pub(super) trait Choice: Copy + Send + Sync + 'static {
    const ALL: &'static [Self];

    /// The name on the command line, and the help.
    fn named(self) -> (&'static str, &'static str);
}

/// Parses a value by its name.
pub(super) fn parser<T: Choice>() -> impl TypedValueParser<Value = T> {
    let value = |&choice: &T| {
        let (name, help) = choice.named();
        PossibleValue::new(name).help(help)
    };
    PossibleValuesParser::new(T::ALL.iter().map(value))
        .map(|name| by_name(&name).expect("clap lets only possible values through"))
}

/// A value of the config file by the name that it has on the command line.
pub(super) fn deserialize<'de, D: Deserializer<'de>, T: Choice>(from: D) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(from)?;
    let names = || T::ALL.iter().map(|choice| choice.named().0);
    by_name(&text).map(Some).ok_or_else(|| D::Error::custom(unknown(&text, names())))
}

/// Says that a value is none of those that can be.
pub(super) fn unknown<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> String {
    format!("{text:?} is none of {}", names.collect::<Vec<_>>().join(", "))
}

fn by_name<T: Choice>(name: &str) -> Option<T> {
    T::ALL.iter().copied().find(|choice| choice.named().0 == name)
}
