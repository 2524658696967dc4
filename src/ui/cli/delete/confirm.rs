//! What comes before a deletion: the node is examined, the plan is shown to people, and they are
//! asked.
//!
//! The examination finds its stat, its queue, and what the servers report about its owner. A
//! deletion needs an answer and an audit log.

use std::io;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::time::timeout;
use zookeeper_client::{Client, Error};

use super::super::config::protection_guard;
use super::super::live_table::LiveTable;
use super::super::options::Format;
use super::super::output::print;
use super::super::resolved::ResolvedOptions;
use super::DeleteOptions;
use lockscope_base::recipe::Recipe;
use lockscope_base::time::now;
use lockscope_base::znode::{ZnodePath, ZnodeStat, escaped};
use lockscope_live::admin;
use lockscope_live::admin::empties::{Empties, EmptiesReport, EmptyGroup};
use lockscope_live::admin::examine::{lock_places, survey};
use lockscope_live::admin::{
    Action, Audit, Confirmation, Confirmed, DeletePlan, NoPlan, Permission, ProductionMark, Protection, ProtectionGuard,
};
use lockscope_live::zk::stat_of;
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::{Change, ContenderState, LockTable};
use lockscope_model::text::human;

/// Why there is no plan at this moment.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotPlanned(pub String);

/// Returns the node's stat; `None` when it does not exist.
pub async fn stat(client: &Client, path: &ZnodePath, settings: &ResolvedOptions) -> anyhow::Result<Option<ZnodeStat>> {
    match timeout(settings.timeout, client.check_stat(path.as_str())).await {
        Ok(Ok(stat)) => Ok(stat.as_ref().map(stat_of)),
        Ok(Err(Error::BadArguments(why))) => bail!("{path} cannot be sent to a server: {why}; correct the path"),
        Ok(Err(error)) => bail!("{path} cannot be read: {error}; try again"),
        Err(_) => bail!("{path} cannot be read: the server is silent; try again"),
    }
}

/// Returns the plan of the deletion, with everything known about the node now.
pub async fn plan_of(
    client: &Client,
    settings: &ResolvedOptions,
    path: &ZnodePath,
    stat: &ZnodeStat,
) -> anyhow::Result<DeletePlan> {
    let table = read_and_survey(settings, path).await?;
    let table_at = TableAt::new(&table, now());
    let planned = DeletePlan::of(&table_at, std::slice::from_ref(path));
    if matches!(planned, Err(NoPlan::NotFound(_)))
        && let Some(unreadable) = unreadable(client, settings, path).await
    {
        bail!(NotPlanned(format!(
            "what {path} is cannot be seen: the READ permission on {unreadable} is missing; give an identity that has it with \
             --auth-file"
        )));
    }
    match planned {
        Err(NoPlan::NotFound(_)) if stat.ephemeral_owner.is_none() => {
            let now = table.clock().server_time(table_at.now());
            Ok(DeletePlan::of_empty_node(path, stat, now)?)
        }
        Err(NoPlan::NotFound(_)) => bail!(NotPlanned(format!(
            "{path} is no contender of a lock that is known here: if it is a single-node lock, say so with --lock {path}"
        ))),
        planned => Ok(planned?),
    }
}

/// Reads the lock's parent and asks the servers.
async fn read_and_survey(settings: &ResolvedOptions, path: &ZnodePath) -> anyhow::Result<LockTable> {
    let options = settings.survey_options()?;
    let near = ResolvedOptions { roots: lock_places(path), ..settings.clone() };
    // The servers' lists must be younger than the node to say something about its owner. Both
    // requests start now, so they are.
    let (table, view) = tokio::join!(LiveTable::read(&near), survey(&options));
    let mut table = table?;
    table.apply(Change::Surveyed { view: view.into() }, now());
    Ok(table)
}

/// Returns the node that cannot be read, among those that identify a contender: the node itself and
/// its parent.
async fn unreadable(client: &Client, settings: &ResolvedOptions, path: &ZnodePath) -> Option<ZnodePath> {
    let data = timeout(settings.timeout, client.get_data(path.as_str())).await;
    if matches!(data, Ok(Err(Error::NoAuth))) {
        return Some(path.clone());
    }
    let parent = path.parent()?;
    let listed = timeout(settings.timeout, client.list_children(parent.as_str())).await;
    matches!(listed, Ok(Err(Error::NoAuth))).then_some(parent)
}

/// Writes the plan, one fact per line.
pub fn plan(out: &mut dyn Write, plan: &DeletePlan) -> io::Result<()> {
    production(out, plan)?;
    for node in plan.nodes() {
        let verb = match plan.action() {
            Action::Delete => "Delete",
            Action::Revoke => "Ask the owner to release",
        };
        writeln!(out, "{verb}: {}", escaped(node.path.as_str()))?;
        let mut line = |name: &str, text: &str| writeln!(out, "  {name:<9} {}", escaped(text));
        let recipe = node.recipe.map_or("no known recipe", Recipe::title);
        let name = node.lock_name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
        line("lock", &format!("{}{name}   {recipe}", node.lock))?;
        if let Some(sequence) = node.sequence {
            line("number", &sequence.0.to_string())?;
        }
        line("state", node.state.map_or("nobody contends", ContenderState::id))?;
        let session = node.session.map_or_else(|| "none".to_owned(), |session| session.to_string());
        let client = node.client.as_ref().map_or_else(String::new, |client| format!("   {client}"));
        line("session", &format!("{session}{client}"))?;
        line("czxid", &format!("{}   version {}", node.czxid, node.version))?;
        line("owner", node.liveness.id())?;
        line("evidence", &node.evidence)?;
        line("then", &node.then)?;
        for risk in &node.risks {
            line("careful", risk)?;
        }
        if let (Action::Delete, Some(guard)) = (plan.action(), node.guard) {
            line("guard", &guard.sentence())?;
        }
        if let Some(lacks) = node.lacks {
            line("missing", lacks)?;
        }
    }
    if plan.revocation().is_some() {
        writeln!(out, "  Its owner can be asked to release first, with --revoke.")?;
    }
    Ok(())
}

/// Writes the plan to delete empty lock parents: how many are deleted, how many are left and why,
/// and the first few of each.
pub fn empties(out: &mut dyn Write, empties: &Empties, below: &ZnodePath, older_than: Duration) -> io::Result<()> {
    production(out, &empties.plan)?;
    let age = human::duration(older_than);
    let (chosen, below) = (empties.chosen(), escaped(below.as_str()));
    writeln!(out, "Delete: {} empty below {below}, whose last child went {age} ago or earlier", parents(chosen.count))?;
    first(out, &chosen)?;
    if let Some(node) = empties.plan.nodes().first() {
        writeln!(out, "  then      {}", node.then)?;
        for risk in &node.risks {
            writeln!(out, "  careful   {risk}")?;
        }
        if let Some(guard) = node.guard {
            writeln!(out, "  guard     {}", guard.sentence())?;
        }
    }
    for (why, group) in &empties.left {
        writeln!(out, "Left: {}: {}", human::count(group.count), why.reason())?;
        first(out, group)?;
    }
    Ok(())
}

/// Writes the result for empty lock parents.
pub fn show_emptied(out: &mut impl Write, report: &EmptiesReport) -> io::Result<()> {
    for (group, says) in report.left.values() {
        writeln!(out, "Left: {}: each {says}", human::count(group.count))?;
        first(out, group)?;
    }
    for (name, group) in
        [("Not known", &report.not_known), ("Overwritten", &report.overwritten), ("Raised", &report.raised)]
    {
        if group.count > 0 {
            writeln!(out, "{name}: {}", human::count(group.count))?;
            first(out, group)?;
        }
    }
    // Failures are reported on standard error.
    if report.failed { Ok(()) } else { writeln!(out, "{}", escaped(&report.sentence())) }
}

fn first(out: &mut dyn Write, group: &EmptyGroup) -> io::Result<()> {
    for path in &group.first {
        writeln!(out, "  {}", escaped(path.as_str()))?;
    }
    if group.count > group.first.len() { writeln!(out, "  ...") } else { Ok(()) }
}

fn parents(count: usize) -> String {
    if count == 1 {
        "1 lock parent that is".to_owned()
    } else {
        format!("{} lock parents that are", human::count(count))
    }
}

fn production(out: &mut dyn Write, plan: &DeletePlan) -> io::Result<()> {
    match plan.production() {
        Some(mark) => writeln!(out, "PRODUCTION: {}.", escaped(&mark.sentence())),
        None => Ok(()),
    }
}

/// The longest answer read from a terminal, in bytes.
const MAX_ANSWER_BYTES: u64 = 4096;

/// The error when a confirmation is needed and there is no terminal.
pub const NO_TERMINAL: &str =
    "there is no terminal to ask on: see what would be done with --dry-run, and confirm it with --yes";

/// The ensemble of a deletion, and how the contexts of the config file protect it.
pub struct ProtectedEnsemble<'a> {
    settings: &'a ResolvedOptions,
    guard: ProtectionGuard,
    protection: Protection,
}

impl<'a> ProtectedEnsemble<'a> {
    /// Finds out how the ensemble is protected.
    pub async fn find(settings: &'a ResolvedOptions, options: &DeleteOptions) -> anyhow::Result<Self> {
        let guard = protection_guard(&options.shared(), settings.context.as_deref());
        let protection = guard.find(&settings.connect_options()?).await?;
        Ok(Self { settings, guard, protection })
    }

    /// Fails if the log cannot be written, unless changes may belong into the log of another context.
    /// Asks no server.
    pub async fn check_log(settings: &ResolvedOptions, options: &DeleteOptions) -> anyhow::Result<()> {
        let guard = protection_guard(&options.shared(), settings.context.as_deref());
        if options.dry_run || guard.may_log_elsewhere().await? {
            return Ok(());
        }
        open_audit(settings.audit_log.as_deref()).map(drop)
    }

    /// Returns the context, if people depend on the ensemble, or may.
    pub fn production(&self) -> Option<&ProductionMark> {
        self.protection.production.as_ref()
    }

    /// Opens the log for changes to this ensemble.
    pub fn open_audit(&self) -> anyhow::Result<Audit> {
        let own = self.protection.audit_log.as_ref().map(|(_, path)| &**path);
        open_audit(own.or(self.settings.audit_log.as_deref()))
    }

    /// Looks at the ensemble again, right before the change that was confirmed.
    pub async fn permit(&self, plan: &Confirmed<DeletePlan>) -> anyhow::Result<Permission> {
        let (permission, _) = self.guard.permit(plan, &self.settings.connect_options()?).await?;
        Ok(permission)
    }
}

fn open_audit(path: Option<&Path>) -> anyhow::Result<Audit> {
    let path = path.context("there is no home directory to keep the audit log in: name a file with --audit-log")?;
    Ok(Audit::open(path)?)
}

/// Returns whether there is a person to ask.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns why `--yes` is not enough, if people depend on the ensemble and its context is not named.
pub fn needs_context(plan: &DeletePlan, options: &DeleteOptions) -> Option<String> {
    let mark = plan.production().filter(|_| options.yes)?;
    (options.production.as_ref() != Some(&mark.context))
        .then(|| format!("{}, so --yes alone is not enough: give --production {} too", mark.sentence(), mark.context))
}

/// Returns the answer that `--yes` stands for, or else that of the user, who sees the plan on
/// standard error if standard output has only JSON.
pub async fn answer(
    settings: &ResolvedOptions,
    options: &DeleteOptions,
    plan: &DeletePlan,
    write_plan: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<String> {
    let wanted = plan.confirmation();
    if options.yes {
        return Ok(wanted.typed().unwrap_or_else(|| "yes".to_owned()));
    }
    if settings.format == Format::Json {
        print(&mut io::stderr().lock(), |out| write_plan(out))?;
    }
    ask(plan, &wanted).await
}

/// Asks on the terminal. The end of the input counts as an empty answer.
async fn ask(plan: &DeletePlan, wanted: &Confirmation) -> anyhow::Result<String> {
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
