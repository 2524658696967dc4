//! Runs `lockscope watch`, and derives the locks from its lines.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::clients::Log;
use crate::harness::process::Supervised;
use crate::knowledge::{Contender, Knowledge};
use crate::locks::{SINGLE, key_of};

/// The program, and the state that its lines describe.
pub struct Watcher {
    process: Supervised,
    log: Log,
    /// The contenders by their names in the lines: the lock's path, and the last reported state.
    contenders: BTreeMap<String, (String, Contender)>,
    live: bool,
    pub lines: u64,
    /// The lines that are no JSON.
    pub complaints: Vec<String>,
}

impl Watcher {
    pub fn start(connect: &str) -> Self {
        let log = Log::new("watch");
        let program = env!("CARGO_BIN_EXE_lockscope");
        let options = ["--lock", SINGLE, "--session-timeout", "10s", "--format", "json"];
        let command = [&[program, "watch", "--connect", connect], options.as_slice()].concat();
        let command: Vec<String> = command.into_iter().map(str::to_owned).collect();
        let process = Supervised::start(log.folder(), &command);
        Self { process, log, contenders: BTreeMap::new(), live: true, lines: 0, complaints: Vec::new() }
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn runs(&self) -> bool {
        self.process.runs()
    }

    /// Takes in the lines since the last call.
    pub fn take_in(&mut self) {
        for line in self.log.lines() {
            match serde_json::from_str(&line) {
                Ok(line) => {
                    self.lines += 1;
                    self.fold(&line);
                }
                Err(_) => self.complaints.push(line),
            }
        }
    }

    /// Returns the state that the lines describe. The lines do not show the order of the queues.
    pub fn knows(&mut self) -> Result<Knowledge, String> {
        self.take_in();
        if !self.live {
            return Err("the last line about the connection is that it was cut".to_owned());
        }
        let mut locks: BTreeMap<String, Vec<Contender>> = BTreeMap::new();
        for (path, contender) in self.contenders.values().filter(|(path, _)| path.starts_with("/soak/")) {
            locks.entry(key_of(path, &contender.node)).or_default().push(contender.clone());
        }
        Ok(Knowledge(locks))
    }

    fn fold(&mut self, line: &Value) {
        let event = line["event"].as_str().unwrap_or_default();
        match event {
            "disconnected" | "overloaded" => self.live = false,
            "resynced" => self.live = true,
            _ => {}
        }
        let Some(path) = line["lock"].as_str() else { return };
        if event == "lock-gone" {
            let of_queue =
                |node: &str| line["name"].as_str().is_none_or(|name| node.starts_with(&format!("{name}_lock_")));
            self.contenders.retain(|_, (lock, contender)| lock != path || !of_queue(&contender.node));
            return;
        }
        let (Some(id), Some(node)) = (line["contender"].as_str(), line["node"].as_str()) else { return };
        let session = line["session"].as_str().unwrap_or_default().to_owned();
        match event {
            "enqueued" | "acquired" => {
                let contender =
                    Contender { node: node.to_owned(), queued_as: None, session, holds: event == "acquired" };
                self.contenders.insert(id.to_owned(), (path.to_owned(), contender));
            }
            "released" | "left" | "expired" | "deleted" => {
                self.contenders.remove(id);
            }
            _ => {}
        }
    }
}
