//! Cuts a stream of bytes into frames.

/// The size of the length that precedes each frame, in bytes.
pub const LENGTH: usize = 4;

/// The first frame in the received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The frame is incomplete.
    More,
    /// A whole frame of this many bytes, which follow its length.
    Frame(usize),
    /// The length, which is negative or above the limit.
    Bad(i32),
}

/// Looks for a frame of at most `limit` bytes.
pub fn cut(received: &[u8], limit: usize) -> Cut {
    let Some(length) = received.first_chunk::<LENGTH>() else { return Cut::More };
    let length = i32::from_be_bytes(*length);
    match usize::try_from(length) {
        Ok(count) if count <= limit && received.len() - LENGTH >= count => Cut::Frame(count),
        Ok(count) if count <= limit => Cut::More,
        _ => Cut::Bad(length),
    }
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
    fn an_invalid_length_is_refused_before_its_bytes_arrive() {
        assert_eq!(cut(&[0, 0, 0, 10], 9), Cut::Bad(10));
        assert_eq!(cut(&[0xff, 0xff, 0xff, 0xff], 9), Cut::Bad(-1));
        assert_eq!(cut(&[0x7f, 0xff, 0xff, 0xff], 9), Cut::Bad(i32::MAX));
    }
}
