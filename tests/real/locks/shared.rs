//! Several readers, or one writer.

use lockscope_lock::{Access, Algorithm, Lock, LockError, LockOptions, Naming};
use zookeeper_client::Client;

use super::fixture::{LockFixture, got, held, wait_for};

const SHARED: [fn(Access) -> Algorithm; 2] = [Algorithm::SharedHerd, Algorithm::SharedChain];

fn lock(client: &Client, algorithm: Algorithm) -> Lock {
    Lock::new(client, "/shared", algorithm).expect("a good path")
}

/// Returns a reader and a writer that name their nodes this way.
fn named(client: &Client, shared: fn(Access) -> Algorithm, naming: &Naming) -> [Lock; 2] {
    [Access::Read, Access::Write].map(|access| {
        let options = LockOptions::default().naming(naming.clone());
        Lock::with(client, "/shared", shared(access), options).expect("a good path")
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_share_and_a_writer_waits_for_all_of_them() {
    for shared in SHARED {
        let fixture = LockFixture::new().await;
        let client = fixture.client().await;
        let (reader, writer) = (lock(&client, shared(Access::Read)), lock(&client, shared(Access::Write)));
        let (first, second) = (held(&reader).await, held(&reader).await);
        let writing = wait_for(&writer);
        fixture.until_nodes(3).await;
        second.release().await.expect("it was held");
        assert!(writer.try_acquire().await.expect("an answer").is_none());
        assert!(!writing.is_finished());
        first.release().await.expect("it was held");
        let writing = got(writing).await;
        assert!(reader.try_acquire().await.expect("an answer").is_none());
        writing.release().await.expect("it was held");
        fixture.until_nodes(0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_behind_a_queued_writer_waits_and_a_mixed_queue_is_served_in_order() {
    for naming in [Naming::Curator, Naming::Kazoo, Naming::Session] {
        for shared in SHARED {
            let fixture = LockFixture::new().await;
            let client = fixture.client().await;
            let [reader, writer] = named(&client, shared, &naming);
            let first = held(&reader).await;
            let queue = [&writer, &reader, &reader, &writer, &reader].map(Clone::clone);
            let mut waiting = fixture.queue_up(&queue, 1).await;
            assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "{naming:?}");
            first.release().await.expect("it was held");
            let second = got(waiting.remove(0)).await;
            assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "{naming:?}");
            second.release().await.expect("it was held");
            let reading = [got(waiting.remove(0)).await, got(waiting.remove(0)).await];
            assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "{naming:?}");
            for guard in reading {
                guard.release().await.expect("it was held");
            }
            got(waiting.remove(0)).await.release().await.expect("it was held");
            got(waiting.remove(0)).await.release().await.expect("it was held");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_downgraded_writer_admits_readers_and_no_writer() {
    for naming in [Naming::Curator, Naming::Kazoo, Naming::Session] {
        for shared in SHARED {
            let fixture = LockFixture::new().await;
            let client = fixture.client().await;
            let [reader, writer] = named(&client, shared, &naming);
            let guard = held(&writer).await;
            let (token, number) = (guard.token(), guard.sequence());
            let mut waiting = fixture.queue_up(&[reader, writer], 1).await;
            let guard = guard.downgrade().await.expect("it is allowed");
            assert_eq!((guard.token(), guard.sequence()), (token, number));
            let other = got(waiting.remove(0)).await;
            assert!(!waiting[0].is_finished(), "{naming:?}");
            other.release().await.expect("it was held");
            assert!(!waiting[0].is_finished(), "{naming:?}");
            guard.release().await.expect("it is held for reading");
            got(waiting.remove(0)).await.release().await.expect("it was held");
            fixture.until_nodes(0).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_right_behind_a_downgraded_one_waits_for_that_reader() {
    for shared in SHARED {
        let fixture = LockFixture::new().await;
        let client = fixture.client().await;
        let writer = lock(&client, shared(Access::Write));
        let guard = held(&writer).await;
        let mut waiting = fixture.queue_up(std::slice::from_ref(&writer), 1).await;
        let guard = guard.downgrade().await.expect("it is allowed");
        assert!(writer.try_acquire().await.expect("an answer").is_none());
        assert!(!waiting[0].is_finished());
        guard.release().await.expect("it was held");
        got(waiting.remove(0)).await.release().await.expect("it was held");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_writer_can_be_downgraded() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    let reading = held(&lock(&client, Algorithm::SharedChain(Access::Read))).await;
    assert!(matches!(reading.downgrade().await, Err(LockError::NoDowngrade { .. })));
    let guard = held(&super::fixture::lock(&client, Algorithm::Chain)).await;
    assert!(matches!(guard.downgrade().await, Err(LockError::NoDowngrade { .. })));
    let twice = held(&lock(&client, Algorithm::SharedChain(Access::Write))).await;
    let twice = twice.downgrade().await.expect("it is allowed");
    assert!(matches!(twice.downgrade().await, Err(LockError::NoDowngrade { .. })));
    fixture.until_nodes(0).await;
}
