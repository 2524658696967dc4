//! What happens to a holder that stops, or whose node is deleted, tried in memory: the test of the
//! tutorial, `assets/docs/rust-locks-tutorial.md`.

use std::error::Error;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lockscope_lock::zookeeper_client::{Acls, Client, CreateMode};
use lockscope_lock::{Algorithm, Lock, LockError, Loss, WriteError, Zxid};
use lockscope_sandbox::{Sandbox, SandboxConfig};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

type Failure = Box<dyn Error + Send + Sync>;

/// How long the test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// The session timeout of the holder that is stopped.
const SESSION: Duration = Duration::from_secs(2);

/// Holds the lock, stands still like a stopped process until it is told to go on, and writes then.
/// Gives the outcome of that write, and how the lock was lost.
#[tokio::main(flavor = "current_thread")]
async fn anna(
    servers: &str,
    holds: oneshot::Sender<Zxid>,
    go_on: &mpsc::Receiver<()>,
) -> Result<(WriteError, Loss), Failure> {
    let client = Client::connector().with_session_timeout(SESSION).connect(servers).await?;
    let guard = Lock::new(&client, "/locks/seats", Algorithm::Chain)?.acquire().await?;
    guard.set_data("/seats", b"99", None).await?;
    holds.send(guard.token()).map_err(|_| "nobody listens")?;
    // Blocks the only thread of this runtime: the client sends no heartbeat, and no timer runs.
    go_on.recv()?;
    let late = guard.set_data("/seats", b"0", None).await.err().ok_or("the late write was carried out")?;
    Ok((late, guard.lost().await))
}

#[tokio::test]
async fn the_next_one_holds_after_a_holder_that_stopped_and_that_one_writes_no_more() -> Result<(), Failure> {
    let sandbox = Sandbox::start(TcpListener::bind("127.0.0.1:0").await?, SandboxConfig::default())?;
    let servers = sandbox.connect_string();
    let ben = Client::connect(&servers).await?;
    ben.create("/seats", b"100", &CreateMode::Persistent.with_acls(Acls::anyone_all())).await?;
    let ((holds, first), (go_on, stopped)) = (oneshot::channel(), mpsc::channel());
    let anna = thread::spawn(move || anna(&servers, holds, &stopped));
    let first = first.await?;
    let lock = Lock::new(&ben, "/locks/seats", Algorithm::Chain)?;
    assert!(lock.try_acquire().await?.is_none(), "anna holds");

    // The server ends anna's session, and ben is next.
    let second = lock.acquire_within(PATIENCE).await?;
    assert!(second.token() > first);

    // Anna goes on, and has not heard of it.
    go_on.send(())?;
    let (late, loss) = tokio::task::spawn_blocking(|| anna.join()).await?.map_err(|_| "anna panicked")??;
    // It is refused; or the connection was closed before its reply came, and nobody knows.
    assert!(matches!(late, WriteError::Lost(_) | WriteError::Unknown { .. }), "{late:?}");
    assert_eq!(loss, Loss::Expired);
    assert_eq!(ben.get_data("/seats").await?.0, b"99", "the late write has changed nothing");
    second.set_data("/seats", b"98", None).await?;
    second.release().await?;
    sandbox.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_holder_whose_node_is_deleted_writes_no_more() -> Result<(), Failure> {
    let sandbox = Sandbox::start(TcpListener::bind("127.0.0.1:0").await?, SandboxConfig::default())?;
    let client = Client::connect(&sandbox.connect_string()).await?;
    let open = CreateMode::Persistent.with_acls(Acls::anyone_all());
    client.create("/seats", b"100", &open).await?;

    let guard = Lock::new(&client, "/locks/seats", Algorithm::Chain)?.acquire().await?;
    // An administrator thinks that the holder hangs.
    client.delete(guard.path().as_str(), None).await?;

    // Nobody has told the guard: it believes that it holds, and the servers refuse.
    assert_eq!(guard.is_lost(), None);
    let late = guard.set_data("/seats", b"99", None).await;
    assert!(matches!(late, Err(WriteError::Lost(LockError::NodeDeleted { .. }))), "{late:?}");
    assert_eq!(client.get_data("/seats").await?.0, b"100");
    // A plain write of the same session is carried out.
    client.set_data("/seats", b"99", None).await?;
    sandbox.stop().await;
    Ok(())
}
