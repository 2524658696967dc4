//! The first frame of each side: the client asks for a session or for its old one, and the server answers.

use super::{Malformed, Reader, Writer, frame};

/// How many bytes the secret has by which a server knows a session's client.
pub const PASSWORD_BYTES: usize = 16;

/// The only version of the protocol.
const VERSION: i32 = 0;

/// A client's first frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectRequest {
    /// The last transaction that the client saw.
    pub last_zxid: i64,
    /// The session timeout that it asks for, in milliseconds.
    pub timeout: i32,
    /// Zero when a new session is wanted.
    pub session: i64,
    /// Proves that the session is the client's.
    pub password: Vec<u8>,
    /// Whether a read-only server would do. Old clients do not say it, and get no such flag in the answer either.
    pub read_only: Option<bool>,
}

impl ConnectRequest {
    /// How many bytes a frame has with the usual password and the flag, without its length.
    pub const BYTES: usize = 4 + 8 + 4 + 8 + 4 + PASSWORD_BYTES + 1;

    /// Reads a frame without its length. As servers do, it takes any version, and whatever stands behind the request.
    pub fn read(frame: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(frame);
        from.int()?;
        Ok(Self {
            last_zxid: from.long()?,
            timeout: from.int()?,
            session: from.long()?,
            password: from.buffer()?.unwrap_or_default().to_vec(),
            read_only: from.bool().ok(),
        })
    }

    /// The frame, with its length.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame(&mut bytes, |out| {
            out.put_int(VERSION);
            out.put_long(self.last_zxid);
            out.put_int(self.timeout);
            out.put_long(self.session);
            put_end(out, &self.password, self.read_only);
        });
        bytes
    }
}

/// A server's first frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectResponse {
    /// The session timeout that it grants, in milliseconds; zero when there is no such session any more.
    pub timeout: i32,
    /// Zero when there is no such session any more.
    pub session: i64,
    /// By which the client may come back to the session.
    pub password: Vec<u8>,
    /// Whether it is a read-only server. Old servers do not say it.
    pub read_only: Option<bool>,
}

impl ConnectResponse {
    /// That there is no such session any more.
    pub fn expired() -> Self {
        Self { timeout: 0, session: 0, password: vec![0; PASSWORD_BYTES], read_only: Some(false) }
    }

    /// Reads a frame without its length, which must be such an answer and nothing more.
    pub fn read(frame: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(frame);
        if from.int()? != VERSION {
            return Err(Malformed("version"));
        }
        let (timeout, session) = (from.int()?, from.long()?);
        let password = from.buffer()?.unwrap_or_default().to_vec();
        let read_only = match from.rest() {
            [] => None,
            [0] => Some(false),
            [1] => Some(true),
            _ => return Err(Malformed("end of an answer")),
        };
        let is_right = !password.is_empty() && (timeout > 0 || session == 0 && timeout == 0);
        if is_right { Ok(Self { timeout, session, password, read_only }) } else { Err(Malformed("answer")) }
    }

    /// The frame, with its length.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame(&mut bytes, |out| {
            out.put_int(VERSION);
            out.put_int(self.timeout);
            out.put_long(self.session);
            put_end(out, &self.password, self.read_only);
        });
        bytes
    }
}

fn put_end(out: &mut Vec<u8>, password: &[u8], read_only: Option<bool>) {
    out.put_buffer(Some(password));
    if let Some(read_only) = read_only {
        out.put_bool(read_only);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_asked_is_read_as_it_was_written_and_may_lack_its_last_byte() {
        let asked = ConnectRequest {
            last_zxid: 7,
            timeout: 6_000,
            session: 9,
            password: vec![3; PASSWORD_BYTES],
            read_only: Some(false),
        };
        let frame = &asked.to_frame()[4..];
        assert_eq!(frame.len(), ConnectRequest::BYTES);
        assert_eq!(ConnectRequest::read(frame), Ok(asked.clone()));
        let old = ConnectRequest { read_only: None, ..asked };
        assert_eq!(ConnectRequest::read(&frame[..frame.len() - 1]), Ok(old));
        assert!(ConnectRequest::read(&frame[..frame.len() - 2]).is_err());
    }

    #[test]
    fn an_answer_may_lack_its_last_byte_and_nothing_else() {
        let answer = ConnectResponse { timeout: 4_000, session: 9, password: vec![8; 16], read_only: Some(false) };
        let frame = &answer.to_frame()[4..];
        assert_eq!(ConnectResponse::read(frame), Ok(answer.clone()));
        let old = ConnectResponse { read_only: None, ..answer };
        assert_eq!(ConnectResponse::read(&frame[..frame.len() - 1]), Ok(old));
        for end in 0..frame.len() - 1 {
            assert!(ConnectResponse::read(&frame[..end]).is_err(), "{end}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = (ConnectRequest::read(&bytes), ConnectResponse::read(&bytes));
        }
    }
}
