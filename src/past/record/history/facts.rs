//! A history as JSON.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::{
    CoveredTime, History, HistoryOrder, HolderCost, PastAttempts, PastContender, PastEnsembleEvent, PastGap,
    Percentiles, RankBy, RankedClient, RankedLock, Ranking, Storm,
};
use crate::record::tables::RowSource;
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::WaiterTime;
use lockscope_model::report::{EnsembleEventFacts, SCHEMA, rfc3339};

/// The output of `lockscope history`.
#[derive(Debug, Serialize)]
pub struct HistoryFacts<'a> {
    schema: u32,
    from: Option<String>,
    to: Option<String>,
    /// The time up to which open contenders are known to be present.
    recorded_until: Option<String>,
    /// The order of holds and waits: `time` or `worst`.
    order: &'static str,
    /// The number of holds, including those that are not listed.
    hold_count: usize,
    wait_count: usize,
    /// The number of holds and waits that are not listed.
    left_out: usize,
    hold_ms: PercentileFacts,
    wait_ms: PercentileFacts,
    holds: Vec<PastContenderFacts<'a>>,
    waits: Vec<PastContenderFacts<'a>>,
    attempts: Vec<AttemptFacts<'a>>,
    storms: Vec<StormFacts<'a>>,
    /// `null` where the recording has too many gaps to tell.
    coverage: Option<Vec<CoverageFacts<'a>>>,
    gaps: Vec<GapFacts<'a>>,
    ensemble_events: Vec<EnsembleEventFacts<'a>>,
    top: Option<RankingFacts<'a>>,
}

/// Percentiles of the exactly known lengths.
#[derive(Debug, Serialize)]
pub struct PercentileFacts {
    count: usize,
    p50: Option<u64>,
    p90: Option<u64>,
    p99: Option<u64>,
    max: Option<u64>,
}

#[derive(Debug, Serialize)]
pub struct PastContenderFacts<'a> {
    lock: &'a str,
    name: Option<&'a str>,
    recipe: &'a str,
    node: &'a str,
    czxid: Option<i64>,
    mode: &'a str,
    session: Option<String>,
    client: Option<&'a str>,
    client_name: Option<&'a str>,
    data: Option<Cow<'a, str>>,
    data_encoding: Option<&'static str>,
    enqueued_at: Option<String>,
    /// `null` when only bounds are known.
    acquired_at: Option<String>,
    acquired_after: Option<String>,
    acquired_before: Option<String>,
    /// `null` while the contender is present; the end of the gap if it ended in one.
    released_at: Option<String>,
    /// The earliest possible end.
    released_after: Option<String>,
    held_at_least_ms: Option<u64>,
    held_at_most_ms: Option<u64>,
    waited_ms: Option<u64>,
    end: &'static str,
    /// The session whose request deleted the node.
    deleted_by: Option<String>,
    source: &'static str,
}

#[derive(Debug, Serialize)]
pub struct AttemptFacts<'a> {
    /// The lock that the session most likely tried.
    lock: Option<&'a str>,
    session: Option<String>,
    client_name: Option<&'a str>,
    from: Option<String>,
    to: Option<String>,
    count: u64,
}

#[derive(Debug, Serialize)]
pub struct StormFacts<'a> {
    lock: &'a str,
    name: Option<&'a str>,
    /// The beginning of ten seconds.
    from: Option<String>,
    left: u64,
    refused: u64,
}

#[derive(Debug, Serialize)]
pub struct GapFacts<'a> {
    from: Option<String>,
    to: Option<String>,
    reason: &'a str,
}

/// A time that is covered.
#[derive(Debug, Serialize)]
pub struct CoverageFacts<'a> {
    from: Option<String>,
    to: Option<String>,
    /// `watched` or `log`; `null` where an earlier version recorded.
    source: Option<&'static str>,
    /// `watches`, or of logs `numbers`, `digests`, `log` or `snapshot`; `null` where that is not known.
    proven_by: Option<&'a str>,
}

impl<'a> CoverageFacts<'a> {
    /// Returns the facts of each covered time.
    pub fn each(covered: Option<&'a [CoveredTime]>) -> Option<Vec<Self>> {
        covered.map(|covered| covered.iter().map(Self::new).collect())
    }

    fn new(CoveredTime { time, source, proven_by }: &'a CoveredTime) -> Self {
        Self {
            from: rfc3339(time.from),
            to: rfc3339(time.to),
            source: source.map(RowSource::id),
            proven_by: proven_by.as_deref(),
        }
    }
}

#[derive(Debug, Serialize)]
pub struct RankingFacts<'a> {
    by: &'static str,
    lock_count: usize,
    locks: &'a [RankedLock],
    client_count: usize,
    clients: &'a [RankedClient],
    /// The holds for which others waited longest; `null` unless they are ranked.
    holders: Option<Vec<HolderFacts<'a>>>,
    /// How much of the time is covered, and counts.
    counted_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct HolderFacts<'a> {
    waiter_seconds: WaiterTime,
    /// How many waited meanwhile.
    waiters: u64,
    #[serde(flatten)]
    hold: PastContenderFacts<'a>,
}

impl HistoryOrder {
    /// Returns the name on the command line and in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Worst => "worst",
        }
    }
}

impl RankBy {
    /// Returns the name on the command line and in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Hold => "hold",
            Self::Handovers => "hand-overs",
            Self::InVain => "in-vain",
            Self::Cost => "cost",
        }
    }
}

impl<'a> From<&'a History> for HistoryFacts<'a> {
    fn from(history: &'a History) -> Self {
        let History {
            from,
            to,
            recorded_until,
            order,
            holds,
            waits,
            hold_count,
            wait_count,
            hold_ms,
            wait_ms,
            attempts,
            storms,
            coverage,
            gaps,
            ensemble,
            ranking,
        } = history;
        Self {
            schema: SCHEMA,
            from: from.and_then(rfc3339),
            to: to.and_then(rfc3339),
            recorded_until: recorded_until.and_then(rfc3339),
            order: order.id(),
            hold_count: *hold_count,
            wait_count: *wait_count,
            left_out: (hold_count + wait_count).saturating_sub(holds.len() + waits.len()),
            hold_ms: (*hold_ms).into(),
            wait_ms: (*wait_ms).into(),
            holds: holds.iter().map(Into::into).collect(),
            waits: waits.iter().map(Into::into).collect(),
            attempts: attempts.iter().map(Into::into).collect(),
            storms: storms.iter().map(Into::into).collect(),
            coverage: CoverageFacts::each(coverage.as_deref()),
            gaps: gaps.iter().map(Into::into).collect(),
            ensemble_events: ensemble.iter().map(Into::into).collect(),
            top: ranking.as_ref().map(Into::into),
        }
    }
}

impl From<Percentiles> for PercentileFacts {
    fn from(Percentiles { count, p50, p90, p99, max }: Percentiles) -> Self {
        let known = |value| (count > 0).then_some(value);
        Self { count, p50: known(p50), p90: known(p90), p99: known(p99), max: known(max) }
    }
}

impl<'a> From<&'a PastContender> for PastContenderFacts<'a> {
    fn from(past: &'a PastContender) -> Self {
        let text = |data: &'a [u8]| match std::str::from_utf8(data) {
            Ok(text) => (Cow::Borrowed(text), "utf8"),
            Err(_) => (STANDARD.encode(data).into(), "base64"),
        };
        let (data, data_encoding) = past.data.as_deref().map(text).unzip();
        let time = |time: Option<Timestamp>| time.and_then(rfc3339);
        Self {
            lock: &past.lock,
            name: past.name.as_deref(),
            recipe: &past.recipe,
            node: &past.node,
            czxid: past.czxid,
            mode: &past.mode,
            session: past.session.map(|session| session.to_string()),
            client: past.client.as_deref(),
            client_name: past.client_name.as_deref(),
            data,
            data_encoding,
            enqueued_at: time(past.enqueued_at),
            acquired_at: time(past.acquired.and_then(lockscope_base::znode::TimeBounds::exactly)),
            acquired_after: time(past.acquired.map(|bounds| bounds.after)),
            acquired_before: time(past.acquired.map(|bounds| bounds.before)),
            released_at: time(past.ended.map(|bounds| bounds.before)),
            released_after: time(past.ended.map(|bounds| bounds.after)),
            held_at_least_ms: past.held_at_least_ms(),
            held_at_most_ms: past.held_at_most_ms(),
            waited_ms: past.waited_ms(),
            end: past.end.id(),
            deleted_by: past.deleted_by.map(|session| session.to_string()),
            source: past.source.id(),
        }
    }
}

impl<'a> From<&'a PastAttempts> for AttemptFacts<'a> {
    fn from(attempts: &'a PastAttempts) -> Self {
        let PastAttempts { lock, session, client_name, from, to, count } = attempts;
        Self {
            lock: lock.as_deref(),
            session: session.map(|session| session.to_string()),
            client_name: client_name.as_deref(),
            from: rfc3339(*from),
            to: rfc3339(*to),
            count: *count,
        }
    }
}

impl<'a> From<&'a Storm> for StormFacts<'a> {
    fn from(Storm { lock, name, from, left, refused }: &'a Storm) -> Self {
        Self { lock, name: name.as_deref(), from: rfc3339(*from), left: *left, refused: *refused }
    }
}

impl<'a> From<&'a PastGap> for GapFacts<'a> {
    fn from(gap: &'a PastGap) -> Self {
        Self { from: rfc3339(gap.from), to: gap.to.and_then(rfc3339), reason: &gap.reason }
    }
}

impl<'a> From<&'a PastEnsembleEvent> for EnsembleEventFacts<'a> {
    fn from(event: &'a PastEnsembleEvent) -> Self {
        Self::new(event.what, (event.began, event.ended))
            .with_epoch(event.epoch)
            .with_texts(event.member.as_deref(), event.detail.as_deref())
    }
}

impl<'a> From<&'a (PastContender, HolderCost)> for HolderFacts<'a> {
    fn from((past, cost): &'a (PastContender, HolderCost)) -> Self {
        Self { waiter_seconds: cost.waited, waiters: cost.waiters, hold: past.into() }
    }
}

impl<'a> From<&'a Ranking> for RankingFacts<'a> {
    fn from(ranking: &'a Ranking) -> Self {
        Self {
            by: ranking.by.id(),
            lock_count: ranking.lock_count,
            locks: &ranking.locks,
            client_count: ranking.client_count,
            clients: &ranking.clients,
            holders: ranking.counted.map(|_| ranking.holders.iter().map(Into::into).collect()),
            counted_seconds: ranking.counted.map(|counted| counted.as_secs_f64()),
        }
    }
}
