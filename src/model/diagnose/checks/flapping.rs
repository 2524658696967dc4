//! Leadership that changes hands again and again.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext};
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Severity};
use crate::queue::{Departure, DepartureEnd, ElectionRecord, leader_beside_latch};
use crate::text::human;

const REMEDY: &str = "compare the session timeouts with the pauses of these processes and with the servers' latency; sessions that expire need longer timeouts";

/// Maximum number of clients that the sentence names.
const MAX_NAMED: usize = 4;

/// Reported only if somebody led more than once: a rolling restart gives each candidate its turn.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Flapping;

impl Check for Flapping {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let Some(record) = context.election.and_then(|_| context.election_record()) else { return };
        // There each candidate leads for a moment when it starts.
        if leader_beside_latch(context.lock.path()).is_some() {
            return;
        }
        let limit = context.thresholds.flapping;
        let changes = record.changes_within(limit.within, context.now());
        if changes < limit.changes {
            return;
        }
        let tenures = Tenures::of(context, record, limit.within);
        if !tenures.by_client.values().any(|count| *count > 1) {
            return;
        }
        let summary = format!(
            "leadership changed hands {} within {}: {}",
            human::plural(changes, "time", "times"),
            human::duration(limit.within),
            tenures.in_sentence()
        );
        let severity = context.severity_here(Severity::Warning);
        let finding = finding(Code::Flapping, severity, context.lock, None).because(summary, REMEDY);
        found.push(Suspicion::proved(finding, context.now()));
    }
}

/// The tenures of a period.
#[derive(Default)]
struct Tenures {
    /// How often each client led.
    by_client: BTreeMap<String, usize>,
    /// How many tenures ended in each way.
    by_end: BTreeMap<&'static str, usize>,
    shortest: Option<Duration>,
    longest: Option<Duration>,
}

impl Tenures {
    fn of(context: &LockContext<'_>, record: &ElectionRecord, within: Duration) -> Self {
        let mut all = Self::default();
        let since = context.now().minus(within);
        for tenure in record.tenures().filter(|tenure| tenure.at >= since) {
            *all.by_client.entry(client(tenure)).or_default() += 1;
            *all.by_end.entry(ended(tenure.end)).or_default() += 1;
            let led = tenure.led_for();
            all.shortest = all.shortest.into_iter().chain(led).min();
            all.longest = all.longest.into_iter().chain(led).max();
        }
        all
    }

    fn in_sentence(&self) -> String {
        let more = self.by_client.len().saturating_sub(MAX_NAMED);
        let mut most: Vec<_> = self.by_client.iter().collect();
        most.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let named = most.iter().take(MAX_NAMED).map(|(client, count)| format!("{client} led {count}x"));
        let mut named: Vec<String> = named.collect();
        named.extend((more > 0).then(|| format!("{} more led", human::count(more))));
        let ends: Vec<String> = self.by_end.iter().map(|(end, count)| format!("{count} {end}")).collect();
        let mut sentence = format!("{}; ends: {}", named.join(", "), ends.join(", "));
        if let (Some(shortest), Some(longest)) = (self.shortest, self.longest) {
            let [shortest, longest] = [shortest, longest].map(human::duration);
            sentence = format!("{sentence}; tenures of {shortest} to {longest}");
        }
        sentence
    }
}

/// Names a client over its sessions: by its name, else by its host, else by its session.
fn client(tenure: &Departure) -> String {
    let of_session = || tenure.session.map_or_else(|| "an unknown client".to_owned(), |id| format!("session {id}"));
    let name = tenure.client.telling_name().or_else(|| tenure.host());
    name.map_or_else(of_session, |name| lockscope_base::znode::escaped(name).to_string())
}

fn ended(end: DepartureEnd) -> &'static str {
    match end {
        DepartureEnd::Released => "released",
        DepartureEnd::Deleted => "deleted by others",
        DepartureEnd::Closed => "closed",
        DepartureEnd::Gone => "gone while the session lived",
        DepartureEnd::Unknown => "unknown",
        DepartureEnd::Expired => "expired",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, latch};
    use crate::queue::ElectionKind;

    pub fn examples() -> Vec<Example> {
        vec![(Code::Flapping, alternating(8))]
    }

    /// Two candidates lead in turn, for 20 s each.
    fn alternating(tenures: i64) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let mut leader = world.create_named(&latch("/e", 1), 1, "worker-1");
        for tenure in 1..=tenures {
            let next = world.create_named(&latch("/e", 2), tenure + 1, &format!("worker-{}", 1 + tenure % 2));
            world.pass(20);
            world.delete(&leader);
            leader = next;
        }
        world.pass(1);
        world
    }

    #[test]
    fn leadership_that_alternates_is_flapping_until_it_stays() {
        assert_eq!(alternating(5).found(Code::Flapping), None);
        let mut world = alternating(7);
        assert_eq!(world.severity(Code::Flapping), Some(Severity::Warning));
        let found = world.found(Code::Flapping).expect("the finding stands");
        assert!(found.summary.contains("worker-1 led 4x, worker-2 led 3x"), "{}", found.summary);
        assert!(world.pass(600).1.contains(&Code::Flapping));
    }

    #[test]
    fn a_mutex_whose_nodes_bear_names_is_an_election_only_once_somebody_led_for_long() {
        let mut world = DiagnosisFixture::new();
        let mut holder = world.create_named(&curator("/invoices", 1), 1, "worker-1");
        for turn in 2..=20 {
            let next = world.create_named(&curator("/invoices", 1), turn, &format!("worker-{turn}"));
            world.pass(1);
            world.delete(&holder);
            holder = next;
        }
        let kind = |world: &DiagnosisFixture| world.table.election_kind(world.lock("/invoices"), world.now);
        world.pass(290);
        assert_eq!((world.found(Code::Flapping), kind(&world)), (None, None));
        world.pass(10);
        assert_eq!(kind(&world), Some(ElectionKind::Likely));
        world.create_named(&curator("/invoices", 1), 30, "worker-30");
        world.delete(&holder);
        assert_eq!(kind(&world), Some(ElectionKind::Likely), "it is known after that leader, too");
    }

    #[test]
    fn a_rolling_restart_of_many_candidates_does_not_flap() {
        let mut world = DiagnosisFixture::new();
        let nodes: Vec<_> =
            (1..=9).map(|number| world.create_named(&latch("/e", 1), number, &format!("worker-{number}"))).collect();
        for node in &nodes[..8] {
            world.pass(20);
            world.delete(node);
        }
        world.pass(1);
        assert_eq!(world.found(Code::Flapping), None);
    }

    #[test]
    fn the_candidates_of_an_elastic_job_lead_its_latch_in_turn_when_they_start() {
        let mut world = DiagnosisFixture::new();
        for turn in 0..10 {
            let node = world.create_named(
                &latch("/jobs/report/leader/election/latch", 1),
                turn,
                &format!("worker-{}", turn % 2),
            );
            world.pass(1);
            world.delete(&node);
        }
        world.pass(1);
        assert_eq!(world.found(Code::Flapping), None);
    }
}
