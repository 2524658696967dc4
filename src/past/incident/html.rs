//! The page of an incident.

use std::time::Duration;

use maud::{Markup, html};

use super::bars::{self, picture};
use super::events::{MAX_EVENTS, events};
use super::lock_rows::{Incident, LockRows};
use super::paragraphs::told;
use super::standstill::Standstill;
use super::{sentences, style, words};
use crate::record::history::PastContender;
use lockscope_model::text::human::{bounded, count, duration, exact_time, latency, plural};
use lockscope_model::text::{Charset, html_page};

/// The most locks with a picture.
const MAX_PICTURES: usize = 8;

/// The most standstills in the table.
const MAX_STANDSTILLS: usize = 50;

/// The most holders of a standstill with a name in the table.
const MAX_HOLDERS: usize = 2;

/// Returns the page as the text of an HTML file. Times are local unless `utc` is set.
pub fn html(incident: &Incident<'_>, utc: bool) -> String {
    let period = words::period(incident.window.from, incident.window.to, utc);
    let title = format!("Locks, {period}");
    let told = told(incident, utc);
    let gaps = incident.window.gaps.iter().filter(|gap| !gap.is_brief_reading() && !told.has(gap));
    let drawn = &incident.locks[..incident.locks.len().min(MAX_PICTURES)];
    let body = html! {
        (style::hatching())
        main {
            h1 { "What happened to the locks" }
            p class="muted period" { (period) }
            @for paragraph in &told.paragraphs { p class="standstill" data-kind=(paragraph.kind) { (paragraph.text) } }
            @if let Some(sentence) = &told.calm { p class="standstill calm" { (sentence) } }
            @for sentence in told.left_out.iter().chain(&sentences::left_out(incident)) { p { (sentence) } }
            @for gap in gaps { p class="muted" { (sentences::nothing_seen(gap, utc)) } }
            @if !drawn.is_empty() { h2 { "Holders and waiters" } (legend()) }
            @for lock in drawn { (figure(incident, lock, utc)) }
            @if incident.locks.len() > drawn.len() {
                p { (plural(incident.locks.len() - drawn.len(), "other lock", "other locks")) " cost less waiting, without a picture." }
            }
            (standstills(incident, utc))
            (event_table(incident, utc))
        }
    };
    html_page(&title, &style::rules(), &body)
}

fn legend() -> Markup {
    html! {
        p class="muted" {
            "A thick bar is a hold, a thin one a wait; their signs: ✝ the session expired, ✂ deleted by hand or by another session, × went without having held, \
             ? ended unseen. Gone means: released by its client, or deleted by another; ZooKeeper does not say which. Lines at the top are findings, vertical lines deletions; where it is hatched, nothing was seen. Below is how many waited."
        }
    }
}

fn figure(incident: &Incident<'_>, lock: &LockRows<'_>, utc: bool) -> Markup {
    let (drawn, left_out) = picture(incident, lock, utc);
    html! {
        figure {
            h2 { (words::lock(lock.path, lock.name)) }
            (drawn)
            @if left_out > 0 {
                figcaption {
                    (plural(left_out, "other contender has", "other contenders have")) " no row here: these are the " (bars::MAX_ROWS)
                    " that held or waited longest. The row of all holds and the number of those who waited show all of them."
                }
            }
        }
    }
}

fn standstills(incident: &Incident<'_>, utc: bool) -> Markup {
    let found = incident.costliest(MAX_STANDSTILLS);
    let all: usize = incident.locks.iter().map(|lock| lock.standstills.len()).sum();
    if found.is_empty() {
        return html! {};
    }
    html! {
        h2 { "Standstills: others waited, and nobody acquired" }
        div class="table" {
            table class="standstills" {
                @if all > found.len() { caption { "The " (found.len()) " of " (count(all)) " that cost most waiting." } }
                thead {
                    tr {
                        th scope="col" { "Lock" } th scope="col" { "Holder" } th scope="col" { "From" }
                        th scope="col" class="number" { "Stood for" } th scope="col" class="number" { "Waiting" }
                        th scope="col" class="number" { "Waited in all" } th scope="col" class="number" { "Held" }
                        th scope="col" { "End" }
                    }
                }
                tbody { @for (lock, found) in &found { (standstill(incident, lock, found, utc)) } }
            }
        }
    }
}

/// Returns the row of a standstill, with the hold that lasted longest of it.
fn standstill(incident: &Incident<'_>, lock: &LockRows<'_>, found: &Standstill, utc: bool) -> Markup {
    let past = found.holders.first().and_then(|at| incident.contender(*at));
    let ms = u64::try_from(found.time.length().as_millis()).unwrap_or(u64::MAX);
    html! {
        tr data-lock=(words::lock(lock.path, lock.name)) data-node=[past.map(|past| words::name(&past.node))]
            data-standstill-ms=(ms) data-waiters=(found.waiters) data-cost-ms=(found.cost_ms) data-end=[past.map(|past| past.end.id())]
            data-held-at-least-ms=[past.and_then(PastContender::held_at_least_ms)]
            data-held-at-most-ms=[past.and_then(PastContender::held_at_most_ms)] {
            td { (words::lock(lock.path, lock.name)) }
            td { (holders(incident, found)) }
            td class="whole" { (exact_time(found.time.from, utc)) }
            td class="number" { (latency(found.time.length())) }
            td class="number" { (count(found.waiters)) }
            td class="number" { (duration(Duration::from_millis(found.cost_ms))) }
            td class="number" { @if let Some(past) = past { (held(past)) } }
            td { @if let Some(past) = past { (past.end.id()) } }
        }
    }
}

/// Names two holders, and counts the others.
fn holders(incident: &Incident<'_>, found: &Standstill) -> String {
    let clients = found.holders.iter().take(MAX_HOLDERS).filter_map(|at| incident.contender(*at)).map(words::client);
    let more = found.more_holders + found.holders.len().saturating_sub(MAX_HOLDERS);
    let more = (more > 0).then(|| plural(more, "other", "others"));
    let names: Vec<String> = clients.chain(more).collect();
    if names.is_empty() { "nobody known".to_owned() } else { names.join(", ") }
}

fn held(past: &PastContender) -> String {
    let [least, most] =
        [past.held_at_least_ms(), past.held_at_most_ms()].map(|ms| Duration::from_millis(ms.unwrap_or(0)));
    if least == most { latency(least) } else { bounded(least, most, Charset::Unicode) }
}

fn event_table(incident: &Incident<'_>, utc: bool) -> Markup {
    let (events, left_out) = events(incident);
    html! {
        h2 { "Events" }
        div class="table" {
            table class="events" {
                @if left_out > 0 {
                    caption {
                        (count(left_out)) " events of the contenders that held and waited shortest are not listed; these are the other "
                        (MAX_EVENTS) "."
                    }
                }
                thead { tr { @for title in ["Time", "Event", "Lock", "Who", ""] { th scope="col" { (title) } } } }
                tbody {
                    @for event in &events {
                        tr {
                            td class="whole" { (exact_time(event.at, utc)) }
                            td class="whole" { (event.what) } td { (event.lock) } td { (event.who) } td { (event.why) }
                        }
                    }
                }
            }
        }
    }
}
