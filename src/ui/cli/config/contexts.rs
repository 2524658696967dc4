//! Contexts: named sets of options, one for each ensemble.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::Mistakes;
use super::option_entries::{self, OptionEntries, SoundEntries};
use crate::cli::options::SharedOptions;

/// The longest name of a context, in bytes: the name appears in the header.
const MAX_NAME: usize = 64;

/// The one key of a context that is not an option.
const PRODUCTION: &str = "production";

/// The options of one ensemble.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::cli) struct Context {
    /// The options that the context sets; the others come from the top of the file.
    pub options: SharedOptions,
    /// Whether the ensemble is in production: the screen says so, and deletions ask for the
    /// context's name.
    pub production: bool,
    pub(super) sound: SoundEntries,
}

/// Reads all `[context.NAME]` tables.
pub(super) fn read(
    all: &Spanned<DeValue<'_>>,
    earlier: &BTreeMap<String, Context>,
    mistakes: &mut Mistakes<'_>,
) -> BTreeMap<String, Context> {
    let mut contexts = BTreeMap::new();
    let Some(tables) = all.get_ref().as_table() else {
        mistakes
            .record(all.span(), "context holds tables: write [context.NAME], and the options of that ensemble below");
        return contexts;
    };
    for (name, value) in tables {
        let (name, at) = (name.get_ref().to_string(), name.span());
        if !is_name(&name) {
            let problem = format!(
                "{name:?} is no name for a context: up to {MAX_NAME} letters, digits, dots, dashes and underscores are"
            );
            mistakes.record(at, &problem);
        } else if let Some(table) = value.get_ref().as_table() {
            mistakes.enter(Some(&name));
            let context = read_one(table, earlier.get(&name), mistakes);
            mistakes.enter(None);
            contexts.insert(name, context);
        } else {
            let problem = format!("{name:?} is no option of contexts: write [context.{name}], and its options below");
            mistakes.record(at, &problem);
        }
    }
    contexts
}

fn read_one(table: &DeTable<'_>, earlier: Option<&Context>, mistakes: &mut Mistakes<'_>) -> Context {
    let nothing = SoundEntries::new();
    let kept = earlier.map_or(&nothing, |context| &context.sound);
    let OptionEntries { options, sound } = option_entries::read(table, &[PRODUCTION], kept, mistakes);
    let production = table.get(PRODUCTION).is_some_and(|value| {
        value.get_ref().as_bool().unwrap_or_else(|| {
            let found = value.get_ref().type_str();
            mistakes.refuse(value.span(), &format!("production: it is a {found}, and true or false is wanted"));
            // An invalid value counts as `true`: its author wanted to be asked.
            true
        })
    });
    Context { options, production, sound }
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}
