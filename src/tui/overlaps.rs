//! Who believed to hold a lock at the same time as somebody else, and what tells them apart, in sentences. Pure.

use std::time::Duration;

use super::app::{App, FleetView};
use crate::contend::{ClientState, LinkState, Overlap};
use crate::text::human::count;
use crate::text::{Charset, wrap_words};

/// How long it is told that somebody had outlived a session, when that is over.
const TOLD: Duration = Duration::from_secs(20);
/// Lines that one fleet may take.
const MOST_LINES: usize = 3;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeliefLine {
    /// Harmless text.
    pub text: String,
    /// Whether it begins a sentence: a sign belongs before it.
    pub first: bool,
    /// Whether the lock was violated; otherwise the tokens tell who is right.
    pub violated: bool,
}

/// What there is to tell of all fleets, in lines of `columns`.
pub fn lines(app: &App, columns: u16) -> Vec<BeliefLine> {
    let charset = if app.settings().ascii { Charset::Ascii } else { Charset::Unicode };
    // A space, a sign and a space stand before each line, and a space after it.
    let room = usize::from(columns).saturating_sub(4);
    let mut lines = Vec::new();
    for (_, crew) in app.fleets().each() {
        let Some((text, violated)) = sentence(crew) else { continue };
        let text = format!("{}: {text}", crew.scenario().algorithm.name());
        let wrapped = wrap_words(&text, room, charset).into_iter().take(MOST_LINES).enumerate();
        lines.extend(wrapped.map(|(at, text)| BeliefLine { text, first: at == 0, violated }));
    }
    lines
}

/// The last thing that is worth a sentence, and whether it is a violation.
fn sentence(crew: &FleetView) -> Option<(String, bool)> {
    let status = crew.status()?;
    if let Some(overlap) = status.overlaps.iter().rev().find(|overlap| !overlap.outlived) {
        return Some((violation(overlap), true));
    }
    let recent = |overlap: &&Overlap| still_believes(crew, overlap) || status.age < overlap.after + TOLD;
    status.overlaps.iter().rev().find(recent).map(|overlap| (outlived(crew, overlap), false))
}

fn violation(overlap: &Overlap) -> String {
    let Overlap { first, first_token, second, second_token, .. } = overlap;
    format!(
        "the lock was violated: client {first} with token {first_token} and client {second} with token \
         {second_token} held it at the same time, and neither was cut off"
    )
}

fn outlived(crew: &FleetView, overlap: &Overlap) -> String {
    let Overlap { first, first_token, second, second_token, .. } = overlap;
    let client = crew.client(*first);
    let how = match client {
        Some(client) if client.frozen => "froze",
        Some(client) if matches!(client.link, LinkState::Cut | LinkState::Paused) => "was cut off",
        _ => "was frozen or cut off",
    };
    let (believes, holds) = if still_believes(crew, overlap) {
        ("believes that it holds", "has got the lock")
    } else {
        ("believed that it held", "had got the lock")
    };
    format!(
        "client {first} {how} and outlived its session: it {believes} with token {first_token}, while client \
         {second} {holds} with {second_token}: the tokens tell them apart"
    )
}

/// Whether the one whose session is gone still believes that it holds.
fn still_believes(crew: &FleetView, overlap: &Overlap) -> bool {
    let client = crew.client(overlap.first);
    client.is_some_and(|client| client.state == ClientState::Holding && client.token == Some(overlap.first_token))
}

/// How many times it happened, for the box of a fleet; `None` when nothing did.
pub fn summary(crew: &FleetView) -> Option<(String, bool)> {
    let totals = &crew.status()?.totals;
    let times =
        |number: u64, one: &str, more: &str| format!("{} {}", count(number), if number == 1 { one } else { more });
    match (totals.violations, totals.outlived) {
        (0, 0) => None,
        (0, outlived) => Some((format!("{} acquired beside a believer", count(outlived)), false)),
        (violations, 0) => Some((times(violations, "violation", "violations"), true)),
        (violations, outlived) => Some((
            format!("{}, {} beside a believer", times(violations, "violation", "violations"), count(outlived)),
            true,
        )),
    }
}
