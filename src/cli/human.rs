//! Durations and times as people read them.

use std::time::Duration;

use chrono::{DateTime, Local, Utc};

use crate::znode::Timestamp;

/// A duration in at most two units: `0.8s`, `38s`, `14m02s`, `5h09m`, `12d03h`.
pub(super) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{}.{}s", seconds, duration.subsec_millis() / 100),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86400 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86400, seconds / 3600 % 24),
    }
}

/// The time of day with milliseconds, in local time or UTC; `-` for a time that no calendar has.
pub(super) fn clock(time: Timestamp, utc: bool) -> String {
    const FORMAT: &str = "%H:%M:%S%.3f";
    match DateTime::<Utc>::from_timestamp_millis(time.0) {
        None => "-".to_owned(),
        Some(time) if utc => time.format(FORMAT).to_string(),
        Some(time) => time.with_timezone(&Local).format(FORMAT).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_told_in_the_units_that_matter() {
        for (millis, shown) in [
            (0, "0.0s"),
            (849, "0.8s"),
            (9_999, "9.9s"),
            (38_000, "38s"),
            (842_000, "14m02s"),
            (18_599_000, "5h09m"),
            (1_047_600_000, "12d03h"),
        ] {
            assert_eq!(span(Duration::from_millis(millis)), shown);
        }
        assert!(!span(Duration::MAX).is_empty());
    }

    #[test]
    fn a_time_that_no_calendar_has_is_a_dash() {
        assert_eq!(clock(Timestamp(1_714_574_467_250), true), "14:41:07.250");
        assert_eq!(clock(Timestamp(i64::MAX), true), "-");
        assert_eq!(clock(Timestamp(i64::MIN), false), "-");
        // Just inside of the calendar, where a local offset would lead out of it.
        let _ = clock(Timestamp(DateTime::<Utc>::MAX_UTC.timestamp_millis()), false);
        let _ = clock(Timestamp(DateTime::<Utc>::MIN_UTC.timestamp_millis()), false);
    }
}
