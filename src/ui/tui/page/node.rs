//! A node in full: its stat, its ACL, and its data as text, JSON and bytes.

use std::fmt::Write;

use super::{Columns, Line, PageWriter, Tone};
use lockscope_base::znode::{SessionId, Timestamp, ZnodeStat};
use lockscope_live::zk::{NodeReading, ShownAclEntry};
use lockscope_model::text::human::{count, date_and_time, exact_time, plural};
use lockscope_model::text::{Keep, fit, width, wrap_bytes};

/// The columns.
pub const COLUMNS: Columns = Columns { label: 16, ..Columns::TEXT };
/// Columns of a value that an explanation follows.
const VALUE_WIDTH: usize = 27;
/// Bytes in a line of the hex dump, and bytes in a line on a narrow page.
const BYTES_PER_LINE: usize = 16;
const FEW_BYTES_PER_LINE: usize = 8;
/// Columns of a full line of the hex dump.
const HEX_WIDTH: usize = 57;
/// The most watchers that are named.
const MAX_WATCHERS: usize = 50;
/// The value of `ephemeralOwner` that marks container nodes.
const CONTAINER: i64 = i64::MIN;

/// The facts about a node.
#[derive(Clone, Copy, Debug)]
pub struct ReadNode<'a> {
    pub path: &'a str,
    /// When the node was read, by this machine's clock, and the result: the reading, `None` where
    /// there is no such node, or why it cannot be read. The field is `None` while the read is under
    /// way.
    pub read: Option<(Timestamp, Result<Option<&'a NodeReading>, &'a String>)>,
    pub utc: bool,
    /// Who watches it by getData or exists, as phrases, and whether all servers told; `None` where none
    /// did.
    pub watchers: Option<(&'a [String], bool)>,
    /// The key that reads it again.
    pub again: &'a str,
}

pub fn write(page: &mut PageWriter, of: &ReadNode<'_>) {
    page.fact("path", of.path, Tone::Strong);
    match of.read {
        None => page.fact("", "is being read", Tone::Unsure),
        Some((at, Ok(Some(reading)))) => {
            page.fact("read", &format!("at {}; {} reads it again", exact_time(at, of.utc), of.again), Tone::Dim);
            page.blank();
            write_stat(page, &reading.stat, of.utc);
            page.blank();
            write_acl(page, reading.acl.as_ref());
            if let Some((watchers, whole)) = of.watchers {
                write_watchers(page, watchers, whole);
            }
            page.blank();
            write_data(page, &reading.stat, reading.data.as_ref());
        }
        Some((at, Ok(None))) => {
            page.fact("", &format!("There was no such node at {}.", exact_time(at, of.utc)), Tone::Careful);
        }
        Some((_, Err(why))) => page.fact("", why, Tone::Bad),
    }
}

/// Writes the stat as an operator asks for it, with the names of its fields after it.
fn write_stat(page: &mut PageWriter, stat: &ZnodeStat, utc: bool) {
    let ZnodeStat { czxid, mzxid, pzxid, cversion, .. } = stat;
    let times = |version: i32| match version {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        times => format!("{} times", count_signed(times)),
    };
    let changed = match stat.version {
        0 => ("never".to_owned(), format!("(version 0, mzxid {mzxid})")),
        version => (date_and_time(stat.mtime, utc), format!("{} (mtime, mzxid {mzxid})", times(version))),
    };
    let owner = stat.ephemeral_owner.map_or_else(|| "no session".to_owned(), |owner| owner.to_string());
    let fields = [
        ("owner", owner, format!("{} (ephemeralOwner)", ends_with(stat.ephemeral_owner))),
        ("created", date_and_time(stat.ctime, utc), format!("(ctime, czxid {czxid})")),
        ("data changed", changed.0, changed.1),
        ("children", count_signed(stat.num_children), format!("(cversion {cversion}, pzxid {pzxid})")),
        ("ACL changed", times(stat.aversion), "(aversion)".to_owned()),
    ];
    for (label, value, fields) in fields {
        if page.text_columns() < VALUE_WIDTH + width(&fields) {
            page.fact(label, &value, Tone::Text);
            page.fact("", &fields, Tone::Dim);
            continue;
        }
        let value = format!("{value:<VALUE_WIDTH$}");
        let rest = Some((fields, Tone::Dim));
        page.push(Line { sign: None, label: Some(label.to_owned()), text: value, tone: Tone::Text, rest });
    }
}

fn count_signed(number: i32) -> String {
    usize::try_from(number).map_or_else(|_| number.to_string(), count)
}

/// Explains what the stat's owner says about the end of the node.
fn ends_with(owner: Option<SessionId>) -> &'static str {
    match owner {
        None => "it stays",
        Some(owner) => special_owner(owner).map_or("goes with it", |(_, meaning)| meaning),
    }
}

/// Returns a word for an owner that is no session, and what it means.
pub fn special_owner(owner: SessionId) -> Option<(&'static str, &'static str)> {
    match owner.0 {
        CONTAINER => Some(("container", "a container: goes when empty")),
        // The topmost byte marks TTL nodes, on servers that support them.
        owner if owner >> 56 == -1 => Some(("ttl", "a time to live")),
        _ => None,
    }
}

fn write_acl(page: &mut PageWriter, acl: Result<&(Vec<ShownAclEntry>, usize), &String>) {
    let (entries, all) = match acl {
        Ok((entries, all)) => (entries, *all),
        Err(why) => return page.fact("ACL", why, Tone::Careful),
    };
    let mut label = "ACL";
    for ShownAclEntry { scheme, id, permissions } in entries {
        let words = [('c', "create"), ('d', "delete"), ('r', "read"), ('w', "write"), ('a', "admin")];
        let named: Vec<_> =
            words.iter().filter(|(letter, _)| permissions.contains(*letter)).map(|(_, word)| *word).collect();
        let allowed = if named.is_empty() { "nothing".to_owned() } else { named.join(", ") };
        page.fact(std::mem::take(&mut label), &format!("{scheme}:{}  {allowed}", shown_id(scheme, id)), Tone::Text);
    }
    if entries.is_empty() {
        page.fact(label, "none", Tone::Text);
    }
    if all > entries.len() {
        page.fact("", &format!("and {} more", count(all - entries.len())), Tone::Dim);
    }
}

fn write_watchers(page: &mut PageWriter, watchers: &[String], whole: bool) {
    let mut label = "watchers";
    for watcher in watchers.iter().take(MAX_WATCHERS) {
        page.fact(std::mem::take(&mut label), watcher, Tone::Text);
    }
    if watchers.is_empty() {
        page.fact(std::mem::take(&mut label), "none of its data", Tone::Text);
    }
    let more = watchers.len().saturating_sub(MAX_WATCHERS);
    if more > 0 {
        page.fact("", &format!("and {} more", count(more)), Tone::Dim);
    }
    if !whole {
        page.fact("", "not all servers told", Tone::Unsure);
    }
}

/// Returns the id of an ACL entry. For a digest it is only the user name: the rest is a hash from
/// which the password can be guessed.
fn shown_id<'a>(scheme: &str, id: &'a str) -> std::borrow::Cow<'a, str> {
    match id.split_once(':') {
        Some((user, _)) if matches!(scheme, "digest" | "super") => format!("{user}:(hash not shown)").into(),
        _ => id.into(),
    }
}

fn write_data(page: &mut PageWriter, stat: &ZnodeStat, data: Result<&Vec<u8>, &String>) {
    let data = match data {
        Ok(data) => data,
        Err(why) => {
            let length = plural(u32::try_from(stat.data_length).unwrap_or(0), "byte", "bytes");
            return page.fact("data", &format!("{length}, not read: {why}"), Tone::Careful);
        }
    };
    if data.is_empty() {
        return page.fact("data", "none", Tone::Text);
    }
    let all = usize::try_from(stat.data_length).unwrap_or(0).max(data.len());
    let mut about = plural(all, "byte", "bytes");
    if all > data.len() {
        let _ = write!(about, ", of which the first {} are shown", count(data.len()));
    }
    if std::str::from_utf8(data).is_err() {
        about.push_str(", not UTF-8: other bytes are shown as escapes");
    }
    page.fact("data", &about, Tone::Text);
    if let Some(json) = pretty_json(data) {
        let (mut label, columns) = ("as JSON", page.text_columns());
        for line in json {
            for part in wrap_bytes(line.as_bytes(), columns, page.charset()) {
                page.harmless(std::mem::take(&mut label), part, Tone::Text);
            }
        }
    }
    let mut label = "as text";
    for line in wrap_bytes(data, page.text_columns(), page.charset()) {
        page.harmless(std::mem::take(&mut label), line, Tone::Text);
    }
    let mut label = "as bytes";
    let each = if page.text_columns() < HEX_WIDTH { FEW_BYTES_PER_LINE } else { BYTES_PER_LINE };
    for (at, bytes) in data.chunks(each).enumerate() {
        let line = fit(&hex(at * each, bytes, each), page.text_columns(), Keep::Start, page.charset());
        page.harmless(std::mem::take(&mut label), line, Tone::Text);
    }
}

/// Returns a line of the hex dump: the offset, the bytes in hex, and the ASCII characters.
fn hex(at: usize, bytes: &[u8], each: usize) -> String {
    let mut line = format!("{at:04x}  ");
    for place in 0..each {
        let gap = if place == each / 2 { " " } else { "" };
        // Writing to a String cannot fail.
        let _ = match bytes.get(place) {
            Some(byte) => write!(line, "{gap}{byte:02x}"),
            None => write!(line, "{gap}  "),
        };
    }
    line.push_str("  ");
    line.extend(bytes.iter().map(|byte| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '.' }));
    line
}

/// Returns a JSON object or array with one value a line; `None` for any other data. Values stay as
/// written: numbers are not rounded, and duplicate names are kept.
fn pretty_json(data: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(data).ok()?.trim();
    let is_nested = text.starts_with(['{', '[']);
    if !is_nested || serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
        return None;
    }
    let (mut lines, mut line, mut depth) = (Vec::new(), String::new(), 0_usize);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                line.push(letter);
                while let Some(inside) = letters.next() {
                    line.push(inside);
                    match inside {
                        '\\' => line.extend(letters.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '{' | '[' => {
                line.push(letter);
                while letters.next_if(|next| next.is_whitespace()).is_some() {}
                if let Some(end) = letters.next_if(|next| ['}', ']'].contains(next)) {
                    line.push(end);
                } else {
                    depth += 1;
                    lines.push(std::mem::replace(&mut line, "  ".repeat(depth)));
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                lines.push(std::mem::replace(&mut line, "  ".repeat(depth)));
                line.push(letter);
            }
            ',' => {
                line.push(letter);
                lines.push(std::mem::replace(&mut line, "  ".repeat(depth)));
            }
            ':' => line.push_str(": "),
            _ if letter.is_whitespace() => {}
            _ => line.push(letter),
        }
    }
    lines.push(line);
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_and_its_values_stay_as_written() {
        let laid_out = |text: &str| pretty_json(text.as_bytes()).map(|lines| lines.join("\n"));
        assert_eq!(
            laid_out(r#" {"a":1.50,"a":[1e3, {} ,[ ]],"b c":{"d":"x:, \"}"}}"#).unwrap(),
            "{\n  \"a\": 1.50,\n  \"a\": [\n    1e3,\n    {},\n    []\n  ],\n  \"b c\": {\n    \"d\": \"x:, \\\"}\"\n  }\n}"
        );
        for none in ["", "7", "\"text\"", "{", "{]", "[1] 2", "10.0.4.17"] {
            assert_eq!(laid_out(none), None, "{none}");
        }
        assert_eq!(pretty_json(b"{\xff}"), None);
    }

    #[test]
    fn bytes_are_shown_in_two_groups_with_their_ascii_characters() {
        assert_eq!(
            hex(16, b"a\x00\xff\x1b 0123456", BYTES_PER_LINE),
            "0010  6100ff1b20303132 33343536          a... 0123456"
        );
    }

    #[test]
    fn nodes_that_no_session_ends_are_told_apart() {
        assert!(ends_with(Some(SessionId(CONTAINER))).contains("container"));
        assert!(ends_with(Some(SessionId(0xff00_0000_0000_03e8_u64.cast_signed()))).contains("time to live"));
        assert!(ends_with(Some(SessionId(0x0100_0a2b_3c40_001b))).contains("with it"));
    }

    #[test]
    fn the_hash_of_a_password_is_not_shown() {
        assert_eq!(shown_id("digest", "ann:bjkZ9W+M82HUZ9xb8/Oy4cmJGfg="), "ann:(hash not shown)");
        assert_eq!(shown_id("ip", "2001:db8::1"), "2001:db8::1");
        assert_eq!(shown_id("world", "anyone"), "anyone");
    }
}
