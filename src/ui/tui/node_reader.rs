//! Reads a node for its page, on a session of its own.

use std::time::Duration;

use tokio::time::timeout;

use super::app::Event;
use lockscope_base::znode::ZnodePath;
use lockscope_live::zk::{self, ConnectOptions, NodeReading};

/// The maximum session timeout: an abandoned session should end soon.
const MAX_SESSION_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit for reading on an established session.
const MAX_READING_TIME: Duration = Duration::from_secs(10);

/// Reads nodes with the observer's servers and credentials, but not on its session, which is kept
/// for the watches.
#[derive(Clone, Debug, Default)]
pub struct NodeReader {
    connection: Option<ConnectOptions>,
}

impl NodeReader {
    pub fn new(connection: ConnectOptions) -> Self {
        let session_timeout = connection.session_timeout.min(MAX_SESSION_TIMEOUT);
        Self { connection: Some(ConnectOptions { session_timeout, ..connection }) }
    }

    /// Reads a node. Takes at most about ten seconds to connect and ten more. Cancel safe.
    pub async fn read(self, path: ZnodePath) -> Event {
        let read = self.try_read(&path).await.map(Box::new);
        Event::NodeRead { path, read }
    }

    async fn try_read(&self, path: &ZnodePath) -> Result<Option<NodeReading>, String> {
        let failed = |why: &str| format!("It cannot be read: {}.", why.trim_end_matches('.'));
        let connection = self.connection.as_ref().ok_or_else(|| failed("there is no connection"))?;
        let client = zk::connect(connection).await.map_err(|error| failed(&error.to_string()))?;
        let read = timeout(MAX_READING_TIME, zk::read_node(&client, path)).await;
        zk::close_session(client).await;
        match read {
            Ok(read) => read.map_err(|error| failed(&error.to_string())),
            Err(_) => Err(failed("the servers gave no answer in time")),
        }
    }
}
