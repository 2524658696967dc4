//! Curator's owners are asked to release before anything is deleted.

use lockscope::admin::{Action, Ending};

use super::plans::{carry_out, log, place, plan};
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{lockscope, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_that_listens_releases_when_it_is_asked_and_the_next_one_acquires() {
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

    // That one does not listen. The command can only ask, and says so.
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
async fn who_could_not_hear_it_is_not_asked() {
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
