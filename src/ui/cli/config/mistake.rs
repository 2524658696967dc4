//! Mistakes in a config file: one sentence for each wrong entry, with its line.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The most mistakes reported for one file.
const MAX_MISTAKES: usize = 1000;

/// What a wrong entry prevents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Hinders {
    /// Nothing: the program ignores the entry.
    Nothing,
    /// The start: without the entry the program would use another ensemble, or act with less care.
    Start,
    /// The start, while this context is in force.
    Context(String),
}

/// A wrong entry of a config file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Mistake {
    path: PathBuf,
    /// The line, counted from 1.
    line: usize,
    /// The mistake, and the allowed values.
    problem: String,
    hinders: Hinders,
}

impl Mistake {
    /// Returns whether the mistake prevents the start with this context in force.
    pub(in crate::cli) fn hinders_start(&self, context: Option<&str>) -> bool {
        match &self.hinders {
            Hinders::Nothing => false,
            Hinders::Start => true,
            Hinders::Context(name) => context == Some(name),
        }
    }
}

impl Mistake {
    /// Returns the sentence for a running program, which keeps the earlier value.
    pub(in crate::cli) fn as_kept(&self) -> String {
        let Self { path, line, problem, .. } = self;
        format!("the config file {} is wrong in line {line}: {problem}; the value of before stays", path.display())
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, problem, hinders } = self;
        write!(f, "the config file {} is wrong in line {line}: {problem}; ", path.display())?;
        match hinders {
            Hinders::Nothing => f.write_str("this entry is left out"),
            Hinders::Start => f.write_str("correct it, or name another file with --config"),
            Hinders::Context(name) => write!(f, "correct it: the context {name} cannot be used before"),
        }
    }
}

/// Collects the mistakes of one file.
#[derive(Debug)]
pub(in crate::cli) struct Mistakes<'t> {
    text: &'t str,
    path: &'t Path,
    found: Vec<(usize, Mistake)>,
    /// The context of the entry being read.
    context: Option<String>,
    /// The keys of the lines that are not TOML, with their contexts.
    left_out: Vec<(Option<String>, String)>,
}

impl<'t> Mistakes<'t> {
    /// Starts an empty list for the file at `path` with this text.
    pub(super) fn of(text: &'t str, path: &'t Path) -> Self {
        Self { text, path, found: Vec::new(), context: None, left_out: Vec::new() }
    }

    /// Returns the path of the file; relative paths in it start at its folder.
    pub(super) fn path(&self) -> &'t Path {
        self.path
    }

    /// Returns the text of a span of the file.
    pub(super) fn source(&self, span: Range<usize>) -> &'t str {
        self.text.get(span).unwrap_or_default()
    }

    /// Records that a line that sets this key is not TOML.
    pub(super) fn leave_out(&mut self, key: &str) {
        self.left_out.push((self.context.clone(), key.to_owned()));
    }

    /// Returns whether a line that sets this key in the current context is not TOML.
    pub(super) fn left_out_line(&self, key: &str) -> bool {
        self.left_out.iter().any(|(context, left_out)| *context == self.context && left_out == key)
    }

    /// Records a wrong entry that is ignored. The span covers the entry, or the wrong part of it.
    pub(in crate::cli) fn record(&mut self, span: Range<usize>, problem: &str) {
        self.add(span, problem, Hinders::Nothing);
    }

    /// Records a wrong entry that the program cannot ignore.
    pub(in crate::cli) fn refuse(&mut self, span: Range<usize>, problem: &str) {
        let hinders = self.context.clone().map_or(Hinders::Start, Hinders::Context);
        self.add(span, problem, hinders);
    }

    /// Sets the context of the following entries, or none.
    pub(super) fn enter(&mut self, context: Option<&str>) {
        self.context = context.map(str::to_owned);
    }

    fn add(&mut self, span: Range<usize>, problem: &str, hinders: Hinders) {
        let line = line_of(self.text, span.start);
        // Parsers break messages into lines; a sentence must stand on one line.
        let problem = problem.split_whitespace().collect::<Vec<_>>().join(" ");
        let mistake = Mistake { path: self.path.to_owned(), line, problem, hinders };
        if self.found.len() < MAX_MISTAKES || mistake.hinders != Hinders::Nothing {
            self.found.push((span.start, mistake));
        }
    }

    /// Returns all mistakes in the order of the file.
    pub(super) fn in_order(mut self) -> Vec<Mistake> {
        self.found.sort_by_key(|(at, _)| *at);
        self.found.into_iter().map(|(_, mistake)| mistake).collect()
    }
}

/// Returns the line of a byte offset, counted from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Returns the most similar name; `None` if no name is similar.
pub(super) fn nearest<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // From 0 (nothing alike) to 1 (the same).
    const ALIKE: f64 = 0.8;
    let given = given.to_lowercase().replace('_', "-");
    let likeness = |name: &str| strsim::jaro_winkler(&given, name);
    let best = names.into_iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (likeness(best) >= ALIKE).then_some(best)
}
