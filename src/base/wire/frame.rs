//! Frames: a length and that many bytes.

use super::Writer;

/// The number of bytes of the length before each frame.
pub const LENGTH_BYTES: usize = 4;

/// The first frame in the received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The frame is incomplete.
    More,
    /// A whole frame of this many bytes, which follow its length.
    Frame(usize),
    /// The length is negative or above the limit.
    Bad(i32),
}

/// Returns the first frame in `received`, if it has at most `limit` bytes.
pub fn cut(received: &[u8], limit: usize) -> Cut {
    let Some(length) = received.first_chunk::<LENGTH_BYTES>() else { return Cut::More };
    let length = i32::from_be_bytes(*length);
    match usize::try_from(length) {
        Ok(count) if count <= limit && received.len() - LENGTH_BYTES >= count => Cut::Frame(count),
        Ok(count) if count <= limit => Cut::More,
        _ => Cut::Bad(length),
    }
}

/// Appends a frame: its length and the bytes that `body` writes.
pub fn frame(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.put_int(0);
    body(out);
    let length = i32::try_from(out.len() - start - LENGTH_BYTES).unwrap_or(i32::MAX);
    out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_cut_once_it_is_complete() {
        assert_eq!(cut(&[0, 0, 0], 9), Cut::More);
        assert_eq!(cut(&[0, 0, 0, 2, 1], 9), Cut::More);
        assert_eq!(cut(&[0, 0, 0, 2, 1, 1, 1], 9), Cut::Frame(2));
        assert_eq!(cut(&[0, 0, 0, 0], 9), Cut::Frame(0));
    }

    #[test]
    fn a_length_above_the_limit_is_refused_before_the_bytes_arrive() {
        assert_eq!(cut(&[0, 0, 0, 10], 9), Cut::Bad(10));
        assert_eq!(cut(&[0xff, 0xff, 0xff, 0xff], 9), Cut::Bad(-1));
        assert_eq!(cut(&[0x7f, 0xff, 0xff, 0xff], 9), Cut::Bad(i32::MAX));
    }
}
