//! Removes from a table the memory of clients and nodes that are gone, for a recording that is
//! handed to somebody else.

use super::LockTable;
use lockscope_base::znode::{NodeData, SessionId, Zxid};

impl LockTable {
    /// Forgets sessions without contenders and deleted nodes, each known by its creating
    /// transaction, unless they satisfy `session_stays` or `node_stays`.
    ///
    /// Keep those that later changes mention again: the table then knows as much about them as it
    /// does with its whole memory.
    pub fn forget_gone(&mut self, session_stays: impl Fn(SessionId) -> bool, node_stays: impl Fn(Zxid) -> bool) {
        self.pending_ends.retain(&session_stays);
        let Self { runs, sessions, .. } = self;
        runs.retain_sessions(|session| session_stays(session) || sessions.contends(session));
        self.sessions.retain_departed(session_stays);
        self.deleted_nodes.retain(node_stays);
        self.elections.forget_departures();
    }

    /// Removes the data of all contenders, and the names that were read from it.
    pub fn forget_data(&mut self) {
        for lock in self.locks.values_mut() {
            for (_, contender) in &mut lock.contenders {
                contender.data = NodeData::default();
            }
            if let Some(expired) = lock.rare.as_mut().and_then(|rare| rare.session_expired.as_mut()) {
                expired.client.name = None;
            }
        }
        self.sessions.forget_names();
        self.elections.forget_names();
        self.pending_ends.forget_names();
    }
}

#[cfg(test)]
mod tests {
    use crate::queue::ClientIdentity;
    use crate::queue::tests::fixture::TableFixture;
    use lockscope_base::znode::SessionId;

    #[test]
    fn departed_sessions_are_forgotten_unless_they_return_and_contenders_stay_known() {
        let mut fixture = TableFixture::new();
        for owner in 1..4 {
            let node = fixture.put_numbered("/a/lock-", owner);
            fixture.write(&node, format!("worker-{owner}").as_bytes());
            fixture.apply(fixture.observed(&node));
            if owner < 3 {
                fixture.tree.remove(&node);
                fixture.delete(&node);
            }
        }
        let name = |fixture: &TableFixture, session| fixture.table.identity(SessionId(session)).name;
        fixture.table.forget_gone(|session| session == SessionId(2), |_| false);
        assert_eq!(
            [1, 2, 3].map(|session| name(&fixture, session).is_some()),
            [false, true, true],
            "the first is gone for good"
        );
        fixture.table.forget_data();
        assert_eq!([2, 3].map(|session| name(&fixture, session)), [None, None]);
        let lock = fixture.table.locks().next().unwrap();
        let holder = lock.first_holder().unwrap();
        assert_eq!(holder.data.bytes(), b"");
        let known = fixture.table.identity_of(holder);
        assert_eq!(known, ClientIdentity { session: Some(SessionId(3)), ..ClientIdentity::default() });
    }
}
