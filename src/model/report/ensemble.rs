//! The ensemble: its servers and what happened to it, as JSON, and its members side by side, as
//! JSON and as a table.

use std::borrow::Cow;
use std::io;
use std::io::Write;

use serde::Serialize;

use super::rfc3339;
use crate::ensemble::{BEFORE_THE_FIRST_LOOK, EnsembleEvent, EnsembleEventKind};
use crate::server_view::{AskedBy, Difference, Health, MemberComparison, MemberView, ServerMode, ServerView, Software};
use crate::text::human::{count, latency, plural};
use crate::text::{Align, columns};
use lockscope_base::znode::{SessionId, TimeBounds, Timestamp, Zxid, escaped};

/// The port of an address without one.
const DEFAULT_PORT: u16 = 2181;

/// The ensemble that was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportedEnsemble {
    /// The connect string.
    connect: String,
    /// The node that all paths here are relative to; `/` without a chroot.
    chroot: String,
    /// Our session, as unsigned hex.
    session: Option<String>,
    servers: Vec<Server>,
}

/// A server of the connect string or of the ensemble's own config.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Server {
    /// The address, `host:port`.
    address: String,
    /// The server's role in its own word, such as `leader` or `follower`.
    mode: Option<&'static str>,
    /// The server's version, in its own words.
    version: Option<String>,
    /// The software: `zookeeper`, `clickhouse-keeper` or `unknown`.
    software: &'static str,
    /// The interface by which the server was asked about itself: `words`, `http` or `none`.
    view: &'static str,
    /// Whether the answers arrived in plain text while the session uses TLS, so that they prove
    /// nothing.
    plain_beside_tls: bool,
    /// What the server did not answer, and what to change there.
    error: Option<String>,
    /// How the server is doing; absent if it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<Health>,
}

impl ReportedEnsemble {
    /// Splits a connect string, valid or not; connecting validates it. In an address, everything
    /// before an `@` is dropped, since it may be a password.
    pub fn new(connect: &str, session: Option<SessionId>) -> Self {
        let (servers, chroot) = split(connect);
        Self {
            connect: connect.split(',').map(without_credentials).collect::<Vec<_>>().join(","),
            chroot: chroot.to_owned(),
            session: session.map(|session| session.to_string()),
            servers: servers.map(Server::new).collect(),
        }
    }

    /// Adds the servers' answers about themselves, if they were asked.
    #[must_use]
    pub fn with_view(mut self, view: &ServerView) -> Self {
        if !view.members.is_empty() {
            self.servers = view.members.iter().map(Server::of_member).collect();
        }
        self
    }

    /// Returns the connect string without credentials.
    pub fn connect(&self) -> &str {
        &self.connect
    }
}

impl Server {
    fn new(address: &str) -> Self {
        Self {
            address: with_port(address),
            mode: None,
            version: None,
            software: Software::Unknown.id(),
            view: "none",
            plain_beside_tls: false,
            error: None,
            health: None,
        }
    }

    fn of_member(member: &MemberView) -> Self {
        Self {
            address: member.address.clone(),
            mode: member.mode.map(ServerMode::name),
            version: member.version.clone(),
            software: member.software().id(),
            view: match member.asked_by {
                AskedBy::Words => "words",
                AskedBy::Http => "http",
                AskedBy::None => "none",
            },
            plain_beside_tls: !member.provenance.can_prove(),
            error: member.error.clone(),
            health: member.health.clone(),
        }
    }
}

/// Returns the addresses, and the chroot or `/`.
fn split(connect: &str) -> (impl Iterator<Item = &str>, &str) {
    // Only the last address can have a chroot. The slashes of a scheme do not begin one.
    let last = connect.rfind(',').map_or(0, |at| at + 1);
    let host = last + connect[last..].find("://").map_or(0, |at| at + 3);
    let end = connect[host..].find('/').map_or(connect.len(), |at| host + at);
    let chroot = if end == connect.len() { "/" } else { &connect[end..] };
    (connect[..end].split(',').filter(|address| !address.is_empty()), chroot)
}

fn with_port(address: &str) -> String {
    let address = address.split_once("://").map_or(address, |(_, rest)| rest);
    let address = address.rsplit_once('@').map_or(address, |(_, rest)| rest);
    let host_ends = address.rfind(']').map_or(0, |at| at + 1);
    match address[host_ends..].rfind(':') {
        Some(at) if host_ends + at + 1 < address.len() => address.to_owned(),
        Some(_) => format!("{address}{DEFAULT_PORT}"),
        None => format!("{address}:{DEFAULT_PORT}"),
    }
}

fn without_credentials(address: &str) -> String {
    let (scheme, rest) = match address.find("://") {
        Some(at) => address.split_at(at + 3),
        None => ("", address),
    };
    let host_ends = rest.find('/').unwrap_or(rest.len());
    match rest[..host_ends].rfind('@') {
        Some(at) => format!("{scheme}{}", &rest[at + 1..]),
        None => address.to_owned(),
    }
}

/// An event of the ensemble's time line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnsembleEventFacts<'a> {
    what: EnsembleEventKind,
    member: Option<&'a str>,
    epoch: Option<u32>,
    /// A time by which it had begun.
    from: Option<String>,
    /// A time by which it was over; `null` while it lasts.
    to: Option<String>,
    /// A time at which it had not begun; `null` if nobody looked before.
    began_after: Option<String>,
    /// A time at which it was not over.
    ended_after: Option<String>,
    detail: Option<&'a str>,
}

/// An event of the ensemble's time line, as a line of `lockscope watch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnsembleEventLine<'a> {
    at: Option<String>,
    event: &'static str,
    #[serde(flatten)]
    facts: EnsembleEventFacts<'a>,
}

impl<'a> EnsembleEventLine<'a> {
    /// The value of `event`.
    pub const EVENT: &'static str = "ensemble";

    /// Creates the line of an event that began or ended at `at`, as far as is known.
    pub fn new(event: &'a EnsembleEvent, at: Timestamp) -> Self {
        Self { at: rfc3339(at), event: Self::EVENT, facts: event.into() }
    }
}

impl<'a> EnsembleEventFacts<'a> {
    /// Creates an event from the bounds of its beginning and its end.
    pub fn new(what: EnsembleEventKind, (began, ended): (TimeBounds, Option<TimeBounds>)) -> Self {
        let looked = |at: Timestamp| Some(at).filter(|at| *at != BEFORE_THE_FIRST_LOOK).and_then(rfc3339);
        Self {
            what,
            member: None,
            epoch: None,
            from: rfc3339(began.before),
            to: ended.and_then(|ended| rfc3339(ended.before)),
            began_after: looked(began.after),
            ended_after: ended.and_then(|ended| looked(ended.after)),
            detail: None,
        }
    }

    /// Adds the epoch that began.
    #[must_use]
    pub fn with_epoch(self, epoch: Option<u32>) -> Self {
        Self { epoch, ..self }
    }

    /// Adds the member and what else is known.
    #[must_use]
    pub fn with_texts(self, member: Option<&'a str>, detail: Option<&'a str>) -> Self {
        Self { member, detail, ..self }
    }
}

impl<'a> From<&'a EnsembleEvent> for EnsembleEventFacts<'a> {
    fn from(event: &'a EnsembleEvent) -> Self {
        Self::new(event.what, (event.began, event.ended))
            .with_epoch(event.epoch)
            .with_texts(event.member.as_deref(), event.detail.as_deref())
    }
}

/// A member of the ensemble.
#[derive(Clone, Debug, Serialize)]
pub struct MemberFacts {
    /// The address, `host:port`.
    pub address: String,
    /// The server's role in its own word.
    mode: Option<&'static str>,
    /// The server's version, in its own words.
    version: Option<String>,
    /// The last transaction that the server had processed when it was asked.
    zxid: Option<i64>,
    /// How many transactions the server was behind the leader. The members are asked at slightly
    /// different times, so a busy ensemble shows a few. `None` across epochs.
    lag: Option<i64>,
    /// Whether the server answered a `sync` and the reads after it; `None` if its nodes were not
    /// read.
    pub synced: Option<bool>,
    /// The number of the ensemble's sessions, where the server lists them.
    sessions: Option<usize>,
    health: Option<Health>,
    /// What the server did not answer, and what to change there.
    pub error: Option<String>,
}

/// The members side by side, and the nodes in which they differ.
#[derive(Clone, Debug, Serialize)]
pub struct MembersFacts {
    schema: u32,
    /// The members of the connect string, then those that only the ensemble's config names.
    pub members: Vec<MemberFacts>,
    /// The nodes that a member has and most others have not, or the reverse.
    differences: Vec<DifferenceFacts>,
    /// What was compared.
    compared: Compared,
    /// Why no nodes were compared.
    not_compared_because: Option<String>,
    /// Whether all members answered, and none differs.
    agree: bool,
    /// The members of which that is not known: they did not answer, or their nodes were not read.
    not_compared: Vec<String>,
}

/// A node that a member has and most others have not, or the reverse.
#[derive(Clone, Debug, Serialize)]
struct DifferenceFacts {
    path: String,
    member: String,
    has: bool,
    czxid: Option<i64>,
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Compared {
    /// The number of nodes whose children were compared.
    parents: usize,
    /// The number of nodes that were left out, because there are too many.
    left_out: usize,
}

impl MembersFacts {
    /// Creates the facts from the servers' answers about themselves.
    pub fn new(view: &ServerView) -> Self {
        let leads = |member: &&MemberView| member.mode.is_some_and(ServerMode::keeps_sessions);
        let zxid_of = |member: &MemberView| member.extras.progress.and_then(|progress| progress.zxid);
        let newest = view.members.iter().filter_map(zxid_of).max();
        let leader = view.members.iter().find(leads).and_then(zxid_of).or(newest);
        let members = view.members.iter().map(|member| MemberFacts {
            address: member.address.clone(),
            mode: member.mode.map(ServerMode::name),
            version: member.version.clone(),
            zxid: zxid_of(member).map(|zxid| zxid.0),
            lag: leader.zip(zxid_of(member)).and_then(|(leader, zxid)| lag(leader, zxid)),
            synced: None,
            sessions: member.sessions.as_ref().map(|listing| listing.items().len()),
            health: member.health.clone(),
            error: member.error.clone(),
        });
        let facts = Self {
            schema: 1,
            members: members.collect(),
            differences: Vec::new(),
            compared: Compared::default(),
            not_compared_because: None,
            agree: false,
            not_compared: Vec::new(),
        };
        facts.judged()
    }

    /// Says which members were compared, and whether they agree.
    fn judged(mut self) -> Self {
        let is_sound = |member: &&MemberFacts| member.synced == Some(true) && member.mode.is_some();
        let unknown = self.members.iter().filter(|member| !is_sound(member));
        self.not_compared = unknown.map(|member| member.address.clone()).collect();
        self.agree =
            self.differences.is_empty() && !self.members.iter().any(has_other_digest) && self.not_compared.is_empty();
        self
    }

    /// Adds what the members' trees showed.
    #[must_use]
    pub fn with_comparison(mut self, comparison: &MemberComparison) -> Self {
        for read in &comparison.members {
            let Some(member) = self.members.iter_mut().find(|member| member.address == read.address) else { continue };
            member.synced = Some(read.error.is_none());
            if let Some(why) = &read.error {
                member.error.get_or_insert_with(|| format!("its nodes were not read: {why}"));
            }
        }
        let facts = |difference: &Difference| DifferenceFacts {
            path: difference.path.to_string(),
            member: difference.member.clone(),
            has: difference.has,
            czxid: difference.czxid.map(|czxid| czxid.0),
        };
        self.differences = comparison.differences.iter().map(facts).collect();
        self.compared = Compared { parents: comparison.parents, left_out: comparison.left_out };
        self.judged()
    }

    /// Says why no nodes were compared.
    #[must_use]
    pub fn without_comparison(self, why: &str) -> Self {
        Self { not_compared_because: Some(why.to_owned()), ..self }
    }

    /// Returns whether all members answered, and none differs.
    pub fn agree(&self) -> bool {
        self.agree
    }

    /// Writes the members as a table, and below it what is wrong, a line each.
    ///
    /// # Errors
    ///
    /// Returns the errors of `out`.
    pub fn write_table(&self, out: &mut impl Write) -> io::Result<()> {
        let mut rows = vec![HEADINGS.map(Cow::Borrowed)];
        rows.extend(self.members.iter().map(row));
        write!(out, "{}", columns(&rows, ALIGN))?;
        for member in &self.members {
            if has_other_digest(member) {
                writeln!(out, "{}: its data differ from the leader's: its digest did not match", member.address)?;
            }
            if let Some(error) = &member.error {
                writeln!(out, "{}: {}", member.address, escaped(error))?;
            }
        }
        for DifferenceFacts { path, member, has, czxid } in &self.differences {
            let what = if *has { "has a node that most others have not" } else { "lacks a node" };
            let czxid = czxid.map_or_else(String::new, |czxid| format!(", czxid {}", Zxid(czxid)));
            writeln!(out, "{member} {what}: {}{czxid}", escaped(path))?;
        }
        if let Some(why) = &self.not_compared_because {
            return writeln!(out, "the nodes were not compared: {}", escaped(why));
        }
        let Compared { parents, left_out } = self.compared;
        let same = if self.differences.is_empty() { "no difference in" } else { "compared" };
        write!(out, "{same} the children of {} nodes", count(parents))?;
        writeln!(out, "{}", if left_out > 0 { format!("; {} were left out", count(left_out)) } else { String::new() })?;
        if self.not_compared.is_empty() {
            return Ok(());
        }
        let (without, all) = (self.not_compared.len(), plural(self.members.len(), "member", "members"));
        writeln!(out, "{} of {all} could not be compared: {}", count(without), self.not_compared.join(", "))
    }
}

const HEADINGS: [&str; 10] =
    ["MEMBER", "MODE", "VERSION", "ZXID", "LAG", "SYNCED", "SESSIONS", "QUEUED", "LATENCY", "WRITE P99"];

const ALIGN: [Align; HEADINGS.len()] = [
    Align::Left,
    Align::Left,
    Align::Left,
    Align::Right,
    Align::Right,
    Align::Left,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
];

fn row(member: &MemberFacts) -> [Cow<'static, str>; HEADINGS.len()] {
    let dash = || "-".to_owned();
    let health = member.health.clone().unwrap_or_default();
    let version = member.version.as_deref().map(|version| version.split(['-', ',']).next().unwrap_or(version));
    let synced = member.synced.map_or("-", |synced| if synced { "yes" } else { "no" });
    [
        escaped(&member.address).to_string(),
        member.mode.unwrap_or("-").to_owned(),
        version.map_or_else(dash, |version| escaped(version).to_string()),
        member.zxid.map_or_else(dash, |zxid| format!("0x{zxid:x}")),
        member.lag.map_or_else(dash, |lag| lag.to_string()),
        synced.to_owned(),
        member.sessions.map_or_else(dash, |sessions| sessions.to_string()),
        health.outstanding.map_or_else(dash, |outstanding| outstanding.to_string()),
        health.latency_avg.map_or_else(dash, latency),
        health.write_p99.map_or_else(dash, latency),
    ]
    .map(Cow::Owned)
}

fn has_other_digest(member: &MemberFacts) -> bool {
    member.health.as_ref().and_then(|health| health.digest_mismatches).is_some_and(|mismatches| mismatches > 0)
}

/// Returns how many transactions one zxid is behind another of the same epoch.
fn lag(leader: Zxid, zxid: Zxid) -> Option<i64> {
    (leader.epoch() == zxid.epoch()).then(|| leader.0.saturating_sub(zxid.0).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_view::{MemberExtras, MemberProgress};
    use crate::testing::path;
    use lockscope_base::znode::Timestamp;

    fn addresses(connect: &str) -> (Vec<String>, String) {
        let ensemble = ReportedEnsemble::new(connect, None);
        (ensemble.servers.into_iter().map(|server| server.address).collect(), ensemble.chroot)
    }

    #[test]
    fn every_server_of_the_connect_string_is_listed_with_its_port() {
        for (connect, servers, chroot) in [
            ("zk1", &["zk1:2181"][..], "/"),
            ("zk1,zk2:2182/prod/a", &["zk1:2181", "zk2:2182"], "/prod/a"),
            ("tcp+tls://zk1:1,tcp://zk2/x", &["zk1:1", "zk2:2181"], "/x"),
            ("[::1]:2183,[fe80::1]", &["[::1]:2183", "[fe80::1]:2181"], "/"),
            ("zk1:", &["zk1:2181"], "/"),
            ("", &[], "/"),
            ("/only", &[], "/only"),
        ] {
            let servers = servers.iter().map(ToString::to_string).collect();
            assert_eq!(addresses(connect), (servers, chroot.to_owned()), "{connect}");
        }
    }

    #[test]
    fn a_password_in_the_connect_string_is_not_reported() {
        let ensemble = ReportedEnsemble::new("me:secret@zk1:2181,tcp://you:hidden@zk2/a@b", Some(SessionId(-1)));
        let json = serde_json::to_string(&ensemble).unwrap();
        assert!(!json.contains("secret") && !json.contains("hidden"), "{json}");
        assert_eq!(ensemble.connect, "zk1:2181,tcp://zk2/a@b");
        assert_eq!(ensemble.chroot, "/a@b");
        assert_eq!(ensemble.session.as_deref(), Some("0xffffffffffffffff"));
    }

    #[test]
    fn an_event_has_both_bounds_of_its_times_and_none_before_the_first_look() {
        let bounds = |after, before| TimeBounds::between(Timestamp(after), Timestamp(before));
        let began = bounds(0, 1_714_574_467_250);
        let event = EnsembleEvent::lasting(EnsembleEventKind::MemberMissing, Some("zk1:2181".into()), began);
        let facts = serde_json::to_value(EnsembleEventFacts::from(&event)).unwrap();
        let expected = serde_json::json!({
            "what": "member-missing", "member": "zk1:2181", "epoch": null, "from": "2024-05-01T14:41:07.250Z", "to": null,
            "began_after": null, "ended_after": null, "detail": null,
        });
        assert_eq!(facts, expected);
        let at = bounds(1_714_574_467_250, 1_714_574_467_251);
        let event = EnsembleEvent::moment(EnsembleEventKind::LeaderChanged, None, at).with_epoch(Some(7));
        let facts = serde_json::to_value(EnsembleEventFacts::from(&event)).unwrap();
        let names = ["from", "to", "began_after", "ended_after"].map(|name| facts[name].as_str().unwrap_or_default());
        assert_eq!(names.map(|time| &time[20..23]), ["251", "251", "250", "250"]);
        assert_eq!(facts["epoch"], 7);
    }

    fn member(address: &str, mode: ServerMode, zxid: i64) -> MemberView {
        MemberView {
            mode: Some(mode),
            version: Some("3.8.0-x, built".to_owned()),
            extras: MemberExtras {
                progress: Some(MemberProgress { asked_at: Timestamp(0), zxid: Some(Zxid(zxid)) }),
                ..MemberExtras::default()
            },
            health: Some(Health { outstanding: Some(3), ..Health::default() }),
            ..MemberView::unasked(address.to_owned())
        }
    }

    fn facts() -> MembersFacts {
        let members = vec![
            member("zk1:2181", ServerMode::Follower, 0x1_0000_0005),
            member("zk2:2181", ServerMode::Leader, 0x1_0000_0009),
            MemberView { error: Some("no answer\u{1b}".to_owned()), ..MemberView::unasked("zk3:2181".to_owned()) },
        ];
        let mut facts = MembersFacts::new(&ServerView { members, ..ServerView::default() });
        facts.members[0].synced = Some(true);
        facts
    }

    #[test]
    fn a_table_shows_each_member_and_below_it_what_is_wrong() {
        let differences = vec![
            Difference { path: path("/l/x"), member: "zk1:2181".to_owned(), has: true, czxid: Some(Zxid(7)) },
            Difference { path: path("/l/y"), member: "zk1:2181".to_owned(), has: false, czxid: None },
        ];
        let comparison =
            MemberComparison { at: Timestamp(0), members: Vec::new(), differences, parents: 12, left_out: 1 };
        let facts = facts().with_comparison(&comparison);
        let mut out = Vec::new();
        facts.write_table(&mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
        assert!(!facts.agree());
    }

    #[test]
    fn without_a_comparison_the_reason_takes_its_place() {
        let facts = facts().without_comparison("no session");
        let mut out = Vec::new();
        facts.write_table(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("zk2:2181") && text.ends_with("\nthe nodes were not compared: no session\n"), "{text}");
        assert!(!facts.agree());
    }

    #[test]
    fn members_agree_only_if_all_were_read_without_a_difference_and_with_one_digest() {
        let mut facts = facts();
        facts.members.truncate(2);
        facts.members[1].synced = Some(true);
        assert!(facts.clone().judged().agree());
        facts.members[0].health = Some(Health { digest_mismatches: Some(1), ..Health::default() });
        assert!(!facts.clone().judged().agree());
        facts.members[0].health = None;
        facts.members[1].synced = Some(false);
        let facts = facts.judged();
        assert_eq!((facts.agree(), &facts.not_compared[..]), (false, &["zk2:2181".to_owned()][..]));
    }
}
