//! The guided tour: its script as data, the sessions that do what test clients cannot, and the
//! tour's own node.
//!
//! A [`Script`] is read from `tour.toml`. It has scenes with their own locks, and each scene
//! has steps with a caption and a screen. The screen steps through it (`tui::app`'s tour). Fleets
//! of test clients start like the user's own. A [`SceneRunner`] runs clients with a fault: one that
//! loses the reply to a create, and two that take two locks in opposite order.
//!
//! On an ensemble other than the sandbox, everything is below a [`Namespace`], which is removed
//! when the tour ends.
//!
//! Architecture invariant: nothing is created outside the namespace, and every session of a scene
//! ends with the scene.

mod scene;
mod script;

use std::time::Duration;

use tokio::time::timeout;
use zookeeper_client::{Client, Error};

use lockscope_base::znode::ZnodePath;
use lockscope_live::zk;
use lockscope_live::zk::{ConnectError, ConnectOptions, close_session, create_containers};

pub use scene::{SceneCommand, SceneRunner};
pub use script::{
    PresenterInput, Scene, SceneAction, SceneComparison, SceneFleet, Script, ScriptedClients, StepInput, TourScreen,
    TourStep,
};

/// The time limit of the removal: longer than the nodes of cut sessions take to expire.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause before the removal is tried again.
const REMOVE_RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// The tour's own node on an ensemble that others use.
///
/// The node is a container if the servers support those, so that they remove it even after the
/// program is killed.
#[derive(Clone, Debug)]
pub struct Namespace {
    connection: ConnectOptions,
    path: ZnodePath,
}

/// The reason why a namespace could not be created or removed. Each message is one sentence.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// The session could not be opened.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The node cannot be created.
    #[error("the demo cannot create {path}: {error}; give an identity that can (--auth-file), or omit --connect")]
    Make {
        /// The node.
        path: ZnodePath,
        /// The server's error.
        error: Error,
    },
    /// Some nodes could not be removed.
    #[error("{path} could not be removed ({why}): remove it by hand")]
    Remove {
        /// The node.
        path: ZnodePath,
        /// The reason.
        why: String,
    },
}

impl Namespace {
    /// Creates a node with an unused random name at the root of the chroot.
    pub async fn make(connection: ConnectOptions) -> Result<Self, NamespaceError> {
        let session = zk::connect(&connection).await?;
        let path = ZnodePath::root().child(&format!("lockscope-demo-{:08x}", fastrand::u32(..)));
        let mut created = Vec::new();
        let made = create_containers(&session, &path, &mut created).await;
        close_session(session).await;
        match made {
            // The node belongs to somebody else and must not be removed at the end.
            Ok(()) if created.is_empty() => Err(NamespaceError::Make { path, error: Error::NodeExists }),
            Ok(()) => Ok(Self { connection, path }),
            Err((path, error)) => Err(NamespaceError::Make { path, error }),
        }
    }

    /// Returns the path of the node.
    pub fn path(&self) -> &ZnodePath {
        &self.path
    }

    /// Deletes the node and its descendants, within 10 seconds. An error says what is left to do.
    pub async fn remove(self) -> Result<(), NamespaceError> {
        let Self { connection, path } = self;
        let failed = |why: String| NamespaceError::Remove { path: path.clone(), why };
        let work = async {
            let session = zk::connect(&connection).await?;
            let removed = loop {
                match remove(&session, &path).await {
                    // A node was created meanwhile, by one of our sessions that is just closing.
                    Err(Error::NotEmpty) => tokio::time::sleep(REMOVE_RETRY_INTERVAL).await,
                    other => break other,
                }
            };
            close_session(session).await;
            removed.map_err(|error| failed(error.to_string()))
        };
        timeout(REMOVE_TIMEOUT, work).await.unwrap_or_else(|_| Err(failed("it took too long".to_owned())))
    }
}

/// Deletes a node and its descendants, the lowest first.
async fn remove(session: &Client, path: &ZnodePath) -> Result<(), Error> {
    let mut open = vec![path.clone()];
    let mut nodes = Vec::new();
    while let Some(node) = open.pop() {
        match session.list_children(node.as_str()).await {
            Ok(children) => open.extend(children.iter().map(|child| node.child(child))),
            Err(Error::NoNode) => continue,
            Err(error) => return Err(error),
        }
        nodes.push(node);
    }
    for node in nodes.iter().rev() {
        match session.delete(node.as_str(), None).await {
            Ok(()) | Err(Error::NoNode) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
