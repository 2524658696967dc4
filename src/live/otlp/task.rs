//! The task that sends.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::client::Outcome;
use super::delivery::{Delivery, Message, refusal};
use super::queue::{Next, Shared};
use lockscope_base::time::Backoff;

/// The first and the longest pause before a collector is tried again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Sends what waits until the owner stops.
pub(super) async fn send(shared: Arc<Shared>, delivery: Delivery) {
    let mut backoff = Backoff::new(PAUSES.0, PAUSES.1);
    loop {
        let (message, count) = match shared.next().await {
            Next::End => return,
            Next::Spans(spans) => (Message::of_spans(&spans), spans.len() as u64),
            Next::Metrics(scrape, at) => match delivery.metrics(*scrape, at) {
                Some(message) => (message, 0),
                None => continue,
            },
        };
        if !deliver(&shared, &delivery, &message, count, &mut backoff).await {
            return;
        }
    }
}

/// Sends one message until the collector takes or refuses it. Returns `false` when the owner stops
/// before that. Metrics are tried once: the next ones contain them.
async fn deliver(shared: &Shared, delivery: &Delivery, message: &Message, count: u64, backoff: &mut Backoff) -> bool {
    loop {
        let pause = match delivery.send(message).await {
            Outcome::Taken(answer) => {
                let refused = message.refused_in(&answer).min(count);
                shared.sent(count - refused, refused);
                let trouble = (refused > 0).then(|| refusal(&answer));
                shared.set_trouble(message.is_metrics(), trouble);
                backoff.reset();
                return true;
            }
            Outcome::Refused(why) => {
                shared.sent(0, count);
                shared.set_trouble(message.is_metrics(), Some(why));
                backoff.reset();
                return true;
            }
            Outcome::Later(why, pause) => {
                shared.set_trouble(message.is_metrics(), Some(why));
                pause.map_or_else(|| backoff.next_pause(), |pause| pause.clamp(PAUSES.0, PAUSES.1))
            }
        };
        if shared.is_stopping() {
            return false;
        }
        tokio::select! {
            () = sleep(pause) => {}
            () = shared.stopping() => {}
        }
        if message.is_metrics() {
            return true;
        }
    }
}
