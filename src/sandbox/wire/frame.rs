//! Cuts a stream of bytes into frames.

/// Four bytes that stand before each frame.
pub const LENGTH: usize = 4;

/// What stands at the beginning of what was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Not all of it has come.
    More,
    /// A frame with so many bytes, after those of its length.
    Frame(usize),
    /// No frame that the server takes: what its length says.
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
    fn a_frame_is_cut_when_all_of_it_is_there() {
        assert_eq!(cut(&[0, 0, 0], 9), Cut::More);
        assert_eq!(cut(&[0, 0, 0, 2, 1], 9), Cut::More);
        assert_eq!(cut(&[0, 0, 0, 2, 1, 1, 1], 9), Cut::Frame(2));
        assert_eq!(cut(&[0, 0, 0, 0], 9), Cut::Frame(0));
    }

    #[test]
    fn a_length_that_no_server_takes_is_known_before_the_bytes_come() {
        assert_eq!(cut(&[0, 0, 0, 10], 9), Cut::Bad(10));
        assert_eq!(cut(&[0xff, 0xff, 0xff, 0xff], 9), Cut::Bad(-1));
        assert_eq!(cut(&[0x7f, 0xff, 0xff, 0xff], 9), Cut::Bad(i32::MAX));
    }
}
