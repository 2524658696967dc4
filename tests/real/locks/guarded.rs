//! Guarded writes on a real server: what they do, what they cost, and why they fail.

use lockscope_lock::{Access, Algorithm, Guard, Lock, LockError, LockOptions, Loss, Naming, Write, WriteError};
use zookeeper_client::{Acls, Client, CreateMode, Error, MultiWriteResult};

use super::fixture::{LEASES, delete, held};
use super::wire::{Counted, path};
use crate::harness::relay::{op, round_trips};
use crate::harness::server::Server;
use crate::harness::zk;

/// The data of a node.
pub async fn data(client: &Client, path: &str) -> String {
    let (data, _) = client.get_data(path).await.expect("a node");
    String::from_utf8_lossy(&data).into_owned()
}

/// A lock whose fence is beside it.
pub fn fenced(client: &Client, path: &str, algorithm: Algorithm, naming: Naming) -> Lock {
    let options = LockOptions::default().naming(naming).fence(&format!("{path}-fence"));
    Lock::with(client, path, algorithm, options).expect("a good path")
}

async fn client() -> Client {
    zk::connect(&Server::shared().connect_string()).await
}

async fn release(guard: Guard) {
    guard.release().await.expect("it was held");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_creates_writes_and_deletes_nodes_and_learns_which_write_was_refused() {
    let (client, path) = (client().await, path().await);
    let everybody = Acls::anyone_all();
    for algorithm in [Algorithm::Chain, Algorithm::SharedChain(Access::Read), Algorithm::Semaphore(LEASES)] {
        let lock = Lock::new(&client, &format!("{path}/{}", algorithm.name()), algorithm).expect("a good path");
        let (guard, node) = (held(&lock).await, format!("{path}/node"));
        let (created, _) = guard.create(&node, b"1", CreateMode::Persistent, everybody).await.expect("it holds");
        assert_eq!((created.as_str(), data(&client, &node).await.as_str()), (node.as_str(), "1"));
        let (numbered, _) =
            guard.create(&node, b"", CreateMode::PersistentSequential, everybody).await.expect("it holds");
        assert!(numbered.len() == node.len() + 10 && numbered.starts_with(&node), "{numbered}");
        assert_eq!(guard.set_data(&node, b"2", Some(0)).await.expect("it holds").version, 1);

        let refused = |index, source| Err(WriteError::Refused { index, source });
        assert_eq!(guard.set_data(&node, b"3", Some(0)).await.map(drop), refused(0, Error::BadVersion));
        let again = guard.create(&node, b"3", CreateMode::Persistent, everybody).await;
        assert_eq!(again.map(drop), refused(0, Error::NodeExists));
        let mut writer = guard.check_writer();
        writer.add_set_data(&node, b"3", None).add_check_version(&node, 2).add_delete("/missing", None);
        assert_eq!(writer.commit().await.map(drop), refused(2, Error::NoNode));
        assert_eq!(data(&client, &node).await, "2", "all or nothing");

        let both = [Write::SetData(&node, b"4", None), Write::Delete(&numbered, None)];
        let done = guard.multi(&both).await.expect("it holds");
        assert!(matches!(done[..], [MultiWriteResult::SetData { .. }, MultiWriteResult::Delete]), "{done:?}");
        guard.delete(&node, Some(2)).await.expect("it holds");
        assert_eq!(client.check_stat(&node).await.expect("an answer"), None);
        // The servers and others may write to the node of the lock.
        client.set_data(guard.path().as_str(), b"__REVOKE__", None).await.expect("its node");
        assert_eq!(guard.multi(&[]).await.expect("it holds"), []);
        release(guard).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guarded_write_is_one_round_trip_and_the_first_with_a_fence_two() {
    let (counted, path) = (Counted::new().await, path().await);
    let (lock, target) =
        (Lock::new(&counted.client, &path, Algorithm::Chain).expect("a good path"), format!("{path}-to"));
    let guard = held(&lock).await;
    guard.create(&target, b"", CreateMode::Persistent, Acls::anyone_all()).await.expect("it holds");
    let cost = guard.cost();
    counted.relay.record();
    let three = [Write::SetData(&target, b"1", None), Write::SetData(&target, b"2", None), Write::Check(&target, 2)];
    guard.multi(&three).await.expect("it holds");
    assert_eq!((counted.requests(), round_trips(&counted.relay.recorded())), (vec![op::MULTI], 1));
    assert_eq!((guard.cost() - cost).requests, 1);
    counted.relay.record();
    release(guard).await;
    assert_eq!(counted.requests(), [op::DELETE]);

    let lock = fenced(&counted.client, &path, Algorithm::Chain, Naming::Curator);
    for _ in 0..2 {
        counted.relay.record();
        let guard = held(&lock).await;
        assert_eq!(counted.requests(), [op::CREATE_WITH_STAT, op::LIST_WITH_STAT]);
        for expected in [vec![op::GET_DATA, op::MULTI], vec![op::MULTI], vec![op::MULTI]] {
            counted.relay.record();
            guard.set_data(&target, b"3", None).await.expect("it holds");
            assert_eq!(
                (counted.requests(), round_trips(&counted.relay.recorded())),
                (expected.clone(), expected.len())
            );
        }
        assert_eq!(data(&counted.client, &format!("{path}-fence")).await, guard.token().0.to_string());
        release(guard).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_after_the_loss_is_refused_and_the_guard_knows_of_the_loss() {
    let (client, path) = (client().await, path().await);
    let target = zk::own_root("target").await.split_off(Server::shared().connect_string().len());
    for naming in [Naming::Curator, Naming::Kazoo] {
        let options = LockOptions::default().naming(naming);
        let guard = held(&Lock::with(&client, &path, Algorithm::Chain, options).expect("a good path")).await;
        delete(&client, guard.path().as_str()).await;
        let gone = LockError::NodeDeleted { node: guard.path().clone() };
        assert_eq!(guard.set_data(&target, b"late", None).await.map(drop), Err(WriteError::Lost(gone.clone())));
        // The guard knows of it, and the write after that sends no request.
        assert_eq!(guard.is_lost(), Some(Loss::Deleted));
        let cost = guard.cost();
        assert_eq!(guard.set_data(&target, b"late", None).await.map(drop), Err(WriteError::Lost(gone)));
        assert_eq!(guard.cost(), cost);
        assert_eq!(data(&client, &target).await, "");
        guard.release().await.expect_err("it was lost");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_has_downgraded_writes_by_its_new_node() {
    let (client, path) = (client().await, path().await);
    let (target, write) = (format!("{path}/target"), Algorithm::SharedChain(Access::Write));
    let guard = held(&Lock::new(&client, &format!("{path}/lock"), write).expect("a good path")).await;
    guard.create(&target, b"", CreateMode::Persistent, Acls::anyone_all()).await.expect("it holds");
    let guard = guard.downgrade().await.expect("it holds for writing");
    guard.set_data(&target, b"1", None).await.expect("it holds for reading");
    delete(&client, guard.path().as_str()).await;
    let late = guard.set_data(&target, b"2", None).await.map(drop);
    assert!(matches!(late, Err(WriteError::Lost(LockError::NodeDeleted { .. }))), "{late:?}");
    assert_eq!(data(&client, &target).await, "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_come_back_need_a_fence() {
    let (client, path) = (client().await, path().await);
    let named = Naming::Named("red".to_owned());
    for (algorithm, naming) in [(Algorithm::Mutex, Naming::Curator), (Algorithm::Chain, named)] {
        let path = format!("{path}/{}", algorithm.name());
        let options = LockOptions::default().naming(naming.clone());
        let guard = held(&Lock::with(&client, &path, algorithm, options).expect("a good path")).await;
        let error = guard.delete("/missing", None).await.expect_err("it proves nothing");
        assert!(matches!(&error, WriteError::NeedsFence { lock } if lock.as_str() == path), "{error}");
        assert!(error.to_string().contains("set a fence in its options"), "{error}");
        release(guard).await;
        let guard = held(&fenced(&client, &path, algorithm, naming)).await;
        guard.multi(&[]).await.expect("it holds");
        release(guard).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fence_refuses_lower_tokens_and_what_it_cannot_use() {
    let (client, path) = (client().await, path().await);
    let fence = format!("{path}-fence");
    let guard = held(&fenced(&client, &path, Algorithm::Chain, Naming::Curator)).await;
    guard.multi(&[]).await.expect("it holds");
    // Somebody else writes the same: the guard reads the fence again.
    client.set_data(&fence, guard.token().0.to_string().as_bytes(), None).await.expect("the fence");
    guard.multi(&[]).await.expect("it holds");
    // The lock was restored from a backup, say, and the data were not.
    client.set_data(&fence, (guard.token().0 + 1).to_string().as_bytes(), None).await.expect("the fence");
    let error = guard.multi(&[]).await.expect_err("the fence is higher");
    assert!(matches!(&error, WriteError::Fenced { token, .. } if token.0 == guard.token().0 + 1), "{error}");
    client.set_data(&fence, b"no token", None).await.expect("the fence");
    let error = guard.multi(&[]).await.expect_err("it is no fence");
    assert!(matches!(&error, WriteError::BadFence { fence: bad, .. } if bad.as_str() == fence), "{error}");
    // A missing one is made again.
    delete(&client, &fence).await;
    let (one, other) = tokio::join!(guard.multi(&[]), guard.multi(&[]));
    assert_eq!((one.expect("it holds"), other.expect("it holds")), (vec![], vec![]));
    release(guard).await;

    let options = LockOptions::default().fence(&format!("{path}-missing/fence"));
    let guard = held(&Lock::with(&client, &path, Algorithm::Chain, options).expect("a good path")).await;
    let error = guard.multi(&[]).await.expect_err("the parent is missing").to_string();
    assert!(error.ends_with("its parent does not exist"), "{error}");
    release(guard).await;
    for algorithm in [Algorithm::Semaphore(LEASES), Algorithm::SharedHerd(Access::Write)] {
        let options = LockOptions::default().fence("/fence");
        let refused = Lock::with(&client, &path, algorithm, options).map(drop);
        assert!(matches!(refused, Err(LockError::BadOptions(_))), "{refused:?}");
    }
    let bad = Lock::with(&client, &path, Algorithm::Chain, LockOptions::default().fence("fence")).map(drop);
    assert!(matches!(bad, Err(LockError::BadPath(_))), "{bad:?}");
}
