//! What test clients are to do: the scenario, the settings of a fleet besides it, the speed of
//! steps, and why a fleet cannot run.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use lockscope_base::znode::ZnodePath;
use lockscope_live::zk::{ConnectError, ConnectOptions};
use lockscope_lock::{Access, Algorithm, Naming};

/// The maximum number of clients of one fleet. Each has a session and three sockets.
pub const MAX_CLIENTS: u32 = 5000;

/// The default session timeout of test clients.
///
/// A member that loses the ensemble's leader keeps its clients for a while, and meanwhile the
/// leader expires shorter sessions. With the settings of ZooKeeper's sample file, sessions of 13.75
/// s outlast that. This default is a little longer, and short enough that the nodes of a killed
/// program go soon.
pub const DEFAULT_SESSION_TIMEOUT: Duration = Duration::from_secs(15);

/// The time between the first requests of two clients of a script: longer than a request takes.
const SCRIPT_STEP: Duration = Duration::from_millis(40);

/// A scenario: the lock, and what test clients do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The lock's algorithm. Shared locks ignore its access and draw one from
    /// [`reads`](Self::reads) in each round.
    pub algorithm: Algorithm,
    /// The path of the lock. Nothing outside of it is created or deleted except missing parents.
    pub path: ZnodePath,
    /// The names of the nodes in the queue.
    pub naming: Naming,
    /// The number of clients at the start, up to [`MAX_CLIENTS`].
    pub clients: u32,
    /// The number of acquisitions of each client; `None` is endless.
    pub rounds: Option<u32>,
    /// The time for which a client holds the lock.
    pub hold: Duration,
    /// Random variation of each hold, in percent, 0 to 100.
    pub spread: u8,
    /// The share of requests for a shared lock that ask for reading, in percent, 0 to 100.
    pub reads: u8,
    /// The accesses that the clients ask for, by their numbers and repeated; empty to draw them. The
    /// clients of such a script also ask one after the other at the start, in their order.
    pub accesses: Vec<Access>,
    /// The requested session timeout; the server has its own bounds.
    pub session_timeout: Duration,
    /// The delay of each link in each direction.
    pub link_delay: Duration,
    /// The seed of the random numbers: the same seed gives the same holds and accesses.
    pub seed: u64,
}

/// The reason why a scenario is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// There are too many clients, or none.
    #[error("{0} test clients are not possible: ask for 1 to {MAX_CLIENTS}")]
    Clients(u32),
    /// A percentage is above 100.
    #[error("{0} % is not possible: give 0 to 100")]
    Percent(u8),
    /// The lock's path is the root.
    #[error("test clients cannot use the root: name a node below it")]
    Root,
    /// The naming does not fit the algorithm.
    #[error("{0}")]
    Naming(String),
}

impl Scenario {
    /// Creates a scenario whose clients hold for no time, endlessly, over links without delay.
    pub fn new(algorithm: Algorithm, path: ZnodePath, clients: u32) -> Self {
        Self {
            algorithm,
            path,
            naming: Naming::default(),
            clients,
            rounds: None,
            hold: Duration::ZERO,
            spread: 0,
            reads: 0,
            accesses: Vec::new(),
            session_timeout: DEFAULT_SESSION_TIMEOUT,
            link_delay: Duration::ZERO,
            seed: 0,
        }
    }

    /// Checks that the scenario can run.
    ///
    /// # Errors
    ///
    /// The first error in the scenario.
    pub fn check(&self) -> Result<(), ScenarioError> {
        if self.clients == 0 || self.clients > MAX_CLIENTS {
            return Err(ScenarioError::Clients(self.clients));
        }
        if let Some(percent) = [self.spread, self.reads].into_iter().find(|percent| *percent > 100) {
            return Err(ScenarioError::Percent(percent));
        }
        if self.path.is_root() {
            return Err(ScenarioError::Root);
        }
        self.naming.check(self.algorithm).map_err(|error| ScenarioError::Naming(error.to_string()))
    }

    /// Returns how many clients may hold at once; `None` if any number of readers may.
    pub fn places(&self) -> Option<NonZeroU32> {
        match self.algorithm {
            Algorithm::Semaphore(leases) => Some(leases),
            Algorithm::SharedHerd(_) | Algorithm::SharedChain(_) => None,
            _ => Some(NonZeroU32::MIN),
        }
    }

    /// Returns the access that the script has for the next request of the client with this number, or
    /// draws one.
    pub(super) fn access(&self, client: u32, rng: &mut fastrand::Rng) -> Access {
        let at = (client.saturating_sub(1) as usize).checked_rem(self.accesses.len());
        if let Some(access) = at.and_then(|at| self.accesses.get(at)) {
            return *access;
        }
        if self.algorithm.access().is_some() && rng.u8(0..100) < self.reads { Access::Read } else { Access::Write }
    }

    /// Returns how long a client waits before its first request.
    pub(super) fn delay_of_first(&self, client: u32) -> Duration {
        if self.accesses.is_empty() { Duration::ZERO } else { SCRIPT_STEP * client.saturating_sub(1).min(MAX_CLIENTS) }
    }

    /// Draws the time of the next hold.
    pub(super) fn next_hold(&self, rng: &mut fastrand::Rng) -> Duration {
        let spread = f64::from(self.spread) / 100.0;
        self.hold.mul_f64(1.0 + spread * (2.0 * rng.f64() - 1.0))
    }
}

/// The settings of a fleet besides its scenario.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// The ensemble and the settings of connections.
    pub connection: ConnectOptions,
    /// The number of this program's own recursive watches over the scenario's path. Their share in
    /// the servers' counters is subtracted.
    pub own_watches: u32,
    /// Whether the servers may be asked for their counters.
    pub asks_servers: bool,
}

/// The speed of test clients: on their own, or a number of steps per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Speed {
    /// One step every two seconds.
    EveryTwoSeconds,
    /// One step per second.
    OnePerSecond,
    /// One step every 500 ms.
    TwoPerSecond,
    /// One step every 250 ms.
    FourPerSecond,
    /// One step every 100 ms.
    TenPerSecond,
    /// The clients go on without waiting for steps.
    #[default]
    Full,
}

impl Speed {
    /// All speeds, from the slowest to the fastest.
    pub const ALL: [Self; 6] = [
        Self::EveryTwoSeconds,
        Self::OnePerSecond,
        Self::TwoPerSecond,
        Self::FourPerSecond,
        Self::TenPerSecond,
        Self::Full,
    ];

    /// Returns the next slower speed; the slowest returns itself.
    #[must_use]
    pub fn slower(self) -> Self {
        Self::ALL[(self as usize).saturating_sub(1)]
    }

    /// Returns the next faster speed; the fastest returns itself.
    #[must_use]
    pub fn faster(self) -> Self {
        Self::ALL[(self as usize + 1).min(Self::ALL.len() - 1)]
    }

    /// Returns the time between steps; `None` at full speed.
    pub fn interval(self) -> Option<Duration> {
        Some(Duration::from_millis(match self {
            Self::EveryTwoSeconds => 2_000,
            Self::OnePerSecond => 1_000,
            Self::TwoPerSecond => 500,
            Self::FourPerSecond => 250,
            Self::TenPerSecond => 100,
            Self::Full => return None,
        }))
    }

    /// Returns the speed's name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::EveryTwoSeconds => "one step each 2 s",
            Self::OnePerSecond => "one step a second",
            Self::TwoPerSecond => "2 steps a second",
            Self::FourPerSecond => "4 steps a second",
            Self::TenPerSecond => "10 steps a second",
            Self::Full => "full speed",
        }
    }

    /// Returns the speed with that name: `full`, or the time between steps, such as `2s` or
    /// `250ms`.
    pub fn named(name: &str) -> Option<Self> {
        if name == "full" {
            return Some(Self::Full);
        }
        let interval = humantime::parse_duration(name).ok()?;
        Self::ALL.into_iter().find(|speed| speed.interval() == Some(interval))
    }
}

/// The reason why a fleet cannot run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ContendError {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The fleet's own session could not be opened.
    #[error("{0}")]
    Connect(Arc<ConnectError>),
    /// The path cannot be created.
    #[error("test clients cannot use {path}: {why}")]
    Path {
        /// The path.
        path: ZnodePath,
        /// The reason, and what to do.
        why: String,
    },
    /// The system provides no more sockets.
    #[error("no sockets for so many test clients: {0}; ask for fewer, or raise the limit of open files (ulimit -n)")]
    Sockets(String),
    /// Some clients got no session.
    #[error(
        "{failed} of {asked} test clients got no session, though this program has one: the servers may allow no more \
         connections (maxClientCnxns and maxCnxns in zoo.cfg), so ask for fewer; the first failed with: {why}"
    )]
    Clients {
        /// The number of clients without a session.
        failed: u32,
        /// The requested number of clients.
        asked: u32,
        /// The error of the first of them.
        why: String,
    },
}

impl ContendError {
    pub(super) fn connect(error: ConnectError) -> Self {
        Self::Connect(Arc::new(error))
    }

    pub(super) fn path(path: &ZnodePath, error: &zookeeper_client::Error) -> Self {
        use zookeeper_client::Error;
        let why = match error {
            Error::NoAuth => {
                "this user may not create it; choose another path, or give an identity (--auth-file)".to_owned()
            }
            Error::Unimplemented => {
                "the server is older than ZooKeeper 3.5, which locks need; use servers of 3.5 or later".to_owned()
            }
            Error::NoChildrenForEphemerals => "a node above it is ephemeral and can have no children".to_owned(),
            error => format!("{error}; try again, or choose another path"),
        };
        Self::Path { path: path.clone(), why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> Scenario {
        Scenario::new(Algorithm::Chain, ZnodePath::new("/a/lock").expect("a valid path"), 3)
    }

    #[test]
    fn an_invalid_scenario_is_refused_with_a_reason() {
        assert_eq!(scenario().check(), Ok(()));
        let none = Scenario { clients: 0, ..scenario() };
        let half_again = Scenario { reads: 150, ..scenario() };
        let root = Scenario { path: ZnodePath::root(), ..scenario() };
        let named = Scenario { naming: Naming::Named("a/b".to_owned()), ..scenario() };
        for (wrong, why) in [(none, "1 to 5000"), (half_again, "0 to 100"), (root, "root"), (named, "slash")] {
            let error = wrong.check().expect_err("it is wrong").to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn holds_stay_within_their_spread_and_repeat_with_the_seed() {
        let scenario = Scenario { hold: Duration::from_millis(100), spread: 20, ..scenario() };
        let holds = |seed| {
            let mut rng = fastrand::Rng::with_seed(seed);
            (0..100).map(|_| scenario.next_hold(&mut rng)).collect::<Vec<_>>()
        };
        assert_eq!(holds(7), holds(7));
        assert_ne!(holds(7), holds(8));
        let range = Duration::from_millis(80)..=Duration::from_millis(120);
        assert!(holds(7).iter().all(|hold| range.contains(hold)), "{:?}", holds(7));
    }

    #[test]
    fn a_script_gives_each_client_its_access_and_its_place_at_the_start() {
        let accesses = vec![Access::Read, Access::Read, Access::Write];
        let scenario = Scenario { algorithm: Algorithm::SharedChain(Access::Write), accesses, ..scenario() };
        let mut rng = fastrand::Rng::with_seed(1);
        let letters: String =
            (1..=6).map(|id| if scenario.access(id, &mut rng) == Access::Read { 'R' } else { 'W' }).collect();
        assert_eq!(letters, "RRWRRW");
        let delays = [1, 2, 3].map(|id| scenario.delay_of_first(id));
        assert!(delays.is_sorted_by(|one, next| one < next), "{delays:?}");
    }

    #[test]
    fn slower_and_faster_go_through_all_and_stop_at_the_ends() {
        let mut speed = Speed::Full;
        for expected in Speed::ALL.into_iter().rev() {
            assert_eq!(speed, expected);
            speed = speed.slower();
        }
        assert_eq!(speed, Speed::EveryTwoSeconds);
        for expected in Speed::ALL {
            assert_eq!(speed, expected);
            speed = speed.faster();
        }
        assert_eq!(speed, Speed::Full);
    }

    #[test]
    fn a_speed_is_named_by_its_interval() {
        assert_eq!(Speed::named("full"), Some(Speed::Full));
        assert_eq!(Speed::named("2s"), Some(Speed::EveryTwoSeconds));
        assert_eq!(Speed::named("100ms"), Some(Speed::TenPerSecond));
        assert_eq!((Speed::named("3s"), Speed::named("")), (None, None));
    }
}
