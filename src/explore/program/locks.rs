//! A program that acquires and releases a lock of the library.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;

use lockscope_lock::{Access, Algorithm, Guard, Lock, LockError, LockOptions, Multi, Naming, Reentrant};
use lockscope_requests::Requests;
use zookeeper_client::Error;

use super::board::Board;
use super::facts::{Hold, HoldKind, Stage};
use super::paths::{LOCK, RESOURCE, SECOND_LOCK};
use crate::library::{SharedLibrary, shared};

/// How a program uses its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It acquires the lock, holds it and releases it.
    Plain,
    /// As plain, and it watches for the loss of its lock.
    WatchesLoss,
    /// It enters twice and leaves twice.
    Reentrant,
    /// It downgrades from writing to reading before it releases.
    Downgrade,
    /// It takes a second lock beside the first, as one.
    Multi,
    /// Before it releases, it writes its token to a resource that knows the last one.
    Writes,
    /// It tries once and does not wait.
    Tries,
}

/// A program that acquires and releases a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockProgram {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The naming of its nodes.
    pub naming: Naming,
    /// The way in which it uses the lock.
    pub used: Use,
}

impl Use {
    const ALL: [(Self, &str); 7] = [
        (Self::Plain, "plain"),
        (Self::WatchesLoss, "watches-loss"),
        (Self::Reentrant, "reentrant"),
        (Self::Downgrade, "downgrade"),
        (Self::Multi, "multi"),
        (Self::Writes, "writes"),
        (Self::Tries, "tries"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(used, _)| *used == self).map_or("", |(_, name)| name)
    }
}

impl fmt::Display for LockProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { algorithm, naming, used } = self;
        write!(f, "{}", algorithm.name())?;
        match algorithm.access() {
            Some(Access::Read) => f.write_str(":read")?,
            Some(Access::Write) => f.write_str(":write")?,
            None => {}
        }
        if let Algorithm::Semaphore(leases) = algorithm {
            write!(f, ":{leases}")?;
        }
        if *used != Use::Plain {
            write!(f, "+{}", used.name())?;
        }
        match naming {
            Naming::Curator => Ok(()),
            Naming::Kazoo => f.write_str("@kazoo"),
            Naming::WriteLock => f.write_str("@write-lock"),
            Naming::Session => f.write_str("@session"),
            Naming::Named(name) => write!(f, "@named:{name}"),
        }
    }
}

impl FromStr for LockProgram {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("not a program: {text}");
        let (rest, naming) = text.split_once('@').unwrap_or((text, "curator"));
        let (rest, used) = rest.split_once('+').unwrap_or((rest, "plain"));
        let (name, detail) = rest.split_once(':').unwrap_or((rest, ""));
        let access = if detail == "read" { Access::Read } else { Access::Write };
        let leases = detail.parse().unwrap_or(NonZeroU32::MIN);
        Ok(Self {
            algorithm: Algorithm::named(name, access, leases).ok_or_else(wrong)?,
            naming: Naming::named(naming).ok_or_else(wrong)?,
            used: Use::ALL.iter().find(|(_, name)| *name == used).ok_or_else(wrong)?.0,
        })
    }
}

/// The error that ends a round. A deleted node leaves the session alive, so the next round begins.
enum RoundEnd {
    Next(LockError),
    Last(LockError),
}

impl From<LockError> for RoundEnd {
    fn from(error: LockError) -> Self {
        match error {
            LockError::NodeDeleted { .. } => Self::Next(error),
            error => Self::Last(error),
        }
    }
}

impl LockProgram {
    /// Returns whether another attempt may get the path of a node once it is gone.
    pub fn path_returns(&self) -> bool {
        let single = matches!(self.algorithm, Algorithm::Mutex | Algorithm::MutexParent);
        single || !matches!(self.naming, Naming::Curator | Naming::Kazoo)
    }

    pub(super) async fn run(self, rounds: u32, library: SharedLibrary, board: Board) {
        let client = shared(&library);
        let lock = self.lock(&client, LOCK);
        let other = (self.used == Use::Multi).then(|| self.lock(&client, SECOND_LOCK));
        let mut last = None;
        for _ in 0..rounds {
            board.show(Stage::Works);
            let round = self.round(&client, &lock, other.as_ref(), &board);
            let ended = tokio::select! {
                biased;
                () = board.given_up() => break,
                ended = round => ended,
            };
            last = None;
            match ended {
                Ok(()) => {}
                Err(RoundEnd::Next(error)) => last = Some(error.to_string()),
                Err(RoundEnd::Last(error)) => {
                    last = Some(error.to_string());
                    break;
                }
            }
        }
        board.show(Stage::Ended(last));
    }

    fn lock(&self, client: &Arc<dyn Requests>, path: &str) -> Lock {
        let options = LockOptions::default().naming(self.naming.clone());
        Lock::over(Arc::clone(client), path, self.algorithm, options).expect("a scenario names a valid lock")
    }

    fn kind(&self) -> HoldKind {
        match self.algorithm {
            Algorithm::Semaphore(leases) => HoldKind::Lease(leases.get()),
            algorithm if algorithm.access() == Some(Access::Read) => HoldKind::Read,
            _ => HoldKind::Exclusive,
        }
    }

    async fn round(
        &self,
        client: &Arc<dyn Requests>,
        lock: &Lock,
        other: Option<&Lock>,
        board: &Board,
    ) -> Result<(), RoundEnd> {
        match (self.used, other) {
            (Use::Reentrant, _) => self.enter_twice(lock, board).await,
            (_, Some(other)) => self.take_both([lock, other], board).await,
            (Use::Tries, None) => match lock.try_acquire().await? {
                Some(guard) => self.use_guard(client, guard, board).await,
                None => Ok(()),
            },
            _ => self.use_guard(client, lock.acquire().await?, board).await,
        }
    }

    async fn use_guard(&self, client: &Arc<dyn Requests>, guard: Guard, board: &Board) -> Result<(), RoundEnd> {
        let mut guard = Arc::new(guard);
        show(board, &guard, |guard| guard, self.kind(), false);
        self.hold_until_lost(&guard, board).await;
        match self.used {
            Use::Downgrade => {
                guard = Arc::new(own(guard).downgrade().await?);
                show(board, &guard, |guard| guard, HoldKind::Read, true);
                self.hold_until_lost(&guard, board).await;
            }
            Use::Writes => write_token(client, guard.token().0).await,
            _ => {}
        }
        Ok(own(guard).release().await?)
    }

    /// Holds until the program is told to go on, or the lock is lost.
    async fn hold_until_lost(&self, guard: &Guard, board: &Board) {
        let lost = async { if self.used == Use::WatchesLoss { guard.lost().await } else { guard.expired().await } };
        tokio::select! {
            biased;
            _ = lost => board.show(Stage::Works),
            () = board.hold() => {}
        }
    }

    async fn enter_twice(&self, lock: &Lock, board: &Board) -> Result<(), RoundEnd> {
        let owner = Reentrant::new(lock.clone());
        let outer = owner.enter().await?;
        let inner = owner.enter().await?;
        let outer = Arc::new(outer);
        show(board, &outer, |outer| outer.guard(), self.kind(), false);
        self.hold_until_lost(outer.guard(), board).await;
        inner.leave().await?;
        // Still inside: the first to leave releases nothing.
        show(board, &outer, |outer| outer.guard(), self.kind(), false);
        self.hold_until_lost(outer.guard(), board).await;
        Ok(own(outer).leave().await?)
    }

    async fn take_both(&self, locks: [&Lock; 2], board: &Board) -> Result<(), RoundEnd> {
        let guards = Arc::new(Multi::new(locks.into_iter().cloned()).acquire().await?);
        for at in 0..guards.guards().len() {
            show(board, &guards, move |guards| &guards.guards()[at], self.kind(), false);
        }
        let lost = futures::future::select_all(guards.guards().iter().map(|guard| Box::pin(guard.expired())));
        tokio::select! {
            biased;
            _ = lost => board.show(Stage::Works),
            () = board.hold() => {}
        }
        Ok(own(guards).release().await?)
    }
}

/// Shows the lock of a guard that `guard` finds in what the program keeps, until it is lost or
/// dropped.
fn show<T: Send + Sync + 'static>(
    board: &Board,
    kept: &Arc<T>,
    guard: impl Fn(&T) -> &Guard + Send + 'static,
    kind: HoldKind,
    downgraded: bool,
) {
    let shown = guard(kept);
    let node = downgraded.then(|| shown.path().as_str().into());
    let hold = Hold { lock: shown.lock().as_str().into(), token: shown.token().0, kind, node };
    let kept = Arc::downgrade(kept);
    board.show_held(hold, move || kept.upgrade().is_none_or(|kept| guard(&kept).is_lost().is_some()));
}

fn own<T>(kept: Arc<T>) -> T {
    Arc::into_inner(kept).expect("the board has a weak reference only")
}

/// Writes a token as the docs of the lock library show it: only over a lower one. An error ends the
/// try.
async fn write_token(client: &Arc<dyn Requests>, token: i64) {
    let Ok((data, stat)) = client.data(RESOURCE).await else { return };
    let last: i64 = String::from_utf8_lossy(&data).parse().unwrap_or(0);
    if token > last {
        let _: Result<_, Error> = client.set_data(RESOURCE, token.to_string().as_bytes(), Some(stat.version)).await;
    }
}
