//! The number at the end of a sequential node's name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number that ZooKeeper appends to a sequential node's name: `%010d` of a counter kept by the
/// parent.
///
/// The number is a signed 32-bit integer. Servers up to 3.5 wrap it to `-2147483648` after
/// 2147483647; from 3.6 on, sequential creates stall there. The sequence alone must not be a
/// queue's key: Curator's downgrade from write to read makes two nodes with one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Sequence(pub i32);

impl Sequence {
    /// The minimum number of digits that the server writes.
    pub const DIGITS: usize = 10;

    /// Splits a node's name into the part before its sequence, and the sequence. Returns `None` if
    /// the name does not end as the server would have ended it.
    ///
    /// ```
    /// use lockscope_base::znode::Sequence;
    ///
    /// assert_eq!(Sequence::split("lock-0000000042"), Some(("lock-", Sequence(42))));
    /// assert_eq!(Sequence::split("lock--2147483648"), Some(("lock-", Sequence(i32::MIN))));
    /// assert_eq!(Sequence::split("lock-42"), None);
    /// assert_eq!(Sequence::split("lock-9999999999"), None, "beyond 32 bits");
    /// ```
    #[must_use]
    pub fn split(name: &str) -> Option<(&str, Sequence)> {
        let at = name.len().checked_sub(Self::DIGITS)?;
        let (head, digits) = (name.get(..at)?, name.get(at..)?);
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let magnitude: i64 = digits.parse().ok()?;
        // `%010d` writes at least ten characters including the sign: ten digits after a sign are a
        // number of at least 1,000,000,000. A shorter negative number cannot come from a counter
        // that has just wrapped, so its dash belongs to the name (`lock--0000000001` is `lock-` and
        // a guid that ends in a dash).
        if let Some(prefix) = head.strip_suffix('-')
            && magnitude >= 1_000_000_000
            && (magnitude > i64::from(i32::MAX) || prefix.ends_with(['-', '_']))
            && let Ok(number) = i32::try_from(-magnitude)
        {
            return Some((prefix, Sequence(number)));
        }
        Some((head, Sequence(i32::try_from(magnitude).ok()?)))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_before_the_digits_is_a_sign_only_if_a_wrapped_counter_can_have_written_it() {
        assert_eq!(Sequence::split("n_-2147483648"), Some(("n_", Sequence(i32::MIN))));
        assert_eq!(Sequence::split("x-1-2147483647"), Some(("x-1-", Sequence(i32::MAX))));
        assert_eq!(Sequence::split("lock--2147483000"), Some(("lock-", Sequence(-2_147_483_000))));
        assert_eq!(Sequence::split("lock-2147483648"), Some(("lock", Sequence(i32::MIN))));
        assert_eq!(Sequence::split("guid--0000000007"), Some(("guid--", Sequence(7))));
    }

    #[test]
    fn names_that_no_server_numbered_have_no_sequence() {
        for name in ["", "lock", "0123", "lock-00000000４2", "é000000001", "lock-00000000a1"] {
            assert_eq!(Sequence::split(name), None, "{name}");
        }
        assert_eq!(Sequence::split("0000000001"), Some(("", Sequence(1))));
    }
}
