//! The user's own commands on a key: what they are given, where their output goes, and what can
//! never happen.

use std::fs;
use std::path::{Path, PathBuf};

use zookeeper_client::{Client, CreateMode};

use crate::harness::terminal::{Terminal, modes, with_usual_environment};
use crate::harness::wait::eventually_blocking;
use crate::harness::zk;

/// Shows its arguments, one a line, each in brackets.
const SHOW: &str = "#!/bin/sh\nfor word in \"$@\"; do printf '[%s]\\n' \"$word\"; done\n";

struct Setting {
    folder: tempfile::TempDir,
    at: String,
    _client: Client,
}

impl Setting {
    /// A lock with a node of this name, and a folder with the program `show`.
    async fn new(root: &str, name: &str) -> Self {
        let (folder, at) = (tempfile::tempdir().expect("a folder"), zk::own_root(root).await);
        let client = zk::connect(&at).await;
        let parent = format!("/{name}");
        zk::make(&client, [parent.clone()]).await;
        zk::create_all(&client, CreateMode::EphemeralSequential, [(format!("{parent}/lock-"), b"h".to_vec())]).await;
        let show = folder.path().join("show");
        fs::write(&show, SHOW).expect("it is written");
        fs::set_permissions(&show, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is a program");
        Self { folder, at, _client: client }
    }

    fn config(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("config.toml");
        let text = text.replace("SHOW", &self.folder.path().join("show").to_string_lossy());
        fs::write(&path, text.replace("FOLDER", &self.folder.path().to_string_lossy())).expect("it is written");
        path
    }

    fn console(&self, text: &str) -> Terminal {
        let config = self.config(text);
        let config = config.to_str().expect("a plain path");
        let terminal = Terminal::lockscope(&["--connect", &self.at, "--config", config], 130, 35);
        terminal.shows_all(&["● live", "1 contender", "s live"]);
        terminal
    }

    fn has(&self, file: &str) -> bool {
        self.folder.path().join(file).exists()
    }
}

/// Returns the ids of processes whose command line has this text.
fn running(text: &str) -> Vec<String> {
    let folders = fs::read_dir("/proc").expect("processes").flatten().map(|entry| entry.path());
    let is_it =
        |path: &Path| fs::read(path.join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(text));
    folders.filter(|path| is_it(path)).map(|path| path.display().to_string()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_is_given_the_values_of_the_row_and_its_output_stays_reachable() {
    let setting = Setting::new("own-pane", "orders").await;
    let mut terminal = setting.console(
        "[[command]]\nkey = 'T'\nname = 'show'\nrun = ['SHOW', '{path}', 'of {session} at {client_host}']\n\
         [[command]]\nkey = 'ctrl-j'\nname = 'why'\nrun = ['SHOW', '{context}']\n",
    );
    terminal.press("T");
    terminal.shows_all(&["Output of show", "[/orders]", "[of 0x", "at 127.0.0.1]", "`show` ended with exit status 0."]);
    terminal.press("\x1b");
    terminal.shows("1 contender");
    terminal.press("!");
    terminal.shows("[/orders]");
    terminal.press("1\r");
    terminal.shows("● holds");
    terminal.press(":show\r");
    terminal.shows_all(&["Output of show", "[/orders/lock-0000000000]"]);
    terminal.press("\n");
    terminal.shows("`why` was not run: {context} is not known here");
    terminal.press("?/Your commands\r");
    terminal.shows_all(&["Your commands", ":show", "{client_host}"]);
    setting.config("[[command]]\nkey = 'U'\nname = 'later'\nrun = ['SHOW', 'read again']\n");
    terminal.shows("The config file was read again.");
    terminal.press("U");
    terminal.shows_all(&["Output of later", "[read again]"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_name_is_one_argument_and_never_text_of_a_shell() {
    let setting = Setting::new("own-hostile", "-x;$(touch FILE)'\"`touch FILE` \u{202e}").await;
    let mut terminal = setting.console(
        "[[command]]\nkey = 'T'\nname = 'show'\nrun = ['SHOW', '--', '{path}']\n\
         [[command]]\nkey = 'U'\nname = 'env'\nshell = true\nrun = 'cd FOLDER && ./show \"$LOCKSCOPE_PATH\" ran'\n\
         [[command]]\nkey = 'B'\nname = 'unread'\nrun = ['SHOW', '{path}']\n",
    );
    terminal.press("T");
    terminal.shows_all(&["[--]", "[/-x;$(touch FILE)'\"`touch FILE` \\u{202e}]", "exit status 0"]);
    terminal.press("\x1b");
    terminal.shows("1 contender");
    terminal.press("U");
    terminal.shows_all(&["Output of env", "[/-x;$(touch FILE)'\"`touch FILE` \\u{202e}]", "[ran]", "exit status 0"]);
    terminal.press("q");
    assert!(terminal.ends().success());
    assert!(!setting.has("FILE") && !Path::new("FILE").exists());
    let sent = terminal.sent();
    assert!(!sent.windows(3).any(|window| window == "\u{202e}".as_bytes()));
    assert!(String::from_utf8_lossy(&sent).contains("`B` means `previous-scene`"), "a key that is taken");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_shows_the_command_and_no_runs_nothing() {
    let setting = Setting::new("own-question", "a;b").await;
    let mut terminal = setting.console(
        "[[command]]\nkey = 'T'\nname = 'mark'\nconfirm = true\nrun = ['touch', '--', 'FOLDER/marked', 'FOLDER{path}']\n",
    );
    let answers = ["Run mark?", "touch -- ", "/marked '", "/a;b'", "y runs it, n does not."];
    for no in ["n", "\x1b"] {
        terminal.press("T");
        terminal.shows_all(&answers);
        terminal.press("x\r");
        terminal.shows("Run mark?");
        terminal.press(no);
        terminal.hides("Run mark?");
    }
    assert!(!setting.has("marked"));
    terminal.press("T");
    terminal.shows("Run mark?");
    terminal.press("y");
    terminal.shows("exit status 0");
    assert!(setting.has("marked") && setting.has("a;b"));
    // An earlier moment is asked about even without `confirm`.
    terminal.press("\x1b");
    terminal.shows("1 contender");
    terminal.press("pT");
    terminal.shows("The values are of an earlier moment");
    terminal.press("nq");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_does_not_end_is_stopped_by_the_user_by_its_timeout_and_with_the_console() {
    let setting = Setting::new("own-endless", "orders").await;
    let mark = format!("{}.5", 70_000 + std::process::id());
    let mut terminal = setting.console(&format!(
        "[[command]]\nkey = 'T'\nname = 'wait'\nshell = true\nrun = 'echo begun; sleep {mark} & sleep {mark}'\n\
         [[command]]\nkey = 'U'\nname = 'short'\nshell = true\ntimeout = '500ms'\nrun = 'sleep {mark} & sleep {mark}'\n\
         [[command]]\nkey = 'D'\nname = 'flood'\nrun = ['head', '-c', '3000000', '/dev/zero']\n\
         [[command]]\nkey = 'J'\nname = 'gone'\nrun = ['/no/such/program']\n"
    ));
    terminal.press("T");
    terminal.shows_all(&["begun", "It runs; Esc stops it."]);
    terminal.press("J");
    terminal.shows("`gone` was not run: `wait` still runs. ! shows it, and there Esc stops it.");
    terminal.press("\x1b");
    terminal.shows("`wait` was stopped.");
    let none = || match running(&mark) {
        left if left.is_empty() => Ok(()),
        left => Err(left),
    };
    eventually_blocking("the end of the group", none);
    terminal.press("U");
    terminal.shows("`short` was killed: it ran for longer than its timeout of 0.5 s");
    eventually_blocking("the end of the group", none);
    terminal.press("J");
    terminal.shows("`gone` cannot be started: No such file or directory");
    terminal.press("D");
    terminal.shows("Output of flood ── ended");
    terminal.press("G");
    terminal
        .shows_all(&["The output is too long: 1951424 more bytes were left out.", "`flood` ended with exit status 0."]);
    terminal.press("T");
    terminal.shows("begun");
    // The shell says that it has begun before it starts the rest.
    eventually_blocking("a process of the group", || if running(&mark).is_empty() { Err(()) } else { Ok(()) });
    terminal.press("q");
    assert!(terminal.ends().success());
    eventually_blocking("the end of the group", none);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_with_the_terminal_has_its_keys_and_signals_and_the_console_comes_back() {
    let setting = Setting::new("own-terminal", "orders").await;
    let config = setting.config(
        "[[command]]\nkey = 'T'\nname = 'ask'\noutput = 'terminal'\nshell = true\n\
         run = 'stty -echo; printf \"for %s: \" \"$LOCKSCOPE_PATH\"; read line; echo \"got $line\" > FOLDER/got'\n\
         [[command]]\nkey = 'U'\nname = 'fail'\noutput = 'terminal'\nshell = true\nrun = 'echo about to fail; exit 3'\n",
    );
    let program = env!("CARGO_BIN_EXE_lockscope");
    let config = config.to_str().expect("a plain path").to_owned();
    let mut terminal = Terminal::in_shell(program, &["--connect", &setting.at, "--config", &config], 130, 35);
    terminal.shows_all(&["● live", "1 contender"]);
    terminal.press("T");
    terminal.shows("for /orders: ");
    assert!(!terminal.screen().alternate_screen());
    terminal.press("qqq?1\r");
    terminal.shows_all(&["● live", "`ask` ended with exit status 0."]);
    assert!(terminal.screen().alternate_screen());
    assert_eq!(fs::read_to_string(setting.folder.path().join("got")).expect("a file"), "got qqq?1\n");
    terminal.press("U");
    terminal.shows_all(&["about to fail", "`fail` ended with exit status 3. Press Enter to go back."]);
    terminal.press("q\r");
    terminal.shows_all(&["● live", "`fail` ended with exit status 3."]);
    terminal.press("?");
    terminal.shows("Keys of");
    terminal.press("q");
    assert!(terminal.ends().success());
    let modes = modes(&terminal.sent());
    assert_eq!(modes.len(), 2);
    assert_eq!(modes[0], modes[1], "the modes of the terminal are as before");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_ends_the_program_with_the_terminal_and_not_the_console() {
    let setting = Setting::new("own-interrupt", "orders").await;
    let mut terminal = setting.console(
        "[[command]]\nkey = 'U'\nname = 'fail'\noutput = 'terminal'\nshell = true\nrun = 'echo about to fail; exit 3'\n\
         [[command]]\nkey = 'D'\nname = 'long'\noutput = 'terminal'\nshell = true\nrun = 'echo sleeping; sleep 100'\n",
    );
    terminal.press("U");
    terminal.shows("Press Enter to go back.");
    terminal.press("\r");
    terminal.shows_all(&["● live", "1 contender"]);
    terminal.press("D");
    terminal.shows("sleeping");
    terminal.press("\x03");
    terminal.shows("`long` was ended by signal 2. Press Enter to go back.");
    assert!(terminal.text().contains("about to fail"), "what was written before stays: {}", terminal.text());
    terminal.press("\r");
    terminal.shows_all(&["● live", "1 contender"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_with_the_terminal_is_suspended_with_the_console_and_continues() {
    let setting = Setting::new("own-suspend", "orders").await;
    let config = setting.config(
        "[[command]]\nkey = 'T'\nname = 'ask'\noutput = 'terminal'\nshell = true\nrun = 'echo asks; cat > FOLDER/got'\n",
    );
    let mut shell = with_usual_environment("bash", &["--norc", "--noprofile", "-i"]);
    shell.env("PS1", "ready> ");
    let mut terminal = Terminal::start(shell, 130, 35);
    terminal.shows("ready>");
    let program = env!("CARGO_BIN_EXE_lockscope");
    terminal.press(&format!("{program} --connect {} --config {}\r", setting.at, config.display()));
    terminal.shows_all(&["● live", "1 contender"]);
    terminal.press("T");
    terminal.shows("asks");
    terminal.press("\x1a");
    terminal.shows("Stopped");
    terminal.press("echo $((6 * 7))\r");
    terminal.shows("42");
    terminal.press("fg\r");
    // The shell takes a moment to set the modes of the terminal.
    eventually_blocking("the program's echo", || {
        terminal.press("again\r");
        std::thread::sleep(std::time::Duration::from_millis(100));
        let echoed = terminal.text().contains("\nagain");
        if echoed { Ok(()) } else { Err(terminal.text()) }
    });
    terminal.press("\x04");
    terminal.shows_all(&["● live", "`ask` ended with exit status 0."]);
    assert!(fs::read_to_string(setting.folder.path().join("got")).expect("a file").contains("again\n"));
    terminal.press("q");
    terminal.hides("● live");
    terminal.press("exit\r");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_with_the_terminal_ends_with_the_console() {
    let setting = Setting::new("own-terminate", "orders").await;
    let mark = format!("{}.25", 70_000 + std::process::id());
    let config = setting
        .config(&format!("[[command]]\nkey = 'T'\nname = 'wait'\noutput = 'terminal'\nrun = ['sleep', '{mark}']\n"));
    let config = config.to_str().expect("a plain path").to_owned();
    let program = env!("CARGO_BIN_EXE_lockscope");
    let mut terminal = Terminal::in_shell(program, &["--connect", &setting.at, "--config", &config], 130, 35);
    terminal.shows_all(&["● live", "1 contender"]);
    terminal.press("T");
    eventually_blocking("the program", || if running(&mark).is_empty() { Err("none") } else { Ok(()) });
    terminal.signal("TERM");
    assert!(terminal.ends().success());
    eventually_blocking("the end of the program", || match running(&mark) {
        left if left.is_empty() => Ok(()),
        left => Err(left),
    });
    let modes = modes(&terminal.sent());
    assert_eq!(modes[0], modes[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_inherits_no_identities() {
    let setting = Setting::new("own-secrets", "orders").await;
    let config = setting.config("[[command]]\nkey = 'T'\nname = 'env'\nrun = ['env']\n");
    let program = env!("CARGO_BIN_EXE_lockscope");
    let config = config.to_str().expect("a plain path").to_owned();
    let mut command = with_usual_environment(program, &["--connect", &setting.at, "--config", &config]);
    command.env("LOCKSCOPE_AUTH", "digest:operator:hunter2");
    let mut terminal = Terminal::start(command, 130, 35);
    terminal.shows_all(&["● live", "1 contender"]);
    terminal.press("T");
    terminal.shows("Output of env ── ended");
    terminal.press("G");
    terminal.shows("`env` ended with exit status 0.");
    terminal.press("q");
    assert!(terminal.ends().success());
    assert!(!String::from_utf8_lossy(&terminal.sent()).contains("hunter2"));
}
