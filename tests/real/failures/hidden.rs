//! A ghost cannot be created on a sound server, which deletes a session's nodes with the session.
//! Here a relay removes one session from the server's list of sessions.

use std::fmt::Write;
use std::io;
use std::time::Duration;

use lockscope_base::znode::SessionId;
use lockscope_model::diagnose::{Code, OwnerState, Severity};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use zookeeper_client::Client;

use super::fixture::{ConsoleFixture, hasty};
use super::forgotten::{curator, enqueue, watch as watch_node};
use crate::harness::server::Server;
use crate::harness::zk;

/// A relay that removes one session from the answer to `dump`.
struct Mask {
    port: u16,
    hidden: watch::Sender<Option<SessionId>>,
    _task: AbortOnDropHandle<()>,
}

impl Mask {
    async fn start(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let (hidden, hides) = watch::channel(None);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (target, hides) = (target.clone(), *hides.borrow());
                // Ends with either side.
                tokio::spawn(async move { drop(serve(client, &target, hides).await) });
            }
        });
        Self { port, hidden, _task: AbortOnDropHandle::new(task) }
    }
}

async fn serve(mut client: TcpStream, target: &str, hidden: Option<SessionId>) -> io::Result<()> {
    let mut server = TcpStream::connect(target).await?;
    let mut first = [0; 4];
    client.read_exact(&mut first).await?;
    server.write_all(&first).await?;
    if let (b"dump", Some(session)) = (&first, hidden) {
        let mut answer = String::new();
        server.read_to_string(&mut answer).await?;
        return client.write_all(without(&answer, session).as_bytes()).await;
    }
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

/// Returns the answer without a session, and with the reduced counts.
fn without(answer: &str, session: SessionId) -> String {
    let line = format!("\t{session}");
    let found = answer.lines().filter(|other| *other == line).count();
    let mut reported = String::new();
    for other in answer.lines().filter(|other| *other != line) {
        let written =
            match other.strip_prefix("Session Sets (").and_then(|rest| rest.strip_suffix("):")?.rsplit_once('(')) {
                Some((rest, count)) => {
                    let count: usize = count.parse().expect("a number");
                    writeln!(reported, "Session Sets ({rest}({}):", count - found)
                }
                None => writeln!(reported, "{other}"),
            };
        written.expect("a String takes all");
    }
    reported
}

/// ZOOKEEPER-2355, ZOOKEEPER-4837.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_session_is_in_no_list_is_a_ghost_until_it_is_deleted() {
    let server = Server::start();
    let mask = Mask::start(server.connect_string()).await;
    let asked = format!("127.0.0.1:{}", mask.port);
    let mut fixture = ConsoleFixture::asking(&server.connect_string(), &asked, hasty()).await;
    let detached = Client::connector().with_session_timeout(Duration::from_secs(60)).with_detached();
    let owner = detached.connect(&server.connect_string()).await.expect("a session");
    zk::make(&owner, ["/lock".to_owned()]).await;
    let session = zk::session_of(&owner);
    let head = enqueue(&owner, &curator("/lock", 1)).await;
    let waiter = zk::connect(&server.connect_string()).await;
    enqueue(&waiter, &curator("/lock", 2)).await;
    let _watch = watch_node(&waiter, &head).await;
    drop(owner);
    fixture.until_contenders(2).await;
    fixture.until("an end of its connection", |fixture| fixture.owner_state(&head) == OwnerState::Expiring).await;
    mask.hidden.send_replace(Some(session));
    let found = fixture.finds_within(&[2, 4], Code::Ghost, Severity::Critical).await;
    assert_eq!(found.node.as_deref(), head.strip_prefix("/lock/"));
    assert_eq!(fixture.owner_state(&head), OwnerState::Ghost);
    waiter.delete(&head, None).await.expect("it is there");
    fixture.clears(Code::Ghost).await;
}
