//! Names the client behind a session. Screens, sentences and JSON all use the rule in this file.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Contender;
use crate::text::human::duration;
use crate::text::{Charset, Keep, fit, session, width};
use lockscope_base::recipe::{Recipe, name_matches};
use lockscope_base::trace_context::TraceContext;
use lockscope_base::znode::{SessionId, Timestamp, escaped, must_be_escaped};

/// Maximum length of a name, in bytes. Longer data is not taken for a name.
const MAX_NAME_LENGTH: usize = 64;

/// Before a name that a command of the user gave: no name in data begins with it.
pub(super) const GIVEN_MARK: char = '*';

/// Words that tell a node's state: `DistributedLock` for C# writes `ACQUIRED` into the node of every
/// holder.
const MARKERS: [&str; 7] = ["acquired", "released", "locked", "unlocked", "lock", "waiting", "held"];

/// A name with this many hexadecimal digits, and nothing else, is a random id.
const MIN_ID_LENGTH: usize = 16;

/// Columns for a session id that follows a name or an address.
const SHORT_SESSION: usize = 9;

/// Separator between the parts of an identity in a table.
const GAP: &str = "  ";

/// The identity of a client, as far as its node and the servers reveal it. The fields are in order
/// of how much they tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClientIdentity {
    /// The name that the client wrote into its node; `None` when the data is no name.
    pub name: Option<Arc<str>>,
    /// The name that a command of the user gave to the client. It begins with `*`, as no other name
    /// does. Recordings have it in the sentences of findings only.
    #[serde(skip)]
    pub given: Option<Arc<str>>,
    /// The client's address, `ADDRESS:PORT`, as a server lists its connection now or listed it
    /// last.
    ///
    /// `None` where no server reported it. While that server does not answer, the connection counts
    /// as listed, since it may still exist.
    pub address: Option<Arc<str>>,
    /// When the connection was last listed, by this machine's clock. `None` while it is listed, and
    /// when there is no address.
    pub last_listed: Option<Timestamp>,
    /// The client's session; `None` when no session owns the node, or when the node was not read.
    pub session: Option<SessionId>,
    /// Whether the node was not [read](Contender::is_read), so that no other field can be known.
    pub unread: bool,
}

/// A name that the user's settings give to the client of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedAddress {
    host: String,
    name: Arc<str>,
}

impl NamedAddress {
    /// Names the client of a host, in which each `*` stands for any part. `None` where the name is
    /// empty, or has invisible characters.
    pub fn new(host: &str, name: &str) -> Option<Self> {
        let name = ClientIdentity::name_in_output(name.as_bytes())?;
        Some(Self { host: host.to_owned(), name: format!("{GIVEN_MARK}{name}").into() })
    }

    /// Returns the name, with its mark, if the client has this address.
    pub(super) fn name_of(&self, address: &str) -> Option<&Arc<str>> {
        name_matches(&self.host, host_of(address)).then_some(&self.name)
    }
}

impl ClientIdentity {
    /// Returns the data of a node if it is a name: one short word of printable characters, such as
    /// a host, a pod or `worker-3`, without a trace context. JSON, numbers and random ids are no
    /// names.
    pub fn name_in(data: &[u8]) -> Option<&str> {
        let name = std::str::from_utf8(TraceContext::left_out(data)).ok()?.trim();
        let is_mark = |char| matches!(char, '-' | '_' | '.' | ':' | '/' | '@' | '#' | '+' | '[' | ']');
        let is_part = |char: char| char.is_alphanumeric() || is_mark(char);
        let begins = name.starts_with(|first: char| first.is_alphanumeric() || first == '[');
        if name.len() > MAX_NAME_LENGTH || !begins || !name.chars().all(is_part) {
            return None;
        }
        let is_address = name.contains(['.', ':']) && name.contains(|char: char| char.is_ascii_digit());
        let digits = name.bytes().filter(u8::is_ascii_hexdigit).count();
        let is_id =
            digits >= MIN_ID_LENGTH && name.bytes().all(|byte| byte.is_ascii_hexdigit() || b"-x".contains(&byte));
        let is_value = ["true", "false", "null"].contains(&name);
        let is_marker = MARKERS.iter().any(|marker| name.eq_ignore_ascii_case(marker));
        let is_word = name.contains(char::is_alphabetic) && !is_id && !is_value && !is_marker;
        (is_word || is_address && !is_id).then_some(name)
    }

    /// Returns the name in a line of a program's output: the line itself without blanks around it, cut
    /// where it is long. `None` where it is empty, or has control or invisible characters.
    pub fn name_in_output(line: &[u8]) -> Option<&str> {
        let line = std::str::from_utf8(line).ok()?.trim();
        let end = (0..=line.len().min(MAX_NAME_LENGTH)).rfind(|end| line.is_char_boundary(*end))?;
        let name = line[..end].trim_end();
        let is_safe = !name.chars().any(|letter| letter != '\\' && must_be_escaped(letter));
        (!name.is_empty() && is_safe).then_some(name)
    }

    /// Returns the name in the data of a recipe's node: at the recipe's key, if the data is JSON that
    /// has it, or else the data itself.
    pub fn name_by(recipe: Recipe, data: &[u8]) -> Option<String> {
        let at_key = |key: &str| {
            // Data that was cut is no JSON any more.
            let all: serde_json::Value = serde_json::from_slice(TraceContext::left_out(data)).ok()?;
            let name = key.split('.').try_fold(&all, |inside, key| inside.get(key))?.as_str()?;
            Self::name_in(name.as_bytes()).map(str::to_owned)
        };
        recipe.name_from().and_then(at_key).or_else(|| Self::name_in(data).map(str::to_owned))
    }

    /// Returns the identity as far as the contender's node reveals it.
    pub(super) fn of_node(contender: &Contender) -> Self {
        let name = Self::name_in(contender.data.bytes()).map(Arc::from);
        Self { name, session: contender.session(), unread: !contender.is_read(), ..Self::default() }
    }

    /// Returns the identity for a sentence: `worker-3 (10.0.4.17:51586)`, `10.0.4.17:51586` or
    /// `session 0x1b`.
    ///
    /// A client that is no longer connected is `worker-3 (was 10.0.4.17:51586 until 12s ago)`.
    pub fn in_sentence(&self, now: Timestamp) -> String {
        let session = || self.session.map_or_else(|| self.nobody().to_owned(), |session| format!("session {session}"));
        let address = self.address.as_deref().map(escaped);
        let was = self.last_listed.map(|at| format!("until {} ago", duration(now.since(at))));
        match (self.shown_name().map(escaped), address, was) {
            (Some(name), Some(address), None) => format!("{name} ({address})"),
            (Some(name), Some(address), Some(until)) => format!("{name} (was {address} {until})"),
            (Some(name), None, _) => format!("{name} ({})", session()),
            (None, Some(address), None) => address.to_string(),
            (None, Some(address), Some(until)) => format!("{} (was {address} {until})", session()),
            (None, None, _) => session(),
        }
    }

    /// Returns the text after a node's name in a sentence, ` of worker-3 (10.0.4.17:51586)`, or an
    /// empty string when the client is unknown.
    pub fn behind_node(&self, now: Timestamp) -> String {
        let nobody = Self { unread: self.unread, ..Self::default() };
        if *self == nobody { String::new() } else { format!(" of {}", self.in_sentence(now)) }
    }

    /// Returns the identity for a line that already shows the session: `worker-3
    /// (10.0.4.17:51586)`, `worker-3` or `was 10.0.4.17:51586 until 21:18:12`.
    ///
    /// Returns `None` when only the session is known. `time` formats a time.
    pub fn beside_session(&self, time: impl Fn(Timestamp) -> String) -> Option<String> {
        let address = self.address.as_deref().map(|address| match self.last_listed {
            None => escaped(address).to_string(),
            Some(until) => format!("was {} until {}", escaped(address), time(until)),
        });
        match (self.shown_name().map(escaped), address) {
            (Some(name), Some(address)) => Some(format!("{name} ({address})")),
            (Some(name), None) => Some(name.to_string()),
            (None, address) => address,
        }
    }

    /// Returns the text in place of an unknown session.
    fn nobody(&self) -> &'static str {
        if self.unread { "not read yet" } else { "no session" }
    }

    /// Returns the identity for a table cell of `columns` columns.
    ///
    /// Parts that do not fit are dropped, the least telling first. A part that is cut keeps its
    /// end, since the ends of names and addresses tell instances apart. `was` precedes a former
    /// address if it fits.
    pub fn fit(&self, columns: usize, charset: Charset) -> String {
        let id = |columns: usize| self.session.map(|id| session(id, columns, charset));
        let address = self.address.as_deref().map(|address| match self.last_listed {
            Some(_) if "was ".len() + width(address) <= columns => format!("was {address}"),
            _ => address.to_owned(),
        });
        let mut parts = self.shown_name().map(str::to_owned).into_iter().chain(address);
        let Some(first) = parts.next() else {
            return id(columns.min(18)).unwrap_or_else(|| fit(self.nobody(), columns, Keep::Start, charset));
        };
        let mut shown = match first.strip_prefix(GIVEN_MARK) {
            // A name that is cut keeps its mark, too.
            Some(rest) if columns > 1 => format!("{GIVEN_MARK}{}", fit(rest, columns - 1, Keep::End, charset)),
            _ => fit(&first, columns, Keep::End, charset),
        };
        for part in parts.chain(id(SHORT_SESSION)) {
            let part = fit(&part, MAX_NAME_LENGTH, Keep::End, charset);
            if width(&shown) + GAP.len() + width(&part) > columns {
                break;
            }
            shown = shown + GAP + &part;
        }
        shown
    }

    /// Returns the columns of the most telling part, the name or else the address; 0 where only the
    /// session is known, which can be shortened.
    pub fn columns_of_first(&self) -> usize {
        let first = self.shown_name().or(self.address.as_deref());
        first.map_or(0, |first| width(&escaped(first)))
    }

    /// Returns the address without its port.
    pub fn host(&self) -> Option<&str> {
        self.address.as_deref().map(host_of)
    }

    /// Returns the name unless it is an IP address, which all clients of that machine may share.
    pub fn name_of_one_client(&self) -> Option<&str> {
        self.name.as_deref().filter(|name| name.parse::<std::net::IpAddr>().is_err())
    }

    /// Returns the name that the user gave, or else the [telling](Self::telling_name) one.
    pub fn shown_name(&self) -> Option<&str> {
        self.given.as_deref().or_else(|| self.telling_name())
    }

    /// Returns the name unless the address tells more.
    ///
    /// Curator writes the address of its machine into its nodes, and all clients there share it.
    pub fn telling_name(&self) -> Option<&str> {
        let name = self.name.as_deref()?;
        let is_address = self.name_of_one_client().is_none() || self.address.as_deref() == Some(name);
        (self.address.is_none() || !is_address).then_some(name)
    }
}

/// Returns an address without its port.
pub fn host_of(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn client(name: &str, address: &str, last_listed: Option<i64>) -> ClientIdentity {
        let some = |text: &str| (!text.is_empty()).then(|| Arc::from(text));
        ClientIdentity {
            name: some(name),
            given: None,
            address: some(address),
            last_listed: last_listed.map(Timestamp),
            session: Some(SessionId(0x0100_0000_0000_001b)),
            unread: false,
        }
    }

    #[test]
    fn data_that_looks_like_a_name_names_somebody() {
        for name in [
            "worker-3",
            "host-0:worker",
            "billing-7d9f5b6c4-x2xkl",
            "db1.eu.example.com",
            "10.0.4.17",
            "10.0.4.17:51586",
            "[::1]:7",
            "4711@host",
            "Größe",
        ] {
            assert_eq!(ClientIdentity::name_in(name.as_bytes()), Some(name));
        }
        assert_eq!(ClientIdentity::name_in(b" worker-3\n"), Some("worker-3"));
    }

    #[test]
    fn a_name_that_the_user_gave_comes_first_and_its_mark_cannot_be_forged() {
        let name = |line: &[u8]| ClientIdentity::name_in_output(line).map(str::to_owned);
        assert_eq!(name(b"  pod/billing-7c9 \r").as_deref(), Some("pod/billing-7c9"));
        assert_eq!(name("ö".repeat(40).as_bytes()).map(|name| name.len()), Some(64));
        for none in [b"" as &[u8], b" ", b"a\x1b[2J", b"\xff", "a\u{202e}b".as_bytes()] {
            assert_eq!(name(none), None, "{none:?}");
        }
        let named = ClientIdentity { given: Some("*pod/a".into()), ..client("worker-3", "10.0.4.17:51586", None) };
        assert_eq!(named.in_sentence(NOW), "*pod/a (10.0.4.17:51586)");
        assert_eq!(named.fit(12, Charset::Unicode), "*pod/a");
        assert_eq!(named.fit(5, Charset::Unicode), "*…d/a");
        assert_eq!(named.name_of_one_client(), Some("worker-3"), "what joins clients is what they say");
        assert_eq!(ClientIdentity::name_in(b"*pod/a"), None);
    }

    #[test]
    fn data_of_other_kinds_names_nobody() {
        let long = "x".repeat(65);
        for data in [
            "",
            " ",
            "0",
            "42",
            "1714574467250",
            "true",
            "null",
            "ACQUIRED",
            "lock",
            "__REVOKE__",
            "{\"host\":\"a\"}",
            "[\"a\"]",
            "a b c",
            "a\u{1b}[2J",
            "d83b7d22-9b4b-4ccf-973c-09c524b9be5d",
            "0x10000a1b2c3d001b",
            &long,
        ] {
            assert_eq!(ClientIdentity::name_in(data.as_bytes()), None, "{data}");
        }
        assert_eq!(ClientIdentity::name_in(b"\xac\xed\0\x05"), None);
    }

    #[test]
    fn a_sentence_names_the_most_telling_first() {
        let said = |name, address, until| client(name, address, until).in_sentence(NOW);
        assert_eq!(said("worker-3", "10.0.4.17:51586", None), "worker-3 (10.0.4.17:51586)");
        assert_eq!(said("worker-3", "", None), "worker-3 (session 0x10000000000001b)");
        assert_eq!(said("", "10.0.4.17:51586", None), "10.0.4.17:51586");
        assert_eq!(said("", "", None), "session 0x10000000000001b");
        assert_eq!(said("10.0.4.17", "10.0.4.17:51586", None), "10.0.4.17:51586", "it is not said twice");
        assert_eq!(said("192.168.0.3", "10.0.4.17:51586", None), "10.0.4.17:51586");
        assert_eq!(said("worker-3", "10.0.4.17:51586", Some(988_000)), "worker-3 (was 10.0.4.17:51586 until 12s ago)");
        assert_eq!(
            said("", "10.0.4.17:51586", Some(988_000)),
            "session 0x10000000000001b (was 10.0.4.17:51586 until 12s ago)"
        );
        let ownerless = ClientIdentity { session: None, ..client("worker-3", "", None) };
        assert_eq!(ownerless.in_sentence(NOW), "worker-3 (no session)");
        assert_eq!(client("worker-3", "", None).behind_node(NOW), " of worker-3 (session 0x10000000000001b)");
        assert_eq!(ClientIdentity::default().behind_node(NOW), "");
    }

    #[test]
    fn beside_the_session_the_session_is_not_repeated() {
        let said = |name, address, until| client(name, address, until).beside_session(|at| at.0.to_string());
        assert_eq!(said("worker-3", "10.0.4.17:51586", None).as_deref(), Some("worker-3 (10.0.4.17:51586)"));
        assert_eq!(said("worker-3", "", None).as_deref(), Some("worker-3"));
        assert_eq!(said("", "10.0.4.17:51586", Some(7)).as_deref(), Some("was 10.0.4.17:51586 until 7"));
        assert_eq!(
            said("worker-3", "10.0.4.17:51586", Some(7)).as_deref(),
            Some("worker-3 (was 10.0.4.17:51586 until 7)")
        );
        assert_eq!(said("", "", None), None);
    }

    #[test]
    fn in_a_table_the_least_telling_part_is_dropped_and_a_cut_keeps_the_end() {
        let fit = |name, address, until, columns| client(name, address, until).fit(columns, Charset::Unicode);
        let named = |columns| fit("billing-worker-3", "10.0.4.17:51586", None, columns);
        assert_eq!(named(44), "billing-worker-3  10.0.4.17:51586  0x1…0001b");
        assert_eq!(named(43), "billing-worker-3  10.0.4.17:51586");
        assert_eq!(named(32), "billing-worker-3");
        assert_eq!(named(9), "…worker-3");
        assert_eq!(fit("", "10.0.4.17:51586", None, 26), "10.0.4.17:51586  0x1…0001b");
        assert_eq!(fit("", "10.0.4.17:51586", None, 12), "…4.17:51586".replace('…', "…."));
        assert_eq!(fit("", "10.0.4.17:51586", Some(1), 25), "was 10.0.4.17:51586");
        assert_eq!(fit("", "10.0.4.17:51586", Some(1), 17), "10.0.4.17:51586");
        assert_eq!(fit("", "", None, 30), "0x10000000000001b");
        assert_eq!(ClientIdentity::default().fit(15, Charset::Unicode), "no session");
    }
}
