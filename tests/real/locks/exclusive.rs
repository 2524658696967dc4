//! One holder at a time, and the hand-over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lockscope_base::znode::Zxid;
use lockscope_lock::LockError;
use tokio::task::JoinSet;

use super::fixture::{ALONE, LockFixture, SHORT_WAIT, got, held, wait_for};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_clients_holds_and_the_other_acquires_after_the_release() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let [first, second] = fixture.locks(algorithm).await;
        let guard = held(&first).await;
        assert!(second.try_acquire().await.expect("an answer").is_none(), "{algorithm:?}");
        let waiting = wait_for(&second);
        let timed_out = second.acquire_within(SHORT_WAIT).await;
        assert!(matches!(timed_out, Err(LockError::TimedOut { .. })), "{algorithm:?} {timed_out:?}");
        assert!(!waiting.is_finished(), "{algorithm:?}");
        let token = guard.token();
        guard.release().await.expect("it was held");
        let next = got(waiting).await;
        assert!(next.token() > token, "{algorithm:?}");
        next.release().await.expect("it was held");
        fixture.until_nodes(0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_clients_never_has_two_holders_and_tokens_rise() {
    const CLIENTS: usize = 8;
    const ROUNDS: usize = 6;
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let inside = Arc::new(AtomicUsize::new(0));
        let tokens = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let lock = fixture.lock(algorithm).await;
            let (inside, tokens) = (Arc::clone(&inside), Arc::clone(&tokens));
            clients.spawn(async move {
                for _ in 0..ROUNDS {
                    let guard = held(&lock).await;
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "{algorithm:?}: two hold");
                    tokens.lock().expect("no panic").push(guard.token());
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    guard.release().await.expect("it was held");
                }
            });
        }
        while let Some(client) = clients.join_next().await {
            client.expect("no client panics");
        }
        let tokens: Vec<Zxid> = tokens.lock().expect("no panic").clone();
        assert_eq!(tokens.len(), CLIENTS * ROUNDS);
        assert!(tokens.is_sorted_by(|a, b| a < b), "{algorithm:?}: {tokens:?}");
        fixture.until_nodes(0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_can_be_acquired_again_after_its_release() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let lock = fixture.lock(algorithm).await;
        let mut last = Zxid(0);
        for _ in 0..3 {
            let guard = lock.try_acquire().await.expect("an answer").expect("it is free");
            assert!(guard.token() > last, "{algorithm:?}");
            last = guard.token();
            guard.release().await.expect("it was held");
            fixture.until_nodes(0).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_attempts_of_one_session_contend_like_any_two() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let lock = fixture.lock(algorithm).await;
        let guard = held(&lock).await;
        let waiting = wait_for(&lock.clone());
        assert!(lock.try_acquire().await.expect("an answer").is_none(), "{algorithm:?}");
        guard.release().await.expect("it was held");
        got(waiting).await.release().await.expect("it was held");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_has_the_servers_path_sequence_and_token() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let guard = held(&fixture.lock(algorithm).await).await;
        let nodes = fixture.until_nodes(1).await;
        assert_eq!(nodes, [guard.path().as_str()]);
        let (_, stat) = fixture.client().await.get_data(guard.path().as_str()).await.expect("it is there");
        assert_eq!(guard.token(), Zxid(stat.czxid));
        let number = guard.sequence().map(|sequence| sequence.to_string());
        assert!(guard.path().as_str().ends_with(&number.unwrap_or_default()), "{algorithm:?}");
    }
}
