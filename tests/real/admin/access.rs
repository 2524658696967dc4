//! Missing permissions, and the messages about them.

use lockscope_live::admin::{Confirmation, Ending, RecreationGuard, confirm, find_guards};
use zookeeper_client::{Acl, AuthId, Client, CreateMode, Permission};

use super::plans::{end_of, log, place, plan};
use crate::harness::zk;

/// Creates a node whose ACL allows everyone `may`, below a parent whose ACL allows everyone
/// `on_parent`.
async fn node(client: &Client, root: &str, name: &str, may: Permission, on_parent: Permission) -> String {
    let node = format!("{root}/{name}");
    client.create(&node, b"data", &zk::open(CreateMode::Ephemeral)).await.expect("made");
    let acl = |permission| [Acl::new(permission | Permission::ADMIN, AuthId::new("world", "anyone"))];
    client.set_acl(&node, &acl(may), None).await.expect("closed");
    client.set_acl(root, &acl(on_parent), None).await.expect("closed");
    node
}

async fn is_there(client: &Client, node: &str) -> bool {
    client.check_stat(node).await.expect("an answer").is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_permission_to_delete_the_node_stays_and_the_permission_is_named() {
    let (client, root) = place("access-delete").await;
    let node = node(&client, &root, "lock", Permission::ALL, Permission::READ | Permission::CREATE).await;
    let (_folder, audit) = log();
    let ending = end_of(plan(&client, &[&node]).await, &audit).await;
    assert!(matches!(ending, Ending::Refused { lacks, .. } if lacks.contains("DELETE")), "{ending:?}");
    assert!(is_there(&client, &node).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_permission_to_write_a_window_remains_and_is_reported() {
    let (client, root) = place("access-write").await;
    let (_folder, audit) = log();
    for (name, may) in [("lock", Permission::READ), ("mutex", Permission::CREATE)] {
        let node = node(&client, &root, name, may | Permission::READ, Permission::ALL).await;
        let plan = plan(&client, &[&node]).await;
        let acl = [Acl::new(may | Permission::ADMIN, AuthId::new("world", "anyone"))];
        client.set_acl(&node, &acl, None).await.expect("closed");
        // Consent to a guarded deletion is no consent to an unguarded one.
        let ending = end_of(plan.clone(), &audit).await;
        assert!(matches!(&ending, Ending::Changed { what } if what.contains("written")), "{name} {ending:?}");
        assert!(is_there(&client, &node).await);
        let plan = find_guards(&client, plan).await.expect("answers");
        assert_eq!(plan.nodes()[0].guard, Some(RecreationGuard::Unguarded), "{name}");
        assert_eq!(plan.confirmation(), Confirmation::SequenceNumber(name.to_owned()), "a yes is not enough");
        assert_eq!(end_of(plan, &audit).await, Ending::Deleted { window: true }, "{name}");
        assert!(!is_there(&client, &node).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recreated_node_is_recognized_even_without_the_permission_to_write() {
    let (client, root) = place("access-other").await;
    let (_folder, audit) = log();
    let old = node(&client, &root, "lock", Permission::READ, Permission::ALL).await;
    let plan = plan(&client, &[&old]).await;
    client.delete(&old, None).await.expect("gone");
    let new = node(&client, &root, "lock", Permission::CREATE, Permission::ALL).await;
    assert!(matches!(end_of(plan, &audit).await, Ending::ChangedHands { .. }));
    assert!(is_there(&client, &new).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_deleted_if_the_log_becomes_unwritable_after_the_plan() {
    let (client, root) = place("access-log").await;
    let node = node(&client, &root, "lock", Permission::ALL, Permission::ALL).await;
    let (folder, audit) = log();
    std::fs::remove_file(audit.path()).expect("it was made");
    std::fs::create_dir(audit.path()).expect("something else in its place");
    let ending = end_of(plan(&client, &[&node]).await, &audit).await;
    assert!(matches!(&ending, Ending::NotAudited { why } if why.contains("--audit-log")), "{ending:?}");
    assert!(is_there(&client, &node).await);
    assert_eq!(client.check_stat(&node).await.expect("an answer").expect("it is there").version, 0, "nothing was sent");
    drop(folder);
    assert!(confirm(plan(&client, &[&node]).await, "no").is_err());
}
