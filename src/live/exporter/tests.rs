//! Clients that take places and time: they send their requests in pieces, or take their answers so.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::{Exporter, MAX_SCRAPES, MetricsAccess, ScrapeKind};
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::metrics::{EventCounters, ProcessFigures};
use lockscope_model::queue::LockTable;

/// The answer about the health: more than the buffers of a connection take.
const LONG_ANSWER_BYTES: usize = 32 << 20;

/// Serves until the returned value is dropped.
async fn served() -> (SocketAddr, AbortOnDropHandle<()>) {
    serving("zk1:2181").await
}

/// Serves metrics of an ensemble of this name, which each series has.
async fn serving(ensemble: &str) -> (SocketAddr, AbortOnDropHandle<()>) {
    let (table, diagnosis) = (LockTable::new([]), Diagnosis::new(Thresholds::default()));
    let scrape = EventCounters::new(1).scrape(ensemble, &table, &diagnosis, ProcessFigures::default(), Timestamp(0));
    let mut exporter = Exporter::start(SocketAddr::from(([127, 0, 0, 1], 0)), MetricsAccess::default()).await.unwrap();
    let address = exporter.address();
    let owner = tokio::spawn(async move {
        loop {
            // The client may be gone by now.
            match exporter.next_question().await {
                ScrapeKind::Metrics(asker) => _ = asker.send(scrape.clone().into()),

                ScrapeKind::Health(asker) => _ = asker.send(Err("x".repeat(LONG_ANSWER_BYTES))),
            }
        }
    });
    (address, AbortOnDropHandle::new(owner))
}

/// Sends its request byte by byte, and begins anew whenever it is cut off.
async fn trickle(address: SocketAddr, begins: tokio::sync::mpsc::Sender<()>) {
    loop {
        let Ok(mut stream) = TcpStream::connect(address).await else { continue };
        while stream.write_all(b"G").await.is_ok() {
            // Nobody counts any more once all have begun.
            let _ = begins.try_send(());
            sleep(Duration::from_millis(100)).await;
        }
    }
}

async fn scrape(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scrape_is_answered_within_a_second_beside_500_clients_that_trickle_bytes() {
    const CLIENTS: usize = 500;
    let (address, _owner) = served().await;
    let (begins, mut begun) = tokio::sync::mpsc::channel(CLIENTS);
    let _clients: Vec<_> =
        (0..CLIENTS).map(|_| AbortOnDropHandle::new(tokio::spawn(trickle(address, begins.clone())))).collect();
    let all = async {
        for _ in 0..CLIENTS {
            begun.recv().await.unwrap();
        }
    };
    timeout(Duration::from_secs(30), all).await.expect("all clients send bytes");
    for _ in 0..5 {
        let answer = timeout(Duration::from_secs(1), scrape(address)).await.expect("an answer within a second");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scrape_does_not_wait_until_slow_readers_have_taken_theirs() {
    let (address, _owner) = serving(&"x".repeat(2 << 20)).await;
    let mut slow = Vec::new();
    for _ in 0..2 * MAX_SCRAPES {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        slow.push(stream);
    }
    // The first ones have begun, and the others wait.
    let begun = slow.iter().take(MAX_SCRAPES).map(TcpStream::readable);
    timeout(Duration::from_secs(10), futures::future::join_all(begun)).await.expect("answers begin");
    let answer = timeout(Duration::from_secs(8), scrape(address)).await.expect("an answer before their deadline");
    assert!(answer.len() > 10_000_000, "{}", answer.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_in_pieces_and_an_answer_taken_in_pieces_end_at_their_deadlines() {
    let (address, _owner) = served().await;
    let asks_slowly = async {
        let (mut stream, began) = (TcpStream::connect(address).await.unwrap(), Instant::now());
        while stream.write_all(b"G").await.is_ok() && stream.try_read(&mut [0]).is_err() {
            sleep(Duration::from_millis(50)).await;
        }
        began.elapsed()
    };
    let reads_slowly = async {
        let (mut stream, began) = (TcpStream::connect(address).await.unwrap(), Instant::now());
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        // A server that has cut the client off refuses what it sends.
        while stream.write_all(b"G").await.is_ok() {
            let _ = stream.try_read(&mut [0; 1024]);
            sleep(Duration::from_millis(50)).await;
        }
        began.elapsed()
    };
    let both = async { tokio::join!(asks_slowly, reads_slowly) };
    let (asked, read) = timeout(Duration::from_secs(25), both).await.expect("both are cut off");
    assert!(asked < Duration::from_secs(8) && read < Duration::from_secs(15), "{asked:?}, {read:?}");
}
