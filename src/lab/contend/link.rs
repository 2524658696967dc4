//! A client's link to the servers: a transport that counts the traffic and can delay, pause, cut
//! and restore it.

use super::LinkState;
use lockscope_live::zk::Flow;
pub(super) use lockscope_live::zk::{Passed, Transport as Link};

/// Returns the state of a link with this flow.
pub(super) fn state_of(flow: Flow) -> LinkState {
    match flow {
        Flow { cut: true, .. } => LinkState::Cut,
        Flow { paused: true, .. } => LinkState::Paused,
        Flow { delay, .. } if delay.is_zero() => LinkState::Whole,
        _ => LinkState::Delayed,
    }
}
