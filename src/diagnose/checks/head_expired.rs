//! The holder before this one lost the lock to the end of its session: it may not know.

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext};
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Severity};
use crate::queue::HeldSince;

/// Nothing in the tree is wrong: a paused process believes for a while that it still holds. It matters as long as its successor
/// holds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct HeadChangedByExpiry;

impl Check for HeadChangedByExpiry {
    fn look_at_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let (Some(expiry), Some(holder)) = (context.lock.last_expiry(), context.lock.first_holder()) else { return };
        // Of who is not read yet neither the session nor the fencing token is known.
        let is_known = holder.is_read() && holder.session() != Some(expiry.session);
        if !is_known || holder.held() != HeldSince::Since(expiry.at) {
            return;
        }
        let summary = format!(
            "{} lost the lock when its session expired; if its process was only paused, it may think that it still holds",
            expiry.client.in_sentence(context.now())
        );
        let remedy =
            format!("delete nothing; make what the lock protects refuse fencing tokens below {}", holder.czxid);
        let finding = finding(Code::HeadChangedByExpiry, Severity::Info, context.lock, Some(&holder.node))
            .of_client(expiry.client.clone())
            .because(summary, remedy);
        found.push(Suspicion::proved(finding, context.now()).of_state(holder.czxid.0));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, path};
    use crate::queue::Change;
    use crate::znode::ZnodePath;

    pub fn examples() -> Vec<Example> {
        vec![(Code::HeadChangedByExpiry, head_expired())]
    }

    /// The client of session 1 is gone, its session runs out, and its node goes.
    fn let_expire(world: &mut DiagnosisFixture, head: &ZnodePath) {
        let expires = world.now.plus(Duration::from_secs(5));
        let client = world.client(1);
        (client.connected, client.expires_at) = (false, Some(expires));
        world.pass(5);
        world.delete(head);
        world.pass(2);
    }

    fn head_expired() -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        let_expire(&mut world, &head);
        world
    }

    #[test]
    fn a_head_that_ran_out_is_remembered_as_long_as_its_successor_holds() {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        let next = world.create(&curator("/l", 2), 2);
        let_expire(&mut world, &head);
        assert_eq!(world.codes(Severity::Info), [Code::HeadChangedByExpiry]);
        world.delete(&next);
        assert_eq!(world.pass(1).1, [Code::HeadChangedByExpiry]);
    }

    #[test]
    fn nothing_is_said_while_the_successor_is_not_read() {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        let next = path(&format!("{}0000000009", curator("/l", 2)));
        world.apply(Change::Appeared { path: next });
        let_expire(&mut world, &head);
        assert_eq!(world.codes(Severity::Info), []);
    }

    #[test]
    fn a_release_is_none() {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        world.pass(2);
        world.delete(&head);
        assert_eq!(world.pass(3).0, []);
    }
}
