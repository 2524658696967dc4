//! A client's own link to the servers: a transport, which counts what passes, and can delay, pause, cut and heal.

use super::LinkState;
use lockscope_live::zk::Flow;
pub(super) use lockscope_live::zk::{Passed, Transport as Link};

/// The state of a link that treats what passes so.
pub(super) fn state_of(flow: Flow) -> LinkState {
    match flow {
        Flow { cut: true, .. } => LinkState::Cut,
        Flow { paused: true, .. } => LinkState::Paused,
        Flow { delay, .. } if delay.is_zero() => LinkState::Whole,
        _ => LinkState::Delayed,
    }
}
