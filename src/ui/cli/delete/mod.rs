//! `lockscope delete`: deletes one node, if it is still the node that was seen, or all empty lock
//! parents below a node.

mod confirm;
mod empty_parents;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use tokio::time::timeout;
use zookeeper_client::Client;

use super::options;
use super::options::{ChangeOptions, EnsembleOptions, Format, OutputOptions, SharedOptions, WhichLocks};
use super::output::{ExitAnswer, note, print, without_reader, write_json};
use super::resolved::ResolvedOptions;
use confirm::{NO_TERMINAL, NotPlanned, ProtectedEnsemble, answer, can_ask, needs_context};
use lockscope_base::znode::{SessionId, ZnodePath, ZnodeStat, escaped};
use lockscope_live::admin::audit::Subject;
use lockscope_live::admin::examine::Examiner;
use lockscope_live::admin::{Action, Audit, Confirmed, DeletePlan, DeletionFacts, DeletionReport, NoPlan, Who};
use lockscope_live::{admin, zk};
use lockscope_model::diagnose::Unaware;

/// Examines the node or the nodes, shows the plan, asks, deletes, and prints the result.
pub async fn run(
    settings: &ResolvedOptions,
    options: &DeleteOptions,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    match &options.empty_parents {
        Some(below) => Box::pin(empty_parents::run(settings, options, below, out)).await,
        None => Box::pin(run_one(settings, options, out)).await,
    }
}

async fn run_one(
    settings: &ResolvedOptions,
    options: &DeleteOptions,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let path = options.path.as_ref().context("name the node to delete")?;
    let can_confirm = options.yes || options.dry_run || can_ask();
    // A missing node is reported without a confirmation.
    let missing = if can_confirm { None } else { Some(session_that_misses(settings, path).await?) };
    ProtectedEnsemble::check_log(settings, options).await?;
    let client = match missing {
        Some(client) => client,
        None => zk::connect(&settings.connect_options()?).await?,
    };
    let ensemble = ProtectedEnsemble::find(settings, options).await?;
    let audit = if options.dry_run { None } else { Some(ensemble.open_audit()?) };
    let deletion = DeletionRun { settings, options, path, client, can_confirm, ensemble };
    let done = deletion.run(audit.as_ref(), out).await;
    zk::close_session(deletion.client).await;
    let (plan, report) = done?;
    let action = if options.revoke { Action::Revoke } else { Action::Delete };
    if let Some(error) = report.as_ref().and_then(|report| report.audit_error.as_ref()) {
        note(&format!("the outcome is not in the audit log: {error}"));
    }
    let written = print(out, |out| match (settings.format, &report) {
        (Format::Json, _) => {
            let log = audit.as_ref().map(Audit::path);
            write_json(out, &DeletionFacts::new(path, action, plan.as_ref(), report.as_ref(), log))
        }
        // Failures are reported on standard error.
        (Format::Table, Some(report)) if !report.failed => writeln!(out, "{}", escaped(&report.reason)),
        (Format::Table, _) => Ok(()),
    });
    without_reader(written)?;
    match report {
        Some(report) if report.failed => bail!(report.reason),
        Some(report) if !report.done => Ok(ExitAnswer::No),
        _ => Ok(ExitAnswer::Yes),
    }
}

/// Returns a session that finds no such node. In every other case the deletion cannot continue
/// without a terminal, and this fails.
async fn session_that_misses(settings: &ResolvedOptions, path: &ZnodePath) -> anyhow::Result<Client> {
    let Ok(client) = zk::connect(&settings.connect_options()?).await else { bail!(NO_TERMINAL) };
    if let Ok(None) = confirm::stat(&client, path, settings).await {
        return Ok(client);
    }
    zk::close_session(client).await;
    bail!(NO_TERMINAL)
}

struct DeletionRun<'a> {
    settings: &'a ResolvedOptions,
    options: &'a DeleteOptions,
    path: &'a ZnodePath,
    client: Client,
    /// Whether someone can be asked, or no question is needed.
    can_confirm: bool,
    ensemble: ProtectedEnsemble<'a>,
}

impl DeletionRun<'_> {
    /// Returns the plan, if there is one, and the result; a dry run has none. Without an audit log
    /// the run is a dry run.
    async fn run(
        &self,
        audit: Option<&Audit>,
        out: &mut impl Write,
    ) -> anyhow::Result<(Option<DeletePlan>, Option<DeletionReport>)> {
        let mut plan = None;
        match self.attempt(audit, out, &mut plan).await {
            Ok(report) => Ok((plan, report)),
            Err(NotDeleted::NotTried(report)) => {
                self.record(audit, plan.as_ref(), &report).await?;
                Ok((plan, Some(report)))
            }
            Err(NotDeleted::Failed(error)) => Err(error),
        }
    }

    /// Runs the deletion, and keeps the plan in `shown` once it is shown.
    async fn attempt(
        &self,
        audit: Option<&Audit>,
        out: &mut impl Write,
        shown: &mut Option<DeletePlan>,
    ) -> Result<Option<DeletionReport>, NotDeleted> {
        let stat = self.expected().await?;
        if !self.can_confirm {
            return Err(anyhow!(NO_TERMINAL).into());
        }
        let plan = self.plan(&stat).await?;
        if let Some(node) = plan.nodes().first().filter(|node| node.czxid != stat.czxid) {
            let reason =
                format!("{} changed hands just now: its czxid is {}; nothing was deleted", node.path, node.czxid);
            return Err(NotDeleted::not_tried("changed-hands", reason));
        }
        if self.settings.format == Format::Table {
            confirm::plan(out, &plan)
                .and_then(|()| out.flush())
                .map_err(|error| anyhow!("the plan cannot be shown: {error}; nothing was deleted"))?;
        }
        let plan = shown.insert(plan);
        let Some(audit) = audit else { return Ok(None) };
        let answer = self.answer(plan, &stat).await?;
        let confirmed = admin::confirm(plan.clone(), &answer)
            .map_err(|refused| NotDeleted::not_tried("not-confirmed", refused.to_string()))?;
        Ok(Some(self.carry_out(confirmed, audit).await?))
    }

    /// Deletes the node, or asks its owner, on a session of its own, which ends afterwards.
    async fn carry_out(&self, plan: Confirmed<DeletePlan>, audit: &Audit) -> anyhow::Result<DeletionReport> {
        let (permission, who) = (self.ensemble.permit(&plan).await?, self.who().await);
        let (observe, survey) = (self.settings.observe_options()?, self.settings.survey_options()?);
        let session = zk::connect(&self.settings.connect_options()?).await?;
        let mut examiner = Examiner::start(observe, survey, [self.path]);
        let timeout = self.settings.timeout;
        let executed = admin::execute(session, &permission, plan, audit, &who, timeout, &mut examiner);
        let outcomes = executed.await;
        examiner.stop().await;
        Ok(DeletionReport::from(outcomes.first().ok_or(admin::NoPlan::Nothing)?))
    }

    /// Returns the node, if it is the one that was asked for.
    async fn expected(&self) -> Result<ZnodeStat, NotDeleted> {
        let path = self.path;
        let Some(stat) = confirm::stat(&self.client, path, self.settings).await? else {
            return Err(NotDeleted::not_tried("gone", format!("there is no node {path}: nothing was deleted")));
        };
        let changed = |what: String| {
            NotDeleted::not_tried("changed-hands", format!("{path} is another node now: {what}; nothing was deleted"))
        };
        if self.options.czxid.is_some_and(|czxid| czxid != stat.czxid.0) {
            return Err(changed(format!("its czxid is {}", stat.czxid)));
        }
        if self.options.session.is_some_and(|owner| !owner.is(stat.ephemeral_owner)) {
            let owner = stat
                .ephemeral_owner
                .map_or_else(|| "no session owns it".to_owned(), |session| format!("session {session} owns it"));
            return Err(changed(owner));
        }
        Ok(stat)
    }

    async fn plan(&self, stat: &ZnodeStat) -> anyhow::Result<DeletePlan> {
        let plan = confirm::plan_of(&self.client, self.settings, self.path, stat).await?;
        let plan = plan.in_production(self.ensemble.production().cloned());
        if !self.options.revoke {
            return self.guarded(plan).await;
        }
        let revocation = plan.revocation().ok_or_else(|| {
            let does_not_know = plan.nodes().iter().any(|node| node.unaware == Some(Unaware::OfNode));
            let why = if does_not_know {
                "its client does not know of this node"
            } else {
                "only the holder of one of Curator's mutexes can be asked"
            };
            NotPlanned(format!("{} cannot be revoked: {why}; leave --revoke out to delete it", self.path))
        })?;
        self.guarded(revocation).await
    }

    /// Adds to the plan how the deletion can be guarded, and what is missing for that.
    async fn guarded(&self, plan: DeletePlan) -> anyhow::Result<DeletePlan> {
        let path = self.path;
        let failed =
            |why: &str| NotPlanned(format!("what may be done with {path} cannot be found out: {why}; try again"));
        match timeout(self.settings.timeout, admin::find_guards(&self.client, plan)).await {
            Ok(found) => Ok(found.map_err(|error| failed(&error.to_string()))?),
            Err(_) => bail!(failed("the server is silent")),
        }
    }

    /// Fails without a question when no answer would lead to a deletion.
    fn refuse_what_needs_no_answer(&self, plan: &DeletePlan) -> Result<(), NotDeleted> {
        let (path, options) = (self.path, self.options);
        if let Some((_, lacks)) = plan.lacks() {
            let not_done = plan.action().not_done();
            let reason =
                format!("{path} {not_done}: the server wants {lacks}: give an identity that has it with --auth-file");
            let report = DeletionReport::not_tried("refused", reason);
            return Err(NotDeleted::NotTried(DeletionReport { failed: true, ..report }));
        }
        let deletes = plan.action() == Action::Delete;
        if let Some(node) = plan.nodes().first().filter(|node| node.may_be_live_holder())
            && deletes
            && !options.even_if_live
        {
            let what = if node.unaware == Some(Unaware::OfNode) {
                "its client does not know of this node: give --even-if-live to delete it"
            } else {
                "stop its process first, or give --even-if-live"
            };
            let reason = format!("{path} holds, and its owner is {}: nothing was deleted; {what}", node.liveness.id());
            return Err(NotDeleted::not_tried("live", reason));
        }
        if let Some(needs) = needs_context(plan, options) {
            let reason = format!("{path} was not changed: {needs}");
            return Err(NotDeleted::not_tried("production", reason));
        }
        if deletes && plan.unguarded().is_some() && options.yes && !options.even_if_unguarded {
            let reason = format!(
                "{path} was not deleted: nothing may be written that would guard the deletion, so another owner could take its name \
                 just before it and be deleted instead: give an identity with --auth-file, or --even-if-unguarded"
            );
            return Err(NotDeleted::not_tried("unguarded", reason));
        }
        Ok(())
    }

    /// Returns the user's answer, or the one that --yes stands for, if the deletion is allowed at
    /// all.
    async fn answer(&self, plan: &DeletePlan, stat: &ZnodeStat) -> Result<String, NotDeleted> {
        self.refuse_what_needs_no_answer(plan)?;
        let answer = answer(self.settings, self.options, plan, |out| confirm::plan(out, plan)).await?;
        if self.options.yes {
            return Ok(answer);
        }
        // The user may have thought for long: an owner that came back meanwhile needs a new answer.
        match self.plan(stat).await {
            Ok(again) if again.confirmation() != plan.confirmation() => {
                let path = self.path;
                let reason = format!("{path} is not what it was when you were asked: nothing was deleted; look again");
                Err(NotDeleted::not_tried("changed", reason))
            }
            // If the node is gone or changed, the execution notices and reports it.
            Ok(_) => Ok(answer),
            Err(error) if error.is::<NoPlan>() || error.is::<NotPlanned>() => Ok(answer),
            Err(error) => Err(error.into()),
        }
    }

    async fn who(&self) -> Who {
        Who::ask(&self.client, &self.settings.connect).await
    }

    /// Records in the audit log, if there is one, that no deletion was tried, and why.
    async fn record(
        &self,
        audit: Option<&Audit>,
        plan: Option<&DeletePlan>,
        report: &DeletionReport,
    ) -> anyhow::Result<()> {
        let Some(audit) = audit else { return Ok(()) };
        let path = self.path.to_string();
        let node = plan.and_then(|plan| plan.nodes().first());
        let subject = node.map_or_else(|| Subject { path, ..Subject::default() }, Subject::of);
        let action = plan.map_or(Action::Delete, DeletePlan::action);
        Ok(audit.not_tried(action, subject, &self.who().await, report.result, report.reason.clone()).await?)
    }
}

/// Why a deletion ended before it was carried out.
enum NotDeleted {
    /// The deletion was not tried, for the reason in the report.
    NotTried(DeletionReport),
    Failed(anyhow::Error),
}

impl NotDeleted {
    fn not_tried(result: &'static str, reason: String) -> Self {
        Self::NotTried(DeletionReport::not_tried(result, reason))
    }
}

impl From<anyhow::Error> for NotDeleted {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

/// The least age of empty lock parents: the servers' clock is known to within a second, so that a
/// shorter age says nothing.
const MIN_OLDER_THAN: Duration = Duration::from_secs(1);

/// The expected owner of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpectedOwner {
    /// No session.
    None,
    /// This session.
    Session(SessionId),
}

impl ExpectedOwner {
    /// Returns whether `owner` is the expected one.
    fn is(self, owner: Option<SessionId>) -> bool {
        match self {
            Self::None => owner.is_none(),
            Self::Session(session) => owner == Some(session),
        }
    }
}

/// The options of `lockscope delete`.
#[expect(clippy::struct_excessive_bools, reason = "the switches are independent of each other")]
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Deletion")]
pub(super) struct DeleteOptions {
    /// The node: a contender, or an empty lock parent
    #[arg(value_name = "PATH", help_heading = None::<&'static str>, required_unless_present = "empty_parents")]
    pub path: Option<ZnodePath>,
    /// Delete all empty lock parents below this node instead, at most 10,000 in one run
    #[arg(long, value_name = "BELOW", requires = "older_than")]
    pub empty_parents: Option<ZnodePath>,
    /// Delete only those whose last child went longer ago than this, as in 7d
    #[arg(long, value_name = "DURATION", requires = "empty_parents", value_parser = older_than)]
    pub older_than: Option<Duration>,
    /// Delete it only if this session owns it, as in 0x10000a2b3c40001; with `none`, only if no
    /// session does
    #[arg(long, value_name = "SESSION", value_parser = owner)]
    pub session: Option<ExpectedOwner>,
    /// Delete it only if this transaction created it
    #[arg(long, value_name = "ZXID")]
    pub czxid: Option<i64>,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    /// On a production ensemble, --yes also needs this: the name of its context in the config file
    #[arg(long, value_name = "CONTEXT")]
    pub production: Option<String>,
    /// Show what would be done, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Delete it even if it holds the lock and its owner is connected, or may be
    #[arg(long)]
    pub even_if_live: bool,
    /// Delete it even if the deletion cannot be guarded: a node that gets the same name at that
    /// moment may be deleted instead
    #[arg(long)]
    pub even_if_unguarded: bool,
    /// Ask the owner to release instead, as Curator does: works if the application made the lock
    /// revocable
    #[arg(long)]
    pub revoke: bool,
    /// Record intent and outcome in this file [default: $XDG_STATE_HOME/lockscope/audit.jsonl]
    #[arg(long, value_name = "FILE")]
    pub audit_log: Option<PathBuf>,
    /// Treat this node as a single-node lock although its name does not show it; can be given
    /// several times
    #[arg(long, value_name = "PATH")]
    pub lock: Option<Vec<ZnodePath>>,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub ensemble: EnsembleOptions,
}

impl DeleteOptions {
    pub(super) fn shared(&self) -> SharedOptions {
        let Self { audit_log, lock, output, ensemble, .. } = self.clone();
        SharedOptions {
            locks: WhichLocks { lock, ..WhichLocks::default() },
            changes: ChangeOptions { audit_log, ..ChangeOptions::default() },
            output,
            ensemble,
            ..SharedOptions::default()
        }
    }
}

fn older_than(text: &str) -> Result<Duration, String> {
    let age = options::parse_duration(text)?;
    if age < MIN_OLDER_THAN {
        return Err("it must be at least 1s, since the servers' clock is known to within a second".to_owned());
    }
    Ok(age)
}

fn owner(text: &str) -> Result<ExpectedOwner, String> {
    if text == "none" {
        return Ok(ExpectedOwner::None);
    }
    let digits = text.strip_prefix("0x").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let bits = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let session = bits.filter(|bits| *bits != 0).map(|bits| ExpectedOwner::Session(SessionId(bits.cast_signed())));
    session.ok_or_else(|| "write a session as 0x10000a2b3c40001, or none".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_read_as_it_is_shown() {
        assert_eq!(owner("0xffffffffffffffff"), Ok(ExpectedOwner::Session(SessionId(-1))));
        assert_eq!(owner("none"), Ok(ExpectedOwner::None));
        for text in ["", "0x", "0x0", "0x+1", "1", "0x1ffffffffffffffff", "None"] {
            assert!(owner(text).is_err(), "{text:?}");
        }
    }
}
