//! The connection or the session is lost at each request of a deletion; the outcome reported is
//! true.

use lockscope_live::admin::Ending;
use lockscope_live::admin::audit::{HistoryLimits, read};
use zookeeper_client::CreateMode;

use super::plans::{carry_out, log, place, plan};
use crate::harness::relay::{Fault, Place, Relay, Then};
use crate::harness::server::Server;
use crate::harness::zk;

/// The requests of a deletion of a numbered node: a check, the parent's update, a read, a write and
/// a check, and the deletion. A deletion of another node has a check, a read, a read and a write,
/// and the deletion.
const NUMBERED: usize = 6;
const REUSED: usize = 5;

/// Deletes a node with a fault on the way. Returns the ending, and whether the node still exists.
async fn ended(root: &str, fault: Fault, numbered: bool) -> (Ending, bool) {
    let server = Server::shared().connect_string();
    let (relay, other) = (Relay::start(&server).await, zk::connect(&server).await);
    let client = zk::connect(&relay.connect_string()).await;
    let (_folder, audit) = log();
    let (mode, name) =
        if numbered { (CreateMode::PersistentSequential, "lock-") } else { (CreateMode::Ephemeral, "lock") };
    let (_, sequence) = other.create(&format!("{root}/{name}"), b"data", &zk::open(mode)).await.expect("made");
    let node = if numbered { format!("{root}/{name}{sequence}") } else { format!("{root}/{name}") };
    let plan = plan(&other, &[&node]).await;
    relay.arm(&[fault]);
    let log = audit.clone();
    // A task of its own, as on the screen.
    let ending =
        tokio::spawn(async move { carry_out(client, plan, &log).await.remove(0).ending }).await.expect("it ends");
    assert!(relay.disarm(), "{fault:?} struck");
    let history = read(audit.path(), HistoryLimits::default()).expect("it can be read");
    let reported = history.entries[0].outcome.as_ref().expect("an outcome");
    assert_eq!((history.entries.len(), reported.result.as_str()), (1, ending.id()));
    let there = other.check_stat(&node).await.expect("an answer").is_some();
    zk::delete_all(&other, [node]).await;
    (ending, there)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_plan_deletes_several_guarded_nodes_from_the_end_of_the_queue_to_its_head() {
    let (client, root) = place("several").await;
    let (_folder, audit) = log();
    let wishes = (0..4).map(|_| (format!("{root}/lock-"), Vec::new()));
    let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let plan = plan(&client, &[&nodes[0], &nodes[1], &nodes[2]]).await;
    zk::delete_all(&client, [nodes[1].clone()]).await;
    let endings: Vec<Ending> = carry_out(zk::connect(&Server::shared().connect_string()).await, plan, &audit)
        .await
        .into_iter()
        .map(|one| one.ending)
        .collect();
    let deleted = || Ending::Deleted { window: false };
    assert_eq!(endings, [deleted(), Ending::Gone, deleted()]);
    assert_eq!(client.list_children(&root).await.expect("it is there").len(), 1);
    let history = read(audit.path(), HistoryLimits::default()).expect("it can be read");
    let reported: Vec<_> = history.entries.iter().map(|entry| entry.subject.path.clone()).collect();
    let from_the_end = [&nodes[2], &nodes[1], &nodes[0]].map(String::clone);
    assert_eq!(reported, from_the_end, "so that nobody acquires who is deleted next");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_survives_a_cut_and_never_invents_a_lost_reply() {
    let (_client, root) = place("faults-cut").await;
    for (requests, numbered) in [(NUMBERED, true), (REUSED, false)] {
        for at in (1..=requests).flat_map(|n| [Place::BeforeRequest(n), Place::AfterRequest(n)]) {
            let (ending, there) = ended(&root, Fault { place: at, then: Then::Cut }, numbered).await;
            assert!(!there, "{at:?}");
            // The transaction on the parent leaves a trace, which proves that the deletion was
            // ours.
            if at == Place::AfterRequest(requests) && !numbered {
                assert!(matches!(&ending, Ending::NotKnown { why, .. } if why.contains("is gone")), "{ending:?}");
            } else {
                assert_eq!(ending, Ending::Deleted { window: false }, "{at:?}, numbered: {numbered}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_session_ends_the_deletion_with_an_unknown_outcome() {
    let (_client, root) = place("faults-expire").await;
    for (requests, numbered) in [(NUMBERED, true), (REUSED, false)] {
        for at in (1..=requests).flat_map(|n| [Place::BeforeRequest(n), Place::AfterRequest(n)]) {
            let (ending, there) = ended(&root, Fault { place: at, then: Then::Expire }, numbered).await;
            match at {
                Place::BeforeRequest(n) if n == requests => {
                    assert!(there && matches!(ending, Ending::NotKnown { .. }), "{at:?} {ending:?}");
                }
                Place::AfterRequest(n) if n == requests => {
                    assert!(!there && matches!(ending, Ending::NotKnown { .. }), "{at:?} {ending:?}");
                }
                _ => assert!(there && matches!(ending, Ending::NotDone { .. }), "{at:?} {ending:?}"),
            }
        }
    }
}
