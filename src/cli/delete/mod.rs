//! `lockscope delete`: deletes one node, if it is still the one that was seen.

mod examine;
mod options;
mod show;

use std::io::{self, BufRead, IsTerminal, Write};

use tokio::time::timeout;
use zookeeper_client::Client;

pub(super) use options::DeleteOptions;
use show::Told;

use super::arguments::Format;
use super::settings::Settings;
use super::{CliError, Verdict};
use crate::admin::audit::{self, Subject};
use crate::admin::{self, Action, Audit, Confirmation, Confirmed, DeletePlan, Permission, Who};
use crate::examine::Examiner;
use crate::zk;
use crate::znode::{ZnodeStat, escaped};

/// The longest answer that is read from a terminal, in bytes.
const LONGEST_ANSWER: u64 = 4096;

/// Examines the node, shows the plan, asks, deletes, and tells what came of it.
pub(super) async fn run(
    settings: &Settings,
    format: Format,
    options: &DeleteOptions,
    out: &mut impl Write,
) -> Result<Verdict, CliError> {
    let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
    if !options.yes && !options.dry_run && !can_ask {
        return Err(CliError::NobodyToAsk);
    }
    let audit = if options.dry_run { None } else { Some(open_audit(settings)?) };
    let client = zk::connect(&settings.connect_options()?).await?;
    let deletion = Deletion { settings, format, options, client };
    let done = deletion.run(audit.as_ref(), out).await;
    admin::close(deletion.client).await;
    let (plan, told) = done?;
    let failed = told.as_ref().filter(|told| told.failed).map(|told| CliError::NotDeleted(told.reason.clone()));
    let action = if options.revoke { Action::Revoke } else { Action::Delete };
    if let Some(error) = told.as_ref().and_then(|told| told.audit_error.as_ref()) {
        let _ = writeln!(io::stderr(), "lockscope: the outcome is not in the audit log: {}", escaped(error));
    }
    let written = match (format, &told) {
        (Format::Json, _) => {
            let log = audit.as_ref().map(Audit::path);
            show::json(out, &options.path, action, plan.as_ref(), told.as_ref(), log)
        }
        // What failed is said on standard error.
        (Format::Table, Some(told)) if !told.failed => writeln!(out, "{}", escaped(&told.reason)),
        (Format::Table, _) => Ok(()),
    };
    // A reader who is gone does not change what was done, and the exit code tells that.
    written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })?;
    if let Some(failed) = failed {
        return Err(failed);
    }
    Ok(if told.is_none_or(|told| told.done) { Verdict::Yes } else { Verdict::No })
}

fn open_audit(settings: &Settings) -> Result<Audit, CliError> {
    let path = settings.audit_log.clone().or_else(audit::usual_path).ok_or(CliError::NoAuditPlace)?;
    Ok(Audit::open(&path)?)
}

struct Deletion<'a> {
    settings: &'a Settings,
    format: Format,
    options: &'a DeleteOptions,
    client: Client,
}

impl Deletion<'_> {
    /// The plan, if it came to that, and what came of it; nothing came of a dry run. Without an audit log it is one.
    async fn run(
        &self,
        audit: Option<&Audit>,
        out: &mut impl Write,
    ) -> Result<(Option<DeletePlan>, Option<Told>), CliError> {
        let stat = match self.expected().await? {
            Ok(stat) => stat,
            Err(told) => return Ok((None, Some(self.noted(audit, None, told).await?))),
        };
        let plan = self.plan(&stat).await?;
        if let Some(told) = changed_since(&plan, &stat) {
            return Ok((None, Some(self.noted(audit, None, told).await?)));
        }
        if self.format == Format::Table {
            show::table(out, &plan).map_err(|error| {
                CliError::NotDeleted(format!("the plan cannot be shown: {error}; nothing was deleted"))
            })?;
        }
        let Some(audit) = audit else { return Ok((Some(plan), None)) };
        let answer = match self.answer(&plan, &stat).await? {
            Ok(answer) => answer,
            Err(told) => {
                let told = self.noted(Some(audit), Some(&plan), told).await?;
                return Ok((Some(plan), Some(told)));
            }
        };
        let told = match admin::confirm(plan.clone(), &answer) {
            Err(refused) => {
                let told = Told::not_tried("not-confirmed", refused.to_string());
                self.noted(Some(audit), Some(&plan), told).await?
            }
            Ok(confirmed) => self.carry_out(confirmed, audit).await?,
        };
        Ok((Some(plan), Some(told)))
    }

    /// On a session of its own, which ends with it.
    async fn carry_out(&self, plan: Confirmed<DeletePlan>, audit: &Audit) -> Result<Told, CliError> {
        let (permission, who) = (Permission::of_subcommand(), self.who().await);
        let (observe, survey) = (self.settings.observe_options()?, self.settings.survey_options()?);
        let session = zk::connect(&self.settings.connect_options()?).await?;
        let mut examiner = Examiner::start(observe, survey, [&self.options.path]);
        let patience = self.settings.timeout;
        let executed = admin::execute(session, &permission, plan, audit, &who, patience, &mut examiner);
        let outcomes = executed.await;
        examiner.stop().await;
        Ok(Told::from(outcomes.first().ok_or(admin::NoPlan::Nothing)?))
    }

    /// The node, if it is the one that was asked for.
    async fn expected(&self) -> Result<Result<ZnodeStat, Told>, CliError> {
        let path = &self.options.path;
        let Some(stat) = examine::stat(&self.client, path, self.settings).await? else {
            return Ok(Err(Told::not_tried("gone", format!("{path} is gone: nothing was deleted"))));
        };
        let changed = |what: String| {
            Told::not_tried("changed-hands", format!("{path} is another node now: {what}; nothing was deleted"))
        };
        if self.options.czxid.is_some_and(|czxid| czxid != stat.czxid.0) {
            return Ok(Err(changed(format!("its czxid is {}", stat.czxid))));
        }
        if self.options.session.is_some_and(|owner| !owner.is(stat.ephemeral_owner)) {
            let owner = stat
                .ephemeral_owner
                .map_or_else(|| "no session owns it".to_owned(), |session| format!("session {session} owns it"));
            return Ok(Err(changed(owner)));
        }
        Ok(Ok(stat))
    }

    async fn plan(&self, stat: &ZnodeStat) -> Result<DeletePlan, CliError> {
        let plan = examine::plan(&self.client, self.settings, &self.options.path, stat).await?;
        if !self.options.revoke {
            return self.guarded(plan).await;
        }
        let revocation = plan.revocation().ok_or_else(|| {
            CliError::NotDeleted(format!(
                "{} cannot be revoked: only the holder of one of Curator's mutexes can be asked; leave --revoke out to \
                 delete it",
                self.options.path
            ))
        })?;
        self.guarded(revocation).await
    }

    /// How the node can be made sure of, and what is missing for that.
    async fn guarded(&self, plan: DeletePlan) -> Result<DeletePlan, CliError> {
        let path = &self.options.path;
        let failed = |why: &str| {
            CliError::NotDeleted(format!("what may be done with {path} cannot be found out: {why}; try again"))
        };
        match timeout(self.settings.timeout, admin::find_guards(&self.client, plan)).await {
            Ok(found) => found.map_err(|error| failed(&error.to_string())),
            Err(_) => Err(failed("the server is silent")),
        }
    }

    /// Why it is not even asked for, whatever the answer would be.
    fn obstacle(&self, plan: &DeletePlan) -> Option<Told> {
        let path = &self.options.path;
        if let Some((_, lacks)) = plan.lacks() {
            let reason = format!(
                "{path} was not deleted: the server wants {lacks}: give an identity that has it with --auth-file"
            );
            return Some(Told { failed: true, ..Told::not_tried("refused", reason) });
        }
        let node = plan.nodes().first()?;
        if plan.action() == Action::Delete && node.may_be_live_holder() && !self.options.even_if_live {
            let reason = format!(
                "{path} holds, and its owner is {}: nothing was deleted; stop its process first, or say --even-if-live",
                node.life.id()
            );
            return Some(Told::not_tried("live", reason));
        }
        if plan.action() == Action::Delete
            && plan.unguarded().is_some()
            && self.options.yes
            && !self.options.even_if_unguarded
        {
            let reason = format!(
                "{path} was not deleted: nothing that could make sure of it may be written, so that another owner could take its name \
                 before the deletion and be deleted instead: give an identity with --auth-file, or say --even-if-unguarded"
            );
            return Some(Told::not_tried("unguarded", reason));
        }
        None
    }

    /// What was answered, or why it was not even asked.
    async fn answer(&self, plan: &DeletePlan, stat: &ZnodeStat) -> Result<Result<String, Told>, CliError> {
        let (path, wanted) = (&self.options.path, plan.confirmation());
        if let Some(told) = self.obstacle(plan) {
            return Ok(Err(told));
        }
        if self.options.yes {
            return Ok(Ok(match wanted {
                Confirmation::Yes => "yes".to_owned(),
                Confirmation::SequenceNumber(number) => number,
            }));
        }
        if self.format == Format::Json {
            show::table(&mut io::stderr().lock(), plan)?;
        }
        let answer = ask(plan, &wanted).await?;
        // Whoever was asked may have thought for long: an owner who came back meanwhile needs more than this answer.
        let again = match self.plan(stat).await {
            Ok(again) => again.confirmation(),
            // Gone or changed: the execution finds that out and tells it.
            Err(CliError::NoPlan(_) | CliError::NotDeleted(_)) => return Ok(Ok(answer)),
            Err(error) => return Err(error),
        };
        if again != wanted {
            let reason = format!("{path} is not what it was when you were asked: nothing was deleted; look again");
            return Ok(Err(Told::not_tried("changed", reason)));
        }
        Ok(Ok(answer))
    }

    async fn who(&self) -> Who {
        Who::ask(&self.client, &self.settings.connect).await
    }

    /// Writes down that nothing was tried, and why.
    async fn noted(&self, audit: Option<&Audit>, plan: Option<&DeletePlan>, told: Told) -> Result<Told, CliError> {
        let Some(audit) = audit else { return Ok(told) };
        let path = self.options.path.to_string();
        let node = plan.and_then(|plan| plan.nodes().first());
        let subject = node.map_or_else(|| Subject { path, ..Subject::default() }, Subject::of);
        let action = plan.map_or(Action::Delete, DeletePlan::action);
        audit.not_tried(action, subject, &self.who().await, told.result, told.reason.clone()).await?;
        Ok(told)
    }
}

/// What is to be said when the plan is about another node than the first look found.
fn changed_since(plan: &DeletePlan, stat: &ZnodeStat) -> Option<Told> {
    let node = plan.nodes().first().filter(|node| node.czxid != stat.czxid)?;
    let reason = format!("{} changed hands just now: its czxid is {}; nothing was deleted", node.path, node.czxid);
    Some(Told::not_tried("changed-hands", reason))
}

/// Asks on the terminal. The end of the input is no answer.
async fn ask(plan: &DeletePlan, wanted: &Confirmation) -> Result<String, CliError> {
    let is_live = plan.nodes().iter().any(admin::PlannedNode::may_be_live_holder);
    let question = match wanted {
        Confirmation::Yes => "Do it? [y/N] ".to_owned(),
        Confirmation::SequenceNumber(number) => {
            let why = if is_live { "Its owner may be at work." } else { "Nothing can make sure of it." };
            format!("{why} Type {} to do it: ", escaped(number))
        }
    };
    let mut err = io::stderr().lock();
    write!(err, "{question}")?;
    err.flush()?;
    drop(err);
    // A thread of its own: a signal ends the program while it waits.
    let read = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        io::Read::take(io::stdin().lock(), LONGEST_ANSWER).read_line(&mut answer).map(|_| answer)
    });
    Ok(read.await.map_err(io::Error::other)??)
}
