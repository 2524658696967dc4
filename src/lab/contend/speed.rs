//! The speed at which a fleet's clients take steps. Data only.

use std::time::Duration;

/// The speed of test clients: on their own, or a number of steps per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Speed {
    /// One step every two seconds.
    EveryTwoSeconds,
    /// One step per second.
    OnePerSecond,
    /// One step every 500 ms.
    TwoPerSecond,
    /// One step every 250 ms.
    FourPerSecond,
    /// One step every 100 ms.
    TenPerSecond,
    /// The clients go on without waiting for steps.
    #[default]
    Full,
}

impl Speed {
    /// All speeds, from the slowest to the fastest.
    pub const ALL: [Self; 6] = [
        Self::EveryTwoSeconds,
        Self::OnePerSecond,
        Self::TwoPerSecond,
        Self::FourPerSecond,
        Self::TenPerSecond,
        Self::Full,
    ];

    /// Returns the next slower speed; the slowest returns itself.
    #[must_use]
    pub fn slower(self) -> Self {
        Self::ALL[(self as usize).saturating_sub(1)]
    }

    /// Returns the next faster speed; the fastest returns itself.
    #[must_use]
    pub fn faster(self) -> Self {
        Self::ALL[(self as usize + 1).min(Self::ALL.len() - 1)]
    }

    /// Returns the time between steps; `None` at full speed.
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

    /// Returns the speed's name for people.
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

    /// Returns the speed with that name: `full`, or the time between steps, such as `2s` or
    /// `250ms`.
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
