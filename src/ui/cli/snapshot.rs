//! `lockscope snapshot` and `lockscope members`: read once, and print. The first prints every lock,
//! the second compares the members of the ensemble.

use std::io::Write;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, ensure};
use clap::Args;
use futures::StreamExt;
use serde::Serialize;
use tokio::time::{Instant, timeout};

use super::live_table::LiveTable;
use super::options::{Format, ReadOptions};
use super::output::{ExitAnswer, print, reader_left, write_json, write_json_of};
use super::past::{MomentOptions, PastMoment, Stores, Unread};
use super::resolved::ResolvedOptions;
use super::several::{Failures, InContext};
use super::table_event::some_root_is_readable;
use super::{past, several};
use lockscope_base::znode::Timestamp;
use lockscope_live::zk::compare_members;
use lockscope_live::zk::survey::{SurveyOptions, ViewBy, survey_once_until};
use lockscope_model::diagnose::Diagnosis;
use lockscope_model::members::ComparedNodes;
use lockscope_model::queue::LockTable;
use lockscope_model::report::{MembersFacts, ReportedEnsemble, Snapshot, lines};
use lockscope_model::server_view::{MemberView, ServerView};
use lockscope_model::text::human::date_and_time;
use lockscope_past::record::PastTime;
use lockscope_past::record::history::CoverageFacts;

/// The options of `lockscope snapshot`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct SnapshotOptions {
    #[command(flatten)]
    pub past: MomentOptions,
    #[command(flatten)]
    pub read: ReadOptions,
}

/// Prints the known state at a moment of a recording, or of several.
pub fn run_past(settings: &ResolvedOptions, past: &MomentOptions, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    let several = match Stores::find(&past.store)? {
        Stores::One(store) => return print_past(settings, &store, past.at, out).map(|()| ExitAnswer::Yes),
        Stores::Several(several) => several,
    };
    let mut unread = Unread::default();
    for store in &several {
        match print_past(&store.settings(settings), &store.path, past.at, out) {
            Ok(()) => {}
            Err(error) if reader_left(&error) => return Err(error),
            Err(error) => unread.add(store, &error),
        }
    }
    unread.end(several.len())?;
    Ok(ExitAnswer::Yes)
}

/// The locks at a moment of a recording, and what covers it.
#[derive(Serialize)]
struct PastSnapshot<'a> {
    #[serde(flatten)]
    snapshot: Snapshot<'a>,
    /// Empty where the moment lies in a gap; `null` where there are too many gaps to tell.
    coverage: Option<Vec<CoverageFacts<'a>>>,
}

fn print_past(
    settings: &ResolvedOptions,
    store: &Path,
    at: Option<PastTime>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let PastMoment { at, state, ensemble, coverage, .. } = past::moment(store, at, settings.utc)?;
    // Among several, an ensemble that was not seen must not look like one without locks.
    ensure!(
        settings.label().is_none() || state.table.is_live(),
        "nothing is known of the locks at {}: there was no connection; name another time",
        date_and_time(at, settings.utc)
    );
    print(out, |out| match settings.format {
        Format::Json => {
            let snapshot = Snapshot::new(&ensemble, &state.table, at).with_diagnosis(&state.diagnosis);
            let coverage = CoverageFacts::each(coverage.as_deref());
            write_json_of(out, settings.label(), &PastSnapshot { snapshot, coverage })
        }
        Format::Table => {
            several::write_heading(out, settings.label(), &ensemble)?;
            lines::locks(out, &state.table, &state.diagnosis, &[], at)
        }
    })
}

/// The locks of one ensemble, as they were read.
pub(super) struct ReadLocks {
    pub settings: ResolvedOptions,
    ensemble: ReportedEnsemble,
    pub locks: LockTable,
    diagnosis: Diagnosis,
    pub at: Timestamp,
}

/// Reads everything, prints it and ends the session. An unreadable root is named in the output; the
/// command fails only when no root can be read.
pub async fn run(settings: ResolvedOptions, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    let taken = take(settings).await?;
    taken.print(out)?;
    // The program ends: freeing tens of thousands of contenders would only delay that.
    std::mem::forget(taken);
    Ok(ExitAnswer::Yes)
}

/// Prints the locks of each context. Fails at the end when one of them could not be reached.
pub async fn run_each(contexts: Vec<InContext>, format: Format, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    let mut failures = Failures::of(contexts.len());
    let mut taken = pin!(several::results(contexts, take));
    while let Some((name, taken)) = taken.next().await {
        match taken {
            Ok(taken) => taken.print(out)?,
            Err(error) => failures.add(&name, &error, format, out)?,
        }
    }
    failures.end()?;
    Ok(ExitAnswer::Yes)
}

/// Reads everything, and ends the session.
pub(super) async fn take(settings: ResolvedOptions) -> anyhow::Result<ReadLocks> {
    let options = settings.survey_options()?;
    let mut live = LiveTable::start(&settings)?;
    let asking = tokio::spawn(survey(options, live.survey_until()));
    let at = match live.read_once().await {
        Ok(at) => at,
        Err(error) => {
            live.stop().await;
            return Err(error);
        }
    };
    // Bounded by the time limit of each server, and by that of the command.
    if let Ok(Some(view)) = asking.await {
        live.apply_view(&Arc::new(view));
    }
    let ensemble = live.ensemble();
    let (locks, diagnosis, _) = live.stop().await;
    some_root_is_readable(&locks, &settings.roots)?;
    Ok(ReadLocks { settings, ensemble, locks, diagnosis, at })
}

impl ReadLocks {
    fn print(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let Self { settings, ensemble, locks, diagnosis, at } = self;
        print(out, |out| match settings.format {
            Format::Json => {
                let snapshot = Snapshot::new(ensemble, locks, *at).with_diagnosis(diagnosis);
                write_json_of(out, settings.label(), &snapshot)
            }
            Format::Table => {
                several::write_heading(out, settings.label(), ensemble)?;
                lines::locks(out, locks, diagnosis, &settings.roots, *at)
            }
        })
    }
}

/// Asks the servers about themselves; `None` when they are not to be asked, or did not answer.
async fn survey(options: SurveyOptions, until: Option<Instant>) -> Option<ServerView> {
    match options.by {
        ViewBy::Off => None,
        _ => survey_once_until(&options, true, until).await.ok(),
    }
}

/// How long to wait for a session after the servers have said that none of them serves clients.
const MAX_WAIT_FOR_ELECTION: Duration = Duration::from_secs(2);

/// The options of `lockscope members`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct MembersOptions {
    /// How many requests a second each member gets for the comparison
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub pace: u32,
    #[command(flatten)]
    pub read: ReadOptions,
}

/// Asks all members, compares what each has, prints it and ends the sessions. Where the nodes cannot
/// be read, prints what the servers said, and why the nodes were not compared.
pub async fn run_members(
    settings: &ResolvedOptions,
    options: &MembersOptions,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let survey = settings.survey_options()?;
    let mut live = LiveTable::start(settings)?;
    let until = live.survey_until();
    let mut asking = tokio::spawn(async move { survey_once_until(&survey, false, until).await });
    let (view, read) = {
        let mut reading = pin!(live.read_once());
        tokio::select! {
            read = &mut reading => (asking.await??, read),
            view = &mut asking => {
                let view = view??;
                let patience = if view.is_served() { Duration::MAX } else { MAX_WAIT_FOR_ELECTION };
                let read = timeout(patience, reading).await;
                (view, read.unwrap_or_else(|_| Err(anyhow!("no server serves clients"))))
            }
        }
    };
    let (table, ..) = live.stop().await;
    let facts = MembersFacts::new(&view);
    let facts = match read {
        Ok(_) => {
            let nodes = ComparedNodes::of(&table, &view, &settings.roots);
            facts.with_comparison(&compare_members(&settings.connect_options()?, &nodes, options.pace).await?)
        }
        Err(error) if view.members.iter().any(MemberView::answers) => facts.without_comparison(&format!("{error:#}")),
        Err(error) => return Err(error),
    };
    let answer = if facts.agree() { ExitAnswer::Yes } else { ExitAnswer::No };
    print(out, |out| match settings.format {
        Format::Json => write_json(out, &facts),
        Format::Table => facts.write_table(out),
    })?;
    Ok(answer)
}
