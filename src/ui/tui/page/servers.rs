//! What each server reports about itself, what it does not report, and which setting would change
//! that; and whether the members of the ensemble have the same nodes.

use std::time::Duration;

use super::{Columns, PageWriter, Sign, Tone};
use lockscope_base::znode::{Timestamp, Zxid, escaped};
use lockscope_model::server_view::{
    AskedBy, Difference, Health, Load, MemberComparison, MemberView, ServerMode, ServerView,
};
use lockscope_model::text::human::{count, duration, plural};
use lockscope_model::text::{Keep, fit, human};

/// The columns of Servers. Facts stand below their server, slightly indented.
pub const COLUMNS: Columns = Columns { label: 4, ..Columns::SIGNS };

/// Columns of a version.
const VERSION_WIDTH: usize = 24;

/// Writes that the servers are not asked.
pub fn write_not_asked(page: &mut PageWriter) {
    page.sentence(NOT_ASKED, Tone::Text);
}

/// Writes what the servers report.
pub fn write_members(page: &mut PageWriter, view: &ServerView, now: Timestamp) {
    if view.members.is_empty() {
        return page.sentence("No server was asked yet.", Tone::Text);
    }
    let newest = view.members.iter().filter_map(zxid_of).max();
    for member in &view.members {
        write_member(page, member, newest, now);
    }
    if !view.members_known {
        page.sentence(MEMBERS_UNKNOWN, Tone::Careful);
    }
}

/// Writes what the reports allow to conclude. `load` is the recent cost of asking and the window in
/// milliseconds.
pub fn write_conclusions(page: &mut PageWriter, view: &ServerView, load: Option<(Load, u64)>) {
    if view.members.is_empty() {
        return;
    }
    page.blank();
    if view.provenance().can_prove() {
        page.sentence(known(view), Tone::Text);
    } else {
        page.sentence(UNPROVEN, Tone::Careful);
    }
    page.sentence(&cost(view, load), Tone::Dim);
}

/// Writes what one-shot watches cost.
pub fn write_one_shot(page: &mut PageWriter, view: &ServerView) {
    page.sentence(if view.runs_keeper() { KEEPER_WATCHES } else { ONE_SHOT }, Tone::Careful);
}

const KEEPER_WATCHES: &str = "The recursive watches of ClickHouse Keeper name the wrong node, and its pzxid and cversion do not count as \
                              ZooKeeper's. The locks are followed by one-shot watches, new data of a node is not noticed, and \
                              nothing is claimed about the time before this console looked.";

const ONE_SHOT: &str = "The server has no recursive watches that can be relied on. The locks are followed by one-shot watches: each \
                        change costs a request, and new data of a node is not noticed.";

const NOT_ASKED: &str = "The servers are not asked about themselves (--server-view off). Holders and waiters are read from the \
                         znodes alone. The clients' connections, addresses and watches are not known.";

const MEMBERS_UNKNOWN: &str = "The ensemble's config could not be read, so it may have servers that were not asked. No session is \
                               called a ghost or disconnected.";

const UNPROVEN: &str = "The session uses TLS, but the servers answer in plain text, which anyone on the way could have written. No \
                        session is called a ghost, expired or disconnected, and no deletion becomes easier. To have the answers \
                        believed, name every server in the connect string with its TLS port.";

/// Explains what the reports allow to conclude.
fn known(view: &ServerView) -> &'static str {
    let nobody = view.members.iter().all(|member| member.asked_by == AskedBy::None);
    match (nobody, view.every_member_answered(), view.sessions_as_of().is_some()) {
        (true, ..) => {
            "No server reports anything: locks are read from the znodes alone. The clients' connections and watches \
             are not known."
        }
        (_, true, true) => {
            "Every server reports its connections and sessions, so live, expiring and ghost sessions are known."
        }
        (_, true, false) => {
            "Every server reports its connections, but not its sessions: their expiry times are not known."
        }
        (_, false, _) => {
            "Not every server reports its connections: a client that is not found may be at one of the others."
        }
    }
}

fn write_member(page: &mut PageWriter, member: &MemberView, newest: Option<Zxid>, now: Timestamp) {
    let by = match (member.asked_by, member.provenance.can_prove()) {
        (AskedBy::Words, true) => "by four-letter words",
        (AskedBy::Words, false) => "by four-letter words, in plain text",
        (AskedBy::Http, true) => "by AdminServer",
        (AskedBy::Http, false) => "by AdminServer, in plain text",
        (AskedBy::None, _) => "no answer",
    };
    let heard = member.answered_at.map(|at| format!("{} ago", duration(now.since(at))));
    let version = member.short_version().map(|version| fit(&version, VERSION_WIDTH, Keep::Start, page.charset()));
    let parts = [Some(member.address.clone()), member.mode.map(ServerMode::name).map(str::to_owned), version];
    let parts: Vec<String> = parts.into_iter().flatten().chain([by.to_owned()]).chain(heard).collect();
    let sign = if member.error.is_none() { Sign::Good } else { Sign::Warning };
    page.add(Some(sign), None, &parts.join("  "), Tone::Strong);
    if let Some(lists) = lists(member) {
        page.fact("", &lists, Tone::Text);
    }
    if let Some(health) = health(member, newest) {
        page.fact("", &health, if is_slow(member) { Tone::Careful } else { Tone::Text });
    }
    if let Some(error) = &member.error {
        page.fact("", error, Tone::Careful);
    }
}

fn zxid_of(member: &MemberView) -> Option<Zxid> {
    member.extras.progress.and_then(|progress| progress.zxid)
}

fn is_slow(member: &MemberView) -> bool {
    member.health.as_ref().is_some_and(|health| health.slow_writes().is_some() || has_other_digest(health))
}

fn has_other_digest(health: &Health) -> bool {
    health.digest_mismatches.is_some_and(|mismatches| mismatches > 0)
}

/// Returns how a server is doing, and how far it is behind the newest transaction that any server
/// reported.
fn health(member: &MemberView, newest: Option<Zxid>) -> Option<String> {
    let Health {
        latency_avg,
        write_p99,
        fsync_max,
        outstanding,
        elections,
        election_max,
        synced_followers,
        followers,
        rejected_connections,
        throttled,
        ..
    } = member.health.clone()?;
    let time = |what: &str, time: Option<Duration>| time.map(|time| format!("{what} {}", human::latency(time)));
    let some = |number: Option<u64>, one: &str, more: &str| {
        number.filter(|number| *number > 0).map(|number| plural(number, one, more))
    };
    let behind = newest.zip(zxid_of(member)).map(|(newest, zxid)| newest.0.saturating_sub(zxid.0));
    let elected = elections.filter(|elections| *elections > 0).zip(election_max);
    let parts = [
        time("latency", latency_avg),
        time("99 % of writes within", write_p99),
        time("slowest fsync", fsync_max),
        outstanding.map(|outstanding| format!("{} queued", count(outstanding))),
        synced_followers.zip(followers).map(|(synced, all)| format!("{synced} of {all} followers in step")),
        behind.filter(|behind| *behind > 0).map(|behind| format!("{} behind the newest", count(behind.unsigned_abs()))),
        elected.map(|(elections, max)| {
            format!("{}, {} at most", plural(elections, "election", "elections"), human::latency(max))
        }),
        some(rejected_connections, "connection refused", "connections refused"),
        some(throttled, "request throttled", "requests throttled"),
        member
            .health
            .as_ref()
            .filter(|health| has_other_digest(health))
            .map(|_| "its data differ from the leader's".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns what asking costs the servers.
fn cost(view: &ServerView, load: Option<(Load, u64)>) -> String {
    let Load { requests, bytes, .. } = view.asked;
    let all = format!("Asking cost {} and {} so far", plural(requests, "question", "questions"), human::bytes(bytes));
    let Some((recent, during)) = load else { return format!("{all}.") };
    let each = during.saturating_mul(view.members.len() as u64).max(1);
    // In hundredths of a percent.
    let share = recent.time_ms.saturating_mul(10_000) / each;
    let spent = duration(Duration::from_millis(during));
    format!("{all}; of each server's time within the last {spent} it took {}.{:02} %.", share / 100, share % 100)
}

/// Returns what a server listed.
fn lists(member: &MemberView) -> Option<String> {
    let connections = member.connections.as_ref().map(|listing| {
        let more = if listing.whole { "" } else { ", not all of them" };
        format!("{}{more}", plural(listing.items().len(), "connection", "connections"))
    });
    let sessions = member.sessions.as_ref().map(|listing| plural(listing.items().len(), "session", "sessions"));
    let watched = member.watched.as_ref().map(|listing| {
        let within = plural(listing.items().len(), "watched path", "watched paths");
        format!("{within} of ours")
    });
    let all = member.watch_count.map(|number| match number {
        1 => "1 watch in all".to_owned(),
        _ => format!("{} watches in all", count(number)),
    });
    let parts: Vec<String> = [connections, sessions, watched, all].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns how many of the servers report everything.
pub fn summary(view: &ServerView) -> String {
    let all = view.members.len();
    let what = plural(all, "server reports everything", "servers report everything");
    format!("{} of {what}", count(all - view.missing().count()))
}

/// The most differences that are written.
const MAX_DIFFERENCES: usize = 20;

const NOT_YET: &str = "The trees of the members are being compared.";

const ONE_SERVER: &str =
    "The trees of the members are not compared: the connect string names one server. Name all of them there.";

/// Writes the last comparison of the members.
pub fn write_trees(page: &mut PageWriter, compared: Option<&MemberComparison>, now: Timestamp) {
    page.blank();
    let Some(compared) = compared else { return page.sentence(NOT_YET, Tone::Dim) };
    if compared.members.len() < 2 {
        return page.sentence(ONE_SERVER, Tone::Careful);
    }
    let read = compared.members.iter().filter(|member| member.error.is_none()).count();
    let where_ = format!(
        "the children of {} on {}, {} ago",
        plural(compared.parents, "node", "nodes"),
        plural(read, "member", "members"),
        duration(now.since(compared.at))
    );
    if compared.differences.is_empty() {
        page.add(Some(Sign::Good), None, &format!("No difference in {where_}"), Tone::Text);
    } else {
        let found = plural(compared.differences.len(), "difference", "differences");
        page.add(Some(Sign::Bad), None, &format!("{found} in {where_}"), Tone::Strong);
    }
    for difference in compared.differences.iter().take(MAX_DIFFERENCES) {
        page.fact("", &describe(difference), Tone::Text);
    }
    let hidden = compared.differences.len().saturating_sub(MAX_DIFFERENCES);
    if hidden > 0 {
        page.fact("", &format!("and {} more", count(hidden)), Tone::Dim);
    }
    for member in &compared.members {
        if let Some(why) = &member.error {
            let text = format!("{} was not compared: {}", escaped(&member.address), escaped(why));
            page.add(Some(Sign::Warning), None, &text, Tone::Careful);
        }
    }
    if compared.left_out > 0 {
        page.fact("", &format!("{} were left out", plural(compared.left_out, "node", "nodes")), Tone::Careful);
    }
}

fn describe(difference: &Difference) -> String {
    let has = if difference.has { "has" } else { "lacks" };
    let others = if difference.has { "most do not have it" } else { "most have it" };
    let czxid = difference.czxid.map_or_else(String::new, |czxid| format!(", czxid {czxid}"));
    format!("{} {has} {}{czxid}; {others}", escaped(&difference.member), escaped(difference.path.as_str()))
}
