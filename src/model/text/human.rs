//! Numbers, durations and times as people read them.

use std::time::Duration;

use chrono::{DateTime, Local, Utc};

use super::Charset;
use lockscope_base::znode::Timestamp;

/// A number of counted things.
pub trait Countable: Copy {
    /// Returns the number, saturating.
    fn number(self) -> u64;
}

impl Countable for u64 {
    fn number(self) -> u64 {
        self
    }
}

impl Countable for u32 {
    fn number(self) -> u64 {
        self.into()
    }
}

impl Countable for usize {
    fn number(self) -> u64 {
        u64::try_from(self).unwrap_or(u64::MAX)
    }
}

/// Formats a whole number with a space between its thousands: `21 115`.
///
/// ```
/// use lockscope_model::text::human::count;
///
/// assert_eq!(count(21_115u64), "21 115");
/// ```
pub fn count(number: impl Countable) -> String {
    let digits = number.number().to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a number in at most `columns` columns. If it does not fit, it is rounded down to
/// thousands or millions.
///
/// ```
/// use lockscope_model::text::human::count_within;
///
/// assert_eq!(count_within(9_999u64, 5), "9 999");
/// assert_eq!(count_within(123_456u64, 5), "123k");
/// ```
pub fn count_within(number: impl Countable, columns: usize) -> String {
    let (whole, number) = (count(number), number.number());
    let rounded = || [(1_000, "k"), (1_000_000, "M")].map(|(unit, sign)| format!("{}{sign}", count(number / unit)));
    if whole.len() <= columns {
        return whole;
    }
    rounded().into_iter().find(|text| text.len() <= columns).unwrap_or(whole)
}

/// Formats a number of things: `1 lock`, `21 115 locks`.
///
/// ```
/// use lockscope_model::text::human::plural;
///
/// assert_eq!(plural(1u64, "lock", "locks"), "1 lock");
/// assert_eq!(plural(0u64, "lock", "locks"), "0 locks");
/// ```
pub fn plural(number: impl Countable, one: &str, more: &str) -> String {
    format!("{} {}", count(number), if number.number() == 1 { one } else { more })
}

/// Formats a number of bytes: `9 999 B`, `10 kB`, `21 MB`. A kilobyte has 1000 bytes.
pub fn bytes(number: u64) -> String {
    match number {
        0..10_000 => format!("{} B", count(number)),
        10_000..10_000_000 => format!("{} kB", count(number / 1000)),
        _ => format!("{} MB", count(number / 1_000_000)),
    }
}

/// Formats a rate per second: `0`, `0.1`, `9.9`, `27`, `1 235`. A rate below 0.05 is `0`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates are not negative, and a huge one saturates"
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

/// Formats a ratio of two counts, zero or above: `0.08`, `1.0`, `51.2`, `412`, `1 204`. Smaller
/// ratios have more decimals.
pub fn ratio(number: f64) -> String {
    if number > 0.0 && number < 0.95 {
        return format!("{number:.2}");
    }
    if number < 99.95 {
        return format!("{number:.1}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a value that does not fit saturates")]
    count(number.round() as u64)
}

/// Formats a time that is usually measured in milliseconds: `<0.1ms`, `0.4ms`, `42ms`, `412ms`,
/// `1.25s`, `14.0s`. From a minute on as [`duration`]. At most six columns.
pub fn latency(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match time.as_micros() {
        0 => "0s".to_owned(),
        1..50 => "<0.1ms".to_owned(),
        50..9_950 => format!("{:.1}ms", seconds * 1000.0),
        9_950..999_500 => format!("{:.0}ms", seconds * 1000.0),
        999_500..9_995_000 => format!("{seconds:.2}s"),
        9_995_000..59_950_000 => format!("{seconds:.1}s"),
        _ => duration(time),
    }
}

/// Formats a duration in at most six columns: `0.8s`, `38s`, `14m02s`, `3h05m`, `2d04h`, `120d`.
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

/// Formats a duration in seconds with all its milliseconds, as in settings: `10s`, `13.75s`.
pub fn exact_seconds(duration: Duration) -> String {
    let text = format!("{}.{:03}", duration.as_secs(), duration.subsec_millis());
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Formats the remaining time of something that is known to about a second, rounded up: `9s`,
/// `38s`. From a minute on as [`duration`].
pub fn countdown(left: Duration) -> String {
    match left.as_millis().div_ceil(1000) {
        seconds @ ..60 => format!("{seconds}s"),
        _ => duration(left),
    }
}

/// Formats a duration that is known by two bounds, in at most seven columns (eight in ASCII).
///
/// Equal bounds are written as the duration itself. The lower bound, rounded down, is used from a
/// minute on or from half of the upper bound on: `≥13m`. Otherwise the upper bound is used, rounded
/// up: `≤16s`.
///
/// ```
/// use std::time::Duration;
/// use lockscope_model::text::{Charset, human::bounded};
///
/// let shown = |least, most| bounded(Duration::from_secs(least), Duration::from_secs(most), Charset::Unicode);
/// assert_eq!(shown(842, 842), "14m02s");
/// assert_eq!(shown(842, 7_000), "≥14m");
/// assert_eq!(shown(2, 16), "≤16s");
/// ```
pub fn bounded(at_least: Duration, at_most: Duration, charset: Charset) -> String {
    if at_least >= at_most {
        return duration(at_least);
    }
    let most = match charset {
        Charset::Unicode => "≤",
        Charset::Ascii => "<=",
    };
    if at_least >= Duration::from_secs(60) || at_least >= at_most / 2 {
        return no_less(at_least, charset);
    }
    let up = at_most.as_millis().div_ceil(1000).min(u64::MAX.into());
    let up = Duration::from_secs(u64::try_from(up).unwrap_or(u64::MAX));
    // Exact below ten seconds, whole minutes from ten minutes on, whole hours from a day on.
    let up = match at_most.as_secs() {
        0..10 => at_most.saturating_add(Duration::from_millis(99)),
        600..86_400 => Duration::from_secs(up.as_secs().div_ceil(60).saturating_mul(60)),
        86_400.. => Duration::from_secs(up.as_secs().div_ceil(3600).saturating_mul(3600)),
        _ => up,
    };
    format!("{most}{}", coarse(up))
}

/// Formats a lower bound of a duration, rounded down: `≥13m`.
pub fn no_less(at_least: Duration, charset: Charset) -> String {
    let sign = match charset {
        Charset::Unicode => "≥",
        Charset::Ascii => ">=",
    };
    format!("{sign}{}", coarse(at_least))
}

/// Formats as [`duration`], but in whole minutes between ten minutes and an hour. A bound needs no
/// more.
fn coarse(time: Duration) -> String {
    match time.as_secs() {
        600..3600 => format!("{}m", time.as_secs() / 60),
        _ => duration(time),
    }
}

/// Formats how long a client has been silent, and its timeout: `silent 9.4s of 10s`.
///
/// ```
/// use std::time::Duration;
/// use lockscope_model::text::human::silent;
///
/// assert_eq!(silent(Duration::from_millis(9_400), Duration::from_secs(10)), "silent 9.4s of 10s");
/// assert_eq!(silent(Duration::from_secs(2), Duration::from_secs(4)), "silent 2.0s of 4s");
/// ```
pub fn silent(lasted: Duration, timeout: Duration) -> String {
    let whole = timeout.subsec_millis() < 100 && timeout.as_secs() < 10;
    let timeout = if whole { format!("{}s", timeout.as_secs()) } else { duration(timeout) };
    format!("silent {} of {timeout}", duration(lasted))
}

/// Formats the time of day to the second, in local time or UTC.
pub fn time_of_day(time: Timestamp, utc: bool) -> String {
    format(time, utc, "%H:%M:%S", "??:??:??")
}

/// Formats the time of day to the millisecond, in local time or UTC.
pub fn exact_time(time: Timestamp, utc: bool) -> String {
    format(time, utc, "%H:%M:%S%.3f", "??:??:??.???")
}

/// Formats the date and the time, with the time zone.
pub fn date_and_time(time: Timestamp, utc: bool) -> String {
    format(time, utc, if utc { "%Y-%m-%d %H:%M:%S UTC" } else { "%Y-%m-%d %H:%M:%S %:z" }, "no time of this calendar")
}

/// Formats a time, or returns `otherwise` for a time outside of the calendar, which a server with a
/// broken clock may send.
fn format(time: Timestamp, utc: bool, pattern: &str, otherwise: &str) -> String {
    let Some(known) = DateTime::<Utc>::from_timestamp_millis(time.0) else { return otherwise.to_owned() };
    if utc { known.format(pattern).to_string() } else { known.with_timezone(&Local).format(pattern).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_seconds_keep_each_millisecond_without_trailing_zeros() {
        for (millis, shown) in [(0, "0s"), (100_000, "100s"), (13_750, "13.75s"), (2_625, "2.625s")] {
            assert_eq!(exact_seconds(Duration::from_millis(millis)), shown);
        }
    }

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
    fn a_countdown_uses_whole_seconds() {
        for (millis, shown) in
            [(0, "0s"), (1, "1s"), (8_400, "9s"), (59_000, "59s"), (60_000, "1m00s"), (842_000, "14m02s")]
        {
            assert_eq!(countdown(Duration::from_millis(millis)), shown);
        }
    }

    #[test]
    fn a_bound_never_claims_too_much() {
        let shown = |least, most| bounded(Duration::from_millis(least), Duration::from_millis(most), Charset::Unicode);
        for ((least, most), text) in [
            ((0, 15_001), "≤16s"),
            ((0, 9_310), "≤9.4s"),
            ((0, 9_950), "≤10s"),
            ((0, 59_500), "≤1m00s"),
            ((0, 601_000), "≤11m"),
            ((5_000, 3_541_000), "≤1h00m"),
            ((0, 3_600_001), "≤1h01m"),
            ((0, 90_000_000), "≤1d01h"),
            ((9_000, 16_000), "≥9.0s"),
            ((60_000, 86_400_000), "≥1m00s"),
            ((839_999, 5_000_000), "≥13m"),
            ((11_159_000, 20_000_000), "≥3h05m"),
            ((842_000, 842_000), "14m02s"),
            ((u64::MAX / 2, u64::MAX), "≥ages"),
        ] {
            assert_eq!(shown(least, most), text);
            assert!(text.chars().count() <= 7);
        }
        assert_eq!(bounded(Duration::from_secs(90), Duration::MAX, Charset::Ascii), ">=1m30s");
        assert_eq!(bounded(Duration::ZERO, Duration::MAX, Charset::Ascii), "<=ages");
    }

    #[test]
    fn a_latency_keeps_the_digits_that_matter_in_at_most_six_columns() {
        for (micros, shown) in [
            (0, "0s"),
            (40, "<0.1ms"),
            (50, "0.1ms"),
            (430, "0.4ms"),
            (9_949, "9.9ms"),
            (9_951, "10ms"),
            (22_149, "22ms"),
            (999_499, "999ms"),
            (999_500, "1.00s"),
            (14_000_000, "14.0s"),
            (842_000_000, "14m02s"),
        ] {
            assert_eq!(latency(Duration::from_micros(micros)), shown);
            assert!(shown.len() <= 6);
        }
        assert_eq!(latency(Duration::MAX), "ages");
    }

    #[test]
    fn numbers_are_grouped_from_the_right() {
        assert_eq!(
            [0, 7, 999, 1_904, 21_115, 1_000_000].map(|number: u64| count(number)),
            ["0", "7", "999", "1 904", "21 115", "1 000 000"]
        );
        assert_eq!(count(u64::MAX), "18 446 744 073 709 551 615");
        assert_eq!([9_999, 10_000, 10_000_000].map(bytes), ["9 999 B", "10 kB", "10 MB"]);
    }

    #[test]
    fn small_rates_have_a_decimal_and_none_is_a_plain_zero() {
        assert_eq!([0.0, 0.04, 0.1, 9.94, 9.96, 1234.5].map(rate), ["0", "0", "0.1", "9.9", "10", "1 235"]);
    }

    #[test]
    fn a_ratio_keeps_the_digits_that_matter() {
        let shown = [0.0, 0.08, 0.96, 51.24, 99.96, 1203.7, f64::INFINITY].map(ratio);
        assert_eq!(shown[..6].join(", "), "0.0, 0.08, 1.0, 51.2, 100, 1 204");
        assert!(!shown[6].is_empty());
    }

    #[test]
    fn a_time_outside_of_the_calendar_is_still_shown() {
        assert_eq!(time_of_day(Timestamp(i64::MAX), true), "??:??:??");
        assert_eq!(exact_time(Timestamp(1_714_574_467_250), true), "14:41:07.250");
        assert_eq!(exact_time(Timestamp(i64::MIN), false), "??:??:??.???");
        assert_eq!(date_and_time(Timestamp(0), true), "1970-01-01 00:00:00 UTC");
        // A time just inside the calendar, which a local offset would move out of it.
        let _ = exact_time(Timestamp(DateTime::<Utc>::MAX_UTC.timestamp_millis()), false);
        let _ = exact_time(Timestamp(DateTime::<Utc>::MIN_UTC.timestamp_millis()), false);
    }
}
