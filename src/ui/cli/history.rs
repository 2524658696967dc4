//! `lockscope history`: holds and waits of a recording: when, how long, and how they ended.

use std::io::Write;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::choice::{self, Choice};

use super::duration;
use super::exit_answer::ExitAnswer;
use super::options::{Format, SharedOptions};
use super::output::{print, write_json};
use super::recorded::SourceOptions;
use super::resolved::ResolvedOptions;
use super::stores::{NamedStore, Unread};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};
use lockscope_past::record::history::{
    self, Histories, HistoriesFacts, History, HistoryFacts, HistoryQuery, ListOrder, RankBy,
};
use lockscope_past::record::tables::ContenderEnd;

/// The most contenders in a table by default.
const ROWS_FOR_PEOPLE: usize = 100;

/// The most contenders in JSON by default.
const ROWS_FOR_PROGRAMS: usize = 10_000;

/// The options of `lockscope history`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "History")]
pub(super) struct HistoryOptions {
    /// Only this lock: its path
    #[arg(value_name = "LOCK", help_heading = None::<&'static str>)]
    pub path: Option<ZnodePath>,
    /// Only this session, as in 0x10000a2b3c40001
    #[arg(long, value_name = "SESSION", value_parser = session)]
    pub session: Option<SessionId>,
    /// Only clients with this address, with or without its port, or with this name
    #[arg(long, value_name = "CLIENT")]
    pub client: Option<String>,
    /// Only those that ended so; several are separated by commas, as in expired,gone
    #[arg(long, value_name = "END[,END...]", value_delimiter = ',', value_parser = choice::parser::<ContenderEnd>())]
    pub end: Vec<ContenderEnd>,
    /// Only those that held for this long or longer, or may have, as in 30s
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub min_hold: Option<Duration>,
    /// Only those that waited for this long or longer, or may have
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub min_wait: Option<Duration>,
    /// List those first that held or waited longest, or in the order of time [default: worst in a
    /// table, time in json]
    #[arg(long, value_name = "ORDER", value_parser = choice::parser::<ListOrder>())]
    pub sort: Option<ListOrder>,
    /// Rank locks and clients: by the time that was waited or held, or by how often it was acquired
    #[arg(long, value_name = "BY")]
    pub top: Option<TopBy>,
    /// List at most so many contenders: the first of that order, or with --sort time those that
    /// came last [default: 100 in a table, 10000 in json]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// How to print [default: table on a terminal, json elsewhere]
    #[arg(long, help_heading = "Output")]
    pub format: Option<Format>,
    #[command(flatten)]
    pub recording: SourceOptions,
}

impl Choice for ContenderEnd {
    const ALL: &'static [Self] = &Self::ALL;

    fn named(self) -> (&'static str, &'static str) {
        let help = match self {
            Self::Open => "It still stands",
            Self::Gone => "Released by its client, or deleted by another: ZooKeeper does not say which",
            Self::Released => "It held, and its client is proven to have released it",
            Self::Left => "It waited, and its client is proven to have given up",
            Self::Expired => "Its session expired",
            Self::Deleted => "Another session deleted it, as a transaction log says, or a person, as an audit log says",
            Self::Closed => "Its client closed the session, as a transaction log says",
            Self::Unknown => "Nobody saw it, or can tell whether its session had expired",
        };
        (self.id(), help)
    }
}

impl Choice for ListOrder {
    const ALL: &'static [Self] = &[Self::Worst, Self::Time];

    fn named(self) -> (&'static str, &'static str) {
        let help = match self {
            Self::Worst => "Who held or waited longest comes first",
            Self::Time => "Who came first comes first",
        };
        (self.id(), help)
    }
}

/// The order of the `--top` ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TopBy {
    /// How long was waited, all waits together
    Wait,
    /// How long was held, all holds together
    Hold,
    /// How often it was acquired
    HandOvers,
    /// How often it was tried in vain: refused, or left without a hold
    InVain,
}

impl HistoryOptions {
    pub(super) fn shared(&self) -> SharedOptions {
        let mut shared = self.recording.shared();
        shared.output.format = self.format;
        shared
    }
}

/// Parses a session id in the notation in which it is shown.
fn session(text: &str) -> Result<SessionId, &'static str> {
    let digits = text.strip_prefix("0x").ok_or("write the session in hexadecimal, as in 0x10000a2b3c40001")?;
    let bits =
        u64::from_str_radix(digits, 16).map_err(|_| "write the session in hexadecimal, as in 0x10000a2b3c40001")?;
    Ok(SessionId(bits.cast_signed()))
}

/// Prints the history.
pub(super) async fn run(
    settings: &ResolvedOptions,
    options: &HistoryOptions,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    if let Some(several) = options.recording.several()? {
        return run_each(settings, options, &several, out);
    }
    let mut source = options.recording.open(settings).await?;
    let history = History::read(&mut source.store, &query(settings, options, source.from, source.to))?;
    print(out, |out| match settings.format {
        Format::Table => history::lines(out, &history, settings.utc),
        Format::Json => write_json(out, &HistoryFacts::from(&history)),
    })?;
    Ok(ExitAnswer::Yes)
}

/// Prints the histories of several recordings on one time line. Fails at the end when one of them
/// could not be read.
fn run_each(
    settings: &ResolvedOptions,
    options: &HistoryOptions,
    stores: &[NamedStore],
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let HistoryQuery { order, limit, .. } = query(settings, options, None, None);
    let (mut histories, mut unread) = (Histories::new(order, limit), Unread::default());
    for store in stores {
        let read = || -> anyhow::Result<_> {
            let ensemble = store.ensemble(settings)?;
            let mut source = options.recording.open_store(&store.path, settings)?;
            Ok((ensemble, History::read(&mut source.store, &query(settings, options, source.from, source.to))?))
        };
        match read() {
            Ok((ensemble, history)) => histories.add(ensemble, history),
            Err(error) => unread.add(store, &error),
        }
    }
    print(out, |out| match settings.format {
        Format::Table => history::write_lines(out, &histories, settings.utc),
        Format::Json => write_json(out, &HistoriesFacts::from(&histories)),
    })?;
    unread.end(stores.len())?;
    Ok(ExitAnswer::Yes)
}

/// Returns the query that the options ask for.
fn query(
    settings: &ResolvedOptions,
    options: &HistoryOptions,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> HistoryQuery {
    let (rows, order) = match settings.format {
        Format::Table => (ROWS_FOR_PEOPLE, ListOrder::Worst),
        Format::Json => (ROWS_FOR_PROGRAMS, ListOrder::Time),
    };
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    HistoryQuery {
        lock: options.path.clone(),
        session: options.session,
        client: options.client.clone(),
        from,
        to,
        ends: options.end.clone(),
        min_hold_ms: options.min_hold.map(millis),
        min_wait_ms: options.min_wait.map(millis),
        order: options.sort.unwrap_or(order),
        limit: options.limit.unwrap_or(rows),
        rank_by: options.top.map(|by| match by {
            TopBy::Wait => RankBy::Wait,
            TopBy::Hold => RankBy::Hold,
            TopBy::HandOvers => RankBy::Handovers,
            TopBy::InVain => RankBy::InVain,
        }),
    }
}
