//! The page of an incident, with the table of its events, and the page before the incidents of
//! several ensembles.
//!
//! The page is light unless a screen asks for dark, so that paper is always light. Colour alone
//! carries no information. If there are too many events, the page lists the most important ones, in
//! the order of time.

use std::cmp::Reverse;
use std::time::Duration;

use maud::{Markup, html};

use super::bars::picture;
use super::paragraphs::told;
use super::{Incident, LockBars, PastStandstill, bars, words};
use crate::record::history::{PastContender, clock_sentence};
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::Timestamp;
use lockscope_model::ensemble::EnsembleEventKind;
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
        (hatching())
        main {
            h1 { "What happened to the locks" }
            p class="muted period" { (period) }
            @for paragraph in &told.paragraphs { p class="standstill" data-kind=(paragraph.kind) { (paragraph.text) } }
            @if let Some(sentence) = &told.calm { p class="standstill calm" { (sentence) } }
            @for sentence in told.left_out.iter().chain(&words::left_out(incident)) { p { (sentence) } }
            @for sentence in words::logs(incident, utc) { p class="muted" { (sentence) } }
            @for gap in gaps { p class="muted" { (words::nothing_seen(gap, utc)) } }
            @if !drawn.is_empty() { h2 { "Holders and waiters" } (legend()) }
            @if drawn.len() > 1 { ul class="legend" { @for lock in drawn { li { (named(incident, lock)) } } } }
            @for (at, lock) in drawn.iter().enumerate() { (figure(incident, lock, &place(at), utc)) }
            @if incident.locks.len() > drawn.len() {
                p { (plural(incident.locks.len() - drawn.len(), "other lock", "other locks")) " cost less waiting, without a picture." }
            }
            (costs(incident))
            (standstills(incident, utc))
            (event_table(incident, utc))
        }
    };
    html_page(&title, &rules(), &body)
}

/// Returns what each shape of the pictures means, as a shape and its words, so that it can be read
/// in print without colours.
fn legend() -> Markup {
    let shape = |drawn: Markup| html! { svg class="shape" viewBox="0 0 36 16" width="36" height="16" aria-hidden="true" { (drawn) } };
    let bar = |class: &str, y: u32, height: u32| html! { rect class=(class) x="1" y=(y) width="34" height=(height) {} };
    let shapes = [
        (bar("hold", 2, 12), "held"),
        (bar("wait", 5, 6), "waited"),
        (html! { text class="end" x="12" y="13" { "✝" } }, "its session expired"),
        (html! { text class="end" x="12" y="13" { "✂" } }, "deleted by hand or by another session"),
        (html! { text class="end" x="12" y="13" { "×" } }, "went without having held"),
        (html! { text class="end" x="12" y="13" { "?" } }, "ended unseen"),
        (bar("finding critical", 5, 6), "at the top: a finding"),
        (html! { line class="deletion" x1="18" x2="18" y1="0" y2="16" {} }, "a deletion"),
        (bar("gap", 0, 16), "nothing was seen"),
        (bar("queue", 4, 12), "at the bottom: how many waited"),
    ];
    html! {
        p class="muted" { "A row is a client: one name on one host, or one session." }
        ul class="legend" { @for (drawn, words) in shapes { li { (shape(drawn)) " " (words) } } }
        p class="muted" { "Gone means: released by its client, or deleted by another; ZooKeeper does not say which." }
    }
}

/// The place of a lock's picture on the page.
fn place(drawn: usize) -> String {
    format!("lock-{}", drawn + 1)
}

/// Returns the name of a lock, which leads to its picture if it has one.
fn named(incident: &Incident<'_>, lock: &LockBars<'_>) -> Markup {
    let drawn = incident.locks.iter().take(MAX_PICTURES).position(|of| (of.path, of.name) == (lock.path, lock.name));
    let name = words::lock(lock.path, lock.name);
    html! { @if let Some(drawn) = drawn { a href={ "#" (place(drawn)) } { (name) } } @else { (name) } }
}

fn figure(incident: &Incident<'_>, lock: &LockBars<'_>, place: &str, utc: bool) -> Markup {
    let (drawn, left_out) = picture(incident, lock, utc);
    html! {
        figure id=(place) {
            h2 { (words::lock(lock.path, lock.name)) }
            (drawn)
            @if left_out > 0 {
                figcaption {
                    (plural(left_out, "other client has", "other clients have")) " no row here: these are the " (bars::MAX_ROWS)
                    " that others waited for, or with the longest hold or wait. The row of all holds and the number of those who waited show all of them."
                }
            }
        }
    }
}

/// Returns the locks with what waiting for them cost, and the holder that made others wait most.
fn costs(incident: &Incident<'_>) -> Markup {
    let locks = incident.waited_for();
    if locks.is_empty() {
        return html! {};
    }
    let costliest = |lock: &LockBars<'_>| {
        let holder = *lock.waiting.holders.iter().max_by_key(|holder| (holder.waited, Reverse(holder.id)))?;
        let past = incident.contender(usize::try_from(holder.id).ok()?)?;
        let others = plural(holder.waiters, "waiter", "waiters");
        Some(format!("{}: {} of {others}", words::client(past), duration(holder.waited.0)))
    };
    html! {
        h2 { "What waiting cost: all waiters together, of the time that was seen" }
        div class="table" {
            table class="costs" {
                thead {
                    tr {
                        th scope="col" { "Lock" } th scope="col" class="number" { "Waited in all" }
                        th scope="col" class="number" { "While nobody held" } th scope="col" { "The hold that cost most" }
                    }
                }
                tbody {
                    @for lock in locks.iter().take(MAX_STANDSTILLS) {
                        tr data-lock=(words::lock(lock.path, lock.name)) data-waiter-seconds=(lock.waiting.waited.0.as_secs_f64()) {
                            td { (named(incident, lock)) }
                            td class="number" { (duration(lock.waiting.waited.0)) }
                            td class="number" { (duration(lock.waiting.unheld.0)) }
                            td { (costliest(lock).unwrap_or_default()) }
                        }
                    }
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
fn standstill(incident: &Incident<'_>, lock: &LockBars<'_>, found: &PastStandstill, utc: bool) -> Markup {
    let past = found.holders.first().and_then(|at| incident.contender(*at));
    let ms = u64::try_from(found.time.length().as_millis()).unwrap_or(u64::MAX);
    html! {
        tr data-lock=(words::lock(lock.path, lock.name)) data-node=[past.map(|past| words::name(&past.node))]
            data-standstill-ms=(ms) data-waiters=(found.waiters) data-cost-ms=(found.cost_ms) data-end=[past.map(|past| past.end.id())]
            data-held-at-least-ms=[past.and_then(PastContender::held_at_least_ms)]
            data-held-at-most-ms=[past.and_then(PastContender::held_at_most_ms)] {
            td { (named(incident, lock)) }
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
fn holders(incident: &Incident<'_>, found: &PastStandstill) -> String {
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
    let (events, left_out) = events(incident, utc);
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

/// The most events on a page.
const MAX_EVENTS: usize = 400;

#[derive(Clone, Debug, PartialEq, Eq)]
struct HtmlEvent {
    pub at: Timestamp,
    /// The kind of the event, as in `lockscope watch`.
    pub what: &'static str,
    pub lock: String,
    pub who: String,
    pub why: String,
    /// The importance: of too many events, the highest weights stay.
    weight: u64,
}

/// The weight of every event that is not one of a contender: higher than those.
const CERTAIN: u64 = u64::MAX;

/// Returns the events, and how many are left out.
fn events(incident: &Incident<'_>, utc: bool) -> (Vec<HtmlEvent>, usize) {
    let window = incident.window;
    let mut events: Vec<HtmlEvent> = Vec::new();
    for past in &window.contenders {
        contender(past, &mut events);
    }
    for finding in &window.findings {
        let lock = words::lock(&finding.lock, finding.name.as_deref());
        let who = finding.node.as_deref().map(words::name).unwrap_or_default();
        let event = |at, what, why| HtmlEvent { at, what, lock: lock.clone(), who: who.clone(), why, weight: CERTAIN };
        let why = format!("{}: {}", words::name(&finding.code), words::sentence(&finding.summary));
        let muted = finding.muted.as_ref().map(|mute| words::muted(mute, utc)).unwrap_or_default();
        events.push(event(finding.raised_at, "finding-raised", format!("{why}{muted}")));
        if let Some(cleared) = finding.cleared_at {
            events.push(event(cleared, "finding-cleared", words::name(&finding.code)));
        }
    }
    for gap in &window.gaps {
        let event =
            |at, what, why| HtmlEvent { at, what, lock: String::new(), who: String::new(), why, weight: CERTAIN };
        events.push(event(gap.from, "gap-begins", words::sentence(&gap.reason)));
        events.extend(gap.to.map(|to| event(to, "gap-ends", String::new())));
    }
    // The gaps have what was not seen.
    for happened in window.ensemble.iter().filter(|event| event.what != EnsembleEventKind::NotSeen) {
        let event = |at, why: &str| HtmlEvent {
            at,
            what: happened.what.id(),
            lock: String::new(),
            who: happened.member.as_deref().map(words::name).unwrap_or_default(),
            why: why.to_owned(),
            weight: CERTAIN,
        };
        let detail = happened.detail.as_deref().map(words::sentence).unwrap_or_default();
        events.push(event(happened.began.before, &detail));
        events.extend(happened.ended.filter(|ended| *ended != happened.began).map(|ended| event(ended.before, "over")));
    }
    for attempts in &window.attempts {
        let session = || attempts.session.map_or_else(String::new, |session| format!("session {session}"));
        events.push(HtmlEvent {
            at: attempts.from,
            what: "tried-in-vain",
            lock: attempts.lock.as_deref().map(words::name).unwrap_or_default(),
            who: attempts.client_name.as_deref().map_or_else(session, words::name),
            why: plural(attempts.count, "time", "times"),
            weight: attempts.count,
        });
    }
    for deletion in &window.deletions {
        events.push(HtmlEvent {
            at: deletion.at,
            what: "deletion",
            lock: words::name(&deletion.lock),
            who: deletion.by.as_deref().map(words::name).unwrap_or_default(),
            why: format!("{}: {}", words::name(&deletion.path), words::name(&deletion.result)),
            weight: CERTAIN,
        });
    }
    events.retain(|event| event.at >= window.from && event.at <= window.to);
    let left_out = events.len().saturating_sub(MAX_EVENTS);
    if left_out > 0 {
        events.sort_by_key(|event| std::cmp::Reverse(event.weight));
        events.truncate(MAX_EVENTS);
    }
    events.sort_by(|a, b| (a.at, &a.lock).cmp(&(b.at, &b.lock)));
    (events, left_out)
}

fn contender(past: &PastContender, events: &mut Vec<HtmlEvent>) {
    let weight = past.held_at_least_ms().unwrap_or(0).max(past.waited_ms().unwrap_or(0));
    let mut add = |at: Timestamp, what, why: String| {
        let (lock, who) = (words::lock(&past.lock, past.name.as_deref()), words::client(past));
        events.push(HtmlEvent { at, what, lock, who, why, weight });
    };
    let ms = |ms: Option<u64>| ms.map(|ms| latency(std::time::Duration::from_millis(ms)));
    if let Some(came) = past.enqueued_at {
        add(came, "enqueued", String::new());
    }
    if let Some(acquired) = past.acquired {
        let why = if acquired.exactly().is_some() {
            ms(past.waited_ms()).map(|waited| format!("waited {waited}")).unwrap_or_default()
        } else {
            "at this time or earlier".to_owned()
        };
        add(acquired.before, "acquired", why);
    }
    if let Some(ended) = past.ended {
        let held = || ms(past.held_at_least_ms()).filter(|_| past.acquired.is_some());
        let why = match (ended.exactly(), held()) {
            (None, _) => "at this time or earlier: it was not seen".to_owned(),
            (Some(_), Some(held)) => format!("held {held}"),
            (Some(_), None) => String::new(),
        };
        let what = match past.end {
            ContenderEnd::Gone => ContenderEnd::Gone.id(),
            ContenderEnd::Released | ContenderEnd::Open => "released",
            ContenderEnd::Left => "left",
            ContenderEnd::Expired => "expired",
            ContenderEnd::Deleted => "deleted",
            ContenderEnd::Closed => "closed",
            ContenderEnd::Unknown => "ended",
        };
        add(ended.before, what, why);
    }
}

/// One ensemble of an overview.
#[derive(Clone, Debug)]
pub struct EnsembleHtmlRow {
    name: String,
    connect: String,
    /// The file of its page, relative to the overview.
    page: String,
    from: Timestamp,
    to: Timestamp,
    contenders: usize,
    longest: Option<Duration>,
    waited: Duration,
    critical: usize,
    warning: usize,
    gaps: usize,
    clock_ahead_ms: i64,
}

impl EnsembleHtmlRow {
    /// Sums up an incident. `page` is the file of its page, relative to the overview.
    pub fn new(name: &str, connect: &str, page: &str, clock_ahead_ms: i64, incident: &Incident<'_>) -> Self {
        let window = incident.window;
        let found = |severity| window.findings.iter().filter(|finding| finding.severity == severity).count();
        Self {
            name: name.to_owned(),
            connect: connect.to_owned(),
            page: page.to_owned(),
            from: window.from,
            to: window.to,
            contenders: window.contenders.len() + window.left_out,
            longest: incident.longest(),
            waited: Duration::from_millis(incident.cost_ms()),
            critical: found("critical"),
            warning: found("warning"),
            gaps: window.gaps.len(),
            clock_ahead_ms,
        }
    }
}

/// Returns the overview as the text of an HTML file, the ensembles with the most waiting first.
/// `failed` are ensembles without a page, each with the reason. Times are local unless `utc` is set.
pub fn overview(mut rows: Vec<EnsembleHtmlRow>, failed: &[(String, String)], utc: bool) -> String {
    rows.sort_by_key(|row| Reverse((row.waited, row.critical, row.warning)));
    let body = html! {
        main {
            h1 { "What happened to the locks of " (rows.len() + failed.len()) " ensembles" }
            @for (name, why) in failed { p class="standstill" { (words::sentence(name)) ": not seen: " (words::sentence(why)) "." } }
            table {
                thead { tr {
                    th { "Ensemble" } th { "Servers" } th { "Time" } th { "Contenders" } th { "Waited in all" } th { "Longest standstill" }
                    th { "Critical" } th { "Warnings" } th { "Gaps" }
                } }
                tbody { @for row in &rows { tr {
                    td { a href=(row.page) { (words::sentence(&row.name)) } }
                    td { (words::sentence(&row.connect)) }
                    td {
                        (words::period(row.from, row.to, utc))
                        @if let Some(sentence) = clock_sentence(row.clock_ahead_ms) { "; " (sentence) }
                    }
                    td { (count(row.contenders)) }
                    td { (duration(row.waited)) }
                    td { @if let Some(longest) = row.longest { (latency(longest)) } @else { "-" } }
                    td { (count(row.critical)) }
                    td { (count(row.warning)) }
                    td { (count(row.gaps)) }
                } } }
            }
        }
    };
    html_page("Locks of several ensembles", &rules(), &body)
}

/// Returns the style sheet of the page.
fn rules() -> String {
    let text = "body{background:PAPER;color:INK}.muted,.label,.time,dt,caption{fill:MUTED;color:MUTED}text{fill:INK}\
        .label{fill:INK}.time{fill:MUTED}th,td{border-color:GRID}.grid{stroke:GRID}\
        .hold{fill:HOLD}.hold.all{opacity:.55}.wait{fill:WAIT}.queue{fill:WAIT;opacity:.7}.unsure{fill:none;stroke:HOLD;stroke-dasharray:3 3}\
        .gap{fill:url(#gap)}.hatch{stroke:MUTED}.finding.critical{fill:BAD}.finding.warning{fill:WARN}.finding.info{fill:MUTED}\
        .deletion{stroke:BAD}.end{fill:BAD}.standstill{border-color:BAD}";
    let with = |colours: [(&str, &str); 8]| {
        colours.iter().fold(text.to_owned(), |rules, (name, colour)| rules.replace(name, colour))
    };
    let light = with([
        ("PAPER", "#ffffff"),
        ("INK", "#1b1f24"),
        ("MUTED", "#505a64"),
        ("GRID", "#dde1e6"),
        ("HOLD", "#0b6bc2"),
        ("WAIT", "#d08a2e"),
        ("BAD", "#a3210f"),
        ("WARN", "#9a6700"),
    ]);
    let dark = with([
        ("PAPER", "#0f141a"),
        ("INK", "#e8ecf0"),
        ("MUTED", "#a9b4c0"),
        ("GRID", "#2c343d"),
        ("HOLD", "#5aa9ff"),
        ("WAIT", "#e0a95c"),
        ("BAD", "#ff8f7d"),
        ("WARN", "#e3b341"),
    ]);
    format!("{LAYOUT}{light}@media screen and (prefers-color-scheme:dark){{{dark}}}")
}

/// Returns the hatching of gaps.
fn hatching() -> Markup {
    html! {
        svg class="patterns" width="0" height="0" aria-hidden="true" {
            pattern id="gap" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                line class="hatch" x1="0" y1="0" x2="0" y2="6" stroke-width="1.5" {}
            }
        }
    }
}

const LAYOUT: &str = "\
:root{color-scheme:light dark}\
body{margin:0 auto;padding:1.5rem;max-width:76rem;font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",\
\"Liberation Sans\",Arial,sans-serif}\
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem}h2{font-size:1.2rem;margin:2rem 0 .5rem;overflow-wrap:anywhere}\
.standstill{font-size:1.1rem;margin:.75rem 0;padding-left:.75rem;border-left:4px solid;overflow-wrap:anywhere}\
.calm{border-left-style:none;padding-left:0}\
svg.patterns{position:absolute}a{color:inherit}\
.legend{list-style:none;margin:.5rem 0;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1.5rem;font-size:.9rem;overflow-wrap:anywhere}\
.shape{vertical-align:-.2em}figure{margin:1rem 0;break-inside:avoid}figure svg{display:block;width:100%;height:auto}figcaption{font-size:.9rem;overflow-wrap:anywhere}\
svg text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Liberation Sans\",Arial,sans-serif;font-size:12px}\
.end{font-size:14px;font-weight:600}.deletion{stroke-width:2}.grid{stroke-width:1;stroke-dasharray:2 4}\
.table{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums;width:100%}\
caption{text-align:left;padding-bottom:.4rem}\
th,td{padding:.2rem .6rem;border-bottom:1px solid;text-align:left;vertical-align:top;overflow-wrap:anywhere}\
td.number,th.number{text-align:right;white-space:nowrap}td.whole{white-space:nowrap}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.2rem;margin:0}dd{margin:0;overflow-wrap:anywhere}\
@page{size:A4 landscape;margin:10mm}\
@media print{:root{font-size:11px}body{padding:0;max-width:none;font-size:1rem}.table{overflow:visible}\
h2{break-after:avoid;margin-top:1rem}thead{display:table-header-group}tr{break-inside:avoid}\
.hold,.wait,.queue,.finding,.gap{print-color-adjust:exact}}";
