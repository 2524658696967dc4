//! What a subscriber of `tracing` sees of a wait, a hold and a loss on a real server.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use lockscope_lock::{Algorithm, Lock};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::harness::wait::{PATIENCE, eventually};
use crate::harness::zk;

/// The spans and events of the locks, as lines in their order.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn note(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Returns the lines so far and forgets them.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// `name=value` of each field.
#[derive(Default)]
struct FieldText(String);

impl Visit for FieldText {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&[" ", field.name(), &format!("={value:?}")].concat());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Seen {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().target() != "lockscope_lock" {
            return;
        }
        let mut fields = FieldText::default();
        attributes.record(&mut fields);
        let above = context.span(id).and_then(|span| Some(format!("{}: ", span.parent()?.name())));
        self.note(format!("{}{}{}", above.unwrap_or_default(), attributes.metadata().name(), fields.0));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if event.metadata().target() != "lockscope_lock" {
            return;
        }
        let mut fields = FieldText::default();
        event.record(&mut fields);
        let above = context.event_span(event).map_or("nothing", |span| span.name());
        self.note(format!("{above}: {}{}", event.metadata().level(), fields.0));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if let Some(span) = context.span(&id).filter(|span| span.metadata().target() == "lockscope_lock") {
            self.note(format!("end of {}", span.name()));
        }
    }
}

#[tokio::test]
async fn a_subscriber_sees_a_wait_a_hold_and_a_loss() {
    let seen = Seen::default();
    let _subscribed = tracing::subscriber::set_default(tracing_subscriber::registry().with(seen.clone()));
    let client = zk::connect(&zk::own_root("seen").await).await;
    let session = zk::session_of(&client);
    let lock = Lock::new(&client, "/lock", Algorithm::Chain).expect("a lock");

    let request = tracing::span!(Level::INFO, "request");
    let first = tracing::Instrument::instrument(lock.acquire(), request.clone()).await.expect("it is free");
    drop(request);
    let (node, token) = (first.path().clone(), first.token());
    assert_eq!(
        seen.take(),
        [
            &format!("request: lock_attempt lock=/lock algorithm=\"chain\" session={session} waits=true"),
            "lock_attempt: lock_wait lock=/lock",
            "end of lock_wait",
            &format!("lock_attempt: lock_hold lock=/lock node={node} token={token}"),
        ]
    );

    let (second, released) = tokio::join!(lock.acquire(), async {
        eventually("the second waits", async || {
            let children = client.list_children("/lock").await.map_err(|error| error.to_string())?;
            if children.len() == 2 { Ok(()) } else { Err(format!("{children:?}")) }
        })
        .await;
        first.release().await
    });
    released.expect("it was held");
    let second = second.expect("its turn");
    let steps = seen.take();
    let at = |step: &str| {
        steps.iter().position(|seen| seen.starts_with(step)).unwrap_or_else(|| panic!("{step}: {steps:?}"))
    };
    assert!(at("lock_attempt: lock_wait") < at("end of lock_wait"), "{steps:?}");
    assert!(at("end of lock_wait") < at("lock_attempt: lock_hold"), "{steps:?}");
    // The event of the deletion may be faster than its reply, by which the first one ends.
    assert!(at("end of lock_hold") < at("end of lock_attempt"), "{steps:?}");

    let (node, token) = (second.path().clone(), second.token());
    let (_, loss) = tokio::join!(client.delete(node.as_str(), None), tokio::time::timeout(PATIENCE, second.lost()));
    let loss = loss.expect("it knows");
    drop(second);
    lockscope_lock::cleaned_up(&client).await;
    let steps = seen.take();
    let event = format!("lock_hold: WARN message=the lock is lost lock=/lock node={node} token={token} loss={loss}");
    assert_eq!(steps, [&event, "end of lock_hold", "end of lock_attempt"]);
}
