//! Owners of Curator's locks are asked to release before anything is deleted.

use lockscope_live::admin::{Action, Ending};
use lockscope_model::diagnose::Unaware;
use zookeeper_client::CreateMode;

use super::plans::{carry_out, log, place, plan};
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{lockscope, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listening_holder_releases_when_asked_and_the_next_one_acquires() {
    let (client, root) = place("revoke").await;
    let lock = format!("{root}/lock");
    let mut curator = Foreign::java(&Server::shared().connect_string());
    for session in ["one", "two"] {
        curator.connect(session).await;
    }
    curator.start("one", "first", "revocable", &lock).await;
    let node = format!("{lock}/{}", curator.held("first").await);
    curator.start("two", "second", "mutex", &lock).await;
    eventually("a waiter", async || match client.list_children(&lock).await {
        Ok(names) if names.len() == 2 => Ok(()),
        seen => Err(seen),
    })
    .await;

    let deletion = plan(&client, &[&node]).await;
    let question = deletion.revocation().expect("its recipe knows that");
    assert_eq!((question.action(), question.revocation()), (Action::Revoke, None));
    let (_folder, audit) = log();
    let outcomes = carry_out(zk::connect(&Server::shared().connect_string()).await, question, &audit).await;
    assert_eq!(outcomes[0].ending, Ending::Asked);
    eventually("a holder that releases", async || if curator.holds("first").await { Err("holds") } else { Ok(()) })
        .await;
    curator.release("first").await;
    let next = curator.held("second").await;

    // This owner does not listen. The command can only ask, and says so.
    let node = format!("{lock}/{next}");
    let (folder, connect) = (tempfile::tempdir().expect("a folder"), Server::shared().connect_string());
    let log = folder.path().join("log");
    let arguments = ["delete", &node, "--revoke", "--yes", "--connect", &connect, "--audit-log"];
    let reported = run(lockscope(&[&arguments[..], &[log.to_str().expect("text")]].concat())).await.json();
    assert_eq!((&reported["outcome"]["result"], &reported["action"]), (&"asked".into(), &"revoke".into()));
    assert_eq!(client.get_data(&node).await.expect("it is there").0, b"__REVOKE__");
    assert!(curator.holds("second").await);
    curator.release("second").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_cannot_react_is_not_asked() {
    let (client, root) = place("revoke-not").await;
    let mut curator = Foreign::java(&Server::shared().connect_string());
    curator.connect("one").await;
    curator.start("one", "first", "latch", &format!("{root}/latch")).await;
    let node = format!("{root}/latch/{}", curator.order("first").await.first().cloned().unwrap_or_default());
    let latch = eventually("the latch's node", async || match client.list_children(&format!("{root}/latch")).await {
        Ok(names) if !names.is_empty() => Ok(format!("{root}/latch/{}", names[0])),
        seen => Err(format!("{seen:?} {node}")),
    })
    .await;
    assert_eq!(plan(&client, &[&latch]).await.revocation(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_of_an_orphan_is_not_asked_and_the_command_says_why() {
    let (client, root) = place("revoke-orphan").await;
    let name = format!("{root}/_c_0000001b-5c1d-4f7e-9a3b-0d2c4e6f8a1b-lock-");
    let wishes = [(name.clone(), Vec::new()), (name, Vec::new())];
    let mut nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    nodes.sort();
    let deletion = plan(&client, &[&nodes[0], &nodes[1]]).await;
    let orphan = &deletion.nodes()[0];
    assert_eq!((orphan.unaware, orphan.revocable), (Some(Unaware::OfNode), false));

    let (folder, connect) = (tempfile::tempdir().expect("a folder"), Server::shared().connect_string());
    let log = folder.path().join("log");
    let arguments = ["delete", &nodes[0], "--yes", "--connect", &connect, "--audit-log", log.to_str().expect("text")];
    let ended = run(lockscope(&[&arguments[..], &["--revoke"]].concat())).await;
    assert!(ended.stderr.contains("cannot be revoked: its client does not know of this node"), "{ended:?}");
    let ended = run(lockscope(&arguments)).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("its client does not know of this node: give --even-if-live"), "{ended:?}");
    assert!(client.check_stat(&nodes[0]).await.expect("an answer").is_some());
}
