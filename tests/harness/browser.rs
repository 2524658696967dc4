//! Headless Chromium.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::wait::eventually;

/// The rendering of a file.
pub struct Opened {
    /// The picture, as PNG.
    pub picture: Vec<u8>,
    /// The messages on the console: errors, warnings and refused requests.
    pub messages: Vec<String>,
}

/// A browser that is killed when dropped.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser has usually ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Opens a file in the browser with the light or the dark colour scheme.
pub async fn open(file: &Path, dark: bool) -> Opened {
    let profile = tempfile::tempdir().expect("a folder for the profile");
    let (picture, log) = (profile.path().join("picture.png"), profile.path().join("log"));
    let mut command = Command::new("chromium");
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,900"])
        // The browser must contact nobody on its own.
        .args(["--disable-background-networking", "--disable-component-update", "--no-first-run", "--disable-sync"])
        .args(["--enable-logging=stderr", "--v=0"])
        .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!dark)))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).expect("a file for its log"));
    let started = command.spawn();
    let mut browser = Browser(
        started
            .unwrap_or_else(|error| panic!("chromium does not start ({error}): tests/run --install-only installs it")),
    );
    let ended = eventually("the browser's end", async || browser.0.try_wait().ok().flatten().ok_or("it still runs"));
    assert!(ended.await.success(), "the browser failed on {}", file.display());
    let log = String::from_utf8_lossy(&std::fs::read(&log).expect("its log")).into_owned();
    let messages = log.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect();
    Opened { picture: std::fs::read(&picture).expect("a picture"), messages }
}
