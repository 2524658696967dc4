//! The page of an incident.

use std::time::Duration;

use maud::{Markup, html};

use super::bars::{self, picture};
use super::events::{MAX_EVENTS, events};
use super::lock_rows::{Incident, LockRows};
use super::{sentences, style, words};
use crate::record::history::PastGap;
use lockscope_model::text::human::{bounded, count, date_and_time, exact_time, latency, plural};
use lockscope_model::text::{Charset, html_page};

/// The most locks with a picture.
const MAX_PICTURES: usize = 8;

/// The most standstills in the table.
const MAX_STANDSTILLS: usize = 50;

/// Returns the page as the text of an HTML file. Times are local unless `utc` is set.
pub fn html(incident: &Incident<'_>, utc: bool) -> String {
    let period = words::period(incident.window.from, incident.window.to, utc);
    let title = format!("Locks, {period}");
    let told = sentences::standstills(incident);
    let told_class = if told.is_empty() { "standstill calm" } else { "standstill" };
    let drawn = &incident.locks[..incident.locks.len().min(MAX_PICTURES)];
    let body = html! {
        (style::hatching())
        main {
            h1 { "What happened to the locks" }
            p class="muted period" { (period) }
            @for sentence in sentences::sentences(incident, utc) { p class=(told_class) { (sentence) } }
            @for sentence in sentences::left_out(incident) { p { (sentence) } }
            @for gap in &incident.window.gaps { p class="muted" { (nothing_seen(gap, utc)) } }
            @if !drawn.is_empty() { h2 { "Holders and waiters" } (legend()) }
            @for lock in drawn { (figure(incident, lock, utc)) }
            @if incident.locks.len() > drawn.len() {
                p { (plural(incident.locks.len() - drawn.len(), "other lock", "other locks")) " stood still for less, and have no picture." }
            }
            (standstills(incident, utc))
            (event_table(incident, utc))
        }
    };
    html_page(&title, &style::rules(), &body)
}

fn nothing_seen(gap: &PastGap, utc: bool) -> String {
    let (from, reason) = (date_and_time(gap.from, utc), words::sentence(&gap.reason));
    match gap.to {
        Some(to) => format!("Nothing was seen for {} from {from} on: {reason}.", latency(to.since(gap.from))),
        None => format!("Nothing was seen from {from} on: {reason}."),
    }
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
    let found = incident.longest(MAX_STANDSTILLS);
    let all: usize = incident.locks.iter().map(|lock| lock.standstills.len()).sum();
    if found.is_empty() {
        return html! {};
    }
    html! {
        h2 { "Holds while others waited" }
        div class="table" {
            table class="standstills" {
                @if all > found.len() { caption { "The longest " (found.len()) " of " (count(all)) "." } }
                thead {
                    tr {
                        th scope="col" { "Lock" } th scope="col" { "Holder" } th scope="col" { "From" }
                        th scope="col" class="number" { "Others waited for" } th scope="col" class="number" { "Held" }
                        th scope="col" class="number" { "Waiting" } th scope="col" { "End" }
                    }
                }
                tbody {
                    @for standstill in &found {
                        @if let Some(past) = incident.contender(standstill.holder) {
                            tr data-lock=(words::lock(&past.lock, past.name.as_deref())) data-node=(words::name(&past.node))
                                data-standstill-ms=(standstill.ms) data-waiters=(standstill.waiters) data-end=(past.end.id())
                                data-held-at-least-ms=[past.held_at_least_ms()] data-held-at-most-ms=[past.held_at_most_ms()] {
                                td { (words::lock(&past.lock, past.name.as_deref())) }
                                td { (words::client(past)) }
                                td class="whole" { (exact_time(standstill.from, utc)) }
                                td class="number" { (latency(Duration::from_millis(standstill.ms))) }
                                td class="number" { (held(past)) }
                                td class="number" { (count(standstill.waiters)) }
                                td { (past.end.id()) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn held(past: &crate::record::history::PastContender) -> String {
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
