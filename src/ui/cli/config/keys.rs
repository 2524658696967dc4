//! The user's own key bindings: the table `[keys]`.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use crate::tui::{Bindings, WantedKeys};

/// Reads `[keys]`: each entry is the name of a command with a key or a list of keys. A command with
/// invalid keys keeps those of `earlier`; `note` receives the place and the reason.
pub(super) fn read(
    all: &Spanned<DeValue<'_>>,
    earlier: &Bindings,
    note: &mut dyn FnMut(Range<usize>, &str),
) -> Bindings {
    let Some(table) = all.get_ref().as_table() else {
        note(all.span(), "keys is a table: write [keys], and below it lines like sort = \"o\"");
        return earlier.clone();
    };
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(command, _)| command.span().start);
    let (mut wanted, mut kept) = (Vec::new(), Vec::new());
    for (command, value) in entries {
        if let Some(keys) = texts(value) {
            wanted.push(WantedKeys { place: command.span(), command: command.get_ref().to_string(), keys });
        } else {
            let problem = format!("`{}` takes a key or a list of keys, such as [\"x\", \"ctrl-d\"]", command.get_ref());
            note(value.span(), &problem);
            kept.push(command.get_ref());
        }
    }
    let (mut bindings, refused) = Bindings::read(wanted, earlier);
    for (span, why) in refused {
        note(span, &why);
    }
    for command in kept {
        bindings.keep(command, earlier);
    }
    bindings
}

/// Returns the texts of a string or of a list of strings.
pub(super) fn texts(value: &Spanned<DeValue<'_>>) -> Option<Vec<String>> {
    match value.get_ref() {
        DeValue::String(text) => Some(vec![text.to_string()]),
        DeValue::Array(values) => values.iter().map(|value| value.get_ref().as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}
