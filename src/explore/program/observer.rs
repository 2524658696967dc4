//! A program that observes the locks as the console does.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_live::observe::{MAX_BACKLOG, Observed, observe_over};
use lockscope_model::queue::{ConnectionState, Happening, LockQueue, LockTable};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::board::Board;
use super::facts::{ShownQueue, Stage, Told, View};
use super::paths::LOCK;
use crate::library::{SharedLibrary, shared};

/// The number of batches that wait for the table, as in the console.
const MAX_QUEUED_BATCHES: usize = 4;

/// The time of all changes. No queue depends on it.
const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// The backlog of an observer whose consumer does not keep up: about what one reading brings.
const SMALL_BACKLOG: usize = 10;

/// The time for which that consumer takes nothing now and then.
const PAUSE: Duration = Duration::from_secs(1);

/// How an observer is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// As the console starts it: of the whole tree.
    Whole,
    /// With room for hardly any change that nobody has taken.
    Small,
    /// It observes the lock's path alone.
    Root,
}

impl Observation {
    pub(super) const ALL: [Self; 3] = [Self::Whole, Self::Small, Self::Root];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Whole => "observe",
            Self::Small => "observe+small",
            Self::Root => "observe+root",
        }
    }
}

/// Observes locks until the session ends.
pub(super) async fn run(observation: Observation, library: SharedLibrary, board: Board) {
    let root = match observation {
        Observation::Root => ZnodePath::new(LOCK).expect("the path is valid"),
        Observation::Whole | Observation::Small => ZnodePath::root(),
    };
    let may_overflow = observation == Observation::Small;
    let (sender, mut batches) = mpsc::channel::<Vec<Observed>>(if may_overflow { 1 } else { MAX_QUEUED_BATCHES });
    let backlog = if may_overflow { SMALL_BACKLOG } else { MAX_BACKLOG };
    let observer = observe_over(shared(&library), vec![root], backlog, sender);
    let shown = async {
        let mut table = LockTable::new([]);
        let mut view = View { may_overflow, ..View::default() };
        board.show_view(view.clone());
        while let Some(batch) = batches.recv().await {
            for Observed { change, .. } in batch {
                view.happenings.extend(table.apply(change, NOW).iter().map(told));
                if view.found.is_none() && table.is_in_step() {
                    view.found = Some((view.happenings.len(), Arc::new(queues(&table))));
                }
            }
            show(&table, &mut view);
            if may_overflow && fastrand::u8(..3) == 0 {
                board.show(Stage::Works);
                board.show_view(View { is_settled: false, ..view.clone() });
                sleep(PAUSE).await;
                view.batches += 1;
            }
            view.is_settled &= batches.is_empty();
            board.show(if view.is_settled { Stage::Idle } else { Stage::Works });
            board.show_view(view.clone());
        }
    };
    let (state, ()) = join(observer, shown).await;
    let ended = state.map_or_else(|| "nobody takes the changes".to_owned(), |state| format!("{state:?}"));
    board.show(Stage::Ended(Some(ended)));
}

/// Shows what the table shows now.
fn show(table: &LockTable, view: &mut View) {
    let all_read = table.locks().all(|lock| lock.rows(0..lock.len()).all(|row| row.contender.is_read()));
    view.batches += 1;
    view.is_settled = table.is_live() && all_read;
    view.is_recursive = matches!(table.connection(), ConnectionState::Connected { recursive: true, .. });
    view.queues = queues(table);
}

fn queues(table: &LockTable) -> Vec<ShownQueue> {
    table.locks().filter(|lock| !lock.is_empty()).map(queue).collect()
}

fn queue(lock: &LockQueue) -> ShownQueue {
    let path_of = |contender| Arc::from(lock.path_of(contender).as_str());
    let nodes = lock.rows(0..lock.len()).map(|row| {
        let contender = row.contender;
        (path_of(contender), contender.czxid.0, contender.session().map(|session| session.0))
    });
    let returned = lock.rows(0..lock.len()).filter(|row| row.contender.returned);
    ShownQueue {
        lock: lock.path().as_str().into(),
        nodes: nodes.collect(),
        holding: lock.holding(),
        returned: returned.map(|row| path_of(row.contender)).collect(),
    }
}

fn told(happening: &Happening) -> Told {
    let path = happening.lock.as_ref().zip(happening.node.as_ref()).map(|(lock, node)| {
        // The node of a single-node lock is the lock itself.
        if lock.path.name() == &**node { lock.path.clone() } else { lock.path.child(node) }
    });
    Told {
        event: happening.event,
        path: path.map_or_else(|| Arc::from(""), |path| path.as_str().into()),
        czxid: happening.contender.as_ref().map_or(0, |contender| contender.czxid.0),
        session: happening.session.map(|session| session.0),
        deleted_by: happening.deleted_by.map(|zxid| zxid.0),
        may_have_expired: happening.may_have_expired,
        queue: happening.queue,
    }
}
