//! What a deletion needs before it begins: an answer, and an audit log.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::Context;

use super::super::resolved::ResolvedOptions;
use super::options::DeleteOptions;
use lockscope_base::znode::escaped;
use lockscope_live::admin::{self, Audit, Confirmation, DeletePlan};

/// The longest answer read from a terminal, in bytes.
const MAX_ANSWER_BYTES: u64 = 4096;

/// The error when a confirmation is needed and there is no terminal.
pub(super) const NO_TERMINAL: &str =
    "there is no terminal to ask on: see what would be done with --dry-run, and confirm it with --yes";

pub(super) fn open_audit(settings: &ResolvedOptions) -> anyhow::Result<Audit> {
    let path = settings.audit_log.as_deref();
    let path = path.context("there is no home directory to keep the audit log in: name a file with --audit-log")?;
    Ok(Audit::open(path)?)
}

/// Returns whether there is a person to ask.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns the context of an ensemble that people depend on, if `--yes` was given without its name.
pub(super) fn unnamed_context<'a>(plan: &'a DeletePlan, options: &DeleteOptions) -> Option<&'a str> {
    let context = plan.production().filter(|_| options.yes)?;
    (options.production.as_deref() != Some(context)).then_some(context)
}

/// Asks on the terminal. The end of the input counts as an empty answer.
pub(super) async fn ask(plan: &DeletePlan, wanted: &Confirmation) -> anyhow::Result<String> {
    let is_live = plan.nodes().iter().any(admin::PlannedNode::may_be_live_holder);
    let question = match wanted {
        Confirmation::Yes => "Do it? [y/N] ".to_owned(),
        Confirmation::SequenceNumber(number) => {
            let why = if is_live { "Its owner may be at work." } else { "The deletion cannot be guarded." };
            format!("{why} Type {} to do it: ", escaped(number))
        }
        Confirmation::NodeCount(count) => format!("Type {count} to delete so many: "),
        Confirmation::Context { .. } => {
            format!("People depend on this ensemble. Type {} to do it: ", escaped(&wanted.typed().unwrap_or_default()))
        }
    };
    let mut err = io::stderr().lock();
    write!(err, "{question}")?;
    err.flush()?;
    drop(err);
    // A thread of its own, so that a signal can end the program while it waits.
    let read = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        io::Read::take(io::stdin().lock(), MAX_ANSWER_BYTES).read_line(&mut answer).map(|_| answer)
    });
    Ok(read.await.map_err(io::Error::other)??)
}
