//! Durations and times as people read them.

use std::time::Duration;

use chrono::{DateTime, Local, Utc};

use crate::tui::widget::text::{Charset, Keep, cut, fit};
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

/// A duration with three digits: `<0.1ms`, `0.4ms`, `22.1ms`, `412ms`, `1.25s`, `14.0s`; from a minute on as [`span`].
pub(super) fn brief(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match duration.as_micros() {
        0 => "0s".to_owned(),
        1..50 => "<0.1ms".to_owned(),
        50..99_950 => format!("{:.1}ms", seconds * 1000.0),
        99_950..999_500 => format!("{:.0}ms", seconds * 1000.0),
        999_500..9_995_000 => format!("{seconds:.2}s"),
        9_995_000..59_950_000 => format!("{seconds:.1}s"),
        _ => span(duration),
    }
}

/// A number with a blank between its thousands: `21 115`.
pub(super) fn count(number: u64) -> String {
    crate::znode::grouped(number)
}

/// A figure that was measured, zero or above, with as many digits as matter: `0.08`, `1.0`, `51.2`, `412`, `1 204`.
pub(super) fn figure(number: f64) -> String {
    if number > 0.0 && number < 0.95 {
        return format!("{number:.2}");
    }
    if number < 99.95 {
        return format!("{number:.1}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast that does not fit saturates")]
    count(number.round() as u64)
}

/// Columns of a path or a name at most: one that is longer must not make every line as long.
const NAME_COLUMNS: usize = 64;

/// A path or a name from the tree as a terminal may be given it, in at most 64 columns: both its ends stay.
pub(super) fn name(text: &str) -> String {
    fit(text, NAME_COLUMNS, Keep::Ends, Charset::Unicode)
}

/// A sentence about the tree, in which names are escaped already: each that is too long loses its middle.
pub(super) fn sentence(text: &str) -> String {
    let words = text.split(' ').map(|word| cut(word, 2 * NAME_COLUMNS, Keep::Ends, Charset::Unicode));
    cut(&words.collect::<Vec<_>>().join(" "), 16 * NAME_COLUMNS, Keep::Ends, Charset::Unicode)
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
    fn a_brief_duration_keeps_three_digits() {
        for (micros, shown) in [
            (0, "0s"),
            (40, "<0.1ms"),
            (50, "0.1ms"),
            (430, "0.4ms"),
            (22_149, "22.1ms"),
            (99_951, "100ms"),
            (999_499, "999ms"),
            (999_500, "1.00s"),
            (14_000_000, "14.0s"),
            (842_000_000, "14m02s"),
        ] {
            assert_eq!(brief(Duration::from_micros(micros)), shown);
        }
        assert!(!brief(Duration::MAX).is_empty());
    }

    #[test]
    fn a_number_is_grouped_and_keeps_the_digits_that_matter() {
        assert_eq!(
            [0, 999, 1000, 21_115, u64::MAX].map(count).join(", "),
            "0, 999, 1 000, 21 115, 18 446 744 073 709 551 615"
        );
        let figures = [0.0, 0.08, 0.96, 51.24, 99.96, 1203.7, f64::INFINITY].map(figure);
        assert_eq!(figures[..6].join(", "), "0.0, 0.08, 1.0, 51.2, 100, 1 204");
        assert!(!figures[6].is_empty());
    }

    #[test]
    fn a_name_that_is_too_long_loses_its_middle_and_nothing_else_of_its_sentence() {
        let long = format!("{}0000000042", "x".repeat(5_000));
        let shown = name(&long);
        assert_eq!(shown.chars().count(), 64);
        assert!(shown.starts_with("xxx") && shown.contains('…') && shown.ends_with("0000000042"));
        assert_eq!(name("/locks/bill\u{1b}ing"), r"/locks/bill\u{1b}ing");
        let said = sentence(&format!(r"it is the turn of {long}, but \u{{1b}} its session watched nothing"));
        assert!(said.starts_with("it is the turn of xxx") && said.chars().count() < 200, "{said}");
        assert!(said.ends_with(r"0000000042, but \u{1b} its session watched nothing"), "{said}");
        assert!(sentence(&"a b ".repeat(5_000)).chars().count() <= 1_024);
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
