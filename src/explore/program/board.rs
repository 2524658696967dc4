//! What a program has come to, and what it is told.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::facts::{Deletion, Facts, Hold, Outcome, Stage, View};

/// A held lock, and whether its guard says that it is lost.
struct Held {
    hold: Hold,
    is_lost: Box<dyn Fn() -> bool + Send>,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hold.fmt(f)
    }
}

/// What a program and the explorer tell each other.
#[derive(Clone, Debug, Default)]
pub struct Board {
    shown: Arc<Mutex<Shown>>,
    proceed: Arc<Notify>,
    give_up: CancellationToken,
}

#[derive(Debug, Default)]
struct Shown {
    stage: Stage,
    held: Vec<Held>,
    outcomes: Vec<Outcome>,
    deletion: Option<Arc<Deletion>>,
    view: Option<Arc<View>>,
}

impl Board {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().expect("no program panics while it shows something")
    }

    /// Returns what the program has come to.
    pub fn facts(&self) -> Facts {
        let shown = self.shown();
        let holds = shown.held.iter().filter(|held| !(held.is_lost)()).map(|held| held.hold.clone()).collect();
        Facts {
            stage: shown.stage.clone(),
            holds,
            outcomes: shown.outcomes.clone(),
            deletion: shown.deletion.clone(),
            view: shown.view.clone(),
        }
    }

    /// Tells the program to go on.
    pub fn proceed(&self) {
        self.proceed.notify_one();
    }

    /// Tells the program to drop what it has.
    pub fn give_up(&self) {
        self.give_up.cancel();
    }

    /// Shows a stage without a held lock.
    pub(super) fn show(&self, stage: Stage) {
        let mut shown = self.shown();
        (shown.stage, shown.held) = (stage, Vec::new());
    }

    /// Shows what a round has come to.
    pub(super) fn show_outcome(&self, outcome: Outcome) {
        self.shown().outcomes.push(outcome);
    }

    /// Shows what has become of a plan.
    pub(super) fn change_deletion(&self, change: impl FnOnce(&mut Deletion)) {
        change(Arc::make_mut(self.shown().deletion.get_or_insert_default()));
    }

    /// Shows what an observer shows.
    pub(super) fn show_view(&self, view: View) {
        self.shown().view = Some(Arc::new(view));
    }

    /// Shows a lock that is held until it is lost.
    pub(super) fn show_held(&self, hold: Hold, is_lost: impl Fn() -> bool + Send + 'static) {
        self.shown().held.push(Held { hold, is_lost: Box::new(is_lost) });
    }

    /// Shows that the program holds, and waits until it is told to go on.
    pub(super) async fn hold(&self) {
        self.shown().stage = Stage::Holds;
        self.proceed.notified().await;
        self.show(Stage::Works);
    }

    /// Waits until the program is told to give up. Cancel safe.
    pub(super) async fn given_up(&self) {
        self.give_up.cancelled().await;
    }
}
