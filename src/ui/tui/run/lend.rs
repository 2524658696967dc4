//! Lends the terminal to a program of the user until it ends. The console goes on meanwhile, but
//! neither draws nor reads keys.

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Duration;

use crossterm::event;
use ratatui::backend::Backend;

use super::Console;
use crate::tui::TuiError;
use crate::tui::app::{CommandEnd, CommandReport, Event};
use crate::tui::command_runner::Lent;
use crate::tui::input::{InputSource, ProcessSignal, translate};
use crate::tui::keymap::FixedKey;
use crate::tui::own_command::PreparedCommand;
use crate::tui::terminal::TerminalControl;

/// How long the terminal library's thread has to stop reading keys.
const RELEASES_WITHIN: Duration = Duration::from_millis(20);

/// The owner of the terminal.
#[derive(Default)]
pub(in crate::tui) enum TerminalUse {
    /// The console.
    #[default]
    Ours,
    /// The console, but this program is about to get it.
    ToLend(Box<PreparedCommand>),
    /// A program.
    Lent(Box<Lent>),
    /// The console waits for a key before it covers what a failed program wrote.
    Asking,
}

impl TerminalUse {
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::Ours)
    }

    pub fn reads_keys(&self) -> bool {
        matches!(self, Self::Ours | Self::Asking)
    }

    /// Waits until the program with the terminal has ended; forever without one. Cancel safe.
    pub async fn returned(&mut self) -> (String, CommandEnd) {
        match self {
            Self::Lent(lent) => lent.end().await,
            _ => std::future::pending().await,
        }
    }
}

impl<B: Backend, O: TerminalControl> Console<B, O>
where
    B::Error: Error,
{
    /// Starts the program that is to have the terminal.
    pub(super) async fn lend_if_due(&mut self, input: &mut impl InputSource) -> Result<(), TuiError> {
        let TerminalUse::ToLend(command) = &self.terminal_use else { return Ok(()) };
        input.release();
        tokio::time::sleep(RELEASES_WITHIN).await;
        self.control.lend().map_err(TuiError::terminal)?;
        self.terminal_use = TerminalUse::Lent(Box::new(Lent::start(command)));
        Ok(())
    }

    /// Takes the terminal back from a program that has ended. The user first reads why it failed.
    pub(super) fn returned(&mut self, name: String, end: CommandEnd) -> Result<Event, TuiError> {
        if end.is_good() {
            self.take_back()?;
        } else {
            let sentence = format!("{} Press {} to go back.", end.sentence(&name), FixedKey::Enter.name());
            self.control.ask(&sentence).map_err(TuiError::terminal)?;
            self.terminal_use = TerminalUse::Asking;
        }
        Ok(Event::Command(Box::new(CommandReport::Returned { name, end })))
    }

    fn take_back(&mut self) -> Result<(), TuiError> {
        self.control.retake().map_err(TuiError::terminal)?;
        self.terminal_use = TerminalUse::Ours;
        self.redraw().map(|_| ())
    }

    /// Handles a key while the console waits to take the terminal back.
    pub(super) fn answered(&mut self, event: &event::Event) -> Result<ControlFlow<()>, TuiError> {
        let Some(Event::Key(key)) = translate(event) else { return Ok(ControlFlow::Continue(())) };
        let goes_back = FixedKey::Enter.is(key) || FixedKey::Leave.is(key) || FixedKey::Interrupt.is(key);
        if goes_back {
            self.take_back()?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Handles a signal. The keys for signals are those of the program with the terminal.
    pub(super) fn signalled(&mut self, signal: ProcessSignal) -> Result<ControlFlow<()>, TuiError> {
        match (signal, &self.terminal_use) {
            (ProcessSignal::Interrupt | ProcessSignal::Continue, TerminalUse::Lent(_)) => {}
            (ProcessSignal::End | ProcessSignal::Interrupt, _) => return Ok(ControlFlow::Break(())),
            (ProcessSignal::Continue, _) => self.take_back()?,
        }
        Ok(ControlFlow::Continue(()))
    }
}
