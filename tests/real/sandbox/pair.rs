//! A real server and a sandbox with the same settings, which get the same requests.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use lockscope_sandbox::{Sandbox, SandboxConfig};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::side::Side;
use crate::harness::server::Server;
use crate::harness::settings::Settings;

/// Both servers. Only one scenario at a time uses them, so that both have the same history.
pub struct Pair {
    pub real: Server,
    pub sandbox: Sandbox,
    _runtime: Runtime,
}

const TICK: Duration = Duration::from_millis(200);

/// The interval at which each removes empty containers, in milliseconds.
const SWEEP: u64 = 500;

impl Pair {
    pub fn shared() -> MutexGuard<'static, Self> {
        static SHARED: OnceLock<Mutex<Pair>> = OnceLock::new();
        Self::locked(&SHARED)
    }

    /// Returns a pair for scenarios that leave sessions behind, whose end would change the zxids of
    /// others.
    fn aside() -> MutexGuard<'static, Self> {
        static ASIDE: OnceLock<Mutex<Pair>> = OnceLock::new();
        Self::locked(&ASIDE)
    }

    fn locked(pair: &'static OnceLock<Mutex<Self>>) -> MutexGuard<'static, Self> {
        pair.get_or_init(|| Mutex::new(Self::start())).lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start() -> Self {
        let real = Settings::default()
            .tick(TICK)
            .property("zookeeper.extendedTypesEnabled=true")
            .property(&format!("znode.container.checkIntervalMs={SWEEP}"))
            .start();
        let runtime = Runtime::new().expect("a runtime");
        let sandbox = runtime.block_on(async {
            let options = SandboxConfig {
                tick: TICK,
                min_session_timeout: 2 * TICK,
                max_session_timeout: Duration::from_secs(60),
                sweep: Duration::from_millis(SWEEP),
                ..SandboxConfig::default()
            };
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            Sandbox::start(listener, options).expect("a sandbox")
        });
        Self { real, sandbox, _runtime: runtime }
    }

    pub fn ports(&self) -> [u16; 2] {
        [self.real.port(), self.sandbox.address().port()]
    }
}

/// Runs a scenario on both with `sessions` sessions, and compares the answers line by line.
pub fn same(sessions: usize, scenario: impl Fn(&mut Side)) {
    compared(&Pair::shared(), sessions, scenario);
}

/// Runs a scenario that leaves sessions behind; otherwise as [`same`].
pub fn same_aside(sessions: usize, scenario: impl Fn(&mut Side)) {
    compared(&Pair::aside(), sessions, scenario);
}

fn compared(pair: &Pair, sessions: usize, scenario: impl Fn(&mut Side)) {
    let [real, sandbox] = pair.ports().map(|port| {
        let mut side = Side::new(port, sessions);
        scenario(&mut side);
        side.end();
        side.report
    });
    compare(&real, &sandbox);
}

/// Panics at the first difference, with the lines before it.
pub fn compare(real: &[String], sandbox: &[String]) {
    let longest = real.len().max(sandbox.len());
    let Some(at) = (0..longest).find(|at| real.get(*at) != sandbox.get(*at)) else { return };
    let before = real[at.saturating_sub(12).min(real.len())..at].join("\n");
    panic!("{before}\nreal:    {:?}\nsandbox: {:?}", real.get(at), sandbox.get(at));
}
