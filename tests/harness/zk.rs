//! Sessions and trees for tests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{StreamExt, stream};
use lockscope_base::znode::SessionId;
use zookeeper_client::{Acls, Client, CreateMode, CreateOptions, Error, Stat};

use super::server::Server;

/// The maximum number of outstanding requests.
const PIPELINED: usize = 500;

/// The session timeout of a test's own sessions. These outlive every hold-up that a test makes on
/// purpose elsewhere.
const SESSION_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns options with an ACL that allows everything to everyone.
pub fn open(mode: CreateMode) -> CreateOptions<'static> {
    mode.with_acls(Acls::anyone_all())
}

/// Opens a session.
pub async fn connect(connect: &str) -> Client {
    connect_within(connect, SESSION_TIMEOUT).await
}

/// Opens a session with a timeout.
pub async fn connect_within(connect: &str, timeout: Duration) -> Client {
    let connector = Client::connector().with_session_timeout(timeout);
    connector.connect(connect).await.unwrap_or_else(|error| panic!("no session at {connect}: {error}"))
}

/// Returns a session's id as the crate's type.
pub fn session_of(client: &Client) -> SessionId {
    SessionId(client.session_id().0)
}

/// Creates a node for one test on the shared server. Returns the connect string with this chroot.
pub async fn own_root(subject: &str) -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let server = Server::shared();
    let path = format!("/{subject}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    make(&connect(&server.connect_string()).await, [path.clone()]).await;
    server.connect_string() + &path
}

/// Creates persistent nodes, in order, with their missing parents.
pub async fn make(client: &Client, paths: impl IntoIterator<Item = String>) {
    for path in paths {
        let made = client.mkdir(&path, &open(CreateMode::Persistent)).await;
        made.unwrap_or_else(|error| panic!("{path} was not made: {error}"));
    }
}

/// Creates nodes below existing parents, with many requests at a time. Returns their paths in the
/// given order.
pub async fn create_all(
    client: &Client,
    mode: CreateMode,
    wishes: impl IntoIterator<Item = (String, Vec<u8>)>,
) -> Vec<String> {
    let options = &open(mode);
    stream::iter(wishes)
        .map(|(path, data)| async move {
            let created = client.create(&path, &data, options).await;
            let (_, sequence) = created.unwrap_or_else(|error| panic!("{path} was not created: {error}"));
            let numbered = [CreateMode::EphemeralSequential, CreateMode::PersistentSequential].contains(&mode);
            if numbered { format!("{path}{sequence}") } else { path }
        })
        .buffered(PIPELINED)
        .collect()
        .await
}

/// Deletes nodes without children, with many requests at a time. Ignores nodes that are already
/// gone.
pub async fn delete_all(client: &Client, paths: impl IntoIterator<Item = String>) {
    stream::iter(paths)
        .map(|path| async move {
            match client.delete(&path, None).await {
                Ok(()) | Err(Error::NoNode) => {}
                Err(error) => panic!("{path} was not deleted: {error}"),
            }
        })
        .buffered(PIPELINED)
        .collect::<()>()
        .await;
}

/// A node with its stat.
#[derive(Clone, Debug)]
pub struct Node {
    pub path: String,
    pub data: Vec<u8>,
    pub stat: Stat,
}

/// Returns all nodes below `root` in the order of their paths. Nodes that go meanwhile are left
/// out.
pub async fn tree(client: &Client, root: &str) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut level = vec![root.trim_end_matches('/').to_owned()];
    while !level.is_empty() {
        level = children_of(client, level).await;
        let read = stream::iter(level.iter().cloned()).map(|path| async move {
            match client.get_data(&path).await {
                Ok((data, stat)) => Some(Node { path, data, stat }),
                Err(Error::NoNode) => None,
                Err(error) => panic!("{path}: {error}"),
            }
        });
        nodes.extend(read.buffered(PIPELINED).collect::<Vec<_>>().await.into_iter().flatten());
    }
    nodes.sort_by(|a, b| a.path.cmp(&b.path));
    nodes
}

async fn children_of(client: &Client, parents: Vec<String>) -> Vec<String> {
    stream::iter(parents)
        .map(|parent| async move {
            let listed = client.list_children(if parent.is_empty() { "/" } else { &parent }).await;
            let names = match listed {
                Err(Error::NoNode) => Vec::new(),
                listed => listed.unwrap_or_else(|error| panic!("{parent}: {error}")),
            };
            names.into_iter().map(|name| format!("{parent}/{name}")).filter(|path| path != "/zookeeper").collect()
        })
        .buffered(PIPELINED)
        .collect::<Vec<Vec<_>>>()
        .await
        .concat()
}
