//! Carries out the effects that the state returns.

use std::error::Error;
use std::mem;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use ratatui::backend::Backend;
use tokio::task::spawn_blocking;

use super::{ChangeSource, Console, FleetControl, TerminalUse};
use crate::tui::TuiError;
use crate::tui::app::{Effect, Event};
use crate::tui::frames::Urgency;
use crate::tui::own_command::CommandOutput;
use crate::tui::past_importer::PastImporter;
use crate::tui::past_writer::PastWriter;
use crate::tui::terminal::TerminalControl;
use crate::tui::view::draw;
use lockscope_base::time::now;
use lockscope_files as files;
use lockscope_past::record::Batch;

impl<B: Backend, O: TerminalControl> Console<B, O>
where
    B::Error: Error,
{
    /// Sets what takes in the past, and lets it look for the files of servers on this machine.
    #[must_use]
    pub fn with_importer(mut self, importer: PastImporter) -> Self {
        self.tasks.spawn(importer.find());
        Self { importer: Some(importer), ..self }
    }

    /// Returns the last changes of the past and their writer.
    pub fn end_past(&mut self) -> Option<(PastWriter, Vec<Batch>)> {
        let (writer, _) = self.past_writer.take()?;
        Some((writer, self.app.end_recording()))
    }

    /// Carries out an effect. Its result comes back as an event.
    pub(super) async fn carry_out(
        &mut self,
        effect: Effect,
        changes: &mut impl ChangeSource,
        fleets: &mut impl FleetControl,
    ) -> Result<ControlFlow<()>, TuiError> {
        match effect {
            Effect::Quit => return Ok(ControlFlow::Break(())),
            Effect::GoToContext(name) => return self.go_to(name).await,
            Effect::Copy(text) => self.control.copy(&text).map_err(TuiError::terminal)?,
            Effect::Export { name, text } => {
                self.tasks.spawn_blocking(move || Event::ExportDone(export(&name, &text)));
            }
            Effect::FindGuards(plan) => {
                self.tasks.spawn(self.deletions.clone().find_guards(*plan));
            }
            Effect::Delete(plan) => {
                self.tasks.spawn(self.deletions.clone().carry_out(*plan));
            }
            Effect::ReadAudit => {
                self.tasks.spawn(self.deletions.clone().read_audit());
            }
            Effect::ReadNode(path) => {
                self.tasks.spawn(self.nodes.clone().read(path));
            }
            Effect::RunCommand(command) => match command.output {
                CommandOutput::Pane => self.commands.start(*command),
                CommandOutput::Terminal => self.terminal_use = TerminalUse::ToLend(command),
            },
            Effect::StopCommand => self.commands.stop(),
            Effect::Suspend => {
                self.control.suspend().await.map_err(TuiError::terminal)?;
                return self.redraw();
            }
            Effect::Redraw => return self.redraw(),
            Effect::StartFleet { side, scenario } => fleets.start(side, *scenario),
            Effect::Order { side, order } => fleets.order(side, order),
            Effect::StopFleet(side) => fleets.stop(side),
            Effect::DismissFleets => fleets.dismiss(),
            Effect::DirectScene(direction) => fleets.direct(direction),
            Effect::CompareFleets(scenarios) => fleets.compare(scenarios),
            Effect::Travel { from, outlined, travel } => {
                if let Some(past) = self.past.clone() {
                    self.tasks.spawn_blocking(move || {
                        let arrived = past.travel(from, outlined, &travel);
                        spawn_blocking(move || past.read_ahead());
                        arrived
                    });
                }
            }
            Effect::FindLastLeaders(elections) => {
                if let Some(past) = self.past.clone() {
                    self.tasks.spawn_blocking(move || past.last_leaders(&elections));
                }
            }
            Effect::ForgetPast => {
                if let Some(past) = self.past.clone() {
                    // `forget` waits for a jump under way.
                    spawn_blocking(move || past.forget());
                }
            }
            Effect::Record(batches) => {
                if let Some((writer, thread)) = self.past_writer.clone() {
                    self.tasks.spawn(thread.run(move || writer.write(batches, now())));
                }
            }
            Effect::TakeIn(wish) => {
                if let Some((importer, (writer, _))) = self.importer.as_ref().zip(self.past_writer.clone()) {
                    self.tasks.spawn_blocking(importer.take_in(*wish, writer));
                }
            }
            Effect::LookAtWatchers(wanted) => changes.set_watchers_wanted(wanted),
            Effect::FilterEnsembles(filter) => self.reports.filter(filter),
            Effect::CompareMembers(nodes) => changes.compare_members(*nodes),
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Ends the loop if the user can go on to the context.
    async fn go_to(&mut self, name: String) -> Result<ControlFlow<()>, TuiError> {
        let refused = match self.source.clone() {
            None => "There is no config file here.".to_owned(),
            Some(source) => match spawn_blocking(move || source.in_context(&name)).await {
                Ok(Ok(next)) => {
                    self.next = Some(Box::new(next));
                    // Leaving takes a moment, and nothing is drawn meanwhile.
                    self.draw_frame()?;
                    return Ok(ControlFlow::Break(()));
                }
                Ok(Err(why)) => why,
                Err(_) => return Err(TuiError::Panicked),
            },
        };
        if self.app.update(Event::ContextRefused(refused), now()).redraw {
            self.frames.request(Urgency::Now);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Draws everything anew: both the content and the size of the terminal may have changed.
    pub(super) fn redraw(&mut self) -> Result<ControlFlow<()>, TuiError> {
        let size = self.terminal.size().map_err(TuiError::terminal)?;
        self.draws_anew = true;
        self.app.update(Event::Resize(size.width, size.height), now());
        self.frames.request(Urgency::Now);
        Ok(ControlFlow::Continue(()))
    }

    /// Draws the differences to the last frame, or every cell if the terminal may not show the last
    /// frame.
    pub(super) fn draw_frame(&mut self) -> Result<(), TuiError> {
        if mem::take(&mut self.draws_anew) {
            self.clear().map_err(TuiError::terminal)?;
        }
        let (app, theme) = (&self.app, &self.theme);
        self.terminal.draw(|frame| draw(frame, app, theme)).map_err(TuiError::terminal)?;
        self.frames.drawn(Instant::now());
        Ok(())
    }

    /// Clears the terminal, as the next frame expects it to be empty.
    fn clear(&mut self) -> Result<(), B::Error> {
        // `Terminal::clear` would query the cursor's position and wait for the reply among the
        // keys.
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }
}

/// Writes a new file into the current directory. An existing file is never overwritten.
pub(super) fn export(name: &str, text: &str) -> Result<PathBuf, String> {
    use std::io::Write;

    let path = std::env::current_dir().unwrap_or_default().join(name);
    let written = files::create_new(&path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")
    });
    match written {
        Ok(()) => Ok(path),
        Err(error) => Err(format!("{} could not be written: {error}.", path.display())),
    }
}
