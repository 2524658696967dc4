//! Clients that thought to hold the same lock at once, and how to tell them apart, in sentences.

use std::time::Duration;

use super::{Columns, Line, Sign, Tone, Writer};
use lockscope_lab::contend::{ClientState, FleetStatus, LinkState, Overlap};
use lockscope_model::text::Charset;
use lockscope_model::text::human::{count, plural};

/// How long the page still mentions a client that outlived its session, after it has stopped.
const MENTIONED_FOR: Duration = Duration::from_secs(20);
/// Maximum lines of one fleet.
const MAX_LINES: usize = 3;

/// Returns the last notable overlap of each fleet, in lines of `width` columns.
pub fn lines<'a>(
    fleets: impl Iterator<Item = (&'static str, &'a FleetStatus)>,
    width: u16,
    charset: Charset,
) -> Vec<Line> {
    let mut lines = Vec::new();
    for (algorithm, status) in fleets {
        let Some((text, violated)) = sentence(status) else { continue };
        let (sign, tone) = if violated { (Sign::Bad, Tone::Bad) } else { (Sign::Warning, Tone::Careful) };
        let mut page = Writer::new(Columns::SIGNS, width, charset);
        page.add(Some(sign), None, &format!("{algorithm}: {text}"), tone);
        lines.extend(page.lines().into_iter().take(MAX_LINES));
    }
    lines
}

/// Returns the last notable overlap as a sentence, and whether it is a violation.
fn sentence(status: &FleetStatus) -> Option<(String, bool)> {
    if let Some(overlap) = status.overlaps.iter().rev().find(|overlap| !overlap.outlived) {
        return Some((violation(overlap), true));
    }
    let recent = |overlap: &&Overlap| still_holds(status, overlap) || status.age < overlap.after + MENTIONED_FOR;
    status.overlaps.iter().rev().find(recent).map(|overlap| (outlived(status, overlap), false))
}

fn violation(overlap: &Overlap) -> String {
    let Overlap { first, first_token, second, second_token, .. } = overlap;
    format!(
        "the lock was violated: client {first} with token {first_token} and client {second} with token \
         {second_token} held it at the same time, and neither was cut off"
    )
}

fn outlived(status: &FleetStatus, overlap: &Overlap) -> String {
    let Overlap { first, first_token, second, second_token, .. } = overlap;
    let client = status.clients.iter().find(|client| client.id == *first);
    let how = match client {
        Some(client) if client.frozen => "froze",
        Some(client) if matches!(client.link, LinkState::Cut | LinkState::Paused) => "was cut off",
        _ => "was frozen or cut off",
    };
    let (believes, holds) = if still_holds(status, overlap) {
        ("thinks that it holds", "has got the lock")
    } else {
        ("thought that it held", "had got the lock")
    };
    format!(
        "client {first} {how} and outlived its session: it {believes} with token {first_token}, while client \
         {second} {holds} with {second_token}: the tokens tell them apart"
    )
}

/// Returns whether the client whose session is gone still thinks that it holds.
fn still_holds(status: &FleetStatus, overlap: &Overlap) -> bool {
    let client = status.clients.iter().find(|client| client.id == overlap.first);
    client.is_some_and(|client| client.state == ClientState::Holding && client.token == Some(overlap.first_token))
}

/// Returns the number of overlaps, for the box of a fleet, and whether the lock was violated;
/// `None` without overlaps.
pub fn summary(status: &FleetStatus) -> Option<(String, bool)> {
    let violations = plural(status.totals.violations, "violation", "violations");
    // Each of these acquired while a client whose session was gone did not yet know about its end.
    let both = match status.totals.outlived {
        1 => "2 clients think they hold it".to_owned(),
        times => format!("2 clients think they hold it ({}x)", count(times)),
    };
    match (status.totals.violations, status.totals.outlived) {
        (0, 0) => None,
        (0, _) => Some((both, false)),
        (_, 0) => Some((violations, true)),
        (..) => Some((format!("{violations}; {both}"), true)),
    }
}
