//! Tests of plans: evidence, consequences, risks and required answers.

use std::time::Duration;

use super::*;
use crate::admin::{Refused, confirm};
use crate::testing::{self, deleted, lost, path, reading, seen};
use lockscope_base::znode::{Timestamp, ZnodeStat};
use lockscope_model::queue::Change;
use lockscope_model::server_view::{
    Connection, Expiry, ListedSession, Listing, MemberView, Provenance, ServerMode, ServerView,
};

const NOW: Timestamp = Timestamp(1_000_000);

fn stat(czxid: i64, owner: Option<i64>) -> ZnodeStat {
    ZnodeStat { cversion: 4, ..ZnodeStat::of_new(Zxid(czxid), Timestamp(900_000), owner.map(SessionId)) }
}

/// Returns a synced table with these nodes and owners, the first created first.
fn table(nodes: &[(&str, Option<i64>)], view: ServerView) -> LockTable {
    let found = (10..).zip(nodes).flat_map(|(czxid, (name, owner))| {
        let parent = path(name).parent().unwrap();
        [Change::Listed { path: parent, stat: stat(1, None) }, seen(name, stat(czxid, *owner), b"")]
    });
    let mut table = testing::table(found, NOW);
    table.apply(Change::Surveyed { view: view.into() }, NOW);
    table
}

fn connection(session: i64) -> Connection {
    Connection {
        session: SessionId(session),
        client: format!("10.0.0.{session}:4711"),
        timeout_ms: Some(30_000),
        established: None,
        last_operation: None,
        last_cxid: None,
        last_zxid: None,
        last_response: None,
        last_heard: None,
        received: 1,
        sent: 1,
    }
}

/// Returns the view of one server that knows these sessions, of which these are connected.
fn view(sessions: &[i64], connected: &[i64], whole: bool) -> ServerView {
    let session = |id: &i64| ListedSession {
        id: SessionId(*id),
        expiry: Expiry::Monotonic { millis: 0 },
        expires_at: Some(NOW.plus(Duration::from_secs(12))),
    };
    let member = MemberView {
        address: "zk1:2181".to_owned(),
        mode: Some(ServerMode::Standalone),
        connections: Some(Listing::new(connected.iter().map(|id| connection(*id)).collect(), whole, NOW)),
        sessions: Some(Listing::new(sessions.iter().map(session).collect(), true, NOW)),
        ..MemberView::default()
    };
    ServerView { at: NOW, members: vec![member], members_known: true, ..ServerView::default() }
}

fn plan(table: &LockTable, targets: &[&str]) -> Result<DeletePlan, NoPlan> {
    let targets: Vec<ZnodePath> = targets.iter().map(|target| path(target)).collect();
    DeletePlan::of(&TableAt::new(table, NOW), &targets)
}

fn queue(owners: &[Option<i64>]) -> Vec<(String, Option<i64>)> {
    (0..).zip(owners).map(|(number, owner)| (format!("/a/lock-{number:010}"), *owner)).collect()
}

/// Returns a table with a queue of these owners.
fn queued(owners: &[Option<i64>], view: ServerView) -> LockTable {
    let nodes = queue(owners);
    let nodes: Vec<(&str, Option<i64>)> = nodes.iter().map(|(node, owner)| (node.as_str(), *owner)).collect();
    table(&nodes, view)
}

const HEAD: &str = "/a/lock-0000000000";
const SECOND: &str = "/a/lock-0000000001";
const THIRD: &str = "/a/lock-0000000002";

#[test]
fn beside_tls_plain_text_makes_no_deletion_easier() {
    for (sessions, connected) in [(&[][..], &[][..]), (&[1], &[]), (&[1], &[1])] {
        let mut view = view(sessions, connected, true);
        view.members[0].provenance = Provenance::PlainBesideTls;
        let plan = plan(&queued(&[Some(1)], view), &[HEAD]).expect("a plan");
        assert_eq!(plan.confirmation(), Confirmation::SequenceNumber("0".to_owned()), "{sessions:?} {connected:?}");
        let node = &plan.nodes()[0];
        assert!(matches!(node.liveness, OwnerLiveness::Suspect | OwnerLiveness::Live), "{node:?}");
        assert!(node.evidence.contains("in plain text, which proves nothing beside TLS"), "{}", node.evidence);
    }
}

#[test]
fn the_required_answer_depends_on_the_owners_state() {
    let number = || Confirmation::SequenceNumber("0".to_owned());
    for (owner, view, liveness, confirmation) in [
        (None, view(&[], &[], true), OwnerLiveness::Ownerless, Confirmation::Yes),
        (Some(1), view(&[], &[], true), OwnerLiveness::Ghost, Confirmation::Yes),
        (
            Some(1),
            view(&[1], &[], true),
            OwnerLiveness::Expiring { within: Some(Duration::from_secs(12)) },
            Confirmation::Yes,
        ),
        (Some(1), view(&[1], &[1], true), OwnerLiveness::Live, number()),
        (Some(1), view(&[1], &[], false), OwnerLiveness::Suspect, number()),
        (Some(1), view(&[], &[], false), OwnerLiveness::Suspect, number()),
        (Some(1), ServerView::default(), OwnerLiveness::Unknown, number()),
    ] {
        let table = queued(&[owner, Some(2)], view);
        let plan = plan(&table, &[HEAD]).unwrap();
        let node = &plan.nodes()[0];
        assert_eq!((node.liveness, &node.confirmation), (liveness, &confirmation));
        assert_eq!(node.may_be_live_holder(), confirmation != Confirmation::Yes);
        assert!(!node.evidence.is_empty());
    }
}

#[test]
fn the_sentences_name_the_evidence_and_the_countdown() {
    let says = |owner, view| {
        let table = queued(&[owner], view);
        plan(&table, &[HEAD]).unwrap().nodes()[0].evidence.clone()
    };
    insta::assert_snapshot!(
        [
            says(None, view(&[], &[], true)),
            says(Some(1), view(&[], &[], true)),
            says(Some(1), view(&[1], &[], true)),
            says(Some(1), view(&[1], &[1], true)),
            says(Some(1), view(&[1], &[], false)),
            says(Some(1), view(&[], &[], false)),
            says(Some(1), ServerView::default()),
        ]
        .join("\n"),
        @r"
        no session owns it, so it stays until somebody deletes it
        every server answered, and none lists session 0x1: nobody can release this node
        session 0x1 has no connection to any server: the servers delete the node in 12s, unless its client reconnects
        session 0x1 is connected from 10.0.0.1:4711 to zk1:2181
        no server that answered holds a connection of session 0x1, but there is no complete list from zk1:2181
        session 0x1 is in no list of sessions, but there is no complete list from zk1:2181
        the servers said too little about session 0x1 to say whether its client lives
        "
    );
}

#[test]
fn a_holder_whose_session_queues_again_is_live_with_that_evidence() {
    let table = queued(&[Some(1), Some(1)], view(&[1], &[1], true));
    let plan = plan(&table, &[HEAD]).unwrap();
    assert_eq!(plan.nodes()[0].liveness, OwnerLiveness::Live);
    assert!(plan.nodes()[0].evidence.ends_with("; its session queues again as lock-0000000001"));
}

#[test]
fn a_yes_deletes_a_waiter_and_the_holder_goes_on() {
    let table = queued(&[Some(1), Some(2)], view(&[1, 2], &[1, 2], true));
    let plan = plan(&table, &[SECOND]).unwrap();
    let node = &plan.nodes()[0];
    assert_eq!((&node.confirmation, node.acquires_next.len()), (&Confirmation::Yes, 0));
    assert_eq!(node.then, "nobody acquires: lock-0000000000 still holds");
    assert_eq!((node.client.as_deref(), node.czxid), (Some("10.0.0.2:4711"), Zxid(11)));
}

#[test]
fn next_holders_are_those_of_the_whole_plan_and_the_strictest_answer_counts() {
    let table = queued(&[Some(1), Some(2), Some(3)], view(&[1, 2, 3], &[1, 2, 3], true));
    let both = plan(&table, &[SECOND, HEAD, SECOND]).unwrap();
    assert_eq!(both.nodes().len(), 2, "each once");
    for node in both.nodes() {
        assert_eq!(node.acquires_next, [NextHolder { node: "lock-0000000002".into(), session: Some(SessionId(3)) }]);
    }
    assert_eq!(both.confirmation(), Confirmation::SequenceNumber("0".to_owned()));
    assert_eq!(both.execution_order(), [0, 1], "the waiter first, so that it does not acquire meanwhile");
    let all = plan(&table, &[HEAD, SECOND, THIRD]).unwrap();
    assert!(all.nodes().iter().all(|node| node.acquires_next.is_empty()));
}

#[test]
fn readers_acquire_together_when_the_writer_between_them_goes() {
    let names = ["/a/host-R-0000000000", "/a/host-W-0000000001", "/a/host-R-0000000002", "/a/host-R-0000000003"];
    let nodes: Vec<(&str, Option<i64>)> = (1..).zip(names).map(|(owner, name)| (name, Some(owner))).collect();
    let table = table(&nodes, ServerView::default());
    let writer = plan(&table, &[names[1]]).unwrap();
    let acquire: Vec<&str> = writer.nodes()[0].acquires_next.iter().map(|next| &*next.node).collect();
    assert_eq!(acquire, ["host-R-0000000002", "host-R-0000000003"]);
    let reader = plan(&table, &[names[0]]).unwrap();
    assert_eq!(&*reader.nodes()[0].acquires_next[0].node, "host-W-0000000001");
    assert_eq!(plan(&table, &[names[3]]).unwrap().nodes()[0].acquires_next, []);
}

#[test]
fn a_single_node_is_confirmed_by_name_and_the_first_to_create_it_acquires() {
    let table = table(&[("/jobs/mutex", Some(1))], view(&[1], &[1], true));
    let plan = plan(&table, &["/jobs/mutex"]).unwrap();
    let node = &plan.nodes()[0];
    assert_eq!(node.confirmation, Confirmation::SequenceNumber("mutex".to_owned()));
    assert!(node.then.contains("first") && RecreationGuard::needed(node) == NeededGuard::Node);
    assert!(confirm(plan.clone(), "mutex").is_ok());
    assert_eq!(confirm(plan, "Mutex").unwrap_err(), Refused::NotTheNumber("mutex".to_owned()));
}

#[test]
fn only_the_holder_of_a_curator_mutex_can_be_asked_to_release() {
    let name = |number: i32| format!("/a/_c_c3d2e1f0-0000-4000-8000-000000000007-lock-{number:010}");
    let names = [name(0), name(1)];
    let table = table(&[(&names[0], Some(1)), (&names[1], Some(2))], view(&[1, 2], &[1, 2], true));
    let question = plan(&table, &[&names[0]]).unwrap().revocation().expect("a holder");
    assert_eq!((question.action(), question.confirmation()), (Action::Revoke, Confirmation::Yes));
    assert_eq!(plan(&table, &[&names[1]]).unwrap().revocation(), None);
    assert_eq!(plan(&table, &[&names[0], &names[1]]).unwrap().revocation(), None);
    let ghost = queued(&[Some(1)], view(&[], &[], true));
    assert_eq!(plan(&ghost, &[HEAD]).unwrap().revocation(), None);
}

/// Returns a table with two nodes of one attempt, and one of another session.
fn orphan(view: ServerView) -> (LockTable, [String; 3]) {
    let name = |id: u32, number: u32| format!("/a/_c_{id:08x}-0000-4000-8000-000000000007-lock-{number:010}");
    let names = [name(1, 0), name(1, 1), name(2, 2)];
    let table = table(&[(&names[0], Some(1)), (&names[1], Some(1)), (&names[2], Some(2))], view);
    (table, names)
}

#[test]
fn a_client_that_does_not_know_of_its_node_is_not_asked_to_release_and_guards_stay() {
    let (table, names) = orphan(view(&[1, 2], &[1, 2], true));
    let plan = |node: &str| plan(&table, &[node]).unwrap();
    let head = plan(&names[0]);
    assert_eq!((head.nodes()[0].unaware, head.nodes()[0].liveness), (Some(Unaware::OfNode), OwnerLiveness::Live));
    assert_eq!(
        head.nodes()[0].risks,
        [
            "its client is connected, but it does not know of this node: nobody releases it before the session ends, and its \
          deletion takes nothing from the client that it knows of"
        ]
    );
    assert_eq!((head.revocation(), head.confirmation()), (None, Confirmation::SequenceNumber("0".to_owned())));
    let own = plan(&names[1]);
    assert_eq!(own.nodes()[0].unaware, None);
    assert!(own.nodes()[0].risks[0].contains("it then waits forever"), "{:?}", own.nodes()[0].risks);
}

#[test]
fn an_orphan_is_reported_whatever_the_state_of_its_client() {
    for (view, begins) in [
        (view(&[1], &[], true), "even if its client reconnects, it does not know of this node"),
        (ServerView::default(), "even if its client is alive, it does not know of this node"),
        (view(&[], &[], true), "a ghost is a sign of a faulty server"),
    ] {
        let (table, names) = orphan(view);
        let plan = plan(&table, &[&names[0]]).unwrap();
        assert!(plan.nodes()[0].risks[0].starts_with(begins), "{:?}", plan.nodes()[0].risks);
        assert_eq!(plan.revocation(), None);
    }
}

#[test]
fn risks_are_as_certain_as_their_evidence() {
    let says = |unaware| {
        let table = queued(&[Some(1), Some(2)], view(&[1, 2], &[1, 2], true));
        let made = DeletePlan::made(&[path(HEAD)], &TableAt::new(&table, NOW), |_, _| Some(unaware)).unwrap();
        made.nodes()[0].risks.join("\n")
    };
    insta::assert_snapshot!(
        [Unaware::OfNode, Unaware::OfNodeSuspected, Unaware::OfTurn, Unaware::OfTurnToCome].map(says).join("\n"),
        @r"
    its client is connected, but it does not know of this node: nobody releases it before the session ends, and its deletion takes nothing from the client that it knows of
    its client is connected, but it may not know of this node, and then nobody releases it before the session ends; if it does wait with it, with some libraries it then waits forever
    its client is connected, but it does not know that it holds: it waits for a wake-up that was lost, and with some libraries it then waits forever
    its client is connected, but it watches nothing here: it gave up and left this node, or it lost its wake-up and waits forever, with this node or without
    "
    );
}

#[test]
fn there_is_no_plan_for_unknown_stale_or_parent_targets() {
    let mut table = queued(&[Some(1)], ServerView::default());
    assert_eq!(plan(&table, &[]), Err(NoPlan::Nothing));
    assert_eq!(plan(&table, &["/b"]), Err(NoPlan::NotFound(path("/b"))));
    assert_eq!(plan(&table, &["/a"]), Err(NoPlan::NotEmpty(path("/a"))));
    let many: Vec<String> = (0..=MAX_TARGETS).map(|number| format!("/a/{number}")).collect();
    assert_eq!(
        plan(&table, &many.iter().map(String::as_str).collect::<Vec<_>>()),
        Err(NoPlan::TooMany(MAX_TARGETS + 1))
    );
    table.apply(lost(), NOW);
    assert_eq!(plan(&table, &[HEAD]), Err(NoPlan::Stale));
}

#[test]
fn an_empty_lock_parent_is_a_target_and_a_node_with_settings_is_not() {
    let mut table = queued(&[Some(1)], ServerView::default());
    table.apply(deleted(&path(HEAD)), NOW);
    let planned = plan(&table, &["/a"]).unwrap();
    let node = &planned.nodes()[0];
    assert_eq!((node.kind, node.czxid, node.liveness), (TargetKind::EmptyParent, Zxid(1), OwnerLiveness::Ownerless));
    assert!(RecreationGuard::needed(node) == NeededGuard::Node && node.state.is_none());
    let empty = |stat: &ZnodeStat, at: &str| DeletePlan::of_empty_node(&path(at), stat, NOW);
    assert!(empty(&stat(1, None), "/a").is_ok());
    let settings = ZnodeStat { cversion: 0, data_length: 7, ..stat(1, None) };
    assert!(matches!(empty(&settings, "/a"), Err(NoPlan::NoParent(..))));
    assert!(matches!(empty(&stat(1, Some(7)), "/a"), Err(NoPlan::NoParent(..))));
    assert!(matches!(empty(&ZnodeStat { num_children: 1, ..stat(1, None) }, "/a"), Err(NoPlan::NotEmpty(_))));
    assert!(empty(&stat(1, None), "/zookeeper/master").is_ok());
    for kept in ["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config", "/keeper/x"] {
        assert!(matches!(empty(&stat(1, None), kept), Err(NoPlan::NoParent(..))), "{kept}");
    }
}

#[test]
fn only_the_right_answer_confirms() {
    let table = queued(&[None, Some(2)], view(&[2], &[2], true));
    let yes = plan(&table, &[HEAD]).unwrap();
    for answer in ["y", "Y", "yes", " YES\n"] {
        assert!(confirm(yes.clone(), answer).is_ok(), "{answer:?}");
    }
    for answer in ["", "n", "0", "yes!", "ye"] {
        assert_eq!(confirm(yes.clone(), answer).unwrap_err(), Refused::NotYes, "{answer:?}");
    }
    let table = queued(&[Some(1)], view(&[1], &[1], true));
    let live = plan(&table, &[HEAD]).unwrap();
    for answer in ["0", "0000000000", " 0\n"] {
        assert!(confirm(live.clone(), answer).is_ok(), "{answer:?}");
    }
    for answer in ["", "y", "yes", "1", "lock-0000000000", "0x0"] {
        assert!(confirm(live.clone(), answer).is_err(), "{answer:?}");
    }
}

#[test]
fn a_confirmation_is_outdated_by_a_riskier_state_only() {
    let owners = [Some(1), Some(2)];
    let node = |living: &[i64], index: usize| {
        let table = queued(&owners, view(&[1, 2], living, true));
        let paths: Vec<ZnodePath> = queue(&owners).iter().map(|(path, _)| self::path(path)).collect();
        DeletePlan::of(&TableAt::new(&table, table.view().at), &paths[index..=index]).expect("a plan").nodes()[0]
            .clone()
    };
    let (holder, waiter, away) = (node(&[1, 2], 0), node(&[1, 2], 1), node(&[2], 0));
    let acquired = PlannedNode { state: holder.state, ..waiter.clone() };
    let changed = |before: &PlannedNode, now: &PlannedNode| outdated(Action::Delete, before, now).unwrap_or_default();
    assert_eq!(changed(&holder, &holder) + &changed(&waiter, &waiter) + &changed(&away, &away), "");
    assert!(changed(&waiter, &acquired).contains("acquired"));
    assert_ne!(away.liveness, OwnerLiveness::Live);
    assert!(changed(&away, &holder).contains("live"), "it came back");
    assert_eq!(changed(&holder, &away), "", "less is at stake");
    assert_eq!(changed(&acquired, &waiter), "", "it waits again");
    assert!(outdated(Action::Revoke, &holder, &PlannedNode { revocable: false, ..holder.clone() }).is_some());
}

#[test]
fn the_guards_sentence_counts_what_watchers_see() {
    assert!(RecreationGuard::Parent { data_length: 0 }.sentence().contains("no waiter is woken"));
    assert!(RecreationGuard::OwnNode { data_length: 7 }.sentence().contains("woken twice"));
    assert!(
        RecreationGuard::OwnNode { data_length: 16 << 10 }.sentence().contains("woken twice"),
        "it still is one request"
    );
    assert!(RecreationGuard::OwnNode { data_length: 64 << 10 }.sentence().contains("woken up to 5 times"));
    assert!(RecreationGuard::OwnNode { data_length: 1 << 20 }.sentence().contains("woken up to 17 times"));
}

#[test]
fn a_yes_does_not_delete_a_node_that_a_member_brought_back() {
    let (first, second) = ("/l/lock-0000000000", "/l/lock-0000000001");
    let mut table = table(&[(first, Some(1)), (second, Some(2))], ServerView::default());
    table.apply(deleted(&path(second)), NOW);
    let again = [(first, 10, 1), (second, 11, 2)].map(|(at, czxid, owner)| seen(at, stat(czxid, Some(owner)), b""));
    reading(again).for_each(|change| drop(table.apply(change, NOW)));
    let plan = DeletePlan::of(&TableAt::new(&table, NOW), &[path(second)]).unwrap();
    assert_eq!(plan.confirmation(), Confirmation::SequenceNumber("1".to_owned()));
    let risks = &plan.nodes()[0].risks;
    assert!(risks.iter().any(|risk| risk.contains("restart that member instead")), "{risks:?}");
}

#[test]
fn many_empty_parents_are_confirmed_by_their_number_and_in_production_also_by_the_context() {
    let empty = |at: &str| DeletePlan::of_empty_node(&path(at), &stat(1, None), NOW).unwrap();
    let plan = DeletePlan::joined(vec![empty("/a"), empty("/b")]);
    assert_eq!(confirm(plan.clone(), "y"), Err(Refused::NotTheNumber("2".to_owned())));
    assert!(confirm(plan.clone(), "2").is_ok());
    let plan = plan.in_production(Some(ProductionMark::certain("prod")));
    assert!(confirm(plan.clone(), "2").is_err() && confirm(plan, "prod 2").is_ok());
}
