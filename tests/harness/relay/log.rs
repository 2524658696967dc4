//! What passed a relay, in order.

/// One packet. A request is written down when it arrives at the relay, the others when they leave it for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    Request { op: i32 },
    Reply,
    Event,
}

/// How often the client waited for an answer before it went on asking: requests that arrive before any of them is
/// answered are one round trip. Meaningful with a delay, which keeps the answers behind requests sent together.
pub fn round_trips(log: &[Passed]) -> usize {
    let mut asking = false;
    let mut trips = 0;
    for passed in log {
        match passed {
            Passed::Request { .. } if !asking => {
                asking = true;
                trips += 1;
            }
            Passed::Reply => asking = false,
            Passed::Request { .. } | Passed::Event => {}
        }
    }
    trips
}
