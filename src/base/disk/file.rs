//! What logs and snapshots share: the name of a file, its first bytes, and when servers delete a
//! node by themselves.

use std::io;
use std::io::Read;
use std::time::Duration;

use crate::znode::{SessionId, Zxid};

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

/// The only version of the files that there has ever been.
const VERSION: i32 = 2;

/// The head of a log or a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHead {
    /// The id of the database; 0 for a log and -1 for a snapshot, unless someone changed it.
    pub dbid: i64,
}

/// A file that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum HeadError {
    /// Reading failed.
    #[error("the file cannot be read: {0}; check the disk and the file's permissions")]
    Io(#[from] io::Error),
    /// The file is shorter than a head, or its head is zeros.
    #[error("the file ends within its head: a server had just begun it; read it again later or leave it out")]
    Short,
    /// The file begins with other bytes.
    #[error("the file does not begin with {0}; give it a log or a snapshot of ZooKeeper, unpacked")]
    Magic(&'static str),
    /// The file is of a later version.
    #[error("the file has the version {0}, and only version 2 is known; look for a newer lockscope")]
    Version(i32),
}

impl FileHead {
    /// The size of a head, in bytes.
    pub(super) const BYTES: usize = 4 + 4 + 8;

    /// Reads a head that begins with these four letters.
    pub(super) fn read(from: &mut impl Read, magic: &'static str) -> Result<([u8; Self::BYTES], Self), HeadError> {
        let mut bytes = [0; Self::BYTES];
        from.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => HeadError::Short,
            _ => HeadError::Io(error),
        })?;
        let [m0, m1, m2, m3, v0, v1, v2, v3, dbid @ ..] = bytes;
        let version = i32::from_be_bytes([v0, v1, v2, v3]);
        match [m0, m1, m2, m3] {
            _ if bytes == [0; Self::BYTES] => Err(HeadError::Short),
            found if found != magic.as_bytes() => Err(HeadError::Magic(magic)),
            _ if version != VERSION => Err(HeadError::Version(version)),
            _ => Ok((bytes, Self { dbid: i64::from_be_bytes(dbid) })),
        }
    }
}

/// What makes a node go by itself, from ZooKeeper's `EphemeralType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// Nothing.
    Persistent,
    /// The end of this session.
    Ephemeral(SessionId),
    /// The deletion of its last child.
    Container,
    /// This time without a change and without children.
    Ttl(Duration),
}

/// The `ephemeralOwner` of a container.
const CONTAINER: i64 = i64::MIN;

/// The bits of a time to live, in milliseconds.
const TTL_VALUE: i64 = 0xff_ffff_ffff;

/// The bits above them in the `ephemeralOwner` of a TTL node. The lower two bytes of the three are
/// reserved, and zero.
const TTL_MARK: i64 = 0xff_0000 << 40;

impl NodeKind {
    /// Tells the kind from the `ephemeralOwner` in a snapshot.
    ///
    /// A session of a server with the id 255 begins like the mark of TTL nodes. It is taken for a
    /// session unless the two reserved bytes are zero. They are so in sessions from the first hours
    /// of the machine's uptime; servers that know TTL nodes refuse that id.
    pub fn of_owner(owner: i64) -> Self {
        match owner {
            0 => Self::Persistent,
            CONTAINER => Self::Container,
            _ if owner & !TTL_VALUE == TTL_MARK => Self::of_ttl(owner & TTL_VALUE),
            _ => Self::Ephemeral(SessionId(owner)),
        }
    }

    /// Returns the `ephemeralOwner` that servers store for it.
    pub fn stored(self) -> i64 {
        match self {
            Self::Persistent => 0,
            Self::Ephemeral(session) => session.0,
            Self::Container => CONTAINER,
            Self::Ttl(time) => TTL_MARK | i64::try_from(time.as_millis()).unwrap_or(TTL_VALUE).min(TTL_VALUE),
        }
    }

    /// Returns the kind of a node with a time to live in milliseconds.
    pub(super) fn of_ttl(millis: i64) -> Self {
        Self::Ttl(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
    }

    /// Returns the session whose end deletes the node.
    pub fn session(self) -> Option<SessionId> {
        match self {
            Self::Ephemeral(session) => Some(session),
            Self::Persistent | Self::Container | Self::Ttl(_) => None,
        }
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

    #[test]
    fn a_file_without_a_head_is_told_from_another_kind_of_file() {
        let read = |bytes: &[u8]| FileHead::read(&mut &*bytes, "ZKLG");
        assert!(matches!(read(b""), Err(HeadError::Short)));
        assert!(matches!(read(&[0; 100]), Err(HeadError::Short)));
        assert!(matches!(read(b"ZKLG\0\0\0\x02\0\0\0"), Err(HeadError::Short)));
        assert!(matches!(read(b"ZKSN\0\0\0\x02\0\0\0\0\0\0\0\0"), Err(HeadError::Magic("ZKLG"))));
        assert!(matches!(read(b"ZKLG\0\0\0\x03\0\0\0\0\0\0\0\0"), Err(HeadError::Version(3))));
        assert!(matches!(read(b"ZKLG\0\0\0\x02\0\0\0\0\0\0\0\x07"), Ok((_, FileHead { dbid: 7 }))));
    }

    #[test]
    fn containers_and_ttl_nodes_belong_to_no_session() {
        let unsigned = |owner: u64| NodeKind::of_owner(owner.cast_signed());
        assert_eq!(unsigned(0), NodeKind::Persistent);
        assert_eq!(unsigned(0x8000_0000_0000_0000), NodeKind::Container);
        assert_eq!(unsigned(0xff00_0000_0000_03e8), NodeKind::Ttl(Duration::from_secs(1)));
        assert_eq!(unsigned(0xff00_00ff_ffff_ffff), NodeKind::Ttl(Duration::from_millis(0xff_ffff_ffff)));
        for session in [0x0100_0000_0000_0001_u64, 0x8000_0000_0000_0001, 0xff01_8f00_0000_0001] {
            assert_eq!(unsigned(session), NodeKind::Ephemeral(SessionId(session.cast_signed())), "{session:x}");
        }
    }
}
