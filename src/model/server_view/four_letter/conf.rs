//! The answer to `conf`.

use std::time::Duration;

use super::whole_lines;
use crate::server_view::{ServerLimits, ServerSettings};

/// Reads the answer to `conf`: lines of a name, `=` and a value. `None` unless it contains both
/// settings.
pub fn conf(answer: &str) -> Option<ServerSettings> {
    let millis = |name: &str| {
        let value = whole_lines(answer).find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        value.trim().parse().ok().map(Duration::from_millis)
    };
    ServerSettings::new(millis("tickTime")?, millis("minSessionTimeout")?)
}

/// Reads the limits for clients in the answer to `conf`.
pub fn limits(answer: &str) -> ServerLimits {
    let settings = whole_lines(answer).filter_map(|line| line.split_once('='));
    ServerLimits::collect(settings.filter_map(|(name, value)| Some((name, value.trim().parse().ok()?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = include_str!("../captures/standalone-conf.txt");

    #[test]
    fn a_real_answer_contains_the_shortest_session_timeout() {
        let found = conf(REAL).expect("its settings");
        assert_eq!(found.min_session_timeout(), Duration::from_millis(1_500));
        assert_eq!(found.tick(), Duration::from_millis(500));
    }

    #[test]
    fn a_missing_or_truncated_line_is_no_setting() {
        for answer in ["", "conf is not executed because it is not in the whitelist.\n", "tickTime=500\n"] {
            assert_eq!(conf(answer), None, "{answer}");
        }
        let end =
            REAL.find("minSessionTimeout=").expect("the answer contains the setting") + "minSessionTimeout=1500".len();
        assert_eq!(conf(&REAL[..end]), None, "the number may have gone on");
        assert_eq!(conf("tickTime=0\nminSessionTimeout=1\n"), None);
        assert_eq!(conf("tickTime=99999999999999999999\nminSessionTimeout=-1\n"), None);
    }
}
