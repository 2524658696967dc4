//! Two workers that take two locks in opposite order.

use std::time::Duration;

use futures::future::{join_all, pending};
use tokio::sync::mpsc;
use tokio::time::sleep;
use zookeeper_client::Client;

use super::super::SceneAction;
use super::SceneSessions;
use lockscope_base::znode::ZnodePath;
use lockscope_lock::{Algorithm, Lock, LockError, LockOptions, Naming};

/// The time for which a lock is held.
const HOLD: Duration = Duration::from_secs(1);

/// Runs the scene. Each worker holds one lock until [`SceneAction::Cross`]. Then each waits for the
/// other's, until [`SceneAction::Break`] ends one worker.
pub(super) async fn run(
    sessions: &mut SceneSessions,
    [first, second]: [&ZnodePath; 2],
    behind: u32,
    mut actions: mpsc::Receiver<SceneAction>,
) -> Result<(), String> {
    let (one, two) = (sessions.open_session().await?, sessions.open_session().await?);
    let held = lock(&one, first, 1)?.acquire().await.map_err(said)?;
    let held_too = lock(&two, second, 2)?.acquire().await.map_err(said)?;
    let mut others = Vec::new();
    for (number, path) in (3..).zip([first, second].repeat(behind as usize)) {
        let session = sessions.open_session().await?;
        others.push(lock(&session, path, number)?);
    }
    let waiting = join_all(others.iter().map(once));
    let workers = async {
        until(&mut actions, SceneAction::Cross).await;
        let wanted = lock(&two, first, 2)?;
        let second_worker = async {
            let both = wanted.acquire().await;
            sleep(HOLD).await;
            for guard in both.into_iter().chain([held_too]) {
                // A lost lock needs no release.
                let _ = guard.release().await;
            }
        };
        let first_worker = async {
            let wanted = lock(&one, second, 1)?;
            tokio::select! {
                _got = wanted.acquire() => pending::<()>().await,
                () = until(&mut actions, SceneAction::Break) => {}
            }
            drop((wanted, held));
            sessions.close_session(one).await;
            Ok::<(), String>(())
        };
        tokio::join!(second_worker, first_worker).1
    };
    tokio::join!(waiting, workers).1
}

/// Acquires the lock once and holds it for a while.
async fn once(lock: &Lock) {
    if let Ok(guard) = lock.acquire().await {
        sleep(HOLD).await;
        let _ = guard.release().await;
    }
}

/// Waits for that action; for ever if no more actions come.
async fn until(actions: &mut mpsc::Receiver<SceneAction>, wanted: SceneAction) {
    while let Some(action) = actions.recv().await {
        if action == wanted {
            return;
        }
    }
    pending::<()>().await;
}

fn lock(session: &Client, path: &ZnodePath, number: u32) -> Result<Lock, String> {
    let options = LockOptions::default().naming(Naming::Kazoo).data(format!("worker-{number}"));
    Lock::with(session, path.as_str(), Algorithm::Chain, options).map_err(said)
}

#[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
fn said(error: LockError) -> String {
    error.to_string()
}
