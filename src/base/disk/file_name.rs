//! What the names of the files say.

use crate::znode::Zxid;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// Transactions.
    Log,
    /// The sessions and nodes of one moment.
    Snapshot,
}

/// How a snapshot is packed (`snapshot.compression.method`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compression {
    /// gzip, `.gz`.
    Gzip,
    /// The blocks of Java's snappy library, `.snappy`.
    Snappy,
}

/// The name of a file in a server's `version-2` folder.
///
/// ```
/// use lockscope_base::disk::{FileKind, FileName};
/// use lockscope_base::znode::Zxid;
///
/// let name = FileName::parse("log.10000002a").expect("a log");
/// assert_eq!((name.kind, name.zxid), (FileKind::Log, Zxid(0x1_0000_002a)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileName {
    /// What the file holds.
    pub kind: FileKind,
    /// The first transaction of a log; for a snapshot, the last one that it holds in full.
    pub zxid: Zxid,
    /// How the file is packed; `None` for plain files, which all logs are.
    pub compression: Option<Compression>,
}

impl FileName {
    /// Parses a name; returns `None` for every other file, such as `acceptedEpoch`.
    pub fn parse(name: &str) -> Option<Self> {
        let (kind, rest) = name.split_once('.')?;
        let (kind, digits, compression) = match (kind, rest.split_once('.')) {
            ("log", None) => (FileKind::Log, rest, None),
            ("snapshot", None) => (FileKind::Snapshot, rest, None),
            ("snapshot", Some((digits, "gz"))) => (FileKind::Snapshot, digits, Some(Compression::Gzip)),
            ("snapshot", Some((digits, "snappy"))) => (FileKind::Snapshot, digits, Some(Compression::Snappy)),
            _ => return None,
        };
        // A sign would be accepted, too.
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let zxid = i64::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
        Some(Self { kind, zxid: Zxid(zxid), compression })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_servers_are_read_and_all_others_refused() {
        let name = |kind, zxid, compression| Some(FileName { kind, zxid: Zxid(zxid), compression });
        for (text, read) in [
            ("log.1", name(FileKind::Log, 1, None)),
            ("log.7fffffffffffffff", name(FileKind::Log, i64::MAX, None)),
            ("snapshot.0", name(FileKind::Snapshot, 0, None)),
            ("snapshot.1f00000abc.gz", name(FileKind::Snapshot, 0x1f_0000_0abc, Some(Compression::Gzip))),
            ("snapshot.a.snappy", name(FileKind::Snapshot, 10, Some(Compression::Snappy))),
        ] {
            assert_eq!(FileName::parse(text), read, "{text}");
        }
        for text in [
            "log",
            "log.",
            "log.+1",
            "log.-1",
            "log.g",
            "log.1.gz",
            "log.8000000000000000",
            "snapshot.1.zip",
            "snapshot.1.gz.tmp",
            "snapshot..gz",
            "Snapshot.1",
            "currentEpoch",
            ".snapshot.1",
        ] {
            assert_eq!(FileName::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_name_or_none(text in "(log|snapshot)?[.][0-9a-g+.\\-é]{0,20}(.gz|.snappy)?") {
            let _ = FileName::parse(&text);
        }
    }
}
