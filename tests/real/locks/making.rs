//! The creation of nodes and their parents.

use lockscope_lock::{Algorithm, Lock, LockError, LockOptions, Naming, Parents};
use zookeeper_client::{Acl, AuthId, Client, Permission};

use super::fixture::{ALONE, LockFixture, SHORT_WAIT, held, lock};
use crate::harness::wait::eventually;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_parents_are_created_and_created_again_when_they_vanish() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let client = fixture.client().await;
        let deep = Lock::new(&client, "/a/b/c", algorithm).expect("a good path");
        for _ in 0..2 {
            held(&deep).await.release().await.expect("it was held");
            remove(&client, "/a").await;
        }
    }
}

/// Deletes a node and all nodes below it.
async fn remove(client: &Client, top: &str) {
    let mut nodes = crate::harness::zk::tree(client, top).await;
    nodes.reverse();
    crate::harness::zk::delete_all(client, nodes.into_iter().map(|node| node.path)).await;
    crate::harness::zk::delete_all(client, [top.to_owned()]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removing_the_parent_whenever_it_appears_only_delays() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    let remover = fixture.client().await;
    let removing = tokio::spawn(async move {
        loop {
            // Deletes the parent as soon as it exists, unless a contender was faster.
            let (found, watch) = remover.check_and_watch_stat("/chain").await.expect("an answer");
            if found.is_none() || remover.delete("/chain", None).await.is_err() {
                watch.changed().await;
            }
        }
    });
    let own = lock(&client, Algorithm::Chain);
    for _ in 0..10 {
        held(&own).await.release().await.expect("it was held");
    }
    removing.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn required_parents_are_not_created() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let options = LockOptions::default().parents(Parents::Required);
        let lock = Lock::with(&fixture.client().await, "/a/b", algorithm, options).expect("a good path");
        assert!(matches!(lock.acquire().await, Err(LockError::NoParent { .. })), "{algorithm:?}");
        assert!(matches!(lock.acquire_within(SHORT_WAIT).await, Err(LockError::NoParent { .. })), "{algorithm:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_has_acls_and_data_and_its_parents_have_acls() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let client = fixture.client().await;
        let acls = vec![
            Acl::new(Permission::ALL, AuthId::new("ip", "127.0.0.1")),
            Acl::new(Permission::READ, AuthId::anyone()),
        ];
        let options = LockOptions::default().acls(acls.clone()).data("worker 7");
        let lock = Lock::with(&client, "/a/b", algorithm, options).expect("a good path");
        let guard = held(&lock).await;
        for path in ["/a", guard.path().parent().expect("a parent").as_str(), guard.path().as_str()] {
            let (found, _) = client.get_acl(path).await.expect("it is there");
            assert_eq!(found, acls, "{algorithm:?} {path}");
        }
        let (data, _) = client.get_data(guard.path().as_str()).await.expect("it is there");
        assert!(data.ends_with(b"worker 7"), "{algorithm:?}");
        assert_eq!(data.len() == 8, guard.path().as_str().contains("_c_"), "{algorithm:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_permission_is_reported() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    let only_read = [Acl::new(Permission::READ, AuthId::anyone())];
    let options = zookeeper_client::CreateMode::Persistent.with_acls((&only_read[..]).into());
    client.create("/closed", &[], &options).await.expect("made");
    for algorithm in ALONE {
        let lock = Lock::new(&client, "/closed/lock", algorithm).expect("a good path");
        match lock.acquire().await {
            Err(LockError::NotPermitted { path, .. }) => assert!(path.as_str().starts_with("/closed")),
            other => panic!("{algorithm:?}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_waits_for_an_unreadable_node_too() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let secret = Client::connector().with_auth("digest", b"owner:secret").connect(&fixture.connect).await;
        let secret = secret.expect("a session");
        let options = LockOptions::default();
        let first = Lock::with(&secret, "/s", algorithm, options).expect("a good path");
        let guard = held(&first).await;
        let own = [Acl::new(Permission::ALL, AuthId::authed())];
        secret.set_acl(guard.path().as_str(), &own, None).await.expect("it may");
        let second = Lock::new(&fixture.client().await, "/s", algorithm).expect("a good path");
        assert!(second.try_acquire().await.expect("an answer").is_none(), "{algorithm:?}");
        let waiting = super::fixture::wait_for(&second);
        eventually(
            "the second in line",
            async || {
                if second.cost().requests >= 4 { Ok(()) } else { Err(second.cost()) }
            },
        )
        .await;
        guard.release().await.expect("it was held");
        super::fixture::got(waiting).await.release().await.expect("it was held");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_that_cannot_be_locks_are_refused_before_anything_is_sent() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    for path in ["", "a", "/a/", "/a//b", "/a/../b"] {
        assert!(matches!(Lock::new(&client, path, Algorithm::Chain), Err(LockError::BadPath(_))), "{path}");
    }
    assert!(matches!(Lock::new(&client, "/", Algorithm::Chain), Err(LockError::Unusable { .. })));
    let nameless = LockOptions::default().naming(Naming::Named(String::new()));
    assert!(matches!(Lock::with(&client, "/a", Algorithm::Chain, nameless), Err(LockError::BadOptions(_))));
    for (length, fits) in [(1 << 20, false), ((1 << 20) - 1024, true)] {
        let large = LockOptions::default().data(vec![b'x'; length]);
        let lock = Lock::with(&client, "/a", Algorithm::Mutex, large);
        assert_eq!(lock.is_ok(), fits, "{length}");
        assert!(fits || matches!(lock, Err(LockError::BadOptions(_))), "{length}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ephemeral_parent_is_reported() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    let guard = held(&Lock::new(&client, "/mutex", Algorithm::Mutex).expect("a good path")).await;
    let below = Lock::new(&client, guard.path().as_str(), Algorithm::Chain).expect("a good path");
    assert!(matches!(below.acquire().await, Err(LockError::Unusable { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_accepts_the_longest_data_that_the_lock_accepts() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    for (algorithm, naming) in
        [(Algorithm::Mutex, Naming::Curator), (Algorithm::Chain, Naming::Named("red".repeat(20)))]
    {
        let of = |length| LockOptions::default().naming(naming.clone()).data(vec![b'x'; length]);
        let (mut fits, mut refused) = (0, 1 << 20);
        while refused - fits > 1 {
            let length = usize::midpoint(fits, refused);
            match Lock::with(&client, "/large", algorithm, of(length)) {
                Ok(_) => fits = length,
                Err(_) => refused = length,
            }
        }
        let lock = Lock::with(&client, "/large", algorithm, of(fits)).expect("it fits");
        held(&lock).await.release().await.expect("it was held");
    }
}
