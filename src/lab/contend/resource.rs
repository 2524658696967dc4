//! The resource that a fleet's lock protects. It exists only in this process. Pure.

use std::time::Duration;

use super::{ClientId, ResourceStatus, ResourceWrite};
use lockscope_base::znode::Zxid;

/// The resource that a fleet's lock protects. It refuses a token that is lower than one that has
/// written.
#[derive(Debug, Default)]
pub(super) struct Resource(ResourceStatus);

impl Resource {
    /// Records a write of a client, and returns whether it is accepted.
    pub(super) fn write(&mut self, client: ClientId, token: Zxid, now: Duration) -> ResourceWrite {
        let accepted = self.0.highest.is_none_or(|highest| token >= highest);
        if accepted {
            (self.0.highest, self.0.writer) = (Some(token), Some(client));
            self.0.accepted += 1;
        } else {
            self.0.rejected += 1;
            self.0.last_rejected = Some((client, token, now));
        }
        ResourceWrite { token, accepted }
    }

    pub(super) fn status(&self) -> ResourceStatus {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_may_write_until_a_higher_one_has_written() {
        let mut resource = Resource::default();
        let (early, late) = (Duration::from_secs(1), Duration::from_secs(2));
        let mut write = |client, token, now| resource.write(ClientId(client), Zxid(token), now).accepted;
        assert!(write(1, 5, early) && write(1, 5, early) && write(2, 7, early));
        assert!(!write(1, 5, late));
        let expected = ResourceStatus {
            highest: Some(Zxid(7)),
            writer: Some(ClientId(2)),
            accepted: 3,
            rejected: 1,
            last_rejected: Some((ClientId(1), Zxid(5), late)),
        };
        assert_eq!(resource.status(), expected);
    }
}
