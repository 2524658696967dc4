//! Trees that no well-meaning client would create.

use zookeeper_client::{Acl, AuthId, CreateMode, Permission};

use super::fixture::{ObserverFixture, connection, curator, path};
use crate::harness::server::Server;
use crate::harness::zk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_subtree_is_reported_and_the_rest_is_shown() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/open".to_owned(), "/closed/inner".to_owned()]).await;
    for parent in ["/open", "/closed/inner"] {
        zk::create_all(&client, CreateMode::EphemeralSequential, [(format!("{parent}/{}", curator()), Vec::new())])
            .await;
    }
    let admin = [Acl::new(Permission::ADMIN | Permission::DELETE, AuthId::anyone())];
    client.set_acl("/closed", &admin, None).await.expect("closed");

    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_contenders(1).await;
    assert!(fixture.table.unreadable()[&path("/closed")].contains("READ"));
    client.delete("/closed/inner/x", None).await.expect_err("there is no such node");
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_root_is_reported_and_found_when_it_is_created() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    let mut fixture = ObserverFixture::with(connection(&server.connect_string()), &["/far/away", "/near"]);
    fixture.until_live().await;
    assert_eq!(fixture.table.unreadable().len(), 2);
    for _ in 0..2 {
        zk::make(&client, ["/far/away".to_owned()]).await;
        let wishes = [(format!("/far/away/{}", curator()), Vec::new())];
        let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
        fixture.until_contenders(1).await;
        assert_eq!(fixture.table.unreadable().len(), 1);
        zk::delete_all(&client, nodes).await;
        zk::delete_all(&client, ["/far/away".to_owned()]).await;
        fixture.until("its end", |fixture| fixture.table.unreadable().len() == 2).await;
    }
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_and_binary_data_and_strange_names_are_harmless() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/a".to_owned(), "/locks/路径 \u{202e}x".to_owned()]).await;
    let mebibyte = vec![0xff; 1_000_000];
    let wishes = [
        (format!("/locks/a/{}", curator()), mebibyte),
        (format!("/locks/路径 \u{202e}x/{}", curator()), b"\x1b]0;x\x07\xff".to_vec()),
    ];
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_contenders(2).await;
    let id = fixture.table.find(&path("/locks/a"), None).expect("a lock");
    let row = fixture.table.lock(id).expect("the lock").rows(0..1).next().expect("a row");
    assert_eq!(row.contender.data.bytes().len(), lockscope_base::znode::MAX_KEPT_DATA);
    assert_eq!(row.contender.data_length, 1_000_000);
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_parent_deleted_while_it_is_shown_is_gone() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    let wishes = (0..3).map(|_| (format!("/locks/a/{}", curator()), Vec::new()));
    let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_contenders(3).await;
    zk::delete_all(&client, nodes).await;
    zk::delete_all(&client, ["/locks/a".to_owned()]).await;
    fixture.until("no lock", |fixture| fixture.table.lock_count() == 0).await;
    fixture.observer.stop().await;
}
