//! One node and its children, as `lockscope tree` prints them.

use std::io;
use std::time::Duration;

use serde::Serialize;

use super::contender::{encode, millis};
use super::{SCHEMA, rfc3339};
use crate::text::human::{bytes, duration, plural};
use crate::text::{Align, columns};
use lockscope_base::znode::{Timestamp, ZnodePath, ZnodeStat, escaped};

/// A node and those of its children that were read.
#[derive(Debug, Serialize)]
pub struct TreeFacts<'a> {
    schema: u32,
    path: &'a ZnodePath,
    stat: StatFacts,
    data: std::borrow::Cow<'a, str>,
    data_encoding: &'static str,
    /// Whether `data` is only the beginning.
    data_truncated: bool,
    children: Vec<ChildFacts>,
    /// The number of children beyond those that were to be read.
    left_out: usize,
    #[serde(skip)]
    age: Duration,
}

/// The stat of a node.
#[derive(Debug, Serialize)]
struct StatFacts {
    czxid: i64,
    mzxid: i64,
    pzxid: i64,
    /// `null` for the nodes that a server makes itself, as `modified_at`.
    created_at: Option<String>,
    modified_at: Option<String>,
    version: i32,
    cversion: i32,
    aversion: i32,
    owner: Option<String>,
    data_length: i32,
    children: i32,
}

/// One child.
#[derive(Debug, Serialize)]
pub struct ChildFacts {
    name: String,
    /// The number of its own children.
    children: i32,
    owner: Option<String>,
    /// `null` for the nodes that a server makes itself: they have no time.
    age_ms: Option<u64>,
    data_length: i32,
}

impl ChildFacts {
    /// Creates the facts of a child that was read at `now`.
    pub fn new(name: String, stat: &ZnodeStat, now: Timestamp) -> Self {
        let owner = stat.ephemeral_owner.map(|session| session.to_string());
        let age_ms = (stat.ctime.0 > 0).then(|| millis(now.since(stat.ctime)));
        Self { name, children: stat.num_children, owner, age_ms, data_length: stat.data_length }
    }

    fn cells(&self) -> [String; HEADINGS.len()] {
        [
            escaped(&self.name).into_owned(),
            self.children.to_string(),
            self.owner.clone().unwrap_or_else(|| "-".to_owned()),
            self.age_ms.map_or_else(|| "?".to_owned(), |age| duration(Duration::from_millis(age))),
            bytes(u64::try_from(self.data_length).unwrap_or_default()),
        ]
    }
}

const HEADINGS: [&str; 5] = ["NAME", "CHILDREN", "OWNER", "AGE", "DATA"];

const ALIGN: [Align; HEADINGS.len()] = [Align::Left, Align::Right, Align::Left, Align::Right, Align::Right];

/// The most characters of the data in the table.
const MAX_SHOWN_DATA: usize = 200;

impl<'a> TreeFacts<'a> {
    /// Creates the facts of a node. `data` is its beginning at least.
    pub fn new(path: &'a ZnodePath, stat: &ZnodeStat, data: &'a [u8], now: Timestamp) -> Self {
        let data_truncated = usize::try_from(stat.data_length).is_ok_and(|all| all > data.len());
        let (data, data_encoding) = encode(data, data_truncated);
        let told = |at: Timestamp| rfc3339(at).filter(|_| at.0 > 0);
        let stat_facts = StatFacts {
            czxid: stat.czxid.0,
            mzxid: stat.mzxid.0,
            pzxid: stat.pzxid.0,
            created_at: told(stat.ctime),
            modified_at: told(stat.mtime),
            version: stat.version,
            cversion: stat.cversion,
            aversion: stat.aversion,
            owner: stat.ephemeral_owner.map(|session| session.to_string()),
            data_length: stat.data_length,
            children: stat.num_children,
        };
        let age = now.since(stat.ctime);
        let (children, left_out) = (Vec::new(), 0);
        Self { schema: SCHEMA, path, stat: stat_facts, data, data_encoding, data_truncated, children, left_out, age }
    }

    /// Adds the children, and the number of those that were left out.
    #[must_use]
    pub fn with_children(self, children: Vec<ChildFacts>, left_out: usize) -> Self {
        Self { children, left_out, ..self }
    }

    /// Writes the node in a few lines, and a line for each child.
    ///
    /// # Errors
    ///
    /// Returns the errors of `out`.
    pub fn write_table(&self, out: &mut impl io::Write) -> io::Result<()> {
        let owner = self.stat.owner.as_ref().map_or("no owner".to_owned(), |owner| format!("owner {owner}"));
        let age = self.stat.created_at.as_ref().map_or("?".to_owned(), |_| duration(self.age));
        let length = bytes(u64::try_from(self.stat.data_length).unwrap_or_default());
        writeln!(out, "{}  {owner}, {age} old, {length} of data", escaped(self.path.as_str()))?;
        if !self.data.is_empty() {
            let mut shown: String = self.data.chars().take(MAX_SHOWN_DATA).collect();
            if shown.len() < self.data.len() || self.data_truncated {
                shown.push('…');
            }
            let encoding = if self.data_encoding == "utf8" { "" } else { "base64: " };
            writeln!(out, "Data: {encoding}{}", escaped(&shown))?;
        }
        if self.children.is_empty() && self.left_out == 0 {
            return writeln!(out, "No children.");
        }
        let mut rows = vec![HEADINGS.map(str::to_owned)];
        rows.extend(self.children.iter().map(ChildFacts::cells));
        write!(out, "{}", columns(&rows, ALIGN))?;
        match self.left_out {
            0 => Ok(()),
            left => writeln!(out, "Left out: {}. --limit reads more.", plural(left, "child", "children")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::json;
    use lockscope_base::znode::{SessionId, Zxid};

    const NOW: Timestamp = Timestamp(1_714_574_467_250);

    fn node(owner: Option<i64>, age_ms: i64, data_length: i32) -> ZnodeStat {
        let stat = ZnodeStat::of_new(Zxid(7), Timestamp(NOW.0 - age_ms), owner.map(SessionId));
        ZnodeStat { data_length, ..stat }
    }

    fn facts<'a>(path: &'a ZnodePath, data: &'a [u8], length: i32, left_out: usize) -> TreeFacts<'a> {
        let child = ChildFacts::new("a\u{1b}[1m".to_owned(), &node(Some(0x10a), 2_500, 3), NOW);
        TreeFacts::new(path, &node(None, 60_000, length), data, NOW).with_children(vec![child], left_out)
    }

    #[test]
    fn a_child_has_its_owner_and_age_and_bytes_are_base64() {
        let path: ZnodePath = "/a".parse().expect("a path");
        let told: serde_json::Value =
            serde_json::from_str(&json::to_string(&facts(&path, b"\xac\xed\0\x05", 4, 0)).expect("JSON"))
                .expect("JSON");
        assert_eq!((&told["data"], &told["data_encoding"]), (&"rO0ABQ==".into(), &"base64".into()));
        let child = &told["children"][0];
        assert_eq!((&child["owner"], &child["age_ms"]), (&"0x10a".into(), &2_500.into()), "{child}");
        assert_eq!((&told["stat"]["owner"], &told["data_truncated"]), (&serde_json::Value::Null, &false.into()));
    }

    #[test]
    fn the_table_escapes_names_and_data_and_says_what_is_left_out() {
        let path: ZnodePath = "/a".parse().expect("a path");
        let mut out = Vec::new();
        facts(&path, b"x\x1b]0;t", 900, 12).write_table(&mut out).expect("written");
        let text = String::from_utf8(out).expect("text");
        assert!(!text.contains('\u{1b}') && text.contains("Left out: 12 children."), "{text}");
        assert!(text.contains("…") && text.contains("900 B"), "{text}");
    }
}
