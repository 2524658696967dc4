//! Compares the spans that a collector forwarded with the recording of the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use opentelemetry_proto::tonic::trace::v1::Span;
use rusqlite::Connection;

use super::collector::{Collector, attribute};

/// The spans of finished holds and waits, and what is missing.
#[derive(Debug, Default)]
pub struct Compared {
    /// The number of holds and of waits that arrived.
    pub holds: usize,
    pub waits: usize,
    /// The number of holds and of waits of the recording that did not arrive.
    pub missing: usize,
    /// The number of waits whose link was compared.
    pub linked: usize,
}

/// Compares all spans with the contenders that ended in the recording: nothing comes twice, all
/// times are the same, and a wait links to the hold before it. The locks must be exclusive queues
/// whose names end with a number, and nobody may give up.
///
/// The error names the first span that is wrong.
pub fn compare(collector: &Collector, store: &Path) -> Result<Compared, String> {
    let (holds, waits) = (by_node(&collector.spans("hold "))?, by_node(&collector.spans("wait "))?);
    let hold_of: BTreeMap<_, _> = holds.values().map(|hold| (hold.span_id.clone(), hold)).collect();
    let mut compared = Compared { holds: holds.len(), waits: waits.len(), ..Compared::default() };
    let mut known = BTreeSet::new();
    for (key, [enqueued, acquired, ended]) in rows(store).map_err(|error| error.to_string())? {
        known.insert(key.clone());
        match holds.get(&key) {
            Some(hold) if times(hold) == [acquired, ended] => {}
            Some(hold) => return Err(format!("a hold from {acquired} to {ended} arrived as {hold:?}")),
            None => compared.missing += 1,
        }
        match waits.get(&key) {
            None if enqueued == acquired => {}
            None => compared.missing += 1,
            Some(wait) if times(wait) != [enqueued, acquired] => {
                return Err(format!("a wait from {enqueued} to {acquired} arrived as {wait:?}"));
            }
            Some(wait) => {
                let [link] = &wait.links[..] else { return Err(format!("it has not one link: {wait:?}")) };
                let Some(before) = hold_of.get(&link.span_id) else { continue };
                let is_before = number(before) + 1 == number(wait) && (enqueued..=acquired).contains(&times(before)[1]);
                if before.trace_id != link.trace_id || !is_before {
                    return Err(format!("{wait:?} links to {before:?}"));
                }
                compared.linked += 1;
            }
        }
    }
    match holds.keys().chain(waits.keys()).find(|key| !known.contains(*key)) {
        Some(unknown) => Err(format!("{unknown:?} is not in the recording")),
        None => Ok(compared),
    }
}

type Key = (String, String);

/// Returns the spans by lock and node.
fn by_node(spans: &[Span]) -> Result<BTreeMap<Key, Span>, String> {
    let mut found = BTreeMap::new();
    for span in spans {
        let key = (attribute(&span.attributes, "lockscope.lock.path"), node(span));
        if let Some(other) = found.insert(key, span.clone()) {
            return Err(format!("it arrived twice: {other:?} and {span:?}"));
        }
    }
    Ok(found)
}

fn node(span: &Span) -> String {
    attribute(&span.attributes, "zookeeper.node")
}

/// Returns the number of a span's node.
pub fn number(span: &Span) -> u64 {
    let node = node(span);
    node.get(node.len().saturating_sub(10)..).and_then(|number| number.parse().ok()).expect("a number")
}

/// Returns the times of a span, in milliseconds.
fn times(span: &Span) -> [i64; 2] {
    [span.start_time_unix_nano, span.end_time_unix_nano]
        .map(|nanoseconds| i64::try_from(nanoseconds / 1_000_000).expect("a time"))
}

/// Returns when each contender that held and ended came, acquired and ended.
fn rows(store: &Path) -> rusqlite::Result<Vec<(Key, [i64; 3])>> {
    let recorded = Connection::open(store)?;
    let mut query = recorded.prepare(
        "SELECT path, node, enqueued_at, acquired_before, ended_before FROM contender JOIN lock ON lock.id = lock_id
         WHERE ended_before IS NOT NULL AND acquired_before IS NOT NULL",
    )?;
    let rows = query.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), [row.get(2)?, row.get(3)?, row.get(4)?])))?;
    rows.collect()
}
