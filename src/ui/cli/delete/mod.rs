//! `lockscope delete`: deletes one node, if it is still the node that was seen, or all empty lock
//! parents below a node.

mod empty_parents;
mod examine;
mod options;
mod requirements;
mod show;

use std::io::{self, Write};

use anyhow::{Context, anyhow, bail};
use examine::NotPlanned;
use requirements::{NO_TERMINAL, ask, can_ask, open_audit, unnamed_context};
use tokio::time::timeout;
use zookeeper_client::Client;

pub(super) use options::DeleteOptions;

use super::exit_answer::ExitAnswer;
use super::options::Format;
use super::output::{note, print, reader_left, write_json};
use super::resolved::ResolvedOptions;
use lockscope_base::znode::{ZnodePath, ZnodeStat, escaped};
use lockscope_live::admin::audit::Subject;
use lockscope_live::admin::examine::Examiner;
use lockscope_live::admin::{
    self, Action, Audit, Confirmed, DeletePlan, DeletionFacts, DeletionReport, NoPlan, Permission, Who,
};
use lockscope_live::zk;
use lockscope_model::diagnose::Unaware;

/// Examines the node or the nodes, shows the plan, asks, deletes, and prints the result.
pub(super) async fn run(
    settings: &ResolvedOptions,
    options: &DeleteOptions,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    match &options.empty_parents {
        Some(below) => Box::pin(empty_parents::run(settings, options, below, out)).await,
        None => run_one(settings, options, out).await,
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
    let audit = if options.dry_run { None } else { Some(open_audit(settings)?) };
    let client = match missing {
        Some(client) => client,
        None => zk::connect(&settings.connect_options()?).await?,
    };
    let deletion = DeletionRun { settings, options, path, client, can_confirm };
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
    // A missing reader does not change the outcome, which the exit code reports.
    written.or_else(|error| if reader_left(&error) { Ok(()) } else { Err(error) })?;
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
    if let Ok(None) = examine::stat(&client, path, settings).await {
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
            show::plan(out, &plan)
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
        let (permission, who) = (Permission::of_subcommand(), self.who().await);
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
        let Some(stat) = examine::stat(&self.client, path, self.settings).await? else {
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
        let plan = examine::plan(&self.client, self.settings, self.path, stat).await?;
        let plan = plan.in_production(self.settings.production.as_deref());
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
            let reason = format!(
                "{path} was not deleted: the server wants {lacks}: give an identity that has it with --auth-file"
            );
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
        if let Some(context) = unnamed_context(plan, options) {
            let reason = format!(
                "{path} was not changed: people depend on this ensemble, so --yes alone is not enough: give --production \
                 {context} too"
            );
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

    /// Returns the user's answer, or the one that --yes stands for.
    async fn answer(&self, plan: &DeletePlan, stat: &ZnodeStat) -> Result<String, NotDeleted> {
        self.refuse_what_needs_no_answer(plan)?;
        let wanted = plan.confirmation();
        if self.options.yes {
            return Ok(wanted.typed().unwrap_or_else(|| "yes".to_owned()));
        }
        if self.settings.format == Format::Json {
            print(&mut io::stderr().lock(), |out| show::plan(out, plan))?;
        }
        let answer = ask(plan, &wanted).await?;
        // The user may have thought for long: an owner that came back meanwhile needs a new answer.
        match self.plan(stat).await {
            Ok(again) if again.confirmation() != wanted => {
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
