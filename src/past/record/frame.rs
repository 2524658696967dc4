//! Bytes of the file, compressed: each piece shows by itself whether it is whole. Who reads a
//! recording unpacks them as they are [decoded](super::decode).

use std::io::{self, Read, Write};

use super::Damage;

/// More than this is never unpacked as a whole, in bytes: twice what a segment has when it ends.
const MAX_UNPACKED: u64 = 64 << 20;

/// zstd's own default: a higher level costs several times as much and saves a tenth.
const LEVEL: i32 = 3;

/// Compresses bytes, with a checksum.
pub(super) fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// The bytes that were compressed, of a piece that this program just wrote.
pub(super) fn unpack(packed: &[u8]) -> Result<Vec<u8>, Damage> {
    let mut bytes = Vec::new();
    let decoder = zstd::Decoder::with_buffer(packed).map_err(|_| Damage::Checksum)?;
    decoder.take(MAX_UNPACKED + 1).read_to_end(&mut bytes).map_err(|_| Damage::Checksum)?;
    if bytes.len() as u64 > MAX_UNPACKED { Err(Damage::TooLarge) } else { Ok(bytes) }
}
