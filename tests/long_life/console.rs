//! The console in a real terminal. Its knowledge is the locks that it exports while its screen is
//! live.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::process::process_runs;
use crate::harness::terminal::{Terminal, with_usual_environment};
use crate::knowledge::Knowledge;
use crate::locks::SINGLE;

const COLUMNS: u16 = 160;
const ROWS: u16 = 45;

/// The mark of a live screen.
const LIVE: &str = "● live";

/// The time limit of an export.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// Keys of a user who looks around: screens, up and down, the other pane. None of them ends the
/// console.
const KEYS: &[&str] = &["1", "2", "3", "4", "6", "j", "k", "G", "g", "\t", "s"];

/// The console.
pub struct Console {
    terminal: Terminal,
    pid: u32,
    folder: PathBuf,
}

impl Console {
    pub fn start(folder: &Path, connect: &str) -> Self {
        let folder = folder.join("console");
        fs::create_dir(&folder).expect("the folder is writable");
        // With this little memory for the past, its bound is reached within minutes.
        let arguments = ["--connect", connect, "--lock", SINGLE, "--session-timeout", "10s", "--past-memory", "4MiB"];
        let mut command = with_usual_environment(env!("CARGO_BIN_EXE_lockscope"), &arguments);
        // The console exports files to this folder.
        command.cwd(&folder);
        let terminal = Terminal::start(command, COLUMNS, ROWS);
        let pid = terminal.id();
        Self { terminal, pid, folder }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn runs(&self) -> bool {
        process_runs(self.pid)
    }

    pub fn screen(&self) -> String {
        self.terminal.text()
    }

    /// Presses a random key of [`KEYS`].
    pub fn look_around(&mut self, random: &mut fastrand::Rng) {
        self.terminal.press(KEYS[random.usize(..KEYS.len())]);
    }

    /// Exports the locks, and returns them if the screen is live.
    pub fn knows(&mut self) -> Result<Knowledge, String> {
        self.terminal.press("1");
        self.terminal.press("e");
        let deadline = Instant::now() + PATIENCE;
        let (path, json) = loop {
            if let Some(exported) = self.exported() {
                break exported;
            }
            if Instant::now() > deadline {
                return Err(format!("the console exports nothing; its screen:\n{}", self.screen()));
            }
            std::thread::sleep(LOOK);
        };
        let _ = fs::remove_file(path);
        let screen = self.screen();
        if screen.contains(LIVE) {
            Knowledge::of_snapshot(&json)
        } else {
            Err(format!("the screen is not live:\n{screen}"))
        }
    }

    /// Returns an exported file once it is complete.
    fn exported(&self) -> Option<(PathBuf, Value)> {
        let file = fs::read_dir(&self.folder).ok()?.flatten().next()?.path();
        let text = fs::read_to_string(&file).ok()?;
        Some((file, serde_json::from_str(&text).ok()?))
    }
}
