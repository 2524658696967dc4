//! Translates the events of the terminal and the signals of the system for the
//! [`App`](super::app::App).

use std::io::{self, PipeWriter};

use crossterm::event::{
    self, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use futures::stream::{SelectAll, Stream, StreamExt, select_all};
use rustix::event::{PollFd, PollFlags, poll};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use super::app::{Event, Key, Mouse};

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
pub struct TerminalEvents(Option<SelectAll<EventStream>>);

impl InputSource for TerminalEvents {
    async fn next(&mut self) -> Option<io::Result<event::Event>> {
        let events = self.0.get_or_insert_with(|| select_all([EventStream::new()]));
        StreamExt::next(events).await
    }

    fn release(&mut self) {
        self.0 = None;
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
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    hang_up: Signal,
    resume: Signal,
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
    fn control_and_shift_are_different() {
        assert!(matches!(key(KeyCode::Char('C'), KeyModifiers::CONTROL), Some(Event::Key(Key::Ctrl('c')))));
        assert!(matches!(key(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(Event::Key(Key::Char('G')))));
        assert!(key(KeyCode::Char('q'), KeyModifiers::ALT).is_none());
    }
}
