//! When the user last looked at the screen: later events are new.

use std::time::Duration;

use lockscope_base::znode::Timestamp;

/// After this long without a key, the user counts as away.
const AWAY_AFTER: Duration = Duration::from_secs(60);

/// The times of the keys that decide since when the user was away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attention {
    last: Option<Timestamp>,
    /// The last key before the latest absence.
    left: Option<Timestamp>,
}

impl Attention {
    /// Records a key press.
    pub fn attend(&mut self, now: Timestamp) {
        self.left = self.looked_until(now);
        self.last = Some(now);
    }

    /// The end of the user's last visit: the last key before the latest absence. `None` when the
    /// user was never away.
    pub fn looked_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.last.filter(|last| now.since(*last) >= AWAY_AFTER).or(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_during_an_absence_stay_new_until_the_next_absence() {
        let at = |seconds: i64| Timestamp(seconds * 1_000);
        let mut attention = Attention::default();
        assert_eq!(attention.looked_until(at(500)), None, "nobody pressed a key yet");
        attention.attend(at(510));
        attention.attend(at(550));
        assert_eq!(attention.looked_until(at(600)), None, "somebody looks");
        assert_eq!(attention.looked_until(at(610)), Some(at(550)), "nobody looks");
        attention.attend(at(3_000));
        attention.attend(at(3_010));
        assert_eq!(attention.looked_until(at(3_020)), Some(at(550)), "somebody reads what is new");
        assert_eq!(attention.looked_until(at(3_100)), Some(at(3_010)));
    }
}
