//! What the user expects of elections and of holds: `[[expect]]` and `[flapping]`.

use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::entry::{Wrong, field, is_known};
use super::mistake::Mistakes;
use crate::cli::duration;
use lockscope_base::recipe::PathPattern;
use lockscope_model::diagnose::Flapping;
use lockscope_model::queue::Expectation;

/// The most expectations in one file.
const MAX_EXPECTATIONS: usize = 200;

/// The longest time in which changes of leader are counted.
const MAX_WITHIN: Duration = Duration::from_secs(24 * 3_600);

/// Reads all `[[expect]]` tables, in order. The first one that matches a path applies.
pub(super) fn read_expected(all: &Spanned<DeValue<'_>>, mistakes: &mut Mistakes<'_>) -> Vec<Expectation> {
    let Some(tables) = all.get_ref().as_array() else {
        mistakes.record(all.span(), "expect holds a list of tables: write [[expect]], and a path below");
        return Vec::new();
    };
    let mut expected = Vec::new();
    for value in tables {
        if expected.len() == MAX_EXPECTATIONS {
            mistakes.record(value.span(), &format!("{MAX_EXPECTATIONS} expectations are allowed"));
            break;
        }
        match value.get_ref().as_table() {
            Some(table) => expected.extend(read_one(table, value, mistakes).ok()),
            None => mistakes.record(value.span(), "an expectation is a table: write [[expect]], and a path below"),
        }
    }
    expected
}

fn read_one(
    table: &DeTable<'_>,
    all: &Spanned<DeValue<'_>>,
    mistakes: &mut Mistakes<'_>,
) -> Result<Expectation, Wrong> {
    if !is_known(table, &["path", "candidates", "leader-within", "held-at-most"], "an expectation", mistakes) {
        return Err(Wrong);
    }
    let candidates = field(table, "candidates", mistakes)?;
    let leader_within = time(table, "leader-within", mistakes)?;
    let held_at_most = time(table, "held-at-most", mistakes)?;
    let Some(path) = field::<String>(table, "path", mistakes)? else {
        mistakes.record(all.span(), "an expectation needs a path, as in path = \"/app/leader\"");
        return Err(Wrong);
    };
    let path = PathPattern::new(&path).map_err(|error| {
        mistakes.record(table.get("path").unwrap_or(all).span(), &format!("path: {error}"));
        Wrong
    })?;
    Ok(Expectation { path, candidates, leader_within, held_at_most })
}

/// Reads the `[flapping]` table. A value that is wrong or missing is that of `otherwise`.
pub(super) fn read_flapping(all: &Spanned<DeValue<'_>>, otherwise: Flapping, mistakes: &mut Mistakes<'_>) -> Flapping {
    let Some(table) = all.get_ref().as_table() else {
        mistakes.record(all.span(), "flapping is a table: write [flapping], and changes and within below");
        return otherwise;
    };
    if !is_known(table, &["changes", "within"], "flapping", mistakes) {
        return otherwise;
    }
    let changes = field::<std::num::NonZeroU32>(table, "changes", mistakes).ok().flatten();
    let within = time(table, "within", mistakes).ok().flatten();
    if within.is_some_and(|within| within > MAX_WITHIN) {
        mistakes.record(all.span(), "within: changes of leader are counted for a day at most");
    }
    Flapping {
        changes: changes.map_or(otherwise.changes, std::num::NonZeroU32::get),
        within: within.filter(|within| *within <= MAX_WITHIN).unwrap_or(otherwise.within),
    }
}

fn time(table: &DeTable<'_>, key: &str, mistakes: &mut Mistakes<'_>) -> Result<Option<Duration>, Wrong> {
    let Some(text) = field::<String>(table, key, mistakes)? else { return Ok(None) };
    duration::parse(&text).map(Some).map_err(|error| {
        if let Some(value) = table.get(key) {
            mistakes.record(value.span(), &format!("{key}: {error}"));
        }
        Wrong
    })
}
