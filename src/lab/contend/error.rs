//! Why a fleet does not run.

use std::sync::Arc;

use super::ScenarioError;
use lockscope_base::znode::ZnodePath;
use lockscope_live::zk::ConnectError;

/// Why a fleet did not get to run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ContendError {
    /// The scenario makes no sense.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// No session at all.
    #[error("{0}")]
    Connect(Arc<ConnectError>),
    /// The path cannot be made.
    #[error("test clients cannot use {path}: {why}")]
    Path {
        /// The path.
        path: ZnodePath,
        /// What is the matter, and what to do.
        why: String,
    },
    /// The system gives no more sockets.
    #[error("no sockets for so many test clients: {0}; ask for fewer, or raise the limit of open files (ulimit -n)")]
    Sockets(String),
    /// Not all clients got a session.
    #[error(
        "{failed} of {asked} test clients got no session, though this program has one: the servers may allow no more \
         connections (maxClientCnxns and maxCnxns in zoo.cfg), so ask for fewer; the first failed with: {why}"
    )]
    Clients {
        /// How many got none.
        failed: u32,
        /// How many were asked for.
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
            Error::NoChildrenForEphemerals => "a node above it is ephemeral and can have no children".to_owned(),
            error => format!("{error}; try again, or choose another path"),
        };
        Self::Path { path: path.clone(), why }
    }
}
