//! An optional number without extra memory. A table has very many of them.

use serde::{Deserialize, Serialize};

/// A number or none. `i64::MIN` stands for none: no clock and no server counter reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<i64>", into = "Option<i64>")]
pub(super) struct OptionalNumber(i64);

impl OptionalNumber {
    const NONE: i64 = i64::MIN;

    pub fn get(self) -> Option<i64> {
        (self.0 != Self::NONE).then_some(self.0)
    }
}

impl Default for OptionalNumber {
    fn default() -> Self {
        Self(Self::NONE)
    }
}

impl From<Option<i64>> for OptionalNumber {
    fn from(number: Option<i64>) -> Self {
        Self(number.unwrap_or(Self::NONE))
    }
}

impl From<OptionalNumber> for Option<i64> {
    fn from(number: OptionalNumber) -> Self {
        number.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_and_the_reserved_value_means_none() {
        for number in [None, Some(0), Some(-1), Some(i64::MAX), Some(i64::MIN + 1)] {
            assert_eq!(OptionalNumber::from(number).get(), number);
        }
        assert_eq!(OptionalNumber::from(Some(i64::MIN)).get(), None);
        assert_eq!(OptionalNumber::default().get(), None);
        assert_eq!(size_of::<OptionalNumber>(), size_of::<i64>());
    }
}
