//! The handshake: the client asks for a new session or its old one, and the server answers. Pure.

use std::time::Duration;

/// The length of the password by which a server recognizes the client of a session, in bytes.
pub(super) const PASSWORD_LENGTH: usize = 16;

/// The largest handshake frame, in bytes; the known ones have less than fifty.
pub(super) const MAX_HANDSHAKE: usize = 256;

/// The fields before the password: version, last zxid seen, timeout, session, and the password's
/// length.
const REQUEST_HEAD: usize = 4 + 8 + 4 + 8 + 4;

/// The fields before the password in an answer: version, timeout, session, and the password's
/// length.
const RESPONSE_HEAD: usize = 4 + 4 + 8 + 4;

/// The request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectRequest {
    pub(super) last_zxid: i64,
    pub(super) timeout: i32,
    pub(super) session: i64,
    pub(super) password: [u8; PASSWORD_LENGTH],
    pub(super) read_only: bool,
}

impl ConnectRequest {
    /// The length of the frame, in bytes.
    pub(super) const FRAME: usize = 4 + REQUEST_HEAD + PASSWORD_LENGTH + 1;

    /// Reads a frame without its length prefix.
    pub(super) fn read(frame: &[u8]) -> Option<Self> {
        let (head, rest) = frame.split_at_checked(REQUEST_HEAD)?;
        let (password, read_only) = rest.split_first_chunk::<PASSWORD_LENGTH>()?;
        let length = int(head, 24)?;
        let is_valid = int(head, 0)? == 0 && length == i32::try_from(PASSWORD_LENGTH).ok()? && read_only.len() <= 1;
        is_valid.then_some(Self {
            last_zxid: long(head, 4)?,
            timeout: int(head, 12)?,
            session: long(head, 16)?,
            password: *password,
            read_only: read_only.first().is_some_and(|flag| *flag != 0),
        })
    }

    /// Returns the frame with its length prefix.
    pub(super) fn write(&self, password: &[u8]) -> Vec<u8> {
        let mut body = 0_i32.to_be_bytes().to_vec();
        body.extend(self.last_zxid.to_be_bytes());
        body.extend(self.timeout.to_be_bytes());
        body.extend(self.session.to_be_bytes());
        write_end(body, password, Some(self.read_only))
    }

    /// Returns how long the client library waits for an answer: two fifths of the session timeout.
    pub(super) fn library_timeout(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.timeout).unwrap_or_default()) * 2 / 5
    }
}

/// The answer of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConnectResponse {
    pub(super) timeout: i32,
    /// The id of the session; zero when it no longer exists.
    pub(super) session: i64,
    pub(super) password: Vec<u8>,
    /// Whether the session is read-only; `None` from servers that do not know such sessions.
    pub(super) read_only: Option<bool>,
}

impl ConnectResponse {
    /// Returns the answer that the session no longer exists.
    pub(super) fn expired() -> Self {
        Self { timeout: 0, session: 0, password: vec![0; PASSWORD_LENGTH], read_only: Some(false) }
    }

    /// Reads a frame without its length prefix.
    pub(super) fn read(frame: &[u8]) -> Option<Self> {
        let (head, rest) = frame.split_at_checked(RESPONSE_HEAD)?;
        let (password, read_only) = rest.split_at_checked(usize::try_from(int(head, 16)?).ok()?)?;
        let read_only = match read_only {
            [] => None,
            [0] => Some(false),
            [1] => Some(true),
            _ => return None,
        };
        let (timeout, session) = (int(head, 4)?, long(head, 8)?);
        let is_right = int(head, 0)? == 0 && !password.is_empty() && (timeout > 0 || session == 0 && timeout == 0);
        is_right.then(|| Self { timeout, session, password: password.to_vec(), read_only })
    }

    /// Returns the frame with its length prefix and another password.
    pub(super) fn write(&self, password: &[u8; PASSWORD_LENGTH]) -> Vec<u8> {
        let mut body = 0_i32.to_be_bytes().to_vec();
        body.extend(self.timeout.to_be_bytes());
        body.extend(self.session.to_be_bytes());
        write_end(body, password, self.read_only)
    }
}

/// Appends the password and the flag, and adds the length prefix.
fn write_end(mut body: Vec<u8>, password: &[u8], read_only: Option<bool>) -> Vec<u8> {
    body.extend(u32::try_from(password.len()).unwrap_or_default().to_be_bytes());
    body.extend(password);
    body.extend(read_only.map(u8::from));
    let mut frame = u32::try_from(body.len()).unwrap_or_default().to_be_bytes().to_vec();
    frame.extend(body);
    frame
}

fn int(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at..)?.first_chunk().map(|bytes| i32::from_be_bytes(*bytes))
}

fn long(bytes: &[u8], at: usize) -> Option<i64> {
    bytes.get(at..)?.first_chunk().map(|bytes| i64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_is_written_with_another_password() {
        let asked = ConnectRequest { last_zxid: 7, timeout: 6_000, session: 9, password: [3; 16], read_only: false };
        let frame = asked.write(&[5; 16]);
        assert_eq!(frame.len(), ConnectRequest::FRAME);
        assert_eq!(ConnectRequest::read(&frame[4..]), Some(ConnectRequest { password: [5; 16], ..asked }));
        assert_eq!(asked.library_timeout(), Duration::from_millis(2_400));
    }

    #[test]
    fn an_answer_may_lack_its_last_byte_and_nothing_else() {
        let answer = ConnectResponse { timeout: 4_000, session: 9, password: vec![8; 16], read_only: Some(false) };
        let frame = answer.write(&[5; 16]);
        let read = ConnectResponse::read(&frame[4..]);
        assert_eq!(read, Some(ConnectResponse { password: vec![5; 16], ..answer.clone() }));
        let old = ConnectResponse { read_only: None, password: vec![5; 16], ..answer };
        assert_eq!(ConnectResponse::read(&frame[4..frame.len() - 1]), Some(old));
        for end in 4..frame.len() - 1 {
            assert_eq!(ConnectResponse::read(&frame[4..end]), None, "{end}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = (ConnectRequest::read(&bytes), ConnectResponse::read(&bytes));
        }
    }
}
