//! Paths and names of znodes: absolute paths, the numbers at the end of sequential names, and
//! escapes that make text from znodes safe to show.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::fmt::Write;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A text that is not a znode path, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a znode path: {1}")]
pub struct BadPath(String, &'static str);

/// An absolute znode path below the chroot: `/`, or `/a/b` without a slash at its end. Cheap to
/// clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ZnodePath(Arc<str>);

impl ZnodePath {
    /// Returns the path `/`: the root of the ensemble, or the chroot of the session.
    #[must_use]
    pub fn root() -> Self {
        Self("/".into())
    }

    /// Parses a path. Names may contain any character but the slash and the null character. The
    /// server has checked names that it holds.
    ///
    /// # Errors
    ///
    /// [`BadPath`] when the text does not start with a slash, ends with one (but for `/`), or has
    /// an empty name, `.`, `..` or a null character in it.
    pub fn new(path: &str) -> Result<Self, BadPath> {
        let bad = |why| Err(BadPath(path.to_owned(), why));
        if path == "/" {
            return Ok(Self::root());
        }
        let Some(rest) = path.strip_prefix('/') else { return bad("it does not start with a slash") };
        if rest.ends_with('/') {
            return bad("it ends with a slash");
        }
        for name in rest.split('/') {
            match name {
                "" => return bad("a name in it is empty"),
                "." | ".." => return bad("it is relative"),
                _ if name.contains('\0') => return bad("it contains a null character"),
                _ => {}
            }
        }
        Ok(Self(path.into()))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is `/`.
    pub fn is_root(&self) -> bool {
        &*self.0 == "/"
    }

    /// Returns the last name; empty for `/`.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the parent; `None` for `/`.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.parent_str().map(|parent| Self(parent.into()))
    }

    /// Returns the parent as text, without an allocation; `None` for `/`.
    pub fn parent_str(&self) -> Option<&str> {
        match self.0.rfind('/') {
            _ if self.is_root() => None,
            Some(0) | None => Some("/"),
            Some(at) => Some(&self.0[..at]),
        }
    }

    /// Returns the child with that name. The name is not checked: it comes from a listing.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        let above = if self.is_root() { "" } else { &self.0 };
        Self([above, "/", name].concat().into())
    }

    /// Returns whether this is `ancestor` or is below it.
    pub fn is_within(&self, ancestor: &ZnodePath) -> bool {
        ancestor.is_root()
            || self.0.strip_prefix(&*ancestor.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns whether the servers keep the node for themselves: the configuration and the quotas.
    /// Applications may keep anything else below `/zookeeper`.
    pub fn is_servers_own(&self) -> bool {
        let name = self.0.strip_prefix("/zookeeper/").and_then(|rest| rest.split('/').next());
        matches!(name, Some("config" | "quota"))
    }
}

impl fmt::Display for ZnodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ZnodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Borrow<str> for ZnodePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for ZnodePath {
    type Err = BadPath;

    fn from_str(path: &str) -> Result<Self, BadPath> {
        Self::new(path)
    }
}

impl TryFrom<String> for ZnodePath {
    type Error = BadPath;

    fn try_from(path: String) -> Result<Self, BadPath> {
        Self::new(&path)
    }
}

impl From<ZnodePath> for String {
    fn from(path: ZnodePath) -> Self {
        path.0.as_ref().to_owned()
    }
}

/// The number that ZooKeeper appends to a sequential node's name: `%010d` of a counter kept by the
/// parent.
///
/// The number is a signed 32-bit integer. Servers up to 3.5 wrap it to `-2147483648` after
/// 2147483647; from 3.6 on, sequential creates stall there. The sequence alone must not be a
/// queue's key: Curator's downgrade from write to read makes two nodes with one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Sequence(pub i32);

impl Sequence {
    /// The minimum number of digits that the server writes.
    pub const DIGITS: usize = 10;

    /// Splits a node's name into the part before its sequence, and the sequence. Returns `None` if
    /// the name does not end as the server would have ended it.
    ///
    /// ```
    /// use lockscope_terms::znode::Sequence;
    ///
    /// assert_eq!(Sequence::split("lock-0000000042"), Some(("lock-", Sequence(42))));
    /// assert_eq!(Sequence::split("lock--2147483648"), Some(("lock-", Sequence(i32::MIN))));
    /// assert_eq!(Sequence::split("lock-42"), None);
    /// assert_eq!(Sequence::split("lock-9999999999"), None, "beyond 32 bits");
    /// ```
    #[must_use]
    pub fn split(name: &str) -> Option<(&str, Sequence)> {
        let at = name.len().checked_sub(Self::DIGITS)?;
        let (head, digits) = (name.get(..at)?, name.get(at..)?);
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let magnitude: i64 = digits.parse().ok()?;
        // `%010d` writes at least ten characters including the sign: ten digits after a sign are a
        // number of at least 1,000,000,000. A shorter negative number cannot come from a counter
        // that has just wrapped, so its dash belongs to the name (`lock--0000000001` is `lock-` and
        // a guid that ends in a dash).
        if let Some(prefix) = head.strip_suffix('-')
            && magnitude >= 1_000_000_000
            && (magnitude > i64::from(i32::MAX) || prefix.ends_with(['-', '_']))
            && let Ok(number) = i32::try_from(-magnitude)
        {
            return Some((prefix, Sequence(number)));
        }
        Some((head, Sequence(i32::try_from(magnitude).ok()?)))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010}", self.0)
    }
}

/// Escapes text from a znode for a terminal: nothing in the result moves the cursor, changes
/// colours, or hides or reorders the text beside it.
///
/// Control characters, escape sequences, line ends and invisible or direction-changing characters
/// become escapes in Rust's notation (`\n`, `\u{1b}`). A backslash is doubled, so the original text
/// can be recovered.
///
/// ```
/// use lockscope_terms::znode::escaped;
///
/// assert_eq!(escaped("lock-0000000042"), "lock-0000000042");
/// assert_eq!(escaped("\u{1b}[2Jgone\r\n"), r"\u{1b}[2Jgone\r\n");
/// assert_eq!(escaped(r"CORP\user"), r"CORP\\user");
/// ```
pub fn escaped(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(must_be_escaped) else { return Cow::Borrowed(text) };
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(&text[..first]);
    push_escaped(&mut shown, &text[first..]);
    Cow::Owned(shown)
}

/// Escapes bytes from a znode for a terminal, like [`escaped`]. Bytes that are not UTF-8 become
/// `\xff`.
///
/// ```
/// use lockscope_terms::znode::escaped_bytes;
///
/// assert_eq!(escaped_bytes(b"10.0.4.17"), "10.0.4.17");
/// assert_eq!(escaped_bytes(b"a\xff\x00"), r"a\xff\0");
/// ```
pub fn escaped_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        push_escaped(&mut shown, chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

fn push_escaped(shown: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '\0' => shown.push_str("\\0"),
            _ if !must_be_escaped(character) => shown.push(character),
            '\\' | '\n' | '\r' | '\t' => shown.extend(character.escape_default()),
            _ => shown.extend(character.escape_unicode()),
        }
    }
}

/// Returns whether a terminal, an editor or a shell could do something else with this character
/// than show it. All text output has these escaped: the screen, tables, JSON, the log, the
/// clipboard.
///
/// - Control characters: C0, DEL and C1. They move the cursor, erase, colour, sound the bell;
///   U+009B alone begins a command.
/// - Characters that reorder text: U+061C, U+200E, U+200F, U+202A..U+202E, U+2066..U+2069. A name
///   could show another's letters.
/// - Unusual line ends: U+2028 and U+2029. Some readers of JSON would see two lines.
/// - Invisible characters: soft hyphen, zero-width characters (U+FEFF among them), fillers,
///   invisible operators, musical and interlinear marks, and the tags and selectors of
///   U+E0000..U+E0FFF. Two names that look alike would be two nodes, and text could be hidden in
///   them.
/// - The backslash, which starts an escape. JSON escapes it by itself.
///
/// Variation selectors (U+FE00..U+FE0F) stay: they belong to emoji and follow the character that
/// they change.
pub fn must_be_escaped(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\\' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ZnodePath {
        ZnodePath::new(text).expect("a valid path")
    }

    #[test]
    fn paths_that_zookeeper_would_refuse_are_refused_with_a_reason() {
        for text in ["", "a", "/a/", "//", "/a//b", "/a/./b", "/..", "/a\0"] {
            assert!(ZnodePath::new(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn parents_and_children_of_the_root_have_one_slash() {
        assert_eq!(path("/a").parent(), Some(ZnodePath::root()));
        assert_eq!(ZnodePath::root().parent(), None);
        assert_eq!(ZnodePath::root().child("a"), path("/a"));
        assert_eq!(path("/a/b").parent_str(), Some("/a"));
        assert_eq!(path("/a/b").name(), "b");
        assert_eq!(ZnodePath::root().name(), "");
    }

    #[test]
    fn a_sibling_with_a_common_prefix_is_not_within() {
        assert!(path("/a/b").is_within(&path("/a")));
        assert!(path("/a").is_within(&path("/a")));
        assert!(!path("/ab").is_within(&path("/a")));
        assert!(path("/ab").is_within(&ZnodePath::root()));
    }

    #[test]
    fn a_dash_before_the_digits_is_a_sign_only_if_a_wrapped_counter_can_have_written_it() {
        assert_eq!(Sequence::split("n_-2147483648"), Some(("n_", Sequence(i32::MIN))));
        assert_eq!(Sequence::split("x-1-2147483647"), Some(("x-1-", Sequence(i32::MAX))));
        assert_eq!(Sequence::split("lock--2147483000"), Some(("lock-", Sequence(-2_147_483_000))));
        assert_eq!(Sequence::split("lock-2147483648"), Some(("lock", Sequence(i32::MIN))));
        assert_eq!(Sequence::split("guid--0000000007"), Some(("guid--", Sequence(7))));
    }

    #[test]
    fn names_that_no_server_numbered_have_no_sequence() {
        for name in ["", "lock", "0123", "lock-00000000４2", "é000000001", "lock-00000000a1"] {
            assert_eq!(Sequence::split(name), None, "{name}");
        }
        assert_eq!(Sequence::split("0000000001"), Some(("", Sequence(1))));
    }

    #[test]
    fn a_name_cannot_control_the_terminal() {
        for (text, shown) in [
            ("\u{1b}]0;title\u{7}", r"\u{1b}]0;title\u{7}"),
            ("\u{9b}31m", r"\u{9b}31m"),
            ("a\tb\u{7f}", r"a\tb\u{7f}"),
            ("evil\u{202e}gpj", r"evil\u{202e}gpj"),
            ("zero\u{200b}width", r"zero\u{200b}width"),
            ("two\u{2028}lines", r"two\u{2028}lines"),
        ] {
            assert_eq!(escaped(text), shown);
        }
    }

    #[test]
    fn letters_of_every_script_stay_as_they_are() {
        for text in ["Größe", "锁-0000000001", "🔒", "نص", ""] {
            assert!(matches!(escaped(text), Cow::Borrowed(shown) if shown == text), "{text}");
        }
    }

    #[test]
    fn an_escape_in_the_name_itself_differs_from_one_that_was_added() {
        assert_ne!(escaped("\n"), escaped("\\n"));
        assert_ne!(escaped_bytes(b"\xff"), escaped_bytes(b"\\xff"));
    }

    #[test]
    fn invalid_utf8_shows_its_bytes_and_keeps_the_rest() {
        assert_eq!(escaped_bytes(b"\xf0\x9f\x94ok\xc3"), r"\xf0\x9f\x94ok\xc3");
        assert_eq!(escaped_bytes("é\n".as_bytes()), r"é\n");
    }
}
