//! Whether the servers are so slow that this explains why locks stand still.

use super::TableAt;
use crate::server_view::MemberView;
use crate::text::human;
use lockscope_base::znode::escaped;

impl TableAt<'_> {
    /// Returns the end of a sentence that names the slowest server, if its writes take long
    /// ([`SLOW_WRITES`](crate::server_view::SLOW_WRITES)); an empty string otherwise. A lock is
    /// handed on by a write of the holder and one of the next.
    pub(super) fn slow_servers(&self) -> String {
        let slow = |member: &MemberView| Some((member.health.as_ref()?.slow_writes()?, member.address.clone()));
        match self.view().members.iter().filter_map(slow).max() {
            Some((time, address)) => format!(
                "; the servers are slow: one write in a hundred takes {} or longer at {}",
                human::latency(time),
                escaped(&address)
            ),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnose::testing::{queue, work};
    use crate::diagnose::{Code, TableAt};
    use crate::queue::Change;
    use crate::server_view::{Health, ServerView};
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn a_standstill_says_that_the_servers_are_slow_only_if_they_are() {
        let mut world = queue(&[1, 2]);
        work(&mut world, 65);
        let is_told = |world: &crate::diagnose::testing::DiagnosisFixture| {
            let found = world.found(Code::Stuck).expect("the finding stands");
            found.summary.contains("the servers are slow: one write in a hundred takes 4.00s or longer at zk1:2181")
        };
        assert!(!is_told(&world));
        let mut view = ServerView::clone(world.table.view());
        view.members[0].health = Some(Health { write_p99: Some(Duration::from_secs(4)), ..Health::default() });
        world.apply(Change::Surveyed { view: Arc::new(view) });
        world.diagnosis.examine(&world.table, world.now);
        assert!(is_told(&world), "{:?}", TableAt::new(&world.table, world.now).slow_servers());
    }
}
