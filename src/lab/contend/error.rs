//! The reasons why a fleet does not run.

use std::sync::Arc;

use super::ScenarioError;
use lockscope_base::znode::ZnodePath;
use lockscope_live::zk::ConnectError;

/// The reason why a fleet cannot run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ContendError {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The fleet's own session could not be opened.
    #[error("{0}")]
    Connect(Arc<ConnectError>),
    /// The path cannot be created.
    #[error("test clients cannot use {path}: {why}")]
    Path {
        /// The path.
        path: ZnodePath,
        /// The reason, and what to do.
        why: String,
    },
    /// The system provides no more sockets.
    #[error("no sockets for so many test clients: {0}; ask for fewer, or raise the limit of open files (ulimit -n)")]
    Sockets(String),
    /// Some clients got no session.
    #[error(
        "{failed} of {asked} test clients got no session, though this program has one: the servers may allow no more \
         connections (maxClientCnxns and maxCnxns in zoo.cfg), so ask for fewer; the first failed with: {why}"
    )]
    Clients {
        /// The number of clients without a session.
        failed: u32,
        /// The requested number of clients.
        asked: u32,
        /// The error of the first of them.
        why: String,
    },
}

impl ContendError {
    pub(super) fn connect(error: ConnectError) -> Self {
        Self::Connect(Arc::new(error))
    }

    pub(super) fn path(path: &ZnodePath, error: &zookeeper_client::Error) -> Self {
        use zookeeper_client::Error;
        let why = match error {
            Error::NoAuth => {
                "this user may not create it; choose another path, or give an identity (--auth-file)".to_owned()
            }
            Error::Unimplemented => {
                "the server is older than ZooKeeper 3.5, which locks need; use servers of 3.5 or later".to_owned()
            }
            Error::NoChildrenForEphemerals => "a node above it is ephemeral and can have no children".to_owned(),
            error => format!("{error}; try again, or choose another path"),
        };
        Self::Path { path: path.clone(), why }
    }
}
