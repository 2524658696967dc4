//! Files that must be trustworthy: their owner, their mode, and their kind.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::geteuid;

use super::{DEADLINE, UNUSED_ADDRESS, home, lockscope, refused};

/// The options that name a file which the program opens.
const OPTIONS: [&str; 4] = ["--config", "--auth-file", "--tls-key", "--audit-log"];

fn file(folder: &Path, name: &str, content: &str, mode: u32) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, content).expect("written");
    fs::set_permissions(&path, Permissions::from_mode(mode)).expect("its mode");
    path
}

/// Returns the error on stderr for a file given with an option. The error must come before any
/// server is contacted.
fn refusal(home: &Path, option: &str, path: &Path) -> String {
    let path = path.to_str().expect("text");
    let mut command = lockscope(home, &["delete", "/locks/a/x-0000000000", "--yes", "--connect", UNUSED_ADDRESS]);
    command.args([option, path]);
    if option == "--tls-key" {
        let certificate = file(home, "cert.pem", CERTIFICATE, 0o644);
        command.arg("--tls-ca").arg(&certificate).arg("--tls-cert").arg(&certificate);
    }
    let began = Instant::now();
    let stderr = refused(command);
    assert!(began.elapsed() < DEADLINE / 2, "{option} {path} took {:?}", began.elapsed());
    stderr
}

#[test]
fn a_directory_a_fifo_and_a_device_are_refused_at_once_by_kind() {
    let home = home();
    let fifo = home.path().join("fifo");
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).expect("a FIFO");
    for option in OPTIONS {
        for (path, kind) in [(home.path(), "directory"), (&fifo, "FIFO"), (Path::new("/dev/null"), "device")] {
            let stderr = refusal(home.path(), option, path);
            assert!(stderr.contains(&format!("it is a {kind} and not a file")), "{option}: {stderr}");
            assert!(stderr.contains(path.to_str().expect("text")), "{option}: {stderr}");
        }
    }
}

#[test]
fn a_file_with_too_open_a_mode_is_refused_with_the_mode_to_set() {
    let home = home();
    for (option, mode, remedy) in [
        ("--config", 0o666, "chmod go-w"),
        ("--config", 0o664, "chmod go-w"),
        ("--auth-file", 0o640, "chmod 600"),
        ("--auth-file", 0o602, "chmod 600"),
        ("--tls-key", 0o644, "chmod 600"),
        ("--audit-log", 0o666, "chmod go-w"),
    ] {
        let path = file(home.path(), "file", "", mode);
        let stderr = refusal(home.path(), option, &path);
        assert!(stderr.contains(remedy) && stderr.contains(&format!("{mode:04o}")), "{option} {mode:o}: {stderr}");
    }
    // With the right mode the file is accepted; the next error is that nothing listens.
    for (option, mode) in [("--config", 0o644), ("--auth-file", 0o400), ("--audit-log", 0o660)] {
        let path = file(home.path(), &format!("{mode:o}"), "", mode);
        assert!(refusal(home.path(), option, &path).contains("refused the connection"), "{option} {mode:o}");
    }
}

#[test]
fn a_file_of_another_user_is_refused() {
    let home = home();
    for option in OPTIONS {
        let path = file(home.path(), "theirs", "", 0o600);
        let other = geteuid().as_raw() + 1;
        if chown(&path, Some(other), None).is_ok() {
            let stderr = refusal(home.path(), option, &path);
            assert!(stderr.contains(&format!("belongs to user {other}, ")), "{option}: {stderr}");
        } else {
            assert!(!geteuid().is_root(), "only root gives files away");
        }
        fs::remove_file(&path).expect("it goes with us");
    }
}

#[test]
fn the_audit_log_is_never_a_link_and_new_files_belong_to_the_owner_alone() {
    let home = home();
    let (target, link) = (home.path().join("target"), home.path().join("link"));
    symlink(&target, &link).expect("a link");
    let stderr = refusal(home.path(), "--audit-log", &link);
    assert!(stderr.contains("symbolic link") && !target.exists(), "{stderr}");

    let log = home.path().join("a/b/audit.jsonl");
    refusal(home.path(), "--audit-log", &log);
    let mode = |path: &Path| fs::metadata(path).expect("it was made").permissions().mode() & 0o777;
    assert_eq!([&log, log.parent().expect("b"), &home.path().join("a")].map(mode), [0o600, 0o700, 0o700]);
}

#[test]
fn a_file_that_every_user_can_replace_is_reported() {
    let home = home();
    let open = home.path().join("open");
    fs::create_dir(&open).expect("a folder");
    fs::set_permissions(&open, Permissions::from_mode(0o777)).expect("its mode");
    let config = file(&open, "config.toml", "", 0o644);
    let mut command = lockscope(home.path(), &["delete", "/a", "--yes", "--connect", UNUSED_ADDRESS]);
    command.arg("--config").arg(&config);
    let stderr = String::from_utf8(command.output().expect("it runs").stderr).expect("text");
    assert!(stderr.contains("another file in the place of") && stderr.contains("chmod o-w"), "{stderr}");
}

#[test]
fn a_config_is_read_up_to_a_bound() {
    let home = home();
    let path = file(home.path(), "large.toml", &"#\n".repeat(1 << 20), 0o600);
    assert!(refusal(home.path(), "--config", &path).contains("larger than 1048576 bytes"));
}

/// A self-signed certificate that nothing trusts.
const CERTIFICATE: &str = include_str!("certificate.pem");
