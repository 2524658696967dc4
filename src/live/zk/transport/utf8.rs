//! Checks whether text that arrives in pieces is UTF-8. Pure.

use crate::zk::reply_fault::ReplyFault;

/// Checks one text after another. Keeps only the beginning of an unfinished character.
#[derive(Debug, Default)]
pub(super) struct Utf8Check {
    begun: [u8; 4],
    begun_len: usize,
}

impl Utf8Check {
    /// Returns whether the text stopped in the middle of a character.
    pub(super) fn is_within_character(&self) -> bool {
        self.begun_len > 0
    }

    /// Checks the next piece. After an error nothing more may be fed.
    pub(super) fn feed(&mut self, mut piece: &[u8]) -> Result<(), ReplyFault> {
        while self.begun_len > 0 {
            let Some((byte, rest)) = piece.split_first() else { return Ok(()) };
            // A character has at most four bytes; four bytes that are no character are an error
            // below.
            self.begun[self.begun_len] = *byte;
            (self.begun_len, piece) = (self.begun_len + 1, rest);
            match std::str::from_utf8(&self.begun[..self.begun_len]) {
                Ok(_) => self.begun_len = 0,
                Err(error) if error.error_len().is_some() => return Err(ReplyFault::NotText),
                Err(_) => {}
            }
        }
        let Err(error) = std::str::from_utf8(piece) else { return Ok(()) };
        if error.error_len().is_some() {
            return Err(ReplyFault::NotText);
        }
        let rest = &piece[error.valid_up_to()..];
        self.begun[..rest.len()].copy_from_slice(rest);
        self.begun_len = rest.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_does_not_depend_on_the_pieces() {
        let text = "a\u{fc}\u{20ac}\u{1f600}b".as_bytes();
        for size in 1..=text.len() {
            let mut check = Utf8Check::default();
            assert!(text.chunks(size).all(|piece| check.feed(piece).is_ok()), "{size}");
            assert!(!check.is_within_character());
            let mut cut = Utf8Check::default();
            assert!(text[..text.len() - 2].chunks(size).all(|piece| cut.feed(piece).is_ok()), "{size}");
            assert!(cut.is_within_character(), "its last character is not whole");
            let mut bad = Utf8Check::default();
            let spoilt = [&text[..3], &[0xff], &text[3..]].concat();
            assert!(!spoilt.chunks(size).all(|piece| bad.feed(piece).is_ok()), "{size}");
        }
    }
}
