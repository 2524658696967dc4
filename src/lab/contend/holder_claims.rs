//! Checks the claims of clients that hold the lock: whether the lock allows them, and whether the
//! resource that it protects accepts their writes. Pure.
//!
//! The resource exists only in this process.

use std::num::NonZeroU32;
use std::time::Duration;

use super::{ClientId, Overlap};
use lockscope_base::znode::Zxid;
use lockscope_lock::{Access, Algorithm};

/// The clients that may hold together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SharingRule {
    Alone,
    Shared,
    Leases(NonZeroU32),
}

/// A client's claim to hold the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderClaim {
    pub(super) client: ClientId,
    pub(super) token: Zxid,
    pub(super) access: Access,
    /// Whether the client's process was stopped since: its session may have expired without its
    /// knowledge.
    pub(super) was_frozen: bool,
}

/// The violations of a new claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations {
    /// The pairs of clients that claim to hold at the same time.
    pub(super) overlaps: Vec<Overlap>,
    /// An earlier token that is not lower than the new one.
    pub(super) not_above: Option<Zxid>,
}

/// The claims of all clients of a fleet.
#[derive(Clone, Debug)]
pub struct HolderClaims {
    rule: SharingRule,
    claims: Vec<HolderClaim>,
    highest: Option<Zxid>,
    highest_write: Option<Zxid>,
}

impl HolderClaims {
    pub fn new(algorithm: Algorithm) -> Self {
        let rule = match algorithm {
            Algorithm::SharedHerd(_) | Algorithm::SharedChain(_) => SharingRule::Shared,
            Algorithm::Semaphore(leases) => SharingRule::Leases(leases),
            _ => SharingRule::Alone,
        };
        Self { rule, claims: Vec::new(), highest: None, highest_write: None }
    }

    /// Records that a client acquired the lock, and returns what that violates.
    pub fn begins(&mut self, claim: HolderClaim, after: Duration) -> Violations {
        let violations = Violations { overlaps: self.overlaps(&claim, after), not_above: self.not_above(&claim) };
        self.highest = self.highest.max(Some(claim.token));
        if claim.access == Access::Write {
            self.highest_write = self.highest_write.max(Some(claim.token));
        }
        self.claims.push(claim);
        violations
    }

    /// Records that a client releases the lock or knows that it is lost.
    pub fn ends(&mut self, client: ClientId) {
        self.claims.retain(|claim| claim.client != client);
    }

    /// Records that a client's process is stopped.
    pub fn frozen(&mut self, client: ClientId) {
        for claim in self.claims.iter_mut().filter(|claim| claim.client == client) {
            claim.was_frozen = true;
        }
    }

    /// Returns whether the process of a holder was stopped since it acquired the lock.
    pub fn was_frozen(&self, client: ClientId) -> bool {
        self.claims.iter().any(|claim| claim.client == client && claim.was_frozen)
    }

    /// Returns whether a request must wait for the present holders. Other waiters do not count.
    pub fn blocks(&self, access: Access) -> bool {
        match self.rule {
            SharingRule::Alone => !self.claims.is_empty(),
            SharingRule::Shared => {
                self.claims.iter().any(|claim| (claim.access, access) != (Access::Read, Access::Read))
            }
            SharingRule::Leases(leases) => self.claims.len() >= leases.get() as usize,
        }
    }

    fn overlaps(&self, new: &HolderClaim, after: Duration) -> Vec<Overlap> {
        let met: Vec<&HolderClaim> = match self.rule {
            SharingRule::Shared if new.access == Access::Read => {
                self.claims.iter().filter(|claim| claim.access == Access::Write).collect()
            }
            SharingRule::Alone | SharingRule::Shared => self.claims.iter().collect(),
            // The claim exceeds the leases. A stopped client explains it; otherwise the last claim
            // represents all.
            SharingRule::Leases(leases) if self.claims.len() >= leases.get() as usize => {
                self.claims.iter().find(|claim| claim.was_frozen).or(self.claims.last()).into_iter().collect()
            }
            SharingRule::Leases(_) => Vec::new(),
        };
        let overlap = |first: &HolderClaim| Overlap {
            after,
            first: first.client,
            first_token: first.token,
            second: new.client,
            second_token: new.token,
            outlived: first.was_frozen && new.token > first.token,
        };
        met.into_iter().map(overlap).collect()
    }

    /// Returns an earlier token that is not lower. Tokens rise from holder to holder, but readers
    /// and holders of leases may acquire in another order.
    fn not_above(&self, new: &HolderClaim) -> Option<Zxid> {
        let bound = match (self.rule, new.access) {
            (SharingRule::Leases(_), _) => None,
            (SharingRule::Shared, Access::Read) => self.highest_write,
            _ => self.highest,
        };
        bound.filter(|bound| *bound >= new.token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contend::ResourceStatus;

    const NOW: Duration = Duration::from_secs(1);

    fn claim(client: u32, token: i64, access: Access) -> HolderClaim {
        HolderClaim { client: ClientId(client), token: Zxid(token), access, was_frozen: false }
    }

    fn write(client: u32, token: i64) -> HolderClaim {
        claim(client, token, Access::Write)
    }

    fn read(client: u32, token: i64) -> HolderClaim {
        claim(client, token, Access::Read)
    }

    #[test]
    fn consecutive_holders_violate_nothing() {
        let mut claims = HolderClaims::new(Algorithm::Chain);
        for token in 1..5 {
            let client = u32::try_from(token % 2).expect("0 or 1");
            assert_eq!(claims.begins(write(client, token), NOW), Violations::default());
            claims.ends(ClientId(client));
        }
    }

    #[test]
    fn two_holders_are_a_violation_unless_the_first_was_stopped_and_its_token_is_lower() {
        for (frozen, token, outlived) in [(false, 9, false), (true, 9, true), (true, 3, false)] {
            let mut claims = HolderClaims::new(Algorithm::Herd);
            claims.begins(write(1, 5), NOW);
            if frozen {
                claims.frozen(ClientId(1));
            }
            let violations = claims.begins(write(2, token), NOW);
            assert_eq!(violations.overlaps.iter().map(|met| met.outlived).collect::<Vec<_>>(), [outlived]);
        }
    }

    #[test]
    fn a_token_that_does_not_rise_is_reported_with_the_one_that_it_should_be_above() {
        let mut claims = HolderClaims::new(Algorithm::Mutex);
        claims.begins(write(1, 5), NOW);
        claims.ends(ClientId(1));
        assert_eq!(claims.begins(write(2, 5), NOW).not_above, Some(Zxid(5)));
    }

    #[test]
    fn readers_hold_together_in_any_order_and_never_with_a_writer() {
        let mut claims = HolderClaims::new(Algorithm::SharedChain(Access::Read));
        assert_eq!(claims.begins(read(1, 7), NOW), Violations::default());
        assert_eq!(claims.begins(read(2, 6), NOW), Violations::default());
        assert_eq!(claims.begins(write(3, 8), NOW).overlaps.len(), 2);
        assert_eq!(claims.begins(read(4, 9), NOW).overlaps.len(), 1);
    }

    #[test]
    fn a_semaphore_grants_its_number_of_leases_and_no_more() {
        let mut claims = HolderClaims::new(Algorithm::Semaphore(NonZeroU32::new(2).expect("2")));
        assert_eq!(claims.begins(write(1, 7), NOW), Violations::default());
        assert!(!claims.blocks(Access::Write));
        assert_eq!(claims.begins(write(2, 6), NOW), Violations::default());
        assert!(claims.blocks(Access::Write));
        assert_eq!(claims.begins(write(3, 8), NOW).overlaps.len(), 1);
    }

    #[test]
    fn a_token_may_write_until_a_higher_one_has_written() {
        let mut resource = ResourceStatus::default();
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
        assert_eq!(resource, expected);
    }
}
