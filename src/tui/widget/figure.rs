//! Numbers, durations and times as people read them. Pure.

use std::time::Duration;

use chrono::{DateTime, Local, Utc};

use crate::znode::Timestamp;

/// A whole number in groups of three: `21 115`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number of things.
pub fn size(number: usize) -> String {
    count(number as u64)
}

/// `1 lock`, `2 locks`.
pub fn plural(number: usize, one: &str, more: &str) -> String {
    crate::znode::plural(number as u64, one, more)
}

/// Something per second: one decimal below ten, whole above.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is not negative; a huge one saturates"
)]
pub fn rate(per_second: f64) -> String {
    if per_second < 0.05 {
        "0".to_owned()
    } else if per_second < 9.95 {
        format!("{per_second:.1}")
    } else {
        count(per_second.round() as u64)
    }
}

/// A duration in at most six columns: `0.8s`, `38s`, `14m02s`, `3h05m`, `2d04h`, `120d`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0..10 => format!("{seconds}.{}s", duration.subsec_millis() / 100),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{minutes}m{:02}s", seconds % 60),
        3600..86_400 => format!("{hours}h{:02}m", minutes % 60),
        _ if days < 100 => format!("{days}d{:02}h", hours % 24),
        _ if days < 100_000 => format!("{days}d"),
        _ => "ages".to_owned(),
    }
}

/// The time of day, to the second.
pub fn time_of_day(time: Timestamp, utc: bool) -> String {
    format(time, utc, "%H:%M:%S", "??:??:??")
}

/// The time of day, to the millisecond.
pub fn exact_time(time: Timestamp, utc: bool) -> String {
    format(time, utc, "%H:%M:%S%.3f", "??:??:??.???")
}

/// Day and time, with the zone.
pub fn date_and_time(time: Timestamp, utc: bool) -> String {
    format(time, utc, if utc { "%Y-%m-%d %H:%M:%S UTC" } else { "%Y-%m-%d %H:%M:%S %:z" }, "no time of this calendar")
}

/// A time may come from a server whose clock is broken, so it may be none that the calendar has.
fn format(time: Timestamp, utc: bool, pattern: &str, otherwise: &str) -> String {
    let Some(known) = DateTime::<Utc>::from_timestamp_millis(time.0) else { return otherwise.to_owned() };
    if utc { known.format(pattern).to_string() } else { known.with_timezone(&Local).format(pattern).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_at_most_six_columns_and_name_two_units() {
        for (millis, shown) in [
            (0, "0.0s"),
            (840, "0.8s"),
            (9_999, "9.9s"),
            (38_000, "38s"),
            (842_000, "14m02s"),
            (11_100_000, "3h05m"),
            (187_200_000, "2d04h"),
            (100 * 86_400_000, "100d"),
            (u64::MAX, "ages"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), shown);
            assert!(shown.len() <= 6);
        }
    }

    #[test]
    fn numbers_are_grouped_from_the_right() {
        assert_eq!([0, 7, 999, 1_904, 21_115, 1_000_000].map(count), ["0", "7", "999", "1 904", "21 115", "1 000 000"]);
    }

    #[test]
    fn small_rates_have_a_decimal_and_none_is_a_plain_zero() {
        assert_eq!([0.0, 0.04, 0.1, 9.94, 9.96, 1234.5].map(rate), ["0", "0", "0.1", "9.9", "10", "1 235"]);
    }

    #[test]
    fn a_time_that_no_calendar_has_is_still_shown() {
        assert_eq!(time_of_day(Timestamp(i64::MAX), true), "??:??:??");
        assert_eq!(exact_time(Timestamp(1_714_574_467_250), true), "14:41:07.250");
        assert_eq!(date_and_time(Timestamp(0), true), "1970-01-01 00:00:00 UTC");
    }
}
