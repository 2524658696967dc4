//! The output of the user's own commands, and the question before one runs.

use std::time::Duration;

use crate::tui::keymap::{Bindings, Command, FixedKey};
use crate::tui::own_command::PreparedCommand;
use crate::tui::page::help::ProgramEnding;
use crate::tui::page::{Line, Page, PageWriter, Scroll, help};
use lockscope_base::znode::SessionId;
use lockscope_model::queue::ClientIdentity;
use lockscope_model::text::Charset;

/// The most bytes of output that are kept of one command.
pub const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// The most lines of output that are kept of one command.
const MAX_OUTPUT_LINES: usize = 10_000;

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// It ended by itself, with this exit status.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// It ran for longer than this time and was killed.
    TimedOut(Duration),
    /// The user stopped it.
    Stopped,
    /// It could not be started; the reason.
    NotStarted(String),
}

impl CommandEnd {
    pub fn is_good(&self) -> bool {
        *self == Self::Exited(0)
    }

    /// Returns a part of a sentence about the command of that name.
    pub fn sentence(&self, name: &str) -> String {
        match self {
            Self::Exited(status) => format!("`{name}` ended with exit status {status}."),
            Self::Killed(signal) => format!("`{name}` was ended by signal {signal}."),
            Self::TimedOut(timeout) => {
                format!(
                    "`{name}` was killed: it ran for longer than its timeout of {} s in the config file.",
                    timeout.as_secs_f64()
                )
            }
            Self::Stopped => format!("`{name}` was stopped."),
            Self::NotStarted(why) => format!("`{name}` cannot be started: {why}; look at `run` in the config file."),
        }
    }
}

/// A report of a running command.
#[derive(Clone, Debug)]
pub enum CommandReport {
    /// Lines of its output.
    Output(Vec<u8>),
    /// It has ended in its pane, and that many bytes of its output were left out.
    Ended { end: CommandEnd, left_out: u64 },
    /// It has ended and gave the terminal back.
    Returned { name: String, end: CommandEnd },
}

/// The output of the latest command.
#[derive(Debug)]
pub struct OwnOutput {
    name: String,
    shown: String,
    names: Option<SessionId>,
    lines: Vec<Vec<u8>>,
    bytes: usize,
    left_out: u64,
    /// `None` while it runs.
    end: Option<CommandEnd>,
    /// The lines as drawn, for this many columns: wrapping all of them again for each frame would
    /// take longer than a frame.
    wrapped: (usize, Vec<Line>),
    /// How many lines are wrapped.
    done: usize,
}

impl OwnOutput {
    pub fn new(command: &PreparedCommand) -> Self {
        Self {
            name: command.name.clone(),
            shown: command.shown(),
            names: command.names,
            lines: Vec::new(),
            bytes: 0,
            left_out: 0,
            end: None,
            wrapped: (0, Vec::new()),
            done: 0,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_running(&self) -> bool {
        self.end.is_none()
    }

    /// Returns the session whose client the first line names, and the name, unless the line is none.
    pub fn named(&self) -> Option<(SessionId, Option<String>)> {
        let name = self.lines.first().and_then(|line| ClientIdentity::name_in_output(line));
        Some((self.names?, name.map(str::to_owned)))
    }

    /// Adds output. The newest is left out beyond the limits.
    pub fn add(&mut self, output: &[u8]) {
        let output = output.strip_suffix(b"\n").unwrap_or(output);
        for line in output.split(|byte| *byte == b'\n') {
            let is_full = self.left_out > 0 || self.lines.len() >= MAX_OUTPUT_LINES;
            if is_full || self.bytes + line.len() > MAX_OUTPUT_BYTES {
                self.left_out = self.left_out.saturating_add(line.len() as u64 + 1);
            } else {
                self.bytes += line.len();
                self.lines.push(line.to_vec());
            }
        }
    }

    pub fn end(&mut self, end: CommandEnd, left_out: u64) {
        self.end = Some(end);
        self.left_out = self.left_out.saturating_add(left_out);
    }

    /// Wraps the lines that are not wrapped yet, or all of them for another width.
    pub fn wrap(&mut self, columns: usize, charset: Charset) {
        if self.wrapped.0 != columns {
            (self.wrapped, self.done) = ((columns, Vec::new()), 0);
        }
        let new = self.lines.iter().skip(self.done).flat_map(|line| help::wrapped(line, columns, charset));
        self.wrapped.1.extend(new);
        self.done = self.lines.len();
    }
}

/// A command that runs if the user says yes.
#[derive(Debug)]
pub struct OwnQuestion {
    pub command: PreparedCommand,
    /// Whether its values are of an earlier moment.
    pub of_past: bool,
    pub scroll: Scroll,
}

/// The user's own commands as they run.
#[derive(Debug, Default)]
pub struct OwnRuns {
    pub question: Option<OwnQuestion>,
    pub output: Option<OwnOutput>,
}

impl OwnRuns {
    /// Whether a command runs whose output goes to the pane.
    pub fn is_running(&self) -> bool {
        self.output.as_ref().is_some_and(OwnOutput::is_running)
    }

    pub fn output_page(&self, page: PageWriter, bindings: &Bindings) -> Page {
        let Some(OwnOutput { name, shown, left_out, end, wrapped, .. }) = &self.output else {
            return help::nothing(page);
        };
        let stop = bindings.name(Command::Back);
        let sentence = end.as_ref().map(|end| (end.is_good(), end.sentence(name)));
        let ending = match &sentence {
            None => ProgramEnding::Running(&stop),
            Some((true, text)) => ProgramEnding::Well(text),
            Some((false, text)) => ProgramEnding::Badly(text),
        };
        help::page(page, name, shown, &wrapped.1, *left_out, ending)
    }

    pub fn question_page(&self, writer: impl Fn() -> PageWriter) -> Option<Page> {
        let OwnQuestion { command, of_past, .. } = self.question.as_ref()?;
        let answers = [FixedKey::Yes.name(), FixedKey::No.name()];
        Some(help::question(writer, &command.name, &command.shown(), *of_past, [&answers[0], &answers[1]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::own_command::CommandOutput;

    fn output() -> OwnOutput {
        OwnOutput::new(&PreparedCommand {
            name: "jstack".to_owned(),
            program: "jstack-all".to_owned(),
            arguments: Vec::new(),
            variables: Vec::new(),
            output: CommandOutput::Pane,
            timeout: Duration::from_secs(30),
            names: None,
        })
    }

    #[test]
    fn output_beyond_the_limits_is_counted_and_not_kept() {
        let mut long = output();
        for _ in 0..1100 {
            long.add(&[vec![b'x'; 1023], vec![b'\n']].concat());
        }
        assert!(long.bytes <= MAX_OUTPUT_BYTES);
        assert_eq!(long.left_out, 75 * 1024);
        long.end(CommandEnd::Stopped, 5);
        assert_eq!(long.left_out, 75 * 1024 + 5);

        let mut many = output();
        many.add(&vec![b'\n'; MAX_OUTPUT_LINES + 3]);
        assert_eq!((many.lines.len(), many.left_out), (MAX_OUTPUT_LINES, 3));
    }

    #[test]
    fn output_is_wrapped_once_and_again_for_another_width() {
        let mut output = output();
        output.add(b"abcdef\n");
        output.wrap(4, Charset::Unicode);
        output.add(b"xy\n");
        output.wrap(4, Charset::Unicode);
        let texts = |output: &OwnOutput| output.wrapped.1.iter().map(|line| line.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&output), ["abcd", "ef", "xy"]);
        output.wrap(10, Charset::Unicode);
        assert_eq!(texts(&output), ["abcdef", "xy"]);
    }
}
