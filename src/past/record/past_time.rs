//! Points in the past as people write them: `2026-05-01T02:13:00Z`, `02:13`, `-10m`.

use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Days, Local, NaiveDateTime, NaiveTime, TimeZone, Utc};

use lockscope_base::znode::Timestamp;

/// The longest time ago: a year. Longer ones are mistakes, and would overflow a clock.
const MAX_AGO: Duration = Duration::from_secs(366 * 24 * 3600);

/// A point in time as it was written. The result depends on the current time.
///
/// As the value of an option it needs `allow_hyphen_values`, because it may begin with a hyphen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastTime {
    /// An RFC 3339 time with its zone.
    At(Timestamp),
    /// A day and a time of day, without a zone.
    Clock(NaiveDateTime),
    /// A time of day: the latest one that is not in the future.
    TimeOfDay(NaiveTime),
    /// A time span before now.
    Ago(Duration),
    /// Now.
    Now,
}

impl PastTime {
    /// Returns the point in time. A time without a zone is local unless `utc` is set. Returns
    /// `None` for a time outside of the calendar.
    pub fn resolve(self, now: Timestamp, utc: bool) -> Option<Timestamp> {
        if utc { self.resolve_in(&Utc, now) } else { self.resolve_in(&Local, now) }
    }

    /// Returns the point in time as the end of a range that begins at `from`: a time of day is the
    /// first one after that. Returns `None` for a time outside of the calendar.
    pub fn resolve_after(self, from: Timestamp, now: Timestamp, utc: bool) -> Option<Timestamp> {
        match self {
            Self::TimeOfDay(time) if utc => first_after(&Utc, time, from),
            Self::TimeOfDay(time) => first_after(&Local, time, from),
            other => other.resolve(now, utc),
        }
    }

    fn resolve_in<Z: TimeZone>(self, zone: &Z, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::At(time) => Some(time),
            Self::Now => Some(now),
            Self::Ago(ago) => Some(Timestamp(now.0.checked_sub(i64::try_from(ago.as_millis()).ok()?)?)),
            Self::Clock(time) => times(zone, time).pop(),
            Self::TimeOfDay(time) => {
                let today = DateTime::<Utc>::from_timestamp_millis(now.0)?.with_timezone(zone).date_naive();
                // When a clock is set back some times occur twice; when it is set forward some
                // never occur.
                let days = (0..=2).filter_map(|before| today.checked_sub_days(Days::new(before)));
                days.flat_map(|day| times(zone, day.and_time(time))).filter(|found| *found <= now).max()
            }
        }
    }
}

/// Returns the first time, not before `from`, at which a wall clock shows this time of day.
fn first_after<Z: TimeZone>(zone: &Z, time: NaiveTime, from: Timestamp) -> Option<Timestamp> {
    let day = DateTime::<Utc>::from_timestamp_millis(from.0)?.with_timezone(zone).date_naive();
    let days = (0..=2).filter_map(|after| day.checked_add_days(Days::new(after)));
    days.flat_map(|day| times(zone, day.and_time(time))).find(|found| *found >= from)
}

/// Returns the times at which a wall clock showed `shown`: two where it was set back, none where it
/// was set forward; the later one last.
fn times<Z: TimeZone>(zone: &Z, shown: NaiveDateTime) -> Vec<Timestamp> {
    let found = zone.from_local_datetime(&shown);
    let mut times: Vec<_> = [found.clone().earliest(), found.latest()]
        .into_iter()
        .flatten()
        .map(|time| Timestamp(time.timestamp_millis()))
        .collect();
    times.sort_unstable();
    times
}

impl FromStr for PastTime {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if ["now", "end"].contains(&text) {
            return Ok(Self::Now);
        }
        if let Some(ago) = text.strip_prefix('-') {
            let ago = humantime::parse_duration(ago).ok().filter(|ago| *ago <= MAX_AGO);
            let ago = ago.ok_or("write how long ago as in -90s, -10m or -1h30m")?;
            return Ok(Self::Ago(ago));
        }
        if let Ok(time) = DateTime::parse_from_rfc3339(text) {
            return Ok(Self::At(Timestamp(time.timestamp_millis())));
        }
        let clock = |pattern| NaiveDateTime::parse_from_str(text, pattern).ok();
        if let Some(time) = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]
            .into_iter()
            .find_map(clock)
        {
            return Ok(Self::Clock(time));
        }
        let time_of_day = |pattern| NaiveTime::parse_from_str(text, pattern).ok();
        let found = ["%H:%M:%S%.f", "%H:%M"].into_iter().find_map(time_of_day).map(Self::TimeOfDay);
        found.ok_or("write a time as in 02:13, 02:13:30, -10m, now or 2026-05-01T02:13:00Z")
    }
}

#[cfg(test)]
mod tests {
    use chrono::FixedOffset;

    use super::*;

    /// 2024-05-01 14:41:07.250 UTC.
    const NOW: Timestamp = Timestamp(1_714_574_467_250);

    fn shown(text: &str, hours_east: i32) -> String {
        let zone = FixedOffset::east_opt(hours_east * 3600).unwrap();
        let time = text.parse::<PastTime>().unwrap().resolve_in(&zone, NOW).unwrap();
        lockscope_model::report::rfc3339(time).unwrap()
    }

    #[test]
    fn a_time_of_day_is_the_latest_that_has_come() {
        assert_eq!(shown("02:13", 0), "2024-05-01T02:13:00.000Z");
        assert_eq!(shown("14:41:07", 0), "2024-05-01T14:41:07.000Z");
        assert_eq!(shown("14:41:07.25", 0), "2024-05-01T14:41:07.250Z");
        assert_eq!(shown("14:41:08", 0), "2024-04-30T14:41:08.000Z", "that of yesterday");
        assert_eq!(shown("00:00", 0), "2024-05-01T00:00:00.000Z");
    }

    #[test]
    fn a_time_without_a_zone_is_read_by_the_local_clock() {
        assert_eq!(shown("02:13", 2), "2024-05-01T00:13:00.000Z");
        assert_eq!(shown("16:41", 2), "2024-05-01T14:41:00.000Z");
        assert_eq!(shown("16:42", 2), "2024-04-30T14:42:00.000Z");
        assert_eq!(shown("01:00", 12), "2024-05-01T13:00:00.000Z", "tomorrow there");
        assert_eq!(shown("2024-04-30 02:13", 2), "2024-04-30T00:13:00.000Z");
        assert_eq!(shown("2024-04-30T02:13:00Z", 2), "2024-04-30T02:13:00.000Z");
        assert_eq!(shown("2024-04-30T02:13:00.5+05:00", 2), "2024-04-29T21:13:00.500Z");
    }

    #[test]
    fn a_hyphen_means_a_time_ago() {
        assert_eq!(shown("-10m", 3), "2024-05-01T14:31:07.250Z");
        assert_eq!(shown("-1h30m", 0), "2024-05-01T13:11:07.250Z");
        assert_eq!(shown("-0s", 0), "2024-05-01T14:41:07.250Z");
    }

    #[test]
    fn the_end_of_a_range_is_the_first_such_time_after_its_beginning() {
        let from = |text: &str| text.parse::<PastTime>().unwrap().resolve(NOW, true).unwrap();
        let ends = |text: &str, begins| {
            let end = text.parse::<PastTime>().unwrap().resolve_after(from(begins), NOW, true).unwrap();
            lockscope_model::report::rfc3339(end).unwrap()
        };
        assert_eq!(ends("15:30", "14:00"), "2024-05-01T15:30:00.000Z", "it has not come yet");
        assert_eq!(ends("15:30", "14:50"), "2024-04-30T15:30:00.000Z", "of the same day");
        assert_eq!(ends("02:13", "22:00"), "2024-05-01T02:13:00.000Z", "over midnight");
        assert_eq!(ends("14:00", "14:00"), "2024-05-01T14:00:00.000Z");
        assert_eq!(ends("now", "14:00"), "2024-05-01T14:41:07.250Z");
        assert_eq!(ends("-5m", "14:00"), "2024-05-01T14:36:07.250Z");
        assert_eq!(shown("now", 2), shown("end", 0));
    }

    #[test]
    fn texts_that_are_no_time_are_refused_with_examples() {
        for text in ["", "-", "soon", "25:00", "12:60", "-10", "--10m", "10m", "2024-13-01T00:00:00Z", "12", "-5000y"] {
            let refusal = text.parse::<PastTime>().unwrap_err();
            assert!(refusal.starts_with("write "), "{text}: {refusal}");
        }
        // An unset clock: no earlier time exists.
        let early = PastTime::Ago(Duration::from_secs(1)).resolve(Timestamp(i64::MIN), true);
        assert_eq!(early, None);
        assert_eq!(PastTime::TimeOfDay(NaiveTime::MIN).resolve(Timestamp(i64::MAX), true), None);
    }

    #[test]
    fn times_are_local_unless_utc_is_requested() {
        let time: PastTime = "02:13".parse().unwrap();
        assert_eq!(time.resolve(NOW, true), Some(Timestamp(1_714_529_580_000)));
        let local = time.resolve(NOW, false).expect("a time");
        assert_eq!(lockscope_model::text::human::time_of_day(local, false), "02:13:00");
    }
}
