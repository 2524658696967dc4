//! Leadership that changes hands again and again, or that one candidate takes and gives up.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext};
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Severity};
use crate::queue::{Departure, DepartureEnd, ElectionKind, ElectionRecord, leader_beside_latch};
use crate::text::human;
use lockscope_base::znode::Timestamp;

const REMEDY_EXPIRED: &str = "compare the session timeouts with the pauses of these processes and with the servers' latency; sessions that expire need longer timeouts";

const REMEDY_GIVEN_UP: &str = "look at the logs of these candidates for why they give the leadership up, since no session is known to have expired; if they take turns by design, raise the numbers of [flapping] in the config file";

const REMEDY_ALONE: &str = "look at the log of this candidate for what fails after it takes the leadership, such as the fencing of a former leader, and see whether the other candidates run";

/// Maximum number of clients that the sentence names.
const MAX_NAMED: usize = 4;

/// Reported only if somebody led more than once: a rolling restart gives each candidate its turn.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Flapping;

impl Check for Flapping {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        // Clients that take a number each, and hold it for a moment, are no candidates.
        let is_known = context.election.is_some_and(|kind| kind != ElectionKind::Unknown);
        let Some(record) = context.election_record().filter(|_| is_known) else { return };
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
        let watched = context.table_at.table().watched_for(context.now()).unwrap_or(limit.within);
        let (times, within) = (human::plural(changes, "time", "times"), human::duration(limit.within.min(watched)));
        let what = match tenures.only_one() {
            Some(client) => {
                let lost = if tenures.any_expired { "lost it" } else { "gave it up" };
                format!("{client} took the leadership and {lost} {times} within {within}, and nobody else led;")
            }
            None => format!("leadership changed hands {times} within {within}:"),
        };
        let severity = if tenures.is_mostly_vacant() { Severity::Critical } else { Severity::Warning };
        let finding = finding(Code::Flapping, context.severity_here(severity), context.lock, None);
        let finding = finding.because(format!("{what} {}", tenures.in_sentence()), tenures.remedy());
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
    /// Whether all are of one session, or of one host. A name alone does not tell: two processes may
    /// write the same one.
    is_of_one: bool,
    any_expired: bool,
    /// How long nobody led between the tenures, and since the last of them.
    vacant: Duration,
    /// The time from the beginning of the first tenure.
    lasted: Duration,
}

impl Tenures {
    fn of(context: &LockContext<'_>, record: &ElectionRecord, within: Duration) -> Self {
        let mut all = Self { is_of_one: true, ..Self::default() };
        let since = context.now().minus(within);
        let mut before: Option<&Departure> = None;
        for tenure in record.tenures().filter(|tenure| tenure.at >= since) {
            *all.by_client.entry(client(tenure)).or_default() += 1;
            *all.by_end.entry(ended(tenure.end)).or_default() += 1;
            all.any_expired |= tenure.end == DepartureEnd::Expired;
            let led = tenure.led_for();
            all.shortest = all.shortest.into_iter().chain(led).min();
            all.longest = all.longest.into_iter().chain(led).max();
            all.is_of_one &= before.is_none_or(|before| is_same_process(before, tenure));
            // A tenure whose beginning is unknown may have begun when the one before it ended.
            let began = tenure.led_since.or(before.map(|before| before.at)).unwrap_or(tenure.at);
            all.goes_on(before, began);
            all.lasted += tenure.at.since(before.map_or(began, |before| before.at));
            before = Some(tenure);
        }
        let now = context.now();
        all.goes_on(before, context.lock.first_holder().map_or(now, |leader| leader.acquired_at().unwrap_or(now)));
        all.lasted += before.map(|before| now.since(before.at)).unwrap_or_default();
        all
    }

    /// Adds the time without a leader between a tenure and the next one.
    fn goes_on(&mut self, before: Option<&Departure>, began: Timestamp) {
        self.vacant += before.map(|before| began.since(before.at)).unwrap_or_default();
    }

    fn is_mostly_vacant(&self) -> bool {
        self.vacant > self.lasted / 2
    }

    /// Returns the only client that led.
    fn only_one(&self) -> Option<&str> {
        self.by_client.keys().next().filter(|_| self.is_of_one && self.by_client.len() == 1).map(String::as_str)
    }

    fn remedy(&self) -> &'static str {
        match self.only_one() {
            _ if self.any_expired => REMEDY_EXPIRED,
            Some(_) => REMEDY_ALONE,
            None => REMEDY_GIVEN_UP,
        }
    }

    fn in_sentence(&self) -> String {
        let more = self.by_client.len().saturating_sub(MAX_NAMED);
        let mut most: Vec<_> = self.by_client.iter().collect();
        most.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let named = most.iter().take(MAX_NAMED).map(|(client, count)| format!("{client} led {count}x"));
        let mut named: Vec<String> = if self.only_one().is_some() { Vec::new() } else { named.collect() };
        named.extend((more > 0).then(|| format!("{} more led", human::count(more))));
        let ends: Vec<String> = self.by_end.iter().map(|(end, count)| format!("{count} {end}")).collect();
        let mut parts = vec![named.join(", "), format!("ends: {}", ends.join(", "))];
        if let (Some(shortest), Some(longest)) = (self.shortest, self.longest) {
            parts.push(format!("tenures of {} to {}", human::duration(shortest), human::duration(longest)));
        }
        if self.is_mostly_vacant() {
            let [vacant, lasted] = [self.vacant, self.lasted].map(human::duration);
            parts.push(format!("nobody led in {vacant} of the last {lasted}"));
        }
        parts.retain(|part| !part.is_empty());
        parts.join("; ")
    }
}

/// Returns whether two tenures are of one session, or of two sessions of one host.
fn is_same_process(one: &Departure, other: &Departure) -> bool {
    one.session.is_some() && one.session == other.session || one.host().is_some() && one.host() == other.host()
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
        vec![(Code::Flapping, alternating(8)), (Code::Flapping, alone(8, false)), (Code::Flapping, alone(8, true))]
    }

    /// The only candidate takes the leadership for a second and gives it up for two, or loses it with
    /// its session.
    fn alone(tenures: i64, expires: bool) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        for tenure in 0..tenures {
            let session = if expires { tenure + 1 } else { 1 };
            world.client(session).address = format!("10.0.0.1:{}", 4000 + session);
            world.survey();
            let node = world.create_with("/hadoop-ha/c1/ActiveStandbyElectorLock", session, b"nn2");
            // A session certainly lives for its timeout after it made a node.
            world.pass(if expires { 40 } else { 1 });
            if expires {
                world.let_expire(session, &[&node]);
            } else {
                world.delete(&node);
            }
            world.pass(2);
        }
        world
    }

    #[test]
    fn one_candidate_that_gives_up_again_and_again_changes_no_hands() {
        let mut world = alone(7, false);
        world.create_at("/hadoop-ha/c1/ActiveStandbyElectorLock", 1);
        world.pass(1);
        let found = world.found(Code::Flapping).expect("found as soon as it took over six times");
        assert_eq!(found.severity, Severity::Critical, "nobody leads most of the time");
        assert!(found.summary.starts_with("nn2 took the leadership and gave it up "), "{}", found.summary);
        assert!(!found.summary.contains("changed hands") && !found.remedy.contains("timeout"), "{found:?}");
    }

    #[test]
    fn expired_sessions_alone_are_a_reason_to_advise_about_timeouts() {
        for (world, advises) in [(alone(8, true), true), (alone(8, false), false), (alternating(8), false)] {
            let found = world.found(Code::Flapping).expect("the finding stands");
            assert_eq!(found.remedy.contains("timeout"), advises, "{found:?}");
        }
    }

    #[test]
    fn candidates_of_one_name_on_two_hosts_change_hands() {
        let mut world = DiagnosisFixture::new();
        for turn in 0..8 {
            world.client(1 + turn % 2);
            world.survey();
            let node = world.create_with("/hadoop-ha/c1/ActiveStandbyElectorLock", 1 + turn % 2, b"broker");
            world.pass(3);
            world.delete(&node);
            world.pass(1);
        }
        let found = world.found(Code::Flapping).expect("the finding stands");
        assert_eq!(found.severity, Severity::Warning, "somebody leads most of the time");
        assert!(found.summary.contains("changed hands") && found.summary.contains("broker led 8x"), "{found:?}");
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
