//! A supervisor that ends programs with the test's process.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::signal;
use super::wait::eventually_blocking;

/// Starts the program after `$0` and the folder, prints its process id, and kills it when a line
/// arrives or the input ends. At the end of the input the folder is removed too. The pipe to the
/// supervisor closes whenever the test's process ends, for whatever reason, so nothing is left
/// behind.
const SUPERVISE: &str = r#"
folder=$1; shift
"$@" >>"$folder/log" 2>&1 & pid=$!
echo "$pid"
read -r keep
kill -9 "$pid"; wait "$pid"
[ -n "$keep" ] || rm -rf -- "$folder"
"#;

/// A supervised program.
#[derive(Debug)]
pub struct Supervised {
    supervisor: Child,
    pid: u32,
}

impl Supervised {
    /// Starts a command whose output goes to the file `log` in `folder`.
    pub fn start(folder: &Path, command: &[String]) -> Self {
        let mut supervisor = Command::new("sh")
            .args(["-c", SUPERVISE, "supervisor"])
            .arg(folder)
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A ^C on the terminal must not reach the supervisor, which would end before its
            // program.
            .process_group(0)
            .spawn()
            .expect("sh starts");
        let mut line = String::new();
        let output = supervisor.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("the supervisor prints a process id");
        let pid = line.trim().parse().expect("a process id");
        Self { supervisor, pid }
    }

    /// Returns the program's process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns whether the program still runs.
    pub fn runs(&self) -> bool {
        process_runs(self.pid)
    }

    /// Freezes the program. Returns once its last thread has stopped.
    pub fn freeze(&self) {
        self.signal("STOP");
        let tasks = format!("/proc/{}/task", self.pid);
        eventually_blocking("a frozen program", || {
            let threads = fs::read_dir(&tasks).map_err(|error| error.to_string())?;
            let mut states = threads.flatten().map(|thread| state(&thread.path()));
            if states.all(|state| state == Some('T')) { Ok(()) } else { Err("a thread still runs".to_owned()) }
        });
    }

    /// Ends `freeze`.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        signal::send(self.pid, name);
    }

    /// Kills the program but keeps its folder.
    pub fn kill(mut self) {
        let stdin = self.supervisor.stdin.as_mut().expect("it is piped");
        stdin.write_all(b"keep\n").expect("the supervisor listens");
        self.supervisor.wait().expect("the supervisor ends");
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        // A failure to wait means that the supervisor is already gone.
        let _ = self.supervisor.wait();
    }
}

/// Returns whether a process exists and is no zombie.
pub fn process_runs(pid: u32) -> bool {
    state(Path::new(&format!("/proc/{pid}"))).is_some_and(|state| state != 'Z')
}

/// Returns the state of a process or thread, read from its folder below `/proc`.
fn state(folder: &Path) -> Option<char> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // The field before the state is a name in parentheses, which may contain anything.
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Waits until a process is gone.
pub fn await_end_of(pid: u32) {
    eventually_blocking("the end of a process", || if process_runs(pid) { Err(pid) } else { Ok(()) });
}
