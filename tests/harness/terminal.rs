//! The program in a real pseudo-terminal, and the screen that a user would see.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use vt100::{Cell, Color, Parser, Screen};

use super::picture::Ground;
use super::signal;
use super::wait::eventually_blocking;

/// The maximum number of kept bytes of output: more than any test looks at.
const MAX_SENT: usize = 64 << 20;

type Keys = Arc<Mutex<Box<dyn Write + Send>>>;

/// The question what kind of terminal this is, which follows that for its colours.
const QUESTION: &[u8] = b"\x1b[c";

/// A program that runs in a terminal. Dropping it kills the program.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Keys,
    parser: Arc<Mutex<Parser>>,
    raw: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn non_zero(number: u16) -> std::num::NonZeroU16 {
    std::num::NonZeroU16::new(number).expect("a terminal has rows and columns")
}

impl Terminal {
    /// Runs this crate's program with these arguments in a terminal of this size.
    pub fn lockscope(arguments: &[&str], columns: u16, rows: u16) -> Self {
        Self::start(with_usual_environment(env!("CARGO_BIN_EXE_lockscope"), arguments), columns, rows)
    }

    /// Runs a program from a shell, which prints the modes of the terminal before and after (see
    /// [`Self::modes`]) and the program's exit code.
    pub fn in_shell(program: &str, arguments: &[&str], columns: u16, rows: u16) -> Self {
        let script = r#"echo "modes $(stty -g)"; "$0" "$@"; echo "exit code $?"; echo "modes $(stty -g)""#;
        let arguments = [&["-c", script, program], arguments].concat();
        Self::start(with_usual_environment("sh", &arguments), columns, rows)
    }

    /// Runs a command in a terminal of this size.
    pub fn start(command: CommandBuilder, columns: u16, rows: u16) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).expect("a pseudo-terminal");
        let child = pair.slave.spawn_command(command).expect("the program starts");
        drop(pair.slave);
        let mut output = pair.master.try_clone_reader().expect("a reader of the terminal");
        let parser = Arc::new(Mutex::new(Parser::new(non_zero(rows), non_zero(columns), 0)));
        let raw = Arc::new(Mutex::new(Vec::new()));
        let keys: Keys = Arc::new(Mutex::new(pair.master.take_writer().expect("a writer to the terminal")));
        let (shown, kept, answers) = (Arc::clone(&parser), Arc::clone(&raw), Arc::clone(&keys));
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut piece) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let before = kept.len().saturating_sub(QUESTION.len() - 1);
                kept.extend_from_slice(&piece[..length]);
                if kept[before..].windows(QUESTION.len()).any(|bytes| bytes == QUESTION) {
                    // A program that has ended wants no answer.
                    let _ = answers
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .write_all(Ground::of_run().answer().as_bytes());
                }
                if kept.len() > MAX_SENT {
                    kept.drain(..MAX_SENT / 2);
                }
                // Under the lock, so that the screen is never older than the bytes in `sent`.
                shown.lock().unwrap_or_else(PoisonError::into_inner).process(&piece[..length]);
            }
        });
        Self { child, master: pair.master, keys, parser, raw, reader: Some(reader) }
    }

    /// Returns the process id of the program, or of the shell around it.
    pub fn id(&self) -> u32 {
        self.child.process_id().expect("a process that was not awaited yet")
    }

    /// Types keys: `\x1b` is Esc, `\r` is Enter.
    pub fn press(&mut self, keys: &str) {
        let mut terminal = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        terminal.write_all(keys.as_bytes()).and_then(|()| terminal.flush()).expect("the terminal takes keys");
    }

    /// Returns the screen.
    pub fn screen(&self) -> Screen {
        self.parser.lock().unwrap_or_else(PoisonError::into_inner).screen().clone()
    }

    /// Returns the text on the screen. All borders are light, because a heavy one only says which pane
    /// has the focus.
    pub fn text(&self) -> String {
        let light = [('━', '─'), ('┃', '│'), ('┏', '┌'), ('┓', '┐'), ('┗', '└'), ('┛', '┘')];
        let of = |letter| light.iter().find(|(heavy, _)| *heavy == letter).map_or(letter, |(_, light)| *light);
        self.screen().contents().chars().map(of).collect()
    }

    /// Returns the appearance of each cell, row by row. A cell that was never written is blank,
    /// like one with a space.
    pub fn cells(&self) -> Vec<Appearance> {
        let screen = self.screen();
        let (rows, columns) = screen.size();
        let places = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
        places.filter_map(|(row, column)| screen.cell(row, column)).map(Appearance::of).collect()
    }

    /// Returns the bytes that the program has sent to the terminal; of very many bytes, the last
    /// ones.
    pub fn sent(&self) -> Vec<u8> {
        self.raw.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the screen shows a text.
    pub fn shows(&self, text: &str) {
        self.shows_all(&[text]);
    }

    /// Waits until the screen shows all texts at once.
    pub fn shows_all(&self, texts: &[&str]) {
        eventually_blocking(&format!("{texts:?} on the screen"), || {
            let seen = self.text();
            if texts.iter().all(|text| seen.contains(text)) { Ok(()) } else { Err(format!("\n{seen}")) }
        });
    }

    /// Waits until the screen no longer shows a text.
    pub fn hides(&self, text: &str) {
        eventually_blocking(&format!("{text:?} gone from the screen"), || {
            let seen = self.text();
            if seen.contains(text) { Err(format!("\n{seen}")) } else { Ok(()) }
        });
    }

    /// Resizes the terminal.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.parser
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .screen_mut()
            .set_size(non_zero(rows), non_zero(columns));
        self.master.resize(size(columns, rows)).expect("the terminal takes a size");
    }

    /// Sends the program a signal, such as `TERM`. Below a shell, the shell's child gets it.
    pub fn signal(&self, name: &str) {
        let shell = self.id();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap_or_default();
        let child = children.split_whitespace().next().map(|child| child.parse().expect("a process id"));
        signal::send(child.unwrap_or(shell), name);
    }

    /// Waits until the program has ended and all its output has been read.
    pub fn ends(&mut self) -> ExitStatus {
        let child = &mut self.child;
        let status =
            eventually_blocking("the program's end", || child.try_wait().ok().flatten().ok_or("it still runs"));
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader ends with the terminal");
        }
        status
    }
}

/// The appearance of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Appearance {
    text: String,
    colours: (Color, Color),
    is_bold: bool,
    is_reversed: bool,
}

impl Appearance {
    fn of(cell: &Cell) -> Self {
        let text = if cell.has_contents() { cell.contents().to_owned() } else { " ".to_owned() };
        // Nobody sees the foreground of a blank.
        let foreground = if text == " " && !cell.inverse() { Color::Default } else { cell.fgcolor() };
        let colours = (foreground, cell.bgcolor());
        Self { text, colours, is_bold: cell.bold(), is_reversed: cell.inverse() }
    }

    /// Returns the same appearance without bold.
    pub fn without_weight(self) -> Self {
        Self { is_bold: false, ..self }
    }
}

/// Returns the text of the screen after every few bytes of the output, as on a slow connection.
pub fn moments(sent: &[u8], columns: u16, rows: u16) -> impl Iterator<Item = String> {
    let mut parser = Parser::new(non_zero(rows), non_zero(columns), 0);
    sent.chunks(64).map(move |piece| {
        parser.process(piece);
        parser.screen().contents()
    })
}

/// Returns the modes that the shell of [`Terminal::in_shell`] printed, before and after.
pub fn modes(sent: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(sent);
    let after = text.split("modes ").skip(1);
    after
        .map(|rest| rest.split(|c: char| c.is_whitespace() || c == '\x1b').next().unwrap_or_default().to_owned())
        .collect()
}

/// Returns a command for a program that finds no settings of the user who runs the tests.
pub fn with_usual_environment(program: &str, arguments: &[&str]) -> CommandBuilder {
    let mut command = CommandBuilder::new(program);
    command.args(arguments);
    for name in ["NO_COLOR", "ZOOKEEPER_CONNECT", "LOCKSCOPE_AUTH", "LOCKSCOPE_AUTH_FILE", "LC_ALL", "LC_CTYPE"] {
        command.env_remove(name);
    }
    command.env("LANG", "C.UTF-8");
    command.env("TERM", "xterm-256color");
    command.env("COLORTERM", "truecolor");
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    // Notes of one test must not be seen by another.
    let state = format!("{}/state-{}-{:x}", env!("CARGO_TARGET_TMPDIR"), std::process::id(), fastrand::u64(..));
    command.env("XDG_STATE_HOME", state);
    command
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
