//! A program that acquires and releases a lock of the library, in one of several ways.
//!
//! An error of the library ends a round; whether the next round begins depends on the error.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{Either, select};
use zookeeper_client::Error;

use super::facts::{
    Board, ClaimedHold, FENCE, GUARDED, GuardedResult, GuardedWriteFact, HoldKind, LOCK, LockFailure, Patience,
    ProgramOutcome, RESOURCE, SECOND_LOCK, Stage,
};
use crate::library::{SharedLibrary, shared};
use lockscope_lock::{
    Access, Algorithm, Guard, Lock, LockError, LockOptions, Multi, MultiGuard, Naming, Reentrant, ReentrantGuard,
    WriteError,
};
use lockscope_requests::Requests;

/// The time for which a program waits that does not wait for any time.
const PATIENCE: Duration = Duration::from_secs(3);

/// The guarded writes of a hold: the first one raises the fence, the others check it.
const GUARDED_WRITES: u32 = 2;

/// The leases that a program takes at once.
const TWO_LEASES: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

/// How a program uses its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It acquires the lock, holds it and releases it.
    Plain,
    /// As plain, and it watches for the loss of its lock.
    WatchesLoss,
    /// As that, and it releases when it is asked to.
    Yields,
    /// It enters twice and leaves twice.
    Reentrant,
    /// It downgrades from writing to reading before it releases.
    Downgrade,
    /// It takes a second lock beside the first, as one.
    Multi,
    /// Before it releases, it writes its token to a resource that knows the last one.
    Writes,
    /// Before it releases, it writes to a node, guarded by the lock.
    Guarded,
    /// It tries once and does not wait.
    Tries,
    /// It waits for three seconds at most.
    Within,
    /// It takes a second lock beside the first, as one, and does not wait.
    MultiTries,
    /// It takes a second lock beside the first, as one, and waits for three seconds at most.
    MultiWithin,
    /// It enters for its access, and inside for reading; and not for writing inside reading.
    Enters,
    /// Two attempts of its one session contend for the lock.
    Two,
    /// It takes two leases at once.
    Many,
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
    const ALL: [(Self, &str); 15] = [
        (Self::Plain, "plain"),
        (Self::WatchesLoss, "watches-loss"),
        (Self::Yields, "yields"),
        (Self::Reentrant, "reentrant"),
        (Self::Downgrade, "downgrade"),
        (Self::Multi, "multi"),
        (Self::Writes, "writes"),
        (Self::Guarded, "guarded"),
        (Self::Tries, "tries"),
        (Self::Within, "within"),
        (Self::MultiTries, "multi-tries"),
        (Self::MultiWithin, "multi-within"),
        (Self::Enters, "enters"),
        (Self::Two, "two"),
        (Self::Many, "many"),
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
            _ => {}
        }
        if let Algorithm::Semaphore(leases) = algorithm {
            write!(f, ":{leases}")?;
        }
        if *used != Use::Plain {
            write!(f, "+{}", used.name())?;
        }
        match naming {
            Naming::Latch => f.write_str("@latch"),
            Naming::Kazoo => f.write_str("@kazoo"),
            Naming::WriteLock => f.write_str("@write-lock"),
            Naming::Session => f.write_str("@session"),
            Naming::Named(name) => write!(f, "@named:{name}"),
            _ => Ok(()),
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

impl LockProgram {
    /// Returns whether another attempt may get the path of a node once it is gone.
    pub fn path_returns(&self) -> bool {
        let single = matches!(self.algorithm, Algorithm::Mutex | Algorithm::MutexParent);
        single || !matches!(self.naming, Naming::Curator | Naming::Latch | Naming::Kazoo)
    }

    /// Returns the time in which its attempts must end: a try with the next second after the loss of
    /// its connection, and a wait with its time, two seconds for its node, and a part of one.
    pub(super) fn patience(&self) -> Option<Patience> {
        match self.used {
            Use::Tries => Some(Patience::WithoutConnection(2)),
            Use::Within => Some(Patience::Always(6)),
            _ => None,
        }
    }

    pub(super) async fn run(self, rounds: u32, library: SharedLibrary, board: Board) {
        let client = shared(&library);
        let lock = self.lock(&client, LOCK);
        let takes_two = matches!(self.used, Use::Multi | Use::MultiTries | Use::MultiWithin);
        let other = takes_two.then(|| self.lock(&client, SECOND_LOCK));
        let mut last = None;
        for _ in 0..rounds {
            board.show(Stage::Works);
            let round = self.round(&client, &lock, other.as_ref(), &board);
            let ended = tokio::select! {
                biased;
                () = board.given_up() => break,
                ended = round => ended,
            };
            let (outcome, is_last) = match &ended {
                Ok(outcome) => (outcome.clone(), false),
                Err(end) => (end.outcome(), end.is_last()),
            };
            board.show_outcome(outcome);
            last = ended.err().map(|end| end.error.to_string());
            if is_last {
                break;
            }
        }
        board.show(Stage::Ended(last));
    }

    fn lock(&self, client: &Arc<dyn Requests>, path: &str) -> Lock {
        let mut options = LockOptions::default().naming(self.naming.clone());
        if self.used == Use::Guarded && self.path_returns() {
            options = options.fence(FENCE);
        }
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
    ) -> Result<ProgramOutcome, RoundEnd> {
        if let Some(other) = other {
            return self.take_both([lock, other], board).await;
        }
        match self.used {
            Use::Reentrant => self.enter_twice(lock, board).await,
            Use::Enters => self.enter_for(lock, board).await,
            Use::Two => self.contend_twice(lock, board).await,
            Use::Tries => match lock.try_acquire().await? {
                Some(guard) => self.use_guard(client, guard, board).await,
                None => Ok(ProgramOutcome::NotFree),
            },
            Use::Many => {
                let guards = lock.acquire_many(TWO_LEASES).await.map_err(|error| RoundEnd::of_group(error, lock))?;
                self.hold_all(guards, board).await
            }
            Use::Within => self.use_guard(client, lock.acquire_within(PATIENCE).await?, board).await,
            _ => self.use_guard(client, lock.acquire().await?, board).await,
        }
    }

    async fn use_guard(
        &self,
        client: &Arc<dyn Requests>,
        guard: Guard,
        board: &Board,
    ) -> Result<ProgramOutcome, RoundEnd> {
        let mut guard = Arc::new(guard);
        let mut hold = self.show(board, &guard, |guard| guard, false);
        self.hold_until_lost(&guard, board).await;
        match self.used {
            Use::Downgrade => {
                guard = Arc::new(own(guard).downgrade().await.map_err(RoundEnd::held)?);
                hold = self.show(board, &guard, |guard| guard, true);
                self.hold_until_lost(&guard, board).await;
            }
            Use::Writes => write_token(client, guard.token().0).await,
            Use::Guarded => self.write_guarded(&guard, board).await,
            _ => {}
        }
        own(guard).release().await.map_err(RoundEnd::held)?;
        Ok(ProgramOutcome::Released(vec![hold]))
    }

    /// Writes several times, as long as the lock is held as far as is known.
    async fn write_guarded(&self, guard: &Guard, board: &Board) {
        let kind = if self.kind() == HoldKind::Exclusive { "exclusive" } else { "shared" };
        for number in 0..GUARDED_WRITES {
            let data = format!("{} {number} {kind}", guard.token().0);
            let result = match guard.set_data(GUARDED, data.as_bytes(), None).await {
                Ok(_) => GuardedResult::Done,
                Err(WriteError::Lost(LockError::NodeDeleted { .. })) => GuardedResult::NodeGone,
                Err(WriteError::Lost(LockError::SessionExpired { .. })) => GuardedResult::Expired,
                Err(WriteError::Fenced { .. }) => GuardedResult::Fenced,
                Err(WriteError::Unknown { .. }) => GuardedResult::Unknown,
                Err(other) => GuardedResult::Other(other.to_string()),
            };
            board.show_write(GuardedWriteFact { data: data.into(), result });
        }
    }

    /// Holds until the program is told to go on, or the lock is lost, or is to be released.
    async fn hold_until_lost(&self, guard: &Guard, board: &Board) {
        let ends = async {
            match self.used {
                Use::WatchesLoss => drop(guard.lost().await),
                Use::Yields => drop(guard.revoked().await),
                _ => drop(guard.expired().await),
            }
        };
        tokio::select! {
            biased;
            () = ends => board.show(Stage::Works),
            () = board.hold() => {}
        }
    }

    async fn enter_twice(&self, lock: &Lock, board: &Board) -> Result<ProgramOutcome, RoundEnd> {
        let owner = Reentrant::new(lock.clone());
        let outer = owner.enter().await?;
        let inner = owner.enter().await.map_err(RoundEnd::held)?;
        self.leave_twice(outer, inner, board).await
    }

    /// Enters for the lock's own access, and inside for reading.
    async fn enter_for(&self, lock: &Lock, board: &Board) -> Result<ProgramOutcome, RoundEnd> {
        let owner = Reentrant::new(lock.clone());
        let access = self.algorithm.access().unwrap_or(Access::Write);
        let outer = owner.enter_for(access).await?;
        if access == Access::Read {
            match owner.enter_for(Access::Write).await {
                Err(LockError::UpgradeRefused { .. }) => {}
                Err(error) => return Err(RoundEnd::held(error)),
                Ok(_) => {
                    let error = LockFailure::Other("a reader entered for writing".to_owned());
                    return Ok(ProgramOutcome::Failed { error, held: true });
                }
            }
        }
        let inner = owner.enter_for(Access::Read).await.map_err(RoundEnd::held)?;
        self.leave_twice(outer, inner, board).await
    }

    async fn leave_twice(
        &self,
        outer: ReentrantGuard,
        inner: ReentrantGuard,
        board: &Board,
    ) -> Result<ProgramOutcome, RoundEnd> {
        let outer = Arc::new(outer);
        self.show(board, &outer, |outer| outer.guard(), false);
        self.hold_until_lost(outer.guard(), board).await;
        inner.leave().await.map_err(RoundEnd::held)?;
        // Still inside: the first to leave releases nothing.
        let hold = self.show(board, &outer, |outer| outer.guard(), false);
        self.hold_until_lost(outer.guard(), board).await;
        own(outer).leave().await.map_err(RoundEnd::held)?;
        Ok(ProgramOutcome::Released(vec![hold]))
    }

    async fn take_both(&self, locks: [&Lock; 2], board: &Board) -> Result<ProgramOutcome, RoundEnd> {
        let both = Multi::new(locks.into_iter().cloned());
        let guards = match self.used {
            Use::MultiTries => both.try_acquire().await,
            Use::MultiWithin => both.acquire_within(PATIENCE).await.map(Some),
            _ => both.acquire().await.map(Some),
        };
        match guards.map_err(|error| RoundEnd::of_group(error, locks[0]))? {
            Some(guards) => self.hold_all(guards, board).await,
            None => Ok(ProgramOutcome::NotFree),
        }
    }

    async fn hold_all(&self, guards: MultiGuard, board: &Board) -> Result<ProgramOutcome, RoundEnd> {
        let guards = Arc::new(guards);
        let at = 0..guards.guards().len();
        let holds = at.map(|at| self.show(board, &guards, move |guards| &guards.guards()[at], false)).collect();
        tokio::select! {
            biased;
            _ = guards.expired() => board.show(Stage::Works),
            () = board.hold() => {}
        }
        own(guards).release().await.map_err(RoundEnd::held)?;
        Ok(ProgramOutcome::Released(holds))
    }

    /// Lets two attempts contend, and holds with the one that gets the lock first. The other one
    /// follows in the next step, or holds beside it.
    async fn contend_twice(&self, lock: &Lock, board: &Board) -> Result<ProgramOutcome, RoundEnd> {
        let (one, other) = (lock.acquire().boxed(), lock.acquire().boxed());
        let (first, mut rest) = match select(one, other).await {
            Either::Left((guard, rest)) | Either::Right((guard, rest)) => (Arc::new(guard?), rest),
        };
        let hold = self.show(board, &first, |guard| guard, false);
        let mut second = None;
        tokio::select! {
            biased;
            guard = &mut rest => {
                let guard = Arc::new(guard?);
                self.show(board, &guard, |guard| guard, false);
                second = Some(guard);
                self.hold_until_lost(&first, board).await;
            }
            () = self.hold_until_lost(&first, board) => {}
        }
        own(first).release().await.map_err(RoundEnd::held)?;
        let second = match second {
            Some(guard) => guard,
            None => Arc::new(rest.await?),
        };
        let last = self.show(board, &second, |guard| guard, false);
        self.hold_until_lost(&second, board).await;
        own(second).release().await.map_err(RoundEnd::held)?;
        Ok(ProgramOutcome::Released(vec![hold, last]))
    }

    /// Shows the lock of a guard that `guard` finds in what the program keeps, until it is lost or
    /// dropped.
    fn show<T: Send + Sync + 'static>(
        &self,
        board: &Board,
        kept: &Arc<T>,
        guard: impl Fn(&T) -> &Guard + Send + 'static,
        is_downgraded: bool,
    ) -> ClaimedHold {
        let shown = guard(kept);
        let hold = ClaimedHold {
            lock: shown.lock().as_str().into(),
            token: shown.token().0,
            kind: if is_downgraded { HoldKind::Read } else { self.kind() },
            node: shown.path().as_str().into(),
            is_downgraded,
            is_watched: matches!(self.used, Use::WatchesLoss | Use::Yields),
            yields: self.used == Use::Yields,
        };
        let kept = Arc::downgrade(kept);
        board.show_held(hold.clone(), move || kept.upgrade().is_none_or(|kept| guard(&kept).is_lost().is_some()));
        hold
    }
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

/// The error that ends a round.
struct RoundEnd {
    error: LockError,
    /// Whether the lock was held before.
    held: bool,
}

impl RoundEnd {
    fn held(error: LockError) -> Self {
        Self { error, held: true }
    }

    /// Returns the end by the error of several locks that are taken one after another. Only the first
    /// one is held while the others are not, so an error that names it may be its loss.
    fn of_group(error: LockError, first: &Lock) -> Self {
        let held = matches!(&error, LockError::SessionExpired { path } if path == first.path());
        Self { error, held }
    }

    /// Returns whether it is the last round. A deleted node, or a time that is over, leaves the session
    /// alive, so the next round begins.
    fn is_last(&self) -> bool {
        !matches!(self.error, LockError::NodeDeleted { .. } | LockError::TimedOut { .. })
    }

    fn outcome(&self) -> ProgramOutcome {
        let error = match &self.error {
            LockError::SessionExpired { .. } => LockFailure::Expired,
            LockError::NodeDeleted { node } => LockFailure::Deleted(node.as_str().into()),
            LockError::ConnectionLost { .. } => LockFailure::Disconnected,
            LockError::TimedOut { .. } => LockFailure::TimedOut,
            LockError::NumbersUsedUp { .. } => LockFailure::NumbersUsedUp,
            other => LockFailure::Other(other.to_string()),
        };
        ProgramOutcome::Failed { error, held: self.held }
    }
}

impl From<LockError> for RoundEnd {
    fn from(error: LockError) -> Self {
        Self { error, held: false }
    }
}
