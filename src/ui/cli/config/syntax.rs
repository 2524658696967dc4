//! Parses a config file as TOML, leaving out lines that are not TOML.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::DeTable;

use super::mistake::Mistakes;
use super::option_entries::is_steering;

/// The most lines left out of one file; each costs another parse.
const MAX_LEFT_OUT: usize = 100;

/// Returns the text without the lines that are not TOML and that the program can ignore; each
/// becomes a mistake. A line that may set an important option, or that cannot be separated from the
/// rest of the file, makes the whole file unusable.
pub(super) fn without_bad_lines<'t>(text: &'t str, mistakes: &mut Mistakes<'_>) -> Option<Cow<'t, str>> {
    let mut kept = Cow::Borrowed(text);
    for _ in 0..MAX_LEFT_OUT {
        let Err(error) = DeTable::parse(&kept) else { return Some(kept) };
        let at = error.span().map_or(0, |span| span.start).min(kept.len());
        let start = kept.as_bytes()[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let end = kept.as_bytes()[start..].iter().position(|byte| *byte == b'\n').map_or(kept.len(), |len| start + len);
        if !is_harmless(&kept, start, end) {
            mistakes.refuse(at..at, error.message());
            return None;
        }
        mistakes.record(at..at, error.message());
        let (context, key) = place(&kept, start, end);
        mistakes.enter(context.as_deref());
        mistakes.leave_out(&key);
        mistakes.enter(None);
        // Blanks keep the positions of everything else.
        let blanks = " ".repeat(end - start);
        kept.to_mut().replace_range(start..end, &blanks);
    }
    mistakes.refuse(0..0, "more than 100 of its lines are no TOML");
    None
}

/// Parses a text that [`without_bad_lines`] has accepted.
pub(super) fn table(text: &str) -> DeTable<'_> {
    DeTable::parse(text).map(Spanned::into_inner).unwrap_or_default()
}

/// Returns the context of a line, and the key that it sets.
fn place(text: &str, start: usize, end: usize) -> (Option<String>, String) {
    let key = text[start..end].split('=').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
    let context = header(text, start).and_then(|header| {
        let name = header.trim_matches(['[', ']', ' ', '\t']).strip_prefix("context.")?;
        Some(name.trim_matches(['"', '\'']).to_owned())
    });
    (context, key.to_owned())
}

/// Returns the header of the table that a line belongs to.
fn header(text: &str, start: usize) -> Option<&str> {
    text[..start].lines().rev().map(str::trim).find(|line| line.starts_with('['))
}

/// Returns whether a line sets one key, on this line alone, that the program can ignore.
fn is_harmless(text: &str, start: usize, end: usize) -> bool {
    let Some((key, value)) = text[start..end].split_once('=') else { return false };
    let key = key.trim().trim_matches(['"', '\'']);
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    // A value that continues on later lines would include them.
    let may_go_on = ["\"\"\"", "'''", "{", "["].iter().any(|open| value.contains(open));
    let of_screen = header(text, start).is_some_and(|header| {
        let name = header.trim_start_matches('[').trim_start();
        !name.starts_with("context") && !name.starts_with(['"', '\''])
    });
    is_key && !may_go_on && (of_screen || !is_steering(key))
}
