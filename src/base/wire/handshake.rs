//! The handshake: the client requests a new session or its old one, and the server answers.

use super::{Malformed, Reader, Writer, frame};

/// The length of a session's password, in bytes.
pub const PASSWORD_BYTES: usize = 16;

/// The only version of the protocol.
const VERSION: i32 = 0;

/// A client's first frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectRequest {
    /// The last transaction that the client saw.
    pub last_zxid: i64,
    /// The requested session timeout, in milliseconds.
    pub timeout: i32,
    /// The session to resume; zero requests a new one.
    pub session: i64,
    /// The password of the session, which proves that it belongs to the client.
    pub password: Vec<u8>,
    /// Whether the client accepts a read-only server. `None` for old clients, which do not send
    /// this flag. Their answer has no flag either.
    pub read_only: Option<bool>,
}

impl ConnectRequest {
    /// The size of a request with the usual password and the flag, without the frame's length.
    pub const BYTES: usize = 4 + 8 + 4 + 8 + 4 + PASSWORD_BYTES + 1;

    /// Reads a frame without its length. Like servers, accepts any version and ignores bytes after
    /// the request.
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

    /// Returns the frame, with its length.
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
    /// The granted session timeout, in milliseconds; zero when the session has expired.
    pub timeout: i32,
    /// The session; zero when it has expired.
    pub session: i64,
    /// The password with which the client resumes the session.
    pub password: Vec<u8>,
    /// Whether the server is read-only. `None` for old servers, which do not send this flag.
    pub read_only: Option<bool>,
}

impl ConnectResponse {
    /// Creates the answer that the session has expired.
    pub fn expired() -> Self {
        Self { timeout: 0, session: 0, password: vec![0; PASSWORD_BYTES], read_only: Some(false) }
    }

    /// Reads a frame without its length. Fails on bytes after the answer.
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

    /// Returns the frame, with its length.
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
    fn a_request_survives_the_codec_with_and_without_its_flag() {
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
    fn an_answer_may_lack_its_flag_and_nothing_else() {
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
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = (ConnectRequest::read(&bytes), ConnectResponse::read(&bytes));
        }
    }
}
