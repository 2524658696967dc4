//! The program without a server: arguments, messages on stderr, exit codes.

mod config;
mod documents;
mod endings;
mod files;
mod hostile;
mod limits;
mod package;
mod recordings;
mod unreachable;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;
use tempfile::TempDir;

/// An address without a listener.
const UNUSED_ADDRESS: &str = "127.0.0.1:1";

/// The time limit of each command on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// Returns a command of the program with an empty home and without environment variables.
fn lockscope(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("lockscope").expect("the program is built");
    command.args(arguments).env_clear().env("HOME", home).timeout(DEADLINE);
    command
}

fn home() -> TempDir {
    tempfile::tempdir().expect("a directory for the test")
}

/// Runs the command. Returns exit code, stdout and stderr.
fn ran(mut command: Command) -> (i32, String, String) {
    let output = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Asserts that the command failed as documented: code 2, one sentence on stderr, nothing on
/// stdout. Returns the sentence.
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
fn the_long_version_names_the_features_and_the_short_one_is_a_line() {
    let home = home();
    let short = format!("lockscope {}\n", env!("CARGO_PKG_VERSION"));
    let sign = if cfg!(feature = "gssapi") { '+' } else { '-' };
    assert_eq!(ran(lockscope(home.path(), &["-V"])).1, short);
    assert_eq!(
        ran(lockscope(home.path(), &["--version"])).1,
        format!("{short}features: {sign}gssapi +metrics-config +otlp\n")
    );
}

#[test]
fn colours_follow_the_option_and_then_the_environment() {
    let home = home();
    let has_colours = |variable: &str, arguments: &[&str]| {
        let mut command = lockscope(home.path(), arguments);
        command.envs((!variable.is_empty()).then_some((variable, "1")));
        let (_, out, stderr) = ran(command);
        (out + &stderr).contains("\u{1b}[")
    };
    for arguments in [&["--help"][..], &["recipes", "--fromat"]] {
        let with = |option: &'static str| [&[option], arguments].concat();
        assert!(!has_colours("", arguments), "no terminal: {arguments:?}");
        assert!(has_colours("CLICOLOR_FORCE", arguments), "forced: {arguments:?}");
        assert!(has_colours("NO_COLOR", &with("--color=always")), "{arguments:?}");
        assert!(!has_colours("CLICOLOR_FORCE", &with("--color=never")), "{arguments:?}");
    }
    assert!(has_colours("", &["recipes", "--color", "always", "--fromat"]), "behind the command, and in two words");
}

#[test]
fn json_is_short_for_its_format() {
    let home = home();
    let config = home.path().join("config.toml");
    fs::write(&config, "[contexts.a]\nconnect = 'zk1'\n").expect("a config file");
    let contexts = |more: &[&str]| {
        let arguments = [&["contexts", "--config", config.to_str().expect("text")], more].concat();
        ran(lockscope(home.path(), &arguments))
    };
    assert_eq!(contexts(&["--json"]), contexts(&["--format", "json"]));
    assert_eq!(contexts(&["--json", "--format", "json"]), contexts(&["--json"]), "it says the same twice");
    assert_ne!(contexts(&["--json"]).1, contexts(&["--format", "table"]).1);
    assert_eq!(contexts(&["--json", "--format=table"]).0, 2);
    let (code, out, _) = ran(lockscope(home.path(), &["check", "--nagios", "--json"]));
    assert!(code == 3 && out.contains("--nagios"), "{out}");
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
        (&["delete", "--empty-parents", "/a", "--yes"], "--older-than"),
        (&["delete", "--empty-parents", "/a", "--older-than", "10ms"], "within a second"),
        (&["delete", "--empty-parents", "/", "--older-than", "7d"], "name the node that your locks are below"),
        (&["delete", "--empty-parents", "/a", "--older-than", "7d"], "--dry-run"),
        (&["delete", "--empty-parents", "/a", "--older-than", "7d", "/b"], "PATH does not go with --empty-parents"),
        (&["delete", "--empty-parents", "/a", "--older-than", "7d", "--revoke"], "no owner to ask"),
        (&["delete", "--empty-parents", "/a", "--older-than", "7d", "--session", "none"], "no session owns"),
        (&["delete", "--empty-parents", "/a", "--older-than", "7d", "--czxid", "7"], "the number of one node"),
        (&["delete", "--empty-parents", "/a", "--older-than", "7d", "--even-if-live"], "nobody holds"),
        (&["delete", "--empty-parents", "/a", "--older-than", "7d", "--even-if-unguarded"], "for so many nodes"),
        (&["delete", "/a", "--older-than", "7d"], "--empty-parents"),
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

#[test]
fn a_usage_error_of_a_plugin_is_unknown_and_on_its_line() {
    let home = home();
    for (arguments, part) in [
        (&["check", "--nagios", "--format", "json"][..], "--format"),
        (&["check", "--nagios", "--fail-on", "much"], "critical"),
        (&["check", "--nagios", "--tls-cert", "x", "--tls-ca", "y"], "--tls-key"),
        (&["check", "--nagios", "--store", "/none/locks.db"], "No such file"),
        (&["check", "--nagios", "--context", "none"], "none"),
    ] {
        let (code, out, _) = ran(lockscope(home.path(), arguments));
        assert_eq!((code, out.lines().count()), (3, 1), "{arguments:?}: {out}");
        assert!(out.starts_with("LOCKSCOPE UNKNOWN - ") && out.contains(part) && !out.contains('|'), "{out}");
    }
}

#[cfg(not(feature = "gssapi"))]
#[test]
fn a_program_without_kerberos_says_so_before_it_contacts_a_server() {
    let home = tempfile::tempdir().unwrap();
    let stderr = refused(lockscope(home.path(), &["snapshot", "--connect", "localhost:1", "--kerberos"]));
    assert!(stderr.contains("built without it") && stderr.contains("feature gssapi"), "{stderr}");
}

/// Every command with its required arguments, and options of other commands that it must refuse.
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
fn an_option_of_another_command_is_refused_anywhere_and_absent_from_the_help() {
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
fn without_a_terminal_the_screen_names_the_headless_commands() {
    let home = home();
    let stderr = refused(lockscope(home.path(), &["--connect", UNUSED_ADDRESS]));
    assert!(stderr.contains("terminal") && stderr.contains("lockscope snapshot"), "{stderr}");
}

#[test]
fn secrets_are_never_printed_or_read_from_a_file_that_others_can_read() {
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

#[test]
fn a_password_in_an_address_is_refused_without_being_shown() {
    for arguments in [
        &["snapshot", "--connect", "me:secret@zk1:2181"][..],
        &["snapshot", "--admin-url", "http://me:secret@HOST:8080/commands"],
        &["snapshot", "--otlp", "http://me:secret@collector:4318"],
    ] {
        let (code, _, said) = ran(lockscope(home().path(), arguments));
        assert_eq!(code, 2, "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}
