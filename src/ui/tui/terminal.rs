//! The terminal: taken over at the start, and restored at the end, whatever ends the program. Its
//! events, and the signals of the system, are translated for the [`App`](super::app::App).

use std::io;
use std::io::{BufWriter, IsTerminal, PipeWriter, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use anstream::ColorChoice;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use crossterm::cursor::Show;
use crossterm::event::{
    DisableMouseCapture, EnableMouseCapture, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton,
    MouseEvent, MouseEventKind,
};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{event, execute};
use futures::stream::{SelectAll, Stream, StreamExt, select_all};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use terminal_colorsaurus::{QueryOptions, color_palette};
use tokio::signal::unix::{Signal as UnixSignal, SignalKind, signal};
use tokio::sync::oneshot;

use super::app::{Event, Key, Mouse};
use super::contrast::{ColourDepth, TerminalColours, fitted};
use super::theme::{Palette, ThemeName};

/// How long the program waits to be stopped before it concludes that nothing will stop it, as in a
/// shell without job control or a terminal without a shell.
const STOPS_WITHIN: Duration = Duration::from_millis(300);

/// Bytes of a frame that are buffered before a write.
const FRAME: usize = 64 * 1024;

/// How long the terminal has to say its colours. A slow connection takes some of that.
const ANSWERS_WITHIN: Duration = Duration::from_millis(800);

/// Letters of an answer with a colour of sixteen bits a part.
const MAX_ANSWER: usize = "10;rgb:d7d7/dada/e0e0".len();

/// The colours that the terminal said it has. A static, because a process has one terminal.
static COLOURS: OnceLock<Option<TerminalColours>> = OnceLock::new();

/// Whether the program has the terminal. A static, because the panic hook needs it.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether the alternate screen is shown.
static DRAWS: AtomicBool = AtomicBool::new(false);

/// Whether the terminal is lent to another program. A panic ends the loan.
static LENT: AtomicBool = AtomicBool::new(false);

/// Whether the mouse is captured and must be released.
static MOUSE: AtomicBool = AtomicBool::new(false);

/// What the console needs of the terminal besides a surface to draw on.
pub trait TerminalControl {
    /// Copies a text to the clipboard of the user at the terminal.
    fn copy(&mut self, text: &str) -> io::Result<()>;
    /// Restores the terminal and stops until the shell continues the program. The screen is empty
    /// afterwards.
    fn suspend(&mut self) -> impl Future<Output = io::Result<()>>;
    /// Restores the terminal for another program.
    fn lend(&mut self) -> io::Result<()>;
    /// Shows a sentence below what that program wrote, and reads keys again.
    fn ask(&mut self, sentence: &str) -> io::Result<()>;
    /// Takes the terminal again after it was lent, or after the program was stopped and continued
    /// from outside.
    fn retake(&mut self) -> io::Result<()>;
    /// Returns whether the program still has the terminal: a panic in any thread restores it.
    fn is_taken(&self) -> bool;
}

/// Holds the terminal. Dropping the guard restores it.
#[derive(Debug)]
pub struct TerminalGuard {
    /// The modes with which the terminal was lent.
    lent: Option<Termios>,
}

impl TerminalGuard {
    /// Takes the terminal over: raw mode, the alternate screen and, if wanted, the mouse. A panic
    /// restores the terminal before its message is printed.
    pub fn take_over(mouse: bool) -> io::Result<Self> {
        give_back_on_panic();
        MOUSE.store(mouse, Ordering::SeqCst);
        enter().inspect_err(|_| give_back())?;
        Ok(Self { lent: None })
    }

    pub fn surface(&self) -> io::Result<Terminal<CrosstermBackend<BufWriter<Stdout>>>> {
        Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(FRAME, io::stdout())))
    }

    /// Ends the loan: the other program may have left the terminal in modes of its own.
    fn restore_modes(&mut self) -> io::Result<()> {
        if let Some(modes) = self.lent.take() {
            tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
        }
        LENT.store(false, Ordering::SeqCst);
        Ok(())
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        // Fails when the terminal is closed.
        let _ = self.restore_modes();
        give_back();
    }
}

impl TerminalControl for TerminalGuard {
    fn copy(&mut self, text: &str) -> io::Result<()> {
        // With OSC 52 the terminal itself fills the clipboard, so this works over ssh too.
        let mut out = io::stdout();
        write!(out, "\x1b]52;c;{}\x07", STANDARD.encode(text))?;
        out.flush()
    }

    async fn suspend(&mut self) -> io::Result<()> {
        let mut continued = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
        give_back();
        // Stops the whole group, as the terminal itself does: a wrapper that waits for us must stop
        // too. Where nobody could continue us, the system ignores the signal.
        kill_current_process_group(Signal::TSTP)?;
        let _ = tokio::time::timeout(STOPS_WITHIN, continued.recv()).await;
        enter()
    }

    fn lend(&mut self) -> io::Result<()> {
        LENT.store(true, Ordering::SeqCst);
        give_back();
        self.lent = Some(tcgetattr(io::stdin())?);
        Ok(())
    }

    fn ask(&mut self, sentence: &str) -> io::Result<()> {
        self.restore_modes()?;
        TAKEN.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        let mut out = io::stdout();
        write!(out, "\r\n{sentence}\r\n")?;
        out.flush()
    }

    fn retake(&mut self) -> io::Result<()> {
        self.restore_modes()?;
        // The shell has set its own modes meanwhile: restoring first makes taking start from those.
        give_back();
        enter()
    }

    fn is_taken(&self) -> bool {
        TAKEN.load(Ordering::SeqCst) || LENT.load(Ordering::SeqCst)
    }
}

/// Returns whether there is a terminal to draw on; a closed terminal does not count.
pub fn is_there() -> bool {
    io::stdout().is_terminal()
}

/// Asks the terminal for its colours, once. To be called before anything else reads the terminal,
/// which would take the answer for keys. Waits at most 0.8 s for a terminal that
/// answers no question at all.
pub fn ask_for_colours() {
    if !has_colours() {
        return;
    }
    let mut options = QueryOptions::default();
    options.timeout = ANSWERS_WITHIN;
    let said = color_palette(options)
        .ok()
        .map(|said| TerminalColours { text: said.foreground.scale_to_8bit(), ground: said.background.scale_to_8bit() });
    // Asked before: the terminal is still the same.
    let _ = COLOURS.set(said);
}

/// Returns the colours of a theme that this terminal can show, or none where `NO_COLOR` is set.
pub fn colours(palette: Palette) -> Palette {
    if !has_colours() {
        return ThemeName::Mono.palette();
    }
    let is_set = |name: &str, is_such: fn(&str) -> bool| std::env::var(name).is_ok_and(|value| is_such(&value));
    let all = is_set("COLORTERM", |value| ["truecolor", "24bit"].contains(&value))
        || is_set("TERM", |value| value.contains("direct"));
    let depth = if all { ColourDepth::True } else { ColourDepth::Of256 };
    fitted(palette, COLOURS.get().copied().flatten(), depth)
}

/// Returns whether the screen has colours: `--color` overrides the environment.
fn has_colours() -> bool {
    match ColorChoice::global() {
        ColorChoice::Never => return false,
        ColorChoice::Always | ColorChoice::AlwaysAnsi => return true,
        ColorChoice::Auto => {}
    }
    !std::env::var("NO_COLOR").is_ok_and(|value| !value.is_empty())
}

fn enter() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    DRAWS.store(true, Ordering::SeqCst);
    execute!(io::stdout(), EnterAlternateScreen)?;
    if MOUSE.load(Ordering::SeqCst) {
        execute!(io::stdout(), EnableMouseCapture)?;
    }
    Ok(())
}

/// Restores the terminal. Later steps are tried even if one fails: nothing can help a closed
/// terminal.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    if MOUSE.load(Ordering::SeqCst) {
        let _ = execute!(io::stdout(), DisableMouseCapture);
    }
    // Leaving it twice would move the cursor into what another program has written since.
    if DRAWS.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
    }
    let _ = disable_raw_mode();
}

fn give_back_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            LENT.store(false, Ordering::SeqCst);
            give_back();
            before(panic);
        }));
    });
}

/// A source of the terminal's events.
pub trait InputSource {
    /// Waits for the next event; `None` when no more will come. Cancel safe.
    fn next(&mut self) -> impl Future<Output = Option<io::Result<event::Event>>>;
    /// Stops to read the terminal, until the next event is asked for.
    fn release(&mut self);
}

impl<S: Stream<Item = io::Result<event::Event>> + Unpin> InputSource for S {
    fn next(&mut self) -> impl Future<Output = Option<io::Result<event::Event>>> {
        StreamExt::next(self)
    }

    fn release(&mut self) {}
}

/// The terminal library's events. While the terminal is lent to another program, the library's
/// thread must not read that program's keys.
///
/// Each poll of the library's own stream tries in vain to take a lock that the library's thread
/// holds while it sleeps, which costs more than a dozen system calls. This stream polls the library
/// only after that thread has woken, however often it is polled itself.
#[derive(Debug, Default)]
pub struct TerminalEvents {
    events: Option<SelectAll<EventStream>>,
    late: LateAnswer,
}

impl InputSource for TerminalEvents {
    async fn next(&mut self) -> Option<io::Result<event::Event>> {
        let events = self.events.get_or_insert_with(|| select_all([EventStream::new()]));
        loop {
            match StreamExt::next(events).await {
                Some(Ok(event)) if self.late.swallows(&event) => {}
                next => return next,
            }
        }
    }

    fn release(&mut self) {
        self.events = None;
    }
}

/// Recognises an answer with a colour that comes after [`ANSWERS_WITHIN`]. Otherwise its letters
/// would be taken for keys.
#[derive(Debug, Default)]
struct LateAnswer {
    /// What came of the answer, while it goes on.
    said: Option<String>,
}

impl LateAnswer {
    /// Whether the event is a part of such an answer: `Alt-]`, `10;rgb:d7d7/dada/e0e0`, and the end.
    fn swallows(&mut self, event: &event::Event) -> bool {
        let event::Event::Key(KeyEvent { code: KeyCode::Char(letter), modifiers, .. }) = event else { return false };
        let (alt, control) = (modifiers.contains(KeyModifiers::ALT), modifiers.contains(KeyModifiers::CONTROL));
        if alt && *letter == ']' {
            self.said = Some(String::new());
            return true;
        }
        let Some(mut said) = self.said.take() else { return false };
        if alt && *letter == '\\' || control && *letter == 'g' {
            return true;
        }
        said.push(*letter);
        let head = "10;rgb:".len();
        let fits = said.len() <= MAX_ANSWER
            && ["10;rgb:", "11;rgb:"].iter().any(|known| known.starts_with(said.get(..head).unwrap_or(&said)))
            && said.chars().skip(head).all(|letter| letter.is_ascii_hexdigit() || letter == '/');
        if fits {
            self.said = Some(said);
        }
        fits
    }
}

/// Translates an event of the terminal; `None` for events without a meaning here.
pub fn translate(event: &event::Event) -> Option<Event> {
    match event {
        event::Event::Key(key) if key.kind != KeyEventKind::Release => translate_key(key).map(Event::Key),
        event::Event::Mouse(mouse) => translate_mouse(*mouse).map(Event::Mouse),
        event::Event::Resize(columns, lines) => Some(Event::Resize(*columns, *lines)),
        _ => None,
    }
}

fn translate_key(key: &KeyEvent) -> Option<Key> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    Some(match key.code {
        KeyCode::Char(letter) if control => Key::Ctrl(letter.to_ascii_lowercase()),
        KeyCode::Char(letter) => Key::Char(letter),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::F(number) => Key::F(number),
        _ => return None,
    })
}

fn translate_mouse(mouse: MouseEvent) -> Option<Mouse> {
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => Some(Mouse::Press(mouse.column, mouse.row)),
        MouseEventKind::ScrollUp => Some(Mouse::WheelUp),
        MouseEventKind::ScrollDown => Some(Mouse::WheelDown),
        _ => None,
    }
}

/// A signal to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessSignal {
    /// The program is to end: SIGTERM, SIGHUP, or a closed terminal.
    End,
    /// SIGINT or SIGQUIT: the program is to end, unless the keys for them are another program's.
    Interrupt,
    /// The program was stopped and continues: SIGCONT.
    Continue,
}

#[derive(Debug)]
pub struct ProcessSignals {
    terminate: UnixSignal,
    interrupt: UnixSignal,
    quit: UnixSignal,
    hang_up: UnixSignal,
    resume: UnixSignal,
    closed: Closed,
}

impl ProcessSignals {
    /// Starts to listen. From here on, these signals no longer end the process by themselves.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            hang_up: signal(SignalKind::hangup())?,
            resume: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
            closed: Closed::watch()?,
        })
    }

    /// Waits for the next signal. Cancel safe.
    pub async fn next(&mut self) -> ProcessSignal {
        tokio::select! {
            _ = self.terminate.recv() => ProcessSignal::End,
            _ = self.interrupt.recv() => ProcessSignal::Interrupt,
            _ = self.quit.recv() => ProcessSignal::Interrupt,
            _ = self.hang_up.recv() => ProcessSignal::End,
            _ = self.resume.recv() => ProcessSignal::Continue,
            () = self.closed.wait() => ProcessSignal::End,
        }
    }
}

/// Detects that the terminal was closed. A terminal that is not the controlling one sends no SIGHUP
/// then, and the terminal library would read end-of-file again and again.
#[derive(Debug)]
struct Closed {
    closed: oneshot::Receiver<()>,
    /// Ends the watching thread when dropped.
    _stop: PipeWriter,
}

impl Closed {
    /// Watches standard input from a thread of its own, which sleeps until the terminal is closed
    /// or `self` is dropped. The thread waits only for the hang-up and leaves the keys to the
    /// terminal library.
    fn watch() -> io::Result<Self> {
        let (leashed, leash) = io::pipe()?;
        let (close, closed) = oneshot::channel();
        std::thread::Builder::new().name("terminal-closed".to_owned()).spawn(move || {
            let input = io::stdin();
            let mut watched = [PollFd::new(&input, PollFlags::empty()), PollFd::new(&leashed, PollFlags::empty())];
            while let Err(rustix::io::Errno::INTR) = poll(&mut watched, None) {}
            if watched[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) && watched[1].revents().is_empty() {
                // Nobody receives when the program is ending anyway.
                let _ = close.send(());
            }
        })?;
        Ok(Self { closed, _stop: leash })
    }

    async fn wait(&mut self) {
        match (&mut self.closed).await {
            Ok(()) => {}
            // Standard input is no terminal and cannot be watched.
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Option<Event> {
        translate(&event::Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn a_released_key_does_nothing_a_second_time() {
        let mut released = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        released.kind = KeyEventKind::Release;
        assert!(translate(&event::Event::Key(released)).is_none());
    }

    #[test]
    fn an_answer_that_comes_late_presses_no_key() {
        let mut late = LateAnswer::default();
        let mut pressed = |keys: &str| {
            let mut left = String::new();
            let mut modifiers = KeyModifiers::NONE;
            for letter in keys.chars() {
                let (code, with) = match letter {
                    '\x1b' => {
                        modifiers = KeyModifiers::ALT;
                        continue;
                    }
                    '\x07' => ('g', KeyModifiers::CONTROL),
                    letter => (letter, modifiers),
                };
                modifiers = KeyModifiers::NONE;
                if !late.swallows(&event::Event::Key(KeyEvent::new(KeyCode::Char(code), with))) {
                    left.push(letter);
                }
            }
            left
        };
        assert_eq!(pressed("\x1b]10;rgb:d7d7/dada/e0e0\x1b\\\x1b]11;rgb:14/17/1c\x07j"), "j");
        assert_eq!(pressed("\x1b]q1"), "q1", "another key with Alt");
        assert_eq!(pressed("\x1b]11;rgb:0000/0000/0000ff2"), "ff2", "an end that is missing");
    }

    #[test]
    fn control_and_shift_are_different() {
        assert!(matches!(key(KeyCode::Char('C'), KeyModifiers::CONTROL), Some(Event::Key(Key::Ctrl('c')))));
        assert!(matches!(key(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(Event::Key(Key::Char('G')))));
        assert!(key(KeyCode::Char('q'), KeyModifiers::ALT).is_none());
    }
}
