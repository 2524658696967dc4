//! Reads a config file as TOML, without the lines that are none.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::DeTable;

use super::mistake::Mistakes;
use super::option_entries::is_steering;

/// The most lines that are left out of one file; each costs another reading.
const MAX_LEFT_OUT: usize = 100;

/// The text without the lines that are no TOML and that the program can do without: their entries are mistakes of their own. A line that
/// may steer, or that cannot be told from the rest of the file, keeps the whole file from being used.
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
        mistakes.note(at..at, error.message());
        let (context, key) = place(&kept, start, end);
        mistakes.enter(context.as_deref());
        mistakes.leave_out(&key);
        mistakes.enter(None);
        // Blanks, so that everything else stays where it is.
        let blanks = " ".repeat(end - start);
        kept.to_mut().replace_range(start..end, &blanks);
    }
    mistakes.refuse(0..0, "more than 100 of its lines are no TOML");
    None
}

/// The table of a text that [`without_bad_lines`] has let through.
pub(super) fn table(text: &str) -> DeTable<'_> {
    DeTable::parse(text).map(Spanned::into_inner).unwrap_or_default()
}

/// The context that the line there belongs to, and the key that it sets.
fn place(text: &str, start: usize, end: usize) -> (Option<String>, String) {
    let key = text[start..end].split('=').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
    let context = header(text, start).and_then(|header| {
        let name = header.trim_matches(['[', ']', ' ', '\t']).strip_prefix("context.")?;
        Some(name.trim_matches(['"', '\'']).to_owned())
    });
    (context, key.to_owned())
}

/// The header of the table that a line belongs to.
fn header(text: &str, start: usize) -> Option<&str> {
    text[..start].lines().rev().map(str::trim).find(|line| line.starts_with('['))
}

/// Whether the line there sets one thing, on this line alone, that the program can do without.
fn is_harmless(text: &str, start: usize, end: usize) -> bool {
    let Some((key, value)) = text[start..end].split_once('=') else { return false };
    let key = key.trim().trim_matches(['"', '\'']);
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    // What opens on this line and closes on another one would take the lines between along.
    let may_go_on = ["\"\"\"", "'''", "{", "["].iter().any(|open| value.contains(open));
    let of_screen = header(text, start).is_some_and(|header| {
        let name = header.trim_start_matches('[').trim_start();
        !name.starts_with("context") && !name.starts_with(['"', '\''])
    });
    is_key && !may_go_on && (of_screen || !is_steering(key))
}
