//! Durations as people write them: `500ms`, `90s`, `1h30m`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

/// The longest accepted duration: a year. Longer ones are mistakes, and would overflow a clock.
const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 3600);

/// The accepted session timeouts: at most what the protocol can carry, and at least what a server
/// could grant.
const SESSION_TIMEOUTS: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);

/// Parses a duration above zero and of at most a year.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Err(_) => Err("write a number and its unit, as in 500ms, 90s or 1h30m".to_owned()),
        Ok(Duration::ZERO) => Err("it must be longer than nothing".to_owned()),
        Ok(duration) if duration > MAX_DURATION => Err("it must not be longer than a year".to_owned()),
        Ok(duration) => Ok(duration),
    }
}

/// Parses a duration like [`parse`]; `0` with or without a unit means none.
pub(super) fn parse_or_none(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Ok(Duration::ZERO),
        _ => parse(text),
    }
}

/// Parses a session timeout that a server could grant.
pub(super) fn session_timeout(text: &str) -> Result<Duration, String> {
    let duration = parse(text)?;
    if SESSION_TIMEOUTS.contains(&duration) {
        Ok(duration)
    } else {
        Err("a session timeout lies between 100ms and 1h".to_owned())
    }
}

/// Reads a duration like [`parse`] from the config file.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    parse(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

/// Reads a timeout like [`session_timeout`] from the config file.
pub(super) fn deserialize_session_timeout<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    session_timeout(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them_and_senseless_ones_refused() {
        assert_eq!(parse("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        for text in ["", "10", "0s", "-1s", "2000y", "99999999999999999999s", "soon"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        for text in ["0", "0s", "0ms"] {
            assert_eq!(parse_or_none(text), Ok(Duration::ZERO));
        }
        assert_eq!(parse_or_none("500ms"), parse("500ms"));
        assert!(parse_or_none("soon").is_err() && parse_or_none("2000y").is_err());
        assert!(session_timeout("10s").is_ok());
        assert!(session_timeout("1ms").is_err());
        assert!(session_timeout("30days").is_err());
    }
}
