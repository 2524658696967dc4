//! When somebody last looked at the screen: what came since is new.

use std::time::Duration;

use lockscope_base::znode::Timestamp;

/// Without a key for this long, nobody is taken to look.
const AWAY_AFTER: Duration = Duration::from_secs(60);

/// When keys were pressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attention {
    last: Option<Timestamp>,
    /// The last key before somebody was away.
    left: Option<Timestamp>,
}

impl Attention {
    /// Somebody pressed a key.
    pub fn attend(&mut self, now: Timestamp) {
        self.left = self.looked_until(now);
        self.last = Some(now);
    }

    /// Up to when somebody looked before now; `None` where nobody was away since the start.
    pub fn looked_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.last.filter(|last| now.since(*last) >= AWAY_AFTER).or(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_while_nobody_looked_stays_new_until_somebody_leaves_again() {
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
