//! What is wrong with the open lock, and what may be done: line by line. Pure.

use super::app::App;
use crate::diagnose::{Finding, Severity};
use crate::text::{Charset, wrap_words};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// How bad, on the first line of a finding.
    pub sign: Option<Severity>,
    /// What it says, harmless to a terminal.
    pub text: String,
    /// Whether it is what to do, and not what is wrong.
    pub remedy: bool,
}

impl Reason {
    fn plain(text: String) -> Self {
        Self { sign: None, text, remedy: true }
    }
}

/// The findings of the open lock in lines of `columns`, beside their signs: those about the selected contender first, then the
/// most severe.
pub fn lines(app: &App, columns: usize) -> Vec<Reason> {
    let charset = if app.settings().ascii { Charset::Ascii } else { Charset::Unicode };
    let world = app.world();
    let Some(lock) = world.open_lock() else { return Vec::new() };
    let selected = world.queue_rows().row(app.contender_cursor().rank()).map(|row| &*row.contender.node);
    let mut findings: Vec<&Finding> = world.diagnosis().of(lock.id()).collect();
    findings.sort_by_key(|finding| finding.node.is_none() || finding.node.as_deref() != selected);
    let mut lines: Vec<Reason> =
        findings.into_iter().flat_map(|finding| explained(finding, columns, charset)).collect();
    if lines.is_empty() {
        lines = nothing(app, columns, charset);
    }
    lines
}

fn explained(finding: &Finding, columns: usize, charset: Charset) -> Vec<Reason> {
    let what = format!("{}: {}", finding.code, finding.summary);
    let mut lines: Vec<Reason> = wrap_words(&what, columns, charset)
        .into_iter()
        .map(|text| Reason { sign: None, text, remedy: false })
        .collect();
    if let Some(first) = lines.first_mut() {
        first.sign = Some(finding.severity);
    }
    let remedy = format!("what to do: {}", finding.remedy);
    lines.extend(wrap_words(&remedy, columns, charset).into_iter().map(Reason::plain));
    lines
}

fn nothing(app: &App, columns: usize, charset: Charset) -> Vec<Reason> {
    if !app.shows_truth() {
        return wrapped("Not in step with the ensemble: nobody can say what is wrong.", columns, charset);
    }
    let mut lines = wrapped("Nothing is wrong with this lock, as far as is known.", columns, charset);
    let view = app.world().table().view();
    if !app.settings().asks_servers {
        let text = "The servers are not asked, so whether anybody still lives is not known (v).";
        lines.extend(wrapped(text, columns, charset));
    } else if !view.provenance().can_prove() {
        let text = "The servers tell in plain text, which proves nothing beside TLS: who is dead is not known (v).";
        lines.extend(wrapped(text, columns, charset));
    } else if !view.every_member_answered() {
        lines.extend(wrapped("Not every server tells who is connected (v: what to change).", columns, charset));
    }
    lines
}

fn wrapped(text: &str, columns: usize, charset: Charset) -> Vec<Reason> {
    wrap_words(text, columns, charset).into_iter().map(Reason::plain).collect()
}
