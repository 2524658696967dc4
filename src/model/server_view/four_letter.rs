//! Reads the answers to four-letter words. Each function takes the text of an answer, which may be
//! truncated anywhere.
//!
//! A listing is whole if the answer has the end that servers write and every line was understood.

use std::time::Duration;

use chrono::NaiveDateTime;

use crate::server_view::listing::{ListedConnection, WatchingSessions, client_address};
use crate::server_view::monitor::MonitorFigure;
use crate::server_view::view::KEEPER;
use crate::server_view::{
    Connection, Expiry, ListedSession, Monitor, ServerLimits, ServerSettings, WatchTotals, WatchedPath,
};
use lockscope_base::znode::{SessionId, ZnodePath, Zxid};

#[cfg(test)]
mod cons_tests;

#[cfg(test)]
mod dump_tests;

#[cfg(test)]
mod watches_tests;

/// The unsorted items of a listing, and whether the listing is whole.
type Read<T> = (Vec<T>, bool);

/// Returns the lines that end with a line break.
fn whole_lines(answer: &str) -> std::str::Lines<'_> {
    answer.rfind('\n').map_or("", |end| &answer[..end]).lines()
}

/// Reads a session's id in the notation of four-letter words: `0x` and unsigned hex.
fn session(text: &str) -> Option<SessionId> {
    let digits = text.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok().map(|bits| SessionId(bits.cast_signed()))
}

/// Reads the number of a transaction or a request.
fn hex(text: &str) -> Option<i64> {
    session(text).map(|id| id.0)
}

/// The answer to `srvr`; `None` for missing values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Srvr {
    /// The server's version, in its own words.
    pub version: Option<String>,
    /// `leader`, `follower`, `observer`, `standalone` or `read-only`.
    pub mode: Option<String>,
    /// The number of connections, our own question included.
    pub connections: Option<u64>,
    /// The last transaction that the server processed.
    pub zxid: Option<Zxid>,
}

/// Reads the answer to `srvr`: lines of a name, a colon and a value.
pub fn srvr(answer: &str) -> Srvr {
    let mut found = Srvr::default();
    for (name, value) in whole_lines(answer).filter_map(|line| line.split_once(": ")) {
        let text = || value.trim().chars().take(200).collect();
        match name {
            "Zookeeper version" => found.version = Some(text()),
            "ClickHouse Keeper version" => found.version = Some(format!("{KEEPER} {}", text())),
            "Mode" => found.mode = Some(text()),
            "Zxid" => found.zxid = hex(value.trim()).filter(|zxid| *zxid >= 0).map(Zxid),
            "Connections" => found.connections = value.trim().parse().ok(),
            _ => {}
        }
    }
    found
}

/// Reads the answer to `conf`: lines of a name, `=` and a value. `None` unless it contains both
/// settings.
pub fn conf(answer: &str) -> Option<ServerSettings> {
    let millis = |name: &str| {
        let value = whole_lines(answer).find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        value.trim().parse().ok().map(Duration::from_millis)
    };
    ServerSettings::new(millis("tickTime")?, millis("minSessionTimeout")?)
}

/// Reads the limits for clients in the answer to `conf`.
pub fn limits(answer: &str) -> ServerLimits {
    let settings = whole_lines(answer).filter_map(|line| line.split_once('='));
    ServerLimits::collect(settings.filter_map(|(name, value)| Some((name, value.trim().parse().ok()?))))
}

/// The answer to `cons`: the connections on the port that was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// The connections with a session.
    pub with_session: Vec<Connection>,
    /// The client addresses of connections without a session, our own question included.
    pub without_session: Vec<String>,
    /// Whether the answer is complete and each line was understood. Connections on other ports are
    /// not covered.
    pub whole: bool,
}

/// Reads the answer to `cons`: a line for each connection, and an empty line at the end.
pub fn cons(answer: &str) -> Connections {
    let mut found = Connections { whole: answer == "\n" || answer.ends_with("\n\n"), ..Connections::default() };
    for line in whole_lines(answer).filter(|line| !line.is_empty()) {
        match connection(line) {
            Some(CommandLine::WithSession(connection)) => found.with_session.push(connection),
            Some(CommandLine::WithoutSession(client)) => found.without_session.push(client),
            None => found.whole = false,
        }
    }
    found
}

enum CommandLine {
    WithSession(Connection),
    WithoutSession(String),
}

/// Reads a line, which starts with a space:
/// `/127.0.0.1:40086[1](queued=0,recved=4,sent=4,sid=0x10,lop=GETD,est=…,to=30000,lcxid=0x3,…)`.
/// The line of a connection without a session ends after `sent`.
fn connection(line: &str) -> Option<CommandLine> {
    // `ClickHouse` Keeper leaves out the interest in brackets.
    let (address, fields) = line.strip_suffix(')')?.split_once('(')?;
    let address = address.trim_start();
    let address = match address.strip_suffix(']') {
        Some(with_interest) => with_interest.rsplit_once('[')?.0,
        None => address,
    };
    let field = |name: &str| fields.split(',').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    let (received, sent) = (field("recved")?.parse().ok()?, field("sent")?.parse().ok()?);
    let client = client_address(address);
    let session = field("sid").map(session);
    // Keeper writes -1 for a connection without a session.
    let is_one = |id: SessionId| ![0, -1].contains(&id.0);
    let Some(session) = session.filter(|session| session.is_none_or(is_one)) else {
        return Some(CommandLine::WithoutSession(client));
    };
    let session = session?;
    let listed = ListedConnection {
        session,
        client,
        timeout_ms: field("to").and_then(|text| text.parse().ok()),
        established: field("est").and_then(|text| text.parse().ok()),
        last_operation: field("lop").map(str::to_owned),
        last_cxid: field("lcxid").and_then(hex),
        last_zxid: field("lzxid").and_then(hex),
        last_response: field("lresp").and_then(|text| text.parse().ok()),
        received,
        sent,
    };
    Some(CommandLine::WithSession(listed.into()))
}

/// The beginning of the line before the sessions and their expiry times.
const SETS: &str = "Session Sets (";

/// The beginning of the line before the sessions and their ephemeral nodes.
const EPHEMERALS: &str = "Sessions with Ephemerals";

/// Reads the sessions in the answer to `dump` of a leader or standalone server.
///
/// The answer contains `4 expire at DATE:`, followed by a line with a tab for each session. `None`
/// for a follower, which does not know when sessions expire.
pub fn dump(answer: &str) -> Option<Read<ListedSession>> {
    let mut lines = whole_lines(answer).skip_while(|line| !line.starts_with(SETS));
    // `Session Sets (2)/(4):` contains the number of times and the number of sessions.
    let promised = lines.next()?.strip_suffix("):")?.rsplit_once('(')?.1.parse::<usize>().ok()?;
    let (mut found, mut understood) = (Vec::new(), true);
    let mut expiry = None;
    for line in lines {
        if line.starts_with("ephemeral nodes dump") {
            break;
        } else if let Some(text) = line.strip_prefix('\t') {
            match (session(text), &expiry) {
                (Some(id), Some(expiry)) => found.push(ListedSession { id, expiry: *expiry, expires_at: None }),
                _ => understood = false,
            }
        } else if let Some((_, date)) = line.split_once(" expire at ") {
            expiry = date.strip_suffix(':').and_then(java_date);
        } else {
            understood = false;
        }
    }
    let whole = understood && found.len() == promised;
    Some((found, whole))
}

/// Reads the sessions with ephemeral nodes in the answer to `dump`, each with the absolute path of a
/// node. A path that begins like a session's line is not told from one.
pub fn ephemerals(answer: &str) -> impl Iterator<Item = (SessionId, &str)> {
    let lines = whole_lines(answer).skip_while(|line| !line.starts_with(EPHEMERALS)).skip(1);
    let lines = lines.take_while(|line| *line != "Connections dump:");
    let mut owner = None;
    // `ClickHouse` Keeper writes a space before a path, and no colon behind a session.
    lines.filter_map(move |line| {
        if let Some(path) = line.strip_prefix(['\t', ' ']) {
            return Some((owner?, path));
        }
        owner = session(line.trim_end_matches(':'));
        None
    })
}

/// Reads Java's text of a date, `Sat Nov 21 07:57:28 UTC 2026`. Names of time zones are ambiguous,
/// so only the differences between such dates are meaningful, except in UTC.
fn java_date(text: &str) -> Option<Expiry> {
    let mut parts = text.split_ascii_whitespace();
    let (_day, month, day, time) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let (zone, year) = match (parts.next()?, parts.next()) {
        (zone, Some(year)) => (zone, year),
        (year, None) => ("", year),
    };
    let date = NaiveDateTime::parse_from_str(&format!("{year} {month} {day} {time}"), "%Y %b %d %H:%M:%S").ok()?;
    Some(Expiry::Date { millis: date.and_utc().timestamp_millis(), utc: matches!(zone, "UTC" | "GMT" | "Z") })
}

/// Reads the answer to `wchp` in pieces as they arrive.
///
/// The answer contains each path, followed by a line with a tab for each session that watches it,
/// and ends with an empty line. It may have tens of megabytes, so the reader never keeps the text.
#[derive(Debug, Default)]
pub struct WatchedPathsReader {
    found: Vec<WatchedPath>,
    open: Option<(ZnodePath, WatchingSessions)>,
    /// The last line, which is not complete yet.
    line: Vec<u8>,
    misunderstood: bool,
    /// Whether the last line was empty.
    ended: bool,
}

impl WatchedPathsReader {
    /// Takes the next piece of the answer, of any length.
    pub fn push(&mut self, part: &[u8]) {
        for piece in part.split_inclusive(|byte| *byte == b'\n') {
            let Some(end) = piece.strip_suffix(b"\n") else {
                self.line.extend_from_slice(piece);
                continue;
            };
            if self.line.is_empty() {
                self.push_line(&String::from_utf8_lossy(end));
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(end);
                self.push_line(&String::from_utf8_lossy(&line));
                line.clear();
                self.line = line;
            }
        }
    }

    fn push_line(&mut self, line: &str) {
        self.ended = line.is_empty();
        if self.ended {
            return;
        }
        match (line.strip_prefix('\t').map(session), &mut self.open) {
            (Some(Some(session)), Some((_, sessions))) => sessions.push(session),
            (Some(_), _) => self.misunderstood = true,
            (None, _) => {
                self.close();
                self.open = ZnodePath::new(line).ok().map(|path| (path, WatchingSessions::new()));
                self.misunderstood |= self.open.is_none();
            }
        }
    }

    fn close(&mut self) {
        self.found.extend(self.open.take().map(|(path, sessions)| WatchedPath::new(path, sessions)));
    }

    /// Returns the listing. It is whole if the answer is complete and each line was understood.
    pub fn end(mut self) -> Read<WatchedPath> {
        self.close();
        (self.found, self.ended && !self.misunderstood && self.line.is_empty())
    }
}

/// Reads the answer to `wchs`: `3 connections watching 4 paths`, `Total watches:4`.
pub fn wchs(answer: &str) -> Option<WatchTotals> {
    let mut lines = whole_lines(answer);
    let (connections, paths) = lines.next()?.split_once(" connections watching ")?;
    let watches = lines.next()?.strip_prefix("Total watches:")?;
    Some(WatchTotals {
        connections: connections.trim().parse().ok()?,
        paths: paths.strip_suffix(" paths")?.parse().ok()?,
        watches: watches.trim().parse().ok()?,
    })
}

/// Reads the answer to `mntr`: lines of a name, a tab and a value.
///
/// Unknown lines are ignored. A last line without its end is ignored too, since it may contain half
/// a number.
pub fn mntr(answer: &str) -> Monitor {
    let figures = whole_lines(answer).filter_map(|line| {
        let (name, value) = line.split_once('\t')?;
        let value = value.trim();
        // Limits texts to 200 characters: a server's version is no longer than a line.
        let text = Some(value.chars().take(200).collect());
        Some((
            name.strip_prefix("zk_")?,
            MonitorFigure { text, number: value.parse().ok(), decimal: value.parse().ok() },
        ))
    });
    Monitor::collect(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_view::WatchEventTotals;

    #[test]
    fn a_real_answer_contains_version_mode_and_counts() {
        let found = srvr(include_str!("captures/leader-srvr.txt"));
        assert_eq!(found.mode.as_deref(), Some("leader"));
        assert!(found.version.expect("a version").starts_with("3.8.0"));
        let follower = srvr(include_str!("captures/follower-srvr.txt"));
        assert_eq!((follower.mode.as_deref(), follower.zxid), (Some("follower"), Some(Zxid(0x1_0000_0023))));
    }

    const REAL: &str = include_str!("captures/standalone-conf.txt");

    #[test]
    fn a_real_answer_contains_the_shortest_session_timeout() {
        let found = conf(REAL).expect("its settings");
        assert_eq!(found.min_session_timeout(), Duration::from_millis(1_500));
        assert_eq!(found.tick(), Duration::from_millis(500));
    }

    #[test]
    fn a_missing_or_truncated_line_is_no_setting() {
        for answer in ["", "conf is not executed because it is not in the whitelist.\n", "tickTime=500\n"] {
            assert_eq!(conf(answer), None, "{answer}");
        }
        let end =
            REAL.find("minSessionTimeout=").expect("the answer contains the setting") + "minSessionTimeout=1500".len();
        assert_eq!(conf(&REAL[..end]), None, "the number may have gone on");
        assert_eq!(conf("tickTime=0\nminSessionTimeout=1\n"), None);
        assert_eq!(conf("tickTime=99999999999999999999\nminSessionTimeout=-1\n"), None);
    }

    const ANSWER: &str = "zk_version\t3.8.0-x, built on 2024-12-29 17:54 UTC\nzk_server_state\tleader\n\
        zk_watch_count\t7\nzk_num_alive_connections\t3\nzk_cnt_node_children_watch_count\t2\n\
        zk_sum_node_created_watch_count\t1\nzk_sum_node_deleted_watch_count\t2\n\
        zk_sum_node_changed_watch_count\t3\nzk_sum_node_children_watch_count\t4\n";

    #[test]
    fn the_totals_of_watch_events_are_the_sums() {
        let monitor = mntr(ANSWER);
        assert_eq!(monitor.fired, Some(WatchEventTotals { created: 1, deleted: 2, changed: 3, children: 4 }));
        assert_eq!((monitor.watches, monitor.connections), (Some(7), Some(3)));
        assert_eq!(monitor.state.as_deref(), Some("leader"));
    }

    #[test]
    fn a_number_that_may_be_truncated_does_not_count() {
        let cut = ANSWER.trim_end();
        assert_eq!(mntr(cut).fired, None);
        assert_eq!(mntr(cut).watches, Some(7));
    }

    #[test]
    fn a_real_answer_contains_the_figures() {
        let monitor = mntr(include_str!("captures/standalone-mntr.txt"));
        assert_eq!(monitor.fired, Some(WatchEventTotals::default()));
        assert_eq!((monitor.watches, monitor.connections), (Some(6), Some(5)));
        assert_eq!(monitor.state.as_deref(), Some("standalone"));
    }
}
