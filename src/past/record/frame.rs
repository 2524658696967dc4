//! Compression of the file's pieces. Each piece contains a checksum. Readers of a recording
//! decompress pieces while they are [decoded](super::decode).

use std::io::{self, Read, Write};

use super::Damage;

/// The largest piece decompressed as a whole, in bytes: twice the size at which a segment ends.
const MAX_UNPACKED: u64 = 64 << 20;

/// zstd's default: a higher level costs several times as much and saves a tenth.
const LEVEL: i32 = 3;

/// Compresses bytes and adds a checksum.
pub(super) fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Decompresses a piece that this program has just written.
pub(super) fn unpack(packed: &[u8]) -> Result<Vec<u8>, Damage> {
    let mut bytes = Vec::new();
    let decoder = zstd::Decoder::with_buffer(packed).map_err(|_| Damage::Checksum)?;
    decoder.take(MAX_UNPACKED + 1).read_to_end(&mut bytes).map_err(|_| Damage::Checksum)?;
    if bytes.len() as u64 > MAX_UNPACKED { Err(Damage::TooLarge) } else { Ok(bytes) }
}
