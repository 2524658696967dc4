//! `lockscope delete --empty-parents`: deletes the lock parents that have been empty for long.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use tokio_util::sync::CancellationToken;
use zookeeper_client::Client;

use super::super::live_table::LiveTable;
use super::super::options::Format;
use super::super::output::{ExitAnswer, note, on_signal, print, without_reader, write_json};
use super::super::resolved::ResolvedOptions;
use super::confirm::{NO_TERMINAL, ProtectedEnsemble, answer, can_ask, needs_context};
use super::{DeleteOptions, confirm};
use lockscope_base::time::now;
use lockscope_base::znode::ZnodePath;
use lockscope_live::admin::audit::Subject;
use lockscope_live::admin::empties::{Empties, EmptiesFacts, EmptiesReport, EmptiesSearch, EmptyExaminer};
use lockscope_live::admin::{Action, Audit, Confirmed, DeletePlan, Who};
use lockscope_live::zk::survey::survey_once;
use lockscope_live::{admin, zk};
use lockscope_model::queue::{Change, LockTable};

/// Finds the nodes, shows the plan, asks, deletes one after the other, and prints the result.
pub async fn run(
    settings: &ResolvedOptions,
    options: &DeleteOptions,
    below: &ZnodePath,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    if let Some(why) = refusal(options, below) {
        bail!(why);
    }
    if !(options.yes || options.dry_run || can_ask()) {
        bail!(NO_TERMINAL);
    }
    let older_than = options.older_than.context("give --older-than with --empty-parents")?;
    ProtectedEnsemble::check_log(settings, options).await?;
    let client = zk::connect(&settings.connect_options()?).await?;
    let ensemble = ProtectedEnsemble::find(settings, options).await?;
    let audit = if options.dry_run { None } else { Some(ensemble.open_audit()?) };
    let run = EmptiesRun { settings, options, below, older_than, client, ensemble };
    let done = run.run(audit.as_ref(), out).await;
    zk::close_session(run.client).await;
    done
}

/// Returns why the options contradict each other.
fn refusal(options: &DeleteOptions, below: &ZnodePath) -> Option<String> {
    let why = [
        (options.path.is_some(), "PATH", "it finds the nodes itself"),
        (options.revoke, "--revoke", "an empty lock parent has no owner to ask"),
        (options.session.is_some(), "--session", "no session owns a lock parent"),
        (options.czxid.is_some(), "--czxid", "that is the number of one node"),
        (options.even_if_live, "--even-if-live", "nobody holds an empty lock"),
        (options.even_if_unguarded, "--even-if-unguarded", "nobody can answer for so many nodes"),
    ];
    if let Some((_, option, why)) = why.into_iter().find(|(is_given, ..)| *is_given) {
        return Some(format!("{option} does not go with --empty-parents: {why}"));
    }
    let reason = "applications keep other things there than locks: name the node that your locks are below";
    below.is_root().then(|| format!("--empty-parents / is too much: {reason}"))
}

struct EmptiesRun<'a> {
    settings: &'a ResolvedOptions,
    options: &'a DeleteOptions,
    below: &'a ZnodePath,
    older_than: Duration,
    client: Client,
    ensemble: ProtectedEnsemble<'a>,
}

impl EmptiesRun<'_> {
    /// Without an audit log the run is a dry run.
    async fn run(&self, audit: Option<&Audit>, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
        if confirm::stat(&self.client, self.below, self.settings).await?.is_none() {
            let why = format!("there is no node {}", self.below);
            return self.not_tried("gone", why, None, audit, out).await;
        }
        let empties = self.find().await?;
        if self.settings.format == Format::Table {
            print(out, |out| confirm::empties(out, &empties, self.below, self.older_than))
                .map_err(|error| anyhow!("the plan cannot be shown: {error}; nothing was deleted"))?;
        }
        if empties.plan.nodes().is_empty() {
            let why = format!("no empty lock parent below {} may be deleted", self.below);
            return self.not_tried("nothing", why, Some(&empties), audit, out).await;
        }
        let Some(audit) = audit else {
            self.print(Some(&empties), None, None, out)?;
            return Ok(ExitAnswer::Yes);
        };
        if let Some(why) = needs_context(&empties.plan, self.options) {
            return self.not_tried("production", why, Some(&empties), Some(audit), out).await;
        }
        let write = |out: &mut dyn Write| confirm::empties(out, &empties, self.below, self.older_than);
        let answer = answer(self.settings, self.options, &empties.plan, write).await?;
        match admin::confirm(empties.plan.clone(), &answer) {
            Ok(confirmed) => on_signal(async |stop| self.carry_out(&empties, confirmed, audit, &stop, out).await).await,
            Err(refused) => {
                self.not_tried("not-confirmed", refused.to_string(), Some(&empties), Some(audit), out).await
            }
        }
    }

    /// Reads everything below the node and asks the servers for their watches, then looks at each
    /// node without contenders.
    async fn find(&self) -> anyhow::Result<Empties> {
        let table = self.read().await?;
        let (below, older_than, patience) = (self.below, self.older_than, self.settings.timeout);
        let empties = EmptiesSearch { table: &table, below, older_than, patience }.run(&self.client).await?;
        let plan = empties.plan.in_production(self.ensemble.production().cloned());
        Ok(Empties { plan, ..empties })
    }

    async fn read(&self) -> anyhow::Result<LockTable> {
        let near = ResolvedOptions { roots: vec![self.below.clone()], ..self.settings.clone() };
        let mut table = LiveTable::read(&near).await?;
        // Afterwards, so that the observer's own watches are not in the servers' lists.
        let view = survey_once(&self.settings.survey_options()?, true).await?;
        table.apply(Change::Surveyed { view: view.into() }, now());
        Ok(table)
    }

    /// Deletes the nodes on a session of its own, which ends afterwards.
    async fn carry_out(
        &self,
        empties: &Empties,
        confirmed: Confirmed<DeletePlan>,
        audit: &Audit,
        stop: &CancellationToken,
        out: &mut impl Write,
    ) -> anyhow::Result<ExitAnswer> {
        let (permission, who) = (self.ensemble.permit(&confirmed).await?, self.who().await);
        let session = zk::connect(&self.settings.connect_options()?).await?;
        let patience = self.settings.timeout;
        let mut examiner = EmptyExaminer::new(&self.client, patience, stop);
        let outcomes = admin::execute(session, &permission, confirmed, audit, &who, patience, &mut examiner).await;
        let report = EmptiesReport::of(&outcomes, empties.plan.nodes().len(), stop.is_cancelled());
        if let Some(error) = &report.audit_error {
            note(&format!("an outcome is not in the audit log: {error}"));
        }
        self.print(Some(empties), Some(&report), Some(audit), out)?;
        if report.failed {
            bail!(report.sentence());
        }
        Ok(if report.is_done() { ExitAnswer::Yes } else { ExitAnswer::No })
    }

    /// Reports that nothing was tried, and records it in the audit log if there is one.
    async fn not_tried(
        &self,
        result: &'static str,
        why: String,
        empties: Option<&Empties>,
        audit: Option<&Audit>,
        out: &mut impl Write,
    ) -> anyhow::Result<ExitAnswer> {
        let planned = empties.map_or(0, |empties| empties.plan.nodes().len());
        let report = EmptiesReport::not_tried(result, why, planned);
        if let Some(audit) = audit {
            let subject = Subject { path: self.below.to_string(), ..Subject::default() };
            audit.not_tried(Action::Delete, subject, &self.who().await, result, report.sentence()).await?;
        }
        self.print(empties, Some(&report), audit, out)?;
        Ok(ExitAnswer::No)
    }

    fn print(
        &self,
        empties: Option<&Empties>,
        report: Option<&EmptiesReport>,
        audit: Option<&Audit>,
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let written = print(out, |out| match (self.settings.format, report) {
            (Format::Json, _) => {
                let log = audit.map(Audit::path);
                write_json(out, &EmptiesFacts::new(self.below, self.older_than, empties, report, log))
            }
            (Format::Table, Some(report)) => confirm::show_emptied(out, report),
            (Format::Table, None) => Ok(()),
        });
        without_reader(written)
    }

    async fn who(&self) -> Who {
        Who::ask(&self.client, &self.settings.connect).await
    }
}
