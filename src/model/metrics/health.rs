//! Whether the locks are known as they are now.

use crate::queue::{ConnectionState, LockTable};

/// Whether there is a connection to the ensemble and what happens there is taken in; else a sentence that says what is the matter.
pub fn health(table: &LockTable) -> Result<(), String> {
    if table.is_live() {
        return Ok(());
    }
    Err(match table.connection() {
        ConnectionState::Connected { .. } => "connected, and not everything was read yet".to_owned(),
        ConnectionState::Connecting { reason: None, .. } => "connecting to the ensemble".to_owned(),
        ConnectionState::Connecting { reason: Some(reason), .. } => format!("no connection to the ensemble: {reason}"),
        ConnectionState::Lagging { reason, .. } => format!("what is shown is old: {reason}"),
        ConnectionState::Lost { reason } => format!("the connection to the ensemble was lost: {reason}"),
        ConnectionState::Overloaded { reason } => format!("not everything that happens can be taken in: {reason}"),
        ConnectionState::Refused { reason } => format!("the ensemble refused the session: {reason}"),
    })
}
