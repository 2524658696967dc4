//! The first bytes of a file.

use std::io::{self, Read};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
