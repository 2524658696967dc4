//! The terminal: taken over at the start, and restored at the end, whatever ends the program.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use crossterm::cursor::Show;
use crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

use super::theme::{Palette, ThemeName};

/// How long the program waits to be stopped before it concludes that nothing will stop it, as in a
/// shell without job control or a terminal without a shell.
const STOPS_WITHIN: Duration = Duration::from_millis(300);
/// Bytes of a frame that are buffered before a write.
const FRAME: usize = 64 * 1024;

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
}

impl TerminalGuard {
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

/// Returns the colours of a theme that this terminal can show, or none where `NO_COLOR` is set.
pub fn colours(palette: Palette) -> Palette {
    let is_set = |name: &str, is_such: fn(&str) -> bool| std::env::var(name).is_ok_and(|value| is_such(&value));
    if is_set("NO_COLOR", |value| !value.is_empty()) {
        return ThemeName::Mono.palette();
    }
    let all = is_set("COLORTERM", |value| ["truecolor", "24bit"].contains(&value))
        || is_set("TERM", |value| value.contains("direct"));
    if all { palette } else { palette.in_256_colours() }
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
