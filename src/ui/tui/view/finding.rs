//! A finding in a few columns. It is never cut: half a name would tell the reader nothing.

use std::time::Duration;

use super::View;
use super::who::countdown_of;
use lockscope_model::diagnose::{Code, Finding, Standstill};
use lockscope_model::queue::{ContenderRow, LockQueue};
use lockscope_model::text::human::{bounded, count};
use lockscope_model::text::width;

/// Returns the first text that fits, with the severity's sign if there is room for both.
fn first_that_fits(sign: &str, texts: &[String], columns: usize) -> Option<String> {
    let signed = texts.iter().flat_map(|text| [format!("{sign} {text}"), text.clone()]);
    signed.into_iter().find(|text| width(text) <= columns)
}

/// Names a finding in a word: its code, or its title where the code does not fit.
pub fn name_of(code: Code, sign: &str, columns: usize) -> String {
    let texts = [code.id(), code.title()].map(str::to_owned);
    first_that_fits(sign, &texts, columns).unwrap_or_else(|| code.title().to_owned())
}

/// Names a current finding in a word. An expiring holder is shown with the time left, a stuck lock
/// with the time since it last changed hands.
pub fn in_a_word(view: View<'_>, lock: &LockQueue, finding: &Finding, columns: usize) -> String {
    let sign = view.theme.signs.severity(finding.severity);
    let texts = match finding.code {
        Code::ExpiringHolder | Code::SilentHolder => countdown(view, lock, columns.saturating_sub(width(sign) + 1)),
        Code::MayBeStuck => doubt(view, lock),
        _ if finding.is_standstill() => standstill(view, lock),
        _ => Vec::new(),
    };
    first_that_fits(sign, &texts, columns).unwrap_or_else(|| name_of(finding.code, sign, columns))
}

fn countdown(view: View<'_>, lock: &LockQueue, columns: usize) -> Vec<String> {
    let of = |row: ContenderRow<'_>| {
        let facts = view.app.world().table_at(view.app.now()).facts(lock, &row);
        countdown_of(view, row.contender.session(), &facts, columns)
    };
    lock.row(0).and_then(of).into_iter().collect()
}

/// Returns `stuck 13m42s, 2 wait` and shorter forms of it.
fn standstill(view: View<'_>, lock: &LockQueue) -> Vec<String> {
    let Some(standstill) = view.app.world().table_at(view.app.now()).standstill(lock) else { return Vec::new() };
    let Standstill { held, waiting, .. } = standstill;
    let held = format!("stuck {}", bounded(held.at_least, held.at_most, view.theme.signs.charset));
    let wait = if waiting == 1 { "waits" } else { "wait" };
    vec![format!("{held}, {} {wait}", count(waiting)), held, "stuck".to_owned()]
}

/// Returns `stuck? ≤13m42s, 2 wait` and shorter forms of it.
fn doubt(view: View<'_>, lock: &LockQueue) -> Vec<String> {
    let Some(standstill) = view.app.world().table_at(view.app.now()).standstill(lock) else { return Vec::new() };
    let held = format!("stuck? {}", bounded(Duration::ZERO, standstill.held.at_most, view.theme.signs.charset));
    let wait = if standstill.waiting == 1 { "waits" } else { "wait" };
    vec![format!("{held}, {} {wait}", count(standstill.waiting)), held, "stuck?".to_owned()]
}
