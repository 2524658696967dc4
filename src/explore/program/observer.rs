//! A program that observes the locks as the console does.

use std::sync::Arc;

use futures::future::join;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_live::observe::{MAX_BACKLOG, Observed, observe_over};
use lockscope_model::queue::{Happening, LockQueue, LockTable};
use tokio::sync::mpsc;

use super::board::Board;
use super::facts::{ShownQueue, Stage, Told, View};
use crate::library::{SharedLibrary, shared};

/// The number of batches that wait for the table, as in the console.
const MAX_QUEUED_BATCHES: usize = 4;

/// The time of all changes. No queue depends on it.
const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// Observes all locks until the session ends.
pub(super) async fn run(library: SharedLibrary, board: Board) {
    let (sender, mut batches) = mpsc::channel::<Vec<Observed>>(MAX_QUEUED_BATCHES);
    let observer = observe_over(shared(&library), vec![ZnodePath::root()], MAX_BACKLOG, sender);
    let shown = async {
        let mut table = LockTable::new([]);
        let mut happenings = Vec::new();
        board.show_view(View::default());
        while let Some(batch) = batches.recv().await {
            for Observed { change, .. } in batch {
                happenings.extend(table.apply(change, NOW).iter().map(told));
            }
            let view = view(&table, &happenings);
            board.show(if view.is_settled { Stage::Idle } else { Stage::Works });
            board.show_view(view);
        }
    };
    let (state, ()) = join(observer, shown).await;
    let ended = state.map_or_else(|| "nobody takes the changes".to_owned(), |state| format!("{state:?}"));
    board.show(Stage::Ended(Some(ended)));
}

fn view(table: &LockTable, happenings: &[Told]) -> View {
    let all_read = table.locks().all(|lock| lock.rows(0..lock.len()).all(|row| row.contender.is_read()));
    View {
        is_settled: table.is_live() && all_read,
        queues: table.locks().filter(|lock| !lock.is_empty()).map(queue).collect(),
        happenings: happenings.to_vec(),
    }
}

fn queue(lock: &LockQueue) -> ShownQueue {
    let nodes = lock.rows(0..lock.len()).map(|row| {
        let contender = row.contender;
        (lock.path_of(contender).as_str().into(), contender.czxid.0, contender.session().map(|session| session.0))
    });
    ShownQueue { lock: lock.path().as_str().into(), nodes: nodes.collect() }
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
        deleted_by: happening.deleted_by.map(|zxid| zxid.0),
    }
}
