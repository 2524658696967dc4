//! The health check of the exporter.

use crate::queue::{ConnectionState, LockTable, NO_ANSWER};

/// Returns `Ok` if the table is live; otherwise a sentence with the reason.
pub fn health(table: &LockTable) -> Result<(), String> {
    if table.is_live() {
        return Ok(());
    }
    Err(match table.connection() {
        ConnectionState::Connected { .. } => "connected, and not everything was read yet".to_owned(),
        ConnectionState::Connecting { reason: None, .. } => "connecting to the ensemble".to_owned(),
        ConnectionState::Connecting { reason: Some(reason), .. } => format!("no connection to the ensemble: {reason}"),
        ConnectionState::Lagging { reason, .. } => format!("what is shown is old: {reason}"),
        ConnectionState::Silent { .. } => NO_ANSWER.to_owned(),
        ConnectionState::Lost { reason } => format!("the connection to the ensemble was lost: {reason}"),
        ConnectionState::Overloaded { reason } => format!("not everything that happens can be taken in: {reason}"),
        ConnectionState::Refused { reason } => format!("the ensemble refused the session: {reason}"),
    })
}
