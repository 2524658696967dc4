//! The format of times in JSON.

use chrono::{DateTime, Datelike, SecondsFormat};

use lockscope_base::znode::Timestamp;

/// Formats a time as RFC 3339 in UTC with milliseconds: `2024-05-01T14:41:07.250Z`.
///
/// Returns `None` outside of the years 0 to 9999, which the format does not support. Such a time
/// comes from a clock that is not set, or from a broken server.
///
/// ```
/// use lockscope_model::report::rfc3339;
/// use lockscope_base::znode::Timestamp;
///
/// assert_eq!(rfc3339(Timestamp(1_714_574_467_250)).as_deref(), Some("2024-05-01T14:41:07.250Z"));
/// assert_eq!(rfc3339(Timestamp(i64::MAX)), None);
/// ```
pub fn rfc3339(time: Timestamp) -> Option<String> {
    let time = DateTime::from_timestamp_millis(time.0)?;
    (0..=9999).contains(&time.year()).then(|| time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_outside_of_the_calendar_is_left_out() {
        for millis in [i64::MIN, i64::MAX, 253_402_300_800_000, -62_167_219_200_001] {
            assert_eq!(rfc3339(Timestamp(millis)), None, "{millis}");
        }
        assert_eq!(rfc3339(Timestamp(253_402_300_799_999)).as_deref(), Some("9999-12-31T23:59:59.999Z"));
        assert_eq!(rfc3339(Timestamp(0)).as_deref(), Some("1970-01-01T00:00:00.000Z"));
        assert_eq!(rfc3339(Timestamp(-1)).as_deref(), Some("1969-12-31T23:59:59.999Z"));
    }
}
