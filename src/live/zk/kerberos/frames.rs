//! The frames of a login, in ZooKeeper's `jute` encoding. Pure.

use lockscope_base::wire::{Reader, ReplyHead, Writer, frame, op};

/// Returns a request that carries a token, with the length of its frame.
pub(super) fn request(xid: i32, token: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame(&mut bytes, |out| {
        out.put_int(xid);
        out.put_int(op::SASL);
        out.put_buffer(Some(token));
    });
    bytes
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SaslReply {
    /// The next token; `None` at the end of the login, or when the server does not take part.
    Token(Option<Vec<u8>>),
    /// The login failed.
    Refused,
}

/// Reads a reply without the length of its frame. Returns `None` when the frame does not answer
/// request `xid`.
pub(super) fn reply(xid: i32, frame: &[u8]) -> Option<SaslReply> {
    let (head, token) = frame.split_first_chunk()?;
    match ReplyHead::from(*head) {
        ReplyHead { xid: answered, .. } if answered != xid => None,
        ReplyHead { error: 0, .. } => Some(SaslReply::Token(Reader::new(token).buffer().ok()?.map(<[u8]>::to_vec))),
        _ => Some(SaslReply::Refused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(xid: i32, error: i32, length: i32, token: &[u8]) -> Vec<u8> {
        let mut frame = xid.to_be_bytes().to_vec();
        frame.extend(0_i64.to_be_bytes());
        frame.extend(error.to_be_bytes());
        frame.extend(length.to_be_bytes());
        frame.extend(token);
        frame
    }

    #[test]
    fn tokens_are_written_and_read_in_the_format_of_the_servers() {
        assert_eq!(request(1, b"ab"), [0, 0, 0, 14, 0, 0, 0, 1, 0, 0, 0, 102, 0, 0, 0, 2, b'a', b'b']);
        assert_eq!(reply(1, &answer(1, 0, 2, b"ab")), Some(SaslReply::Token(Some(b"ab".to_vec()))));
        assert_eq!(reply(1, &answer(1, 0, -1, b"")), Some(SaslReply::Token(None)));
        assert_eq!(reply(1, &answer(1, -115, -1, b"")), Some(SaslReply::Refused));
    }

    #[test]
    fn frames_that_do_not_answer_the_request_are_rejected() {
        for frame in [answer(2, 0, 0, b""), answer(1, 0, 3, b"ab"), answer(1, 0, -2, b"ab"), vec![0; 7], Vec::new()] {
            assert_eq!(reply(1, &frame), None, "{frame:?}");
        }
    }
}
