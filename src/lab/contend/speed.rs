//! How fast the clients of a fleet are let go on. Data only.

use std::time::Duration;

/// How fast test clients go: by themselves, or so many steps a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Speed {
    /// One step each two seconds.
    EveryTwoSeconds,
    /// One step each second.
    OnePerSecond,
    /// One each 500 ms.
    TwoPerSecond,
    /// One each 250 ms.
    FourPerSecond,
    /// One each 100 ms.
    TenPerSecond,
    /// They go on by themselves.
    #[default]
    Full,
}

impl Speed {
    /// From the slowest to the fastest.
    pub const ALL: [Self; 6] = [
        Self::EveryTwoSeconds,
        Self::OnePerSecond,
        Self::TwoPerSecond,
        Self::FourPerSecond,
        Self::TenPerSecond,
        Self::Full,
    ];

    /// The next slower one; the slowest stays.
    #[must_use]
    pub fn slower(self) -> Self {
        Self::ALL[(self as usize).saturating_sub(1)]
    }

    /// The next faster one; the fastest stays.
    #[must_use]
    pub fn faster(self) -> Self {
        Self::ALL[(self as usize + 1).min(Self::ALL.len() - 1)]
    }

    /// The time from step to step; `None` at full speed.
    pub fn interval(self) -> Option<Duration> {
        Some(Duration::from_millis(match self {
            Self::EveryTwoSeconds => 2_000,
            Self::OnePerSecond => 1_000,
            Self::TwoPerSecond => 500,
            Self::FourPerSecond => 250,
            Self::TenPerSecond => 100,
            Self::Full => return None,
        }))
    }

    /// What it is called.
    pub fn title(self) -> &'static str {
        match self {
            Self::EveryTwoSeconds => "one step each 2 s",
            Self::OnePerSecond => "one step a second",
            Self::TwoPerSecond => "2 steps a second",
            Self::FourPerSecond => "4 steps a second",
            Self::TenPerSecond => "10 steps a second",
            Self::Full => "full speed",
        }
    }

    /// The speed whose name that is: `full`, or the time from step to step, as in `2s` or `250ms`; `None` when there is none.
    pub fn named(name: &str) -> Option<Self> {
        if name == "full" {
            return Some(Self::Full);
        }
        let interval = humantime::parse_duration(name).ok()?;
        Self::ALL.into_iter().find(|speed| speed.interval() == Some(interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slower_and_faster_go_through_all_and_stop_at_the_ends() {
        let mut speed = Speed::Full;
        for expected in Speed::ALL.into_iter().rev() {
            assert_eq!(speed, expected);
            speed = speed.slower();
        }
        assert_eq!(speed, Speed::EveryTwoSeconds);
        for expected in Speed::ALL {
            assert_eq!(speed, expected);
            speed = speed.faster();
        }
        assert_eq!(speed, Speed::Full);
    }

    #[test]
    fn a_speed_is_named_by_its_interval() {
        assert_eq!(Speed::named("full"), Some(Speed::Full));
        assert_eq!(Speed::named("2s"), Some(Speed::EveryTwoSeconds));
        assert_eq!(Speed::named("100ms"), Some(Speed::TenPerSecond));
        assert_eq!((Speed::named("3s"), Speed::named("")), (None, None));
    }
}
