//! The run: faults and quiet points in turn.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::runtime::Runtime;
use zookeeper_client::CreateMode;

use crate::arguments::Arguments;
use crate::clients::Clients;
use crate::console::Console;
use crate::faults::{Faults, Links};
use crate::figures::Figures;
use crate::harness::ensemble::{Ensemble, MEMBERS};
use crate::harness::zk;
use crate::quiet::{self, Observers};
use crate::recorder::Recorder;
use crate::watcher::Watcher;

/// The time of faults between two quiet points.
const TROUBLE: Duration = Duration::from_secs(20);

/// The interval at which faults begin and end.
const STEP: Duration = Duration::from_millis(100);

/// Groups of connections: the clients, the console, `watch` and `record`.
const LINKS: usize = 4;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// All parts of the run.
pub struct Soak {
    /// The first field, so that the programs are dropped before the servers they connect to.
    observers: Observers,
    faults: Faults,
    figures: Figures,
    random: fastrand::Rng,
    _folder: TempDir,
}

/// Returns the folder for all files of the run that are in no folder of their own.
pub fn folder() -> Option<&'static Path> {
    FOLDER.get().map(PathBuf::as_path)
}

impl Soak {
    pub fn start(runtime: &Runtime, arguments: &Arguments) -> Self {
        let folder = tempfile::Builder::new().prefix("lockscope-soak-").tempdir().expect("a folder");
        FOLDER.get_or_init(|| folder.path().to_owned());
        let ensemble = Ensemble::start();
        runtime.block_on(async {
            let client = zk::connect(&ensemble.connect_string()).await;
            client.create("/soak", b"", &zk::open(CreateMode::Persistent)).await.expect("it is created");
        });
        let links: Vec<Links> = (0..LINKS).map(|_| Links::start(runtime, &ensemble)).collect();
        let recorder = Recorder::start(folder.path(), &links[3].connect_string(), arguments.max_size);
        let observers = Observers {
            console: Console::start(folder.path(), &links[1].connect_string()),
            watcher: Watcher::start(&links[2].connect_string()),
            recorder: recorder.unwrap_or_else(|error| panic!("{error}")),
        };
        let clients = Clients::start(folder.path(), &links[0].connect_string(), arguments.seed);
        Self {
            observers,
            faults: Faults::new(ensemble, links, clients),
            figures: Figures::new(arguments.max_size),
            random: fastrand::Rng::with_seed(arguments.seed),
            _folder: folder,
        }
    }

    /// Runs for a time. Returns whether the run succeeded.
    pub fn run(mut self, runtime: &Runtime, time: Duration) -> bool {
        let begin = Instant::now();
        let mut number = 0;
        while begin.elapsed() < time && self.observers.all_run() {
            self.trouble(runtime, TROUBLE.min(time.saturating_sub(begin.elapsed())));
            let member = self.faults.ensemble.address(number % MEMBERS);
            number += 1;
            self.faults.calm();
            let point = quiet::reach(runtime, &mut self.observers, &mut self.faults.clients, &member);
            println!("{:7.1}s  {}", begin.elapsed().as_secs_f64(), point.line());
            self.figures.add(begin.elapsed(), point);
        }
        let ended = self.observers.ended();
        println!("\n{}", self.figures.table(&self.faults, begin.elapsed(), &ended));
        self.figures.failures(begin.elapsed(), &self.faults.clients.holds, &ended).is_empty()
    }

    /// Causes faults for a time, while keys are pressed in the console.
    fn trouble(&mut self, runtime: &Runtime, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.faults.step(runtime, &mut self.random);
            if self.random.u32(..10) == 0 {
                self.observers.console.look_around(&mut self.random);
            }
            self.observers.watcher.take_in();
            std::thread::sleep(STEP);
        }
        self.faults.clients.start_ended();
    }
}
