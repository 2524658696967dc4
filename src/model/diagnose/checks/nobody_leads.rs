//! An election that had a leader or candidates has no leader.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext};
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Finding, Severity};
use crate::queue::{ElectionKind, ElectionRecord, leader_beside_latch};
use crate::text::human;
use lockscope_base::recipe::{LockKind, Recipe};
use lockscope_base::znode::{Timestamp, ZnodePath};

const REMEDY: &str = "look at the candidates' processes and at what they need to stand, such as a healthy service or an enabled job: restart those that gave up, and find out why they did; do not delete the parent, it is not in the way";

/// The election is empty, or its candidates elected none of them. Proven time before the first look
/// counts.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct NobodyLeads;

/// An election without a leader.
struct Leaderless {
    lasted: Duration,
    /// Whether its beginning was seen.
    is_exact: bool,
    /// The candidates' situation, as the end of a sentence.
    candidates: String,
}

impl Check for NobodyLeads {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        if context.election.is_none() {
            return;
        }
        let Some(leaderless) = empty(context).or_else(|| not_registered(context)) else { return };
        let finding = describe(context, &leaderless);
        let suspicion = Suspicion::new(finding, context.now(), context.leader_within());
        found.push(suspicion.proved_by(leaderless.lasted));
    }
}

/// Returns the state of an election without any candidate; `None` if it has one, or if none was
/// ever there.
fn empty(context: &LockContext<'_>) -> Option<Leaderless> {
    let record = context.election_record().filter(|_| context.lock.is_empty())?;
    if !was_election(context, record) || is_led_elsewhere(context) {
        return None;
    }
    let since = record.found_empty_since().unwrap_or_else(|| record.changed_at());
    let watching = if context.lock.kind() == LockKind::SingleNode { watching(context) } else { 0 };
    let candidates = match watching {
        0 if context.table_at.table().is_without_parent(context.lock) => {
            "no candidate is left, and the servers deleted the empty parent".to_owned()
        }
        0 => "no candidate is left".to_owned(),
        1 => "1 session watches the node and does not create it".to_owned(),
        many => format!("{} sessions watch the node and do not create it", human::count(many)),
    };
    let is_exact = record.found_empty_since().is_none();
    Some(Leaderless { lasted: context.now().since(since), is_exact, candidates })
}

/// Returns whether an empty lock was an election. A lock that merely looks like one is a lock if it
/// was held for a short time only.
fn was_election(context: &LockContext<'_>, record: &ElectionRecord) -> bool {
    match context.election {
        Some(ElectionKind::Certain) => true,
        Some(_) => record.found_empty_since().is_some() || was_led_long(context, record),
        None => false,
    }
}

/// Returns whether the last tenure was long, or one that the last followed without a gap: the
/// candidates may fail one after another.
fn was_led_long(context: &LockContext<'_>, record: &ElectionRecord) -> bool {
    let (long, gap) = (context.thresholds.stuck_after, context.thresholds.settled_after);
    let mut next_began: Option<Timestamp> = None;
    for tenure in record.tenures().rev() {
        if next_began.is_some_and(|began| began.since(tenure.at) > gap) {
            return false;
        }
        if tenure.led_for().is_none_or(|led| led >= long) {
            return true;
        }
        next_began = tenure.led_since;
    }
    false
}

/// Returns whether an empty queue is no absence: clients of another recipe queue at its path, or the
/// leader has another node, which is reported by itself when it goes.
fn is_led_elsewhere(context: &LockContext<'_>) -> bool {
    let (table, path) = (context.table_at.table(), context.lock.path());
    let other = table.find(path, None).and_then(|id| table.lock(id));
    let has_leader_node = leader_beside_latch(path).is_some_and(|leader| table.find(&leader, None).is_some());
    has_leader_node || other.is_some_and(|other| !other.is_empty())
}

fn watching(context: &LockContext<'_>) -> usize {
    context.table_at.view().watchers_of(context.lock.path()).map_or(0, |watchers| watchers.sessions.len())
}

/// Returns the state of a Solr election whose candidates have not registered a leader. Its leader
/// also creates a node beside the queue.
fn not_registered(context: &LockContext<'_>) -> Option<Leaderless> {
    let (table, lock) = (context.table_at.table(), context.lock);
    let first = lock.first_holder().filter(|_| lock.recipe() == Recipe::SolrElection)?;
    let leader = leader_node(lock.path())?;
    // Only a listed parent proves that the node does not exist.
    let parent = leader.parent().filter(|parent| table.parent(parent).is_some())?;
    if table.position(&leader).is_some() || table.unreadable().contains_key(&parent) {
        return None;
    }
    let held = table.hold_bounds(first, context.now()).map(|bounds| bounds.at_least).unwrap_or_default();
    let candidates = format!(
        "{} in line, and none has registered as leader: there is no {}",
        human::plural(lock.len(), "candidate is", "candidates are"),
        lockscope_base::znode::escaped(leader.as_str())
    );
    Some(Leaderless { lasted: held, is_exact: false, candidates })
}

/// Returns the node of a Solr leader: `X/leaders/S/leader` for `X/leader_elect/S/election`, and
/// `X/leader` for `X/election`.
fn leader_node(election: &ZnodePath) -> Option<ZnodePath> {
    let parent = election.parent().filter(|_| election.name() == "election")?;
    let above = parent.parent().filter(|above| above.name() == "leader_elect");
    match above.and_then(|above| above.parent()) {
        Some(collection) => Some(collection.child("leaders").child(parent.name()).child("leader")),
        None => Some(parent.child("leader")),
    }
}

fn describe(context: &LockContext<'_>, leaderless: &Leaderless) -> Finding {
    let (last, tenure) = context.table_at.last_leader(context.lock);
    let bound = if leaderless.is_exact { "" } else { "at least " };
    let lasted = human::duration(leaderless.lasted);
    let summary = format!(
        "nobody has led for {bound}{lasted}: {last}; {}{}",
        leaderless.candidates,
        context.table_at.slow_servers()
    );
    let severity = context.severity_here(Severity::Critical);
    let finding = finding(Code::NobodyLeads, severity, context.lock, None).because(summary, REMEDY);
    match tenure {
        Some(tenure) => finding.of_client(tenure.client.clone()),
        None => finding,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::Thresholds;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, latch, path};
    use crate::queue::{Expectation, LedBefore};
    use lockscope_base::recipe::PathPattern;

    pub fn examples() -> Vec<Example> {
        let mut found_empty = left_empty();
        found_empty.begin_anew();
        found_empty.pass(61);
        let mut controller = free("/controller");
        controller.client(7).watches = vec![path("/controller")];
        controller.pass(63);
        [left_empty(), found_empty, controller, solr(), recorded(true, false), recorded(false, true)]
            .map(|world| (Code::NobodyLeads, world))
            .into()
    }

    /// Plays that the only candidate's session expires.
    fn left_empty() -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let leader = world.create_named(&latch("/app/leader", 1), 1, "worker-1");
        world.pass(30);
        world.let_expire(1, &[&leader]);
        world.pass(61);
        world
    }

    /// Plays that a recording has the leader from before the start.
    fn recorded(is_end_seen: bool, has_gap: bool) -> DiagnosisFixture {
        let mut world = left_empty();
        let election = path("/app/leader");
        let seen = world.table.election_record(world.lock("/app/leader")).and_then(ElectionRecord::last_tenure);
        let tenure = seen.expect("it led").clone();
        world.begin_anew();
        world.table.learn_leaders(vec![LedBefore { election, tenure, is_end_seen, has_gap }]);
        world.pass(61);
        world
    }

    fn free(at: &str) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        world.client(1);
        let node = world.create_at(at, 1);
        world.pass(90);
        world.delete(&node);
        world
    }

    /// Two candidates queue, and the first one never becomes the leader.
    fn solr() -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let old = world.create_at("/c/leaders/s1/leader", 3);
        for session in 1..=2 {
            world.create(&format!("/c/leader_elect/s1/election/{session}-core_node{session}-n_"), session);
        }
        world.delete(&old);
        world.begin_anew();
        world.pass(61);
        world
    }

    #[test]
    fn an_election_without_candidates_says_who_led_last_and_how_that_ended() {
        let mut world = left_empty();
        let found = world.found(Code::NobodyLeads).expect("the finding stands");
        assert_eq!(found.severity, Severity::Critical);
        assert!(found.summary.contains("worker-1"), "{}", found.summary);
        assert!(found.summary.contains("then its session expired; no candidate is left"), "{}", found.summary);
        assert_eq!(world.found(Code::EmptyParent), None);
        world.create_named(&latch("/app/leader", 2), 2, "worker-2");
        assert_eq!(world.pass(1).1, [Code::NobodyLeads]);
    }

    #[test]
    fn a_recording_tells_who_led_before_the_start() {
        let found = |world: DiagnosisFixture| world.found(Code::NobodyLeads).expect("it stands").summary.clone();
        let known = found(recorded(true, false));
        assert!(known.contains("as recorded, worker-1 (was 10.0.0.1:4000"), "{known}");
        assert!(known.contains("ago, then its session expired; no candidate is left"), "{known}");
        let in_part = found(recorded(false, true));
        assert!(in_part.contains("its end was not recorded, and another may have led"), "{in_part}");
    }

    #[test]
    fn a_hand_over_and_a_restart_of_the_only_candidate_are_no_absence() {
        let mut world = DiagnosisFixture::new();
        for session in 1..=5 {
            let node = world.create(&latch("/e", 1), session);
            world.pass(10);
            world.delete(&node);
            world.pass(55);
        }
        assert_eq!(world.found(Code::NobodyLeads), None);
    }

    #[test]
    fn an_empty_mutex_and_a_queue_that_was_never_an_election_are_free() {
        let mut world = DiagnosisFixture::new();
        for at in ["/orders/locks", "/app/leader"] {
            let node = world.create(&curator(at, 1), 1);
            world.pass(3);
            world.delete(&node);
        }
        let node = world.create("/workers/w-", 1);
        world.pass(3);
        world.delete(&node);
        world.pass(100);
        assert_eq!(world.found(Code::NobodyLeads), None);
    }

    #[test]
    fn a_lock_that_looks_like_an_election_is_a_warning() {
        let mut world = DiagnosisFixture::new();
        let node = world.create(&curator("/app/leader", 1), 1);
        world.pass(70);
        world.delete(&node);
        world.pass(63);
        assert_eq!(world.severity(Code::NobodyLeads), Some(Severity::Warning));
    }

    #[test]
    fn candidates_that_fail_one_after_another_leave_an_election_behind() {
        let mut world = DiagnosisFixture::new();
        let nodes = [1, 2, 3].map(|number| world.create(&curator("/app/leader", number), i64::from(number)));
        world.pass(70);
        for node in &nodes {
            world.delete(node);
            world.pass(5);
        }
        world.pass(60);
        assert_eq!(world.severity(Code::NobodyLeads), Some(Severity::Warning));
    }

    #[test]
    fn an_election_that_was_empty_before_the_start_is_found_by_its_parent() {
        let mut world = left_empty();
        world.begin_anew();
        assert_eq!(world.pass(59).0, []);
        assert_eq!(world.pass(3).0, [Code::NobodyLeads]);
        assert_eq!(world.severity(Code::NobodyLeads), Some(Severity::Warning), "the path alone tells");
        let node = world.create(&latch("/app/leader", 9), 9);
        assert_eq!(world.pass(1).1, [Code::NobodyLeads]);
        assert_eq!(world.lock("/app/leader").recipe(), Recipe::CuratorLatch);
        assert_eq!(world.table.lock_count(), 1);
        world.delete(&node);
    }

    #[test]
    fn the_next_known_transaction_dates_an_absence_before_the_start() {
        let mut world = left_empty();
        world.create(&curator("/other", 1), 5);
        world.now = world.now.plus(Duration::from_secs(600));
        world.begin_anew();
        assert_eq!(world.pass(1).0, [Code::NobodyLeads]);
        let found = world.found(Code::NobodyLeads).expect("the finding stands");
        assert!(found.summary.starts_with("nobody has led for at least 10m0"), "{}", found.summary);
    }

    #[test]
    fn the_users_expectation_makes_any_path_an_election_and_sets_its_time() {
        let mut world = DiagnosisFixture::with(Thresholds::default());
        let expected = Expectation {
            path: PathPattern::new("/jobs/*").expect("a pattern"),
            candidates: None,
            leader_within: Some(Duration::from_secs(5)),
            held_at_most: None,
        };
        world.table = world.table.clone().with_expectations(&[expected]);
        let node = world.create(&curator("/jobs/nightly", 1), 1);
        world.pass(2);
        world.delete(&node);
        assert_eq!(world.pass(4).0, []);
        world.pass(3);
        assert_eq!(world.severity(Code::NobodyLeads), Some(Severity::Critical));
    }

    #[test]
    fn candidates_that_register_no_leader_are_reported_until_one_does() {
        let mut world = solr();
        assert_eq!(world.severity(Code::NobodyLeads), Some(Severity::Critical));
        world.create_at("/c/leaders/s1/leader", 1);
        assert_eq!(world.pass(1).1, [Code::NobodyLeads]);
    }

    #[test]
    fn an_election_whose_empty_container_the_servers_deleted_is_still_without_a_leader() {
        let mut world = left_empty();
        world.delete(&path("/app/leader"));
        assert_eq!(world.pass(1).1, []);
        let found = world.found(Code::NobodyLeads).expect("the finding stands");
        assert!(found.summary.ends_with("and the servers deleted the empty parent"), "{}", found.summary);
        world.create_named(&latch("/app/leader", 2), 2, "worker-2");
        assert_eq!(world.pass(1).1, [Code::NobodyLeads]);
        assert_eq!(world.table.lock_count(), 1);
    }

    #[test]
    fn an_election_without_a_parent_is_forgotten_after_a_day() {
        let mut world = left_empty();
        world.delete(&path("/app/leader"));
        world.now = world.now.plus(Duration::from_secs(25 * 3_600));
        assert_eq!(world.pass(1).1, [Code::NobodyLeads]);
        assert_eq!(world.table.lock_count(), 0);
    }

    #[test]
    fn an_election_whose_leader_left_goes_with_its_parent() {
        let mut world = DiagnosisFixture::new();
        let leader = world.create_named(&latch("/app/leader", 1), 1, "worker-1");
        world.client(1).expires_at = Some(world.now.plus(Duration::from_secs(90)));
        world.pass(70);
        world.delete(&leader);
        world.delete(&path("/app/leader"));
        world.pass(70);
        assert_eq!(world.table.lock_count(), 0);
        assert_eq!(world.found(Code::NobodyLeads), None);
    }

    #[test]
    fn the_latch_of_an_elastic_job_is_empty_while_the_job_has_a_leader() {
        let mut world = DiagnosisFixture::new();
        let candidate = world.create(&latch("/jobs/report/leader/election/latch", 1), 1);
        let leader = world.create_at("/jobs/report/leader/election/instance", 1);
        world.delete(&candidate);
        world.pass(100);
        assert_eq!(world.found(Code::NobodyLeads), None);
        world.delete(&leader);
        assert_eq!(world.pass(62).0, [Code::NobodyLeads]);
        let found = world.found(Code::NobodyLeads).expect("the finding stands");
        assert!(found.lock.path.as_str().ends_with("/instance"), "{}", found.lock.path);
    }

    #[test]
    fn candidates_of_another_recipe_at_the_same_path_lead() {
        let mut world = DiagnosisFixture::new();
        let before = world.create_named(&curator("/app/leader", 1), 1, "worker-1");
        world.pass(70);
        world.create_named(&latch("/app/leader", 2), 2, "worker-2");
        world.delete(&before);
        world.pass(100);
        assert_eq!(world.found(Code::NobodyLeads), None);
    }
}
