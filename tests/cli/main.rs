//! The program without a server: arguments, settings, exit codes, sentences on stderr, closed pipes.

mod files;
mod package;
mod recordings;

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::Command;
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// An address where nothing listens.
const UNUSED_ADDRESS: &str = "127.0.0.1:1";

/// How long anything here may take on a machine that is busy.
const DEADLINE: Duration = Duration::from_secs(30);

/// The program with an empty home and no variable of the environment.
fn lockscope(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("lockscope").expect("the program is built");
    command.args(arguments).env_clear().env("HOME", home).timeout(DEADLINE);
    command
}

fn home() -> TempDir {
    tempfile::tempdir().expect("a directory for the test")
}

/// Runs it and returns exit code, stdout and stderr.
fn ran(mut command: Command) -> (i32, String, String) {
    let output = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Checks that it failed as documented: code 2, one sentence on stderr, nothing on stdout. Returns the sentence.
fn refused(command: Command) -> String {
    let (code, out, stderr) = ran(command);
    assert_eq!((code, out.as_str()), (2, ""), "{stderr}");
    assert!(stderr.starts_with("lockscope: ") && stderr.trim_end().lines().count() == 1, "{stderr}");
    stderr
}

#[test]
fn help_and_version_go_to_stdout_and_succeed() {
    let home = home();
    for (arguments, part) in [
        (&["--help"][..], "ZOOKEEPER_CONNECT"),
        (&["-h"], "--connect"),
        (&["snapshot", "--help"], "--format"),
        (&["watch", "--help"], "--for"),
        (&["contend", "--help"], "--recipe"),
        (&["compare", "--help"], "PATH/chain"),
        (&["delete", "--help"], "--even-if-live"),
        (&["--version"], env!("CARGO_PKG_VERSION")),
    ] {
        let (code, out, stderr) = ran(lockscope(home.path(), arguments));
        assert_eq!((code, stderr.as_str()), (0, ""), "{arguments:?}");
        assert!(out.contains(part), "{arguments:?}: {out}");
    }
}

#[test]
fn a_usage_error_is_one_sentence_and_exit_code_2() {
    let home = home();
    for (arguments, part) in [
        (&["--colour"][..], "--colour"),
        (&["snapshot", "--format", "xml"], "json"),
        (&["snapshot", "--root", "locks"], "slash"),
        (&["watch", "--for", "soon"], "90s"),
        (&["--ascii", "snapshot"], "--ascii"),
        (&["--write", "contend", "--path", "/a"], "--write"),
        (&["--audit-log", "log", "snapshot"], "--audit-log"),
        (&["delete", "/a", "--root", "/", "--yes"], "unexpected argument '--root'"),
        (&["delete", "/a"], "--dry-run"),
        (&["delete", "/a", "--session", "7"], "0x10000a2b3c40001"),
        (&["delete"], "<PATH>"),
        (&["--root", "/a", "contend", "--path", "/a"], "unexpected argument '--root'"),
        (&["compare", "--lock", "/a"], "--lock"),
        (&["contend", "--path", "/"], "root"),
        (&["contend", "--path", "/a", "--leases", "2"], "semaphore"),
        (&["contend", "--path", "/a", "--for", "1s", "--link-delay", "9s"], "--link-delay"),
        (&["compare", "--clients", "5,many"], "1 to 5000"),
        (&["compare", "--plot", "plot.png"], "ends in .svg or in .html"),
        (&["compare", "--plot", "plot"], "ends in .svg or in .html"),
        (
            &["compare", "--plot", "/nonexistent/plot.svg"],
            "cannot write the plot to /nonexistent/plot.svg: No such file",
        ),
        (&["compare", "--plot", "/nonexistent/.svg"], "ends in .svg or in .html"),
        (&["snapshot", "--tls-cert", "x", "--tls-ca", "y"], "--tls-key"),
        (&["snapshot", "--kerberos-server", "solr"], "zookeeper/_HOST"),
        (&["frobnicate"], "frobnicate"),
    ] {
        let stderr = refused(lockscope(home.path(), arguments));
        assert!(stderr.contains(part), "{stderr}");
    }
}

#[cfg(not(feature = "gssapi"))]
#[test]
fn a_program_that_was_built_without_kerberos_says_so_before_it_asks_a_server() {
    let home = tempfile::tempdir().unwrap();
    let stderr = refused(lockscope(home.path(), &["snapshot", "--connect", "localhost:1", "--kerberos"]));
    assert!(stderr.contains("built without it") && stderr.contains("feature gssapi"), "{stderr}");
}

/// Every command with what it needs to be complete, and the options of others that it does not take.
const FOREIGN_OPTIONS: [(&[&str], &[&str]); 11] = [
    (&[], &["--format=json", "--timeout=1s", "--for=1s", "--path=/a", "--play", "--yes", "--port=1"]),
    (&["snapshot"], &["--ascii", "--theme=mono", "--mouse", "--write", "--audit-log=x", "--for=1s", "--path=/a"]),
    (&["watch"], &["--ascii", "--theme=mono", "--mouse", "--write", "--audit-log=x", "--fail-on=info"]),
    (&["check"], &["--ascii", "--theme=mono", "--mouse", "--write", "--audit-log=x", "--path=/a"]),
    (
        &["contend", "--path", "/a"],
        &[
            "--root=/a",
            "--lock=/a",
            "--stuck-after=1s",
            "--ascii",
            "--theme=mono",
            "--mouse",
            "--write",
            "--audit-log=x",
        ],
    ),
    (
        &["compare"],
        &[
            "--root=/a",
            "--lock=/a",
            "--stuck-after=1s",
            "--theme=mono",
            "--mouse",
            "--write",
            "--audit-log=x",
            "--leases=2",
        ],
    ),
    (&["demo"], &["--root=/a", "--lock=/a", "--write", "--format=json", "--timeout=1s", "--for=1s"]),
    (
        &["delete", "/a", "--yes"],
        &["--root=/a", "--stuck-after=1s", "--ascii", "--theme=mono", "--mouse", "--write", "--for=1s"],
    ),
    (
        &["sandbox"],
        &["--connect=a", "--config=x", "--utc", "--root=/a", "--ascii", "--format=json", "--session-timeout=1s"],
    ),
    (&["completions", "zsh"], &["--connect=a", "--config=x", "--log-file=x", "--utc", "--root=/a", "--format=json"]),
    (&["man"], &["--connect=a", "--config=x", "--log-file=x", "--utc", "--root=/a", "--format=json"]),
];

#[test]
fn an_option_that_a_command_does_not_take_is_refused_wherever_it_stands_and_is_not_in_its_help() {
    let home = home();
    for (command, options) in FOREIGN_OPTIONS {
        let help = [&command[..command.len().min(1)], &["--help"]].concat();
        let (_, help, _) = ran(lockscope(home.path(), &help));
        for option in options {
            let name = option.split('=').next().expect("its name");
            for arguments in [[command, &[option]].concat(), [&[*option], command].concat()] {
                let sentence = refused(lockscope(home.path(), &arguments));
                assert!(sentence.contains(&format!("unexpected argument '{name}' found")), "{arguments:?}: {sentence}");
            }
            let listed = help.lines().any(|line| {
                line.split_whitespace().next().is_some_and(|first| first.split(['=', '[']).next() == Some(name))
            });
            assert!(!listed, "{command:?} lists {name}: {help}");
        }
    }
}

#[test]
fn keys_of_the_config_file_that_belong_to_other_commands_are_not_used() {
    let home = home();
    let file = home.path().join("my.toml");
    fs::write(&file, "root = ['/a']\nwrite = true\ntheme = 'mono'\ntimeout = '300ms'\nstuck-after = '1s'").unwrap();
    let file = file.to_str().unwrap();
    for command in [&["contend", "--path", "/a"][..], &["compare"], &["delete", "/a", "--yes"], &["check"]] {
        let arguments = [command, &["--connect", UNUSED_ADDRESS, "--config", file]].concat();
        assert!(refused(lockscope(home.path(), &arguments)).contains(UNUSED_ADDRESS), "{command:?}");
    }
}

#[test]
fn the_screen_without_a_terminal_names_the_commands_that_need_none() {
    let home = home();
    let stderr = refused(lockscope(home.path(), &["--connect", UNUSED_ADDRESS]));
    assert!(stderr.contains("terminal") && stderr.contains("lockscope snapshot"), "{stderr}");
}

#[test]
fn an_ensemble_that_cannot_be_reached_is_reported_within_the_time_given() {
    let home = home();
    for command in ["snapshot", "watch"] {
        let began = Instant::now();
        let stderr = refused(lockscope(home.path(), &[command, "--connect", UNUSED_ADDRESS, "--timeout", "500ms"]));
        assert!(stderr.contains(UNUSED_ADDRESS) && stderr.contains("--timeout"), "{stderr}");
        assert!(began.elapsed() < DEADLINE);
    }
}

#[test]
fn a_command_that_reads_once_does_not_wait_for_a_server_that_refuses() {
    let home = home();
    for command in ["snapshot", "check"] {
        let began = Instant::now();
        let stderr = refused(lockscope(home.path(), &[command, "--connect", UNUSED_ADDRESS]));
        for part in [UNUSED_ADDRESS, "gave up after 3 tries", "refused the connection", "--timeout"] {
            assert!(stderr.contains(part), "{stderr}");
        }
        assert!(!stderr.contains("lockscope demo"), "an address was given: {stderr}");
        // Without this it takes 15 s.
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
}

#[test]
fn who_waits_for_a_server_is_told_at_once_that_it_refuses() {
    let home = home();
    for command in [&["watch"][..], &["snapshot", "--timeout", "20s"]] {
        let arguments = [command, &["--connect", UNUSED_ADDRESS]].concat();
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("lockscope"))
            .args(&arguments)
            .env_clear()
            .env("HOME", home.path())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("it runs");
        let began = Instant::now();
        let mut first = String::new();
        BufReader::new(child.stderr.take().expect("stderr")).read_line(&mut first).expect("a line");
        let waited = began.elapsed();
        child.kill().expect("it still tries");
        child.wait().expect("it ended");
        assert!(first.contains("refused the connection") && first.contains("trying again for another"), "{first}");
        assert!(waited < Duration::from_secs(10), "{command:?} {waited:?}");
    }
}

#[test]
fn where_nobody_named_a_server_the_error_says_how_and_names_the_demo() {
    let home = home();
    for command in [
        &["snapshot", "--timeout", "300ms"][..],
        &["contend", "--path", "/a", "--timeout", "300ms"],
        &["compare", "--timeout", "300ms"],
        &["delete", "/a", "--dry-run", "--timeout", "300ms"],
    ] {
        let named = refused(lockscope(home.path(), &[command, &["--connect", UNUSED_ADDRESS]].concat()));
        assert!(!named.contains("ZOOKEEPER_CONNECT"), "{named}");
        // A server may well run at the default address of this machine.
        let (code, _, stderr) = ran(lockscope(home.path(), command));
        if code == 2 {
            for part in ["localhost:2181", "--connect", "ZOOKEEPER_CONNECT", "lockscope demo"] {
                assert!(stderr.contains(part), "{command:?}: {stderr}");
            }
        }
    }
}

#[test]
fn test_clients_that_get_no_session_are_reported_within_the_time_given() {
    let home = home();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = silent.local_addr().expect("an address").to_string();
    for command in [&["contend", "--path", "/a"][..], &["compare"]] {
        let arguments = [command, &["--connect", &silent, "--timeout", "500ms"]].concat();
        let stderr = refused(lockscope(home.path(), &arguments));
        assert!(
            stderr.contains(&silent) && stderr.contains("no test client") && stderr.contains("--timeout"),
            "{stderr}"
        );
        let arguments = [command, &["--connect", UNUSED_ADDRESS]].concat();
        let stderr = refused(lockscope(home.path(), &arguments));
        assert!(stderr.contains(UNUSED_ADDRESS), "{stderr}");
    }
}

#[test]
fn the_environment_and_the_config_file_say_where_to_connect() {
    let home = home();
    let folder = home.path().join(".config/lockscope");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), "connect = '127.0.0.1:2'\ntimeout = '300ms'").unwrap();
    assert!(refused(lockscope(home.path(), &["snapshot"])).contains("127.0.0.1:2"));
    let mut command = lockscope(home.path(), &["snapshot"]);
    command.env("ZOOKEEPER_CONNECT", "127.0.0.1:3");
    assert!(refused(command).contains("127.0.0.1:3"));
    let mut command = lockscope(home.path(), &["--connect", "127.0.0.1:4", "snapshot"]);
    command.env("ZOOKEEPER_CONNECT", "127.0.0.1:3");
    assert!(refused(command).contains("127.0.0.1:4"));
    let elsewhere = home.path().join("elsewhere");
    fs::rename(home.path().join(".config"), &elsewhere).unwrap();
    let mut command = lockscope(home.path(), &["snapshot"]);
    command.env("XDG_CONFIG_HOME", &elsewhere);
    assert!(refused(command).contains("127.0.0.1:2"));
}

#[test]
fn a_wrong_config_file_is_named_with_the_line() {
    let home = home();
    let file = home.path().join("my.toml");
    fs::write(&file, "connect = 'a'\nconect = 'b'").unwrap();
    let stderr = refused(lockscope(home.path(), &["snapshot", "--config", file.to_str().unwrap()]));
    assert!(stderr.contains("my.toml") && stderr.contains("line 2") && stderr.contains("conect"), "{stderr}");
    let stderr = refused(lockscope(home.path(), &["snapshot", "--config", "/nowhere.toml"]));
    assert!(stderr.contains("/nowhere.toml"), "{stderr}");
}

#[test]
fn secrets_are_never_printed_and_never_taken_from_a_file_that_others_read() {
    let home = home();
    let file = home.path().join("auth");
    fs::write(&file, "digest:me:secret").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let arguments =
        ["snapshot", "--connect", UNUSED_ADDRESS, "--timeout", "300ms", "--auth-file", file.to_str().unwrap()];
    let stderr = refused(lockscope(home.path(), &arguments));
    assert!(stderr.contains("chmod 600") && !stderr.contains("secret"), "{stderr}");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let stderr = refused(lockscope(home.path(), &arguments));
    assert!(stderr.contains("gave up") && !stderr.contains("secret"), "{stderr}");
    let mut command = lockscope(home.path(), &["snapshot", "--connect", UNUSED_ADDRESS]);
    command.env("LOCKSCOPE_AUTH", "secret");
    let stderr = refused(command);
    assert!(stderr.contains("LOCKSCOPE_AUTH") && stderr.contains("line 1") && !stderr.contains("secret"), "{stderr}");
}

#[test]
fn the_log_goes_to_its_file_and_one_that_cannot_be_written_is_reported() {
    let home = home();
    let stderr = refused(lockscope(home.path(), &["snapshot", "--log-file", "/nowhere/log"]));
    assert!(stderr.contains("/nowhere/log") && stderr.contains("--log-file"), "{stderr}");
    let log = home.path().join("log");
    let arguments =
        ["snapshot", "--connect", UNUSED_ADDRESS, "--timeout", "300ms", "--log-file", log.to_str().unwrap()];
    let mut command = lockscope(home.path(), &arguments);
    command.env("LOCKSCOPE_LOG", "[");
    refused(command);
    assert!(fs::read_to_string(log).unwrap().contains("LOCKSCOPE_LOG"));
}

#[test]
fn a_log_file_that_nobody_reads_or_that_takes_no_more_holds_nothing_up() {
    let home = home();
    let fifo = home.path().join("fifo");
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).expect("a FIFO");
    let asked = |log: &str| lockscope(home.path(), &["snapshot", "--connect", UNUSED_ADDRESS, "--log-file", log]);
    let stderr = refused(asked(fifo.to_str().unwrap()));
    assert!(stderr.contains("FIFO") && stderr.contains("--log-file"), "{stderr}");
    let stderr = refused(asked("/dev/full"));
    assert!(stderr.contains(UNUSED_ADDRESS), "{stderr}");
}

#[test]
fn completions_for_every_shell_know_the_commands() {
    let home = home();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (code, out, stderr) = ran(lockscope(home.path(), &["completions", shell]));
        assert_eq!((code, stderr.as_str()), (0, ""));
        assert!(out.contains("snapshot") && out.contains("session-timeout"), "{shell}");
    }
}

#[test]
fn one_manual_page_covers_every_command_and_a_directory_gets_one_for_each() {
    let home = home();
    let (code, page, _) = ran(lockscope(home.path(), &["man"]));
    assert_eq!(code, 0);
    for part in [
        ".TH lockscope 1",
        "LOCKSCOPE SNAPSHOT",
        "LOCKSCOPE WATCH",
        "LOCKSCOPE CONTEND",
        "LOCKSCOPE COMPARE",
        ".SH ENVIRONMENT",
        "EXIT STATUS",
        "\\-\\-for",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let folder = home.path().join("man/man1");
    let (code, ..) = ran(lockscope(home.path(), &["man", "--out", folder.to_str().unwrap()]));
    assert_eq!(code, 0);
    for name in ["", "-snapshot", "-watch", "-contend", "-compare", "-completions", "-man"] {
        assert!(folder.join(format!("lockscope{name}.1")).is_file(), "{name}");
    }
    assert_eq!(fs::read_to_string(folder.join("lockscope.1")).unwrap(), page);
    let stderr = refused(lockscope(home.path(), &["man", "--out", "/proc/nowhere"]));
    assert!(stderr.contains("/proc/nowhere"), "{stderr}");
}

/// Starts it with pipes, as a shell would.
fn started(home: &Path, arguments: &[&str]) -> Child {
    std::process::Command::new(assert_cmd::cargo::cargo_bin("lockscope"))
        .args(arguments)
        .env_clear()
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Waits for its end with a deadline; answers exit code and stderr.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let deadline = Instant::now() + DEADLINE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("it did not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let mut stderr = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
    (status.code(), stderr)
}

#[test]
fn a_reader_that_closes_the_pipe_ends_it_quietly() {
    let home = home();
    for arguments in [&["man"][..], &["completions", "zsh"], &["--help"]] {
        let mut child = started(home.path(), arguments);
        drop(child.stdout.take());
        assert_eq!(ended(child), (Some(0), String::new()), "{arguments:?}");
    }
    let mut child = started(home.path(), &["completions", "zsh"]);
    let mut first = String::new();
    BufReader::with_capacity(16, child.stdout.take().expect("a pipe")).read_line(&mut first).expect("a line");
    assert!(first.contains("lockscope"), "{first}");
    assert_eq!(ended(child), (Some(0), String::new()));
}

#[test]
fn an_output_that_cannot_be_written_is_an_error_that_names_its_reason_once() {
    let home = home();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a device that is always full");
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("lockscope"))
        .args(["completions", "zsh"])
        .env_clear()
        .env("HOME", home.path())
        .stdout(full)
        .output()
        .expect("it runs");
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with("lockscope: cannot write the output: No space"), "{stderr}");
    assert_eq!(stderr.matches("No space left").count(), 1, "{stderr}");
}

#[test]
fn a_signal_ends_watch_as_done_though_no_server_answers() {
    let home = home();
    for (name, signal) in [("TERM", Signal::TERM), ("INT", Signal::INT)] {
        let log = home.path().join(name);
        let arguments = ["watch", "--connect", UNUSED_ADDRESS, "--timeout", "1h", "--log-file", log.to_str().unwrap()];
        let child = started(home.path(), &arguments);
        let deadline = Instant::now() + DEADLINE;
        while !fs::read_to_string(&log).is_ok_and(|text| text.contains("watching")) {
            assert!(Instant::now() < deadline, "it does not say in its log that it watches");
            std::thread::sleep(Duration::from_millis(10));
        }
        let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(process, signal).expect("the signal is delivered");
        assert_eq!(ended(child), (Some(0), String::new()), "{name}");
    }
}

#[test]
fn the_config_file_is_checked_without_doing_anything_else() {
    let home = home();
    let file = home.path().join("my.toml");
    let check = |text: &str| {
        fs::write(&file, text).unwrap();
        ran(lockscope(home.path(), &["--config", file.to_str().unwrap(), "--config-check"]))
    };
    let (code, out, stderr) = check("utc = true");
    assert!(code == 0 && out.contains("is right") && stderr.is_empty(), "{code} {out} {stderr}");
    let (code, out, stderr) = check("utc = 'yes'\ncolour = 1\n[[recipe]]\nname = 'a'\n");
    assert!(code == 2 && out.is_empty(), "{code} {out}");
    for part in ["line 1: utc", "line 2: there is no option", "line 3: a recipe needs a pattern", "3 mistakes"] {
        assert!(stderr.contains(part), "{stderr}");
    }
    let (code, out, _) = ran(lockscope(home.path(), &["--config-check"]));
    assert!(code == 0 && out.contains("no config file"), "{out}");
}

#[test]
fn contexts_and_recipes_are_listed_and_a_name_is_read() {
    let home = home();
    let folder = home.path().join(".config/lockscope");
    fs::create_dir_all(&folder).unwrap();
    let text = "[[recipe]]\nname = 'mine'\npattern = 'zlock#{uuid}#{sequence}'\nkind = 'exclusive'\n\
                [context.prod]\nconnect = 'zk1/prod'\nproduction = true\n[context.test]\n";
    fs::write(folder.join("config.toml"), text).unwrap();
    let json = |arguments: &[&str], code| {
        let (ended, out, stderr) = ran(lockscope(home.path(), arguments));
        assert_eq!((ended, stderr.as_str()), (code, ""));
        serde_json::from_str::<serde_json::Value>(&out).unwrap()
    };
    let contexts = json(&["contexts"], 0);
    assert_eq!(contexts[0], serde_json::json!({ "name": "prod", "connect": "zk1/prod", "production": true }));
    assert_eq!(contexts[1]["connect"], "localhost:2181");
    let (_, table, _) = ran(lockscope(home.path(), &["contexts", "--format", "table"]));
    assert!(table.contains("prod     yes         zk1/prod"), "{table}");
    let recipes = json(&["recipes"], 0);
    assert_eq!((&recipes[0]["name"], &recipes[0]["own"]), (&"mine".into(), &true.into()));
    assert!(recipes.as_array().unwrap().len() > 20);
    let (_, table, _) = ran(lockscope(home.path(), &["recipes", "--format", "table"]));
    assert!(table.starts_with("[[recipe]]\nname = \"mine\"\npattern = \"zlock#{uuid}#{sequence}\"\n"), "{table}");
    let path = "/app/zlock#8c1f8b2e-3b1a-4e7e-9f00-0123456789ab#0000000003";
    let read = json(&["recipes", "--try", path], 0);
    assert_eq!((&read["recipe"], &read["kind"], &read["lock"]), (&"mine".into(), &"exclusive".into(), &"/app".into()));
    assert!(read["why"].as_str().unwrap().contains("config file's recipe mine"), "{read}");
    let read = json(&["recipes", "--try", "/app/config"], 1);
    assert_eq!((&read["recipe"], &read["node"]), (&serde_json::Value::Null, &"config".into()));
    let refusal = refused(lockscope(home.path(), &["snapshot", "--context", "nowhere"]));
    assert!(refusal.contains("it has prod, test"), "{refusal}");
}
