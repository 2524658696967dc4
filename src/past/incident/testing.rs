//! Incidents made by hand, for tests.

use crate::record::history::{PastContender, PastEnsembleEvent, PastFinding, PastGap, PastWindow};
use crate::record::tables::RecordedDeletion;
use crate::record::tables::{ContenderEnd, RowSource};
use lockscope_base::znode::{SessionId, TimeBounds, Timestamp};
use lockscope_model::ensemble::EnsembleEventKind;

/// The beginning of the incidents: 2024-05-01 14:41:07 UTC.
pub(super) const BEGAN: i64 = 1_714_574_467_000;

pub(super) fn at(ms: i64) -> Timestamp {
    Timestamp(BEGAN + ms)
}

pub(super) fn contender(node: &str, enqueued_at: Timestamp) -> PastContender {
    PastContender {
        id: 0,
        lock: "/locks/billing".to_owned(),
        name: None,
        recipe: "curator-mutex".to_owned(),
        node: node.to_owned(),
        czxid: Some(7),
        mode: "exclusive".to_owned(),
        session: Some(SessionId(0x1b)),
        client: Some("10.0.4.17:51586".to_owned()),
        client_name: Some("worker-3".to_owned()),
        data: None,
        enqueued_at: Some(enqueued_at),
        acquired: None,
        ended: None,
        end: ContenderEnd::Open,
        deleted_by: None,
        source: RowSource::Watched,
        known_until: at(60_000),
    }
}

/// Returns a contender that only waits; its times start at zero.
pub(super) fn waiter(node: &str, from: i64, to: i64) -> PastContender {
    let ended = Some(TimeBounds::exact(Timestamp(to)));
    PastContender { ended, end: ContenderEnd::Gone, known_until: Timestamp(to), ..contender(node, Timestamp(from)) }
}

/// Returns a contender that came, acquired and ended at these times of an incident.
pub(super) fn holder(node: &str, times: [i64; 3], end: ContenderEnd) -> PastContender {
    let ended = (end != ContenderEnd::Open).then_some(TimeBounds::exact(at(times[2])));
    let known_until = if end == ContenderEnd::Open { at(60_000) } else { at(times[2]) };
    PastContender {
        acquired: Some(TimeBounds::exact(at(times[1]))),
        ended,
        end,
        known_until,
        ..contender(node, at(times[0]))
    }
}

/// Returns a reader with the times of a [`holder`].
pub(super) fn reader(node: &str, times: [i64; 3]) -> PastContender {
    PastContender { mode: "read".to_owned(), ..holder(node, times, ContenderEnd::Gone) }
}

/// Returns the same contender at another lock.
pub(super) fn at_lock(lock: &str, past: PastContender) -> PastContender {
    PastContender { lock: lock.to_owned(), ..past }
}

/// Returns a warning about the node `lock-1` that stood between two times of an incident.
pub(super) fn finding(code: &str, from: i64, to: i64) -> PastFinding {
    PastFinding {
        lock: "/locks/billing".to_owned(),
        name: None,
        node: Some("lock-1".to_owned()),
        code: code.to_owned(),
        severity: "warning".to_owned(),
        raised_at: at(from),
        cleared_at: Some(at(to)),
        summary: "stuck 1m01s, as it was when it was found".to_owned(),
        remedy: "wait".to_owned(),
        muted: None,
    }
}

/// Returns an event of the ensemble between two times of an incident.
pub(super) fn ensemble_event(what: EnsembleEventKind, from: i64, to: i64) -> PastEnsembleEvent {
    PastEnsembleEvent {
        what,
        member: None,
        epoch: None,
        began: TimeBounds::exact(at(from)),
        ended: Some(TimeBounds::exact(at(to))),
        detail: None,
    }
}

/// Returns a minute without findings, in which these contend.
pub(super) fn contended(contenders: impl IntoIterator<Item = PastContender>) -> PastWindow {
    let contenders = (1..).zip(contenders).map(|(id, past)| PastContender { id, ..past }).collect();
    PastWindow { contenders, gaps: Vec::new(), findings: Vec::new(), deletions: Vec::new(), ..window() }
}

/// Returns a minute in which a holder's session expires while two others wait. The second of them
/// then holds briefly.
pub(super) fn window() -> PastWindow {
    let mut second = holder("lock-2", [5_000, 32_000, 33_000], ContenderEnd::Gone);
    (second.client, second.client_name) = (Some("10.0.4.18:51000".to_owned()), None);
    let third = holder("lock-3", [10_000, 33_000, 0], ContenderEnd::Open);
    let contenders = vec![holder("lock-1", [1_000, 1_000, 32_000], ContenderEnd::Expired), second, third];
    let contenders = (1..).zip(contenders).map(|(id, past)| PastContender { id, ..past }).collect();
    PastWindow {
        from: at(0),
        to: at(60_000),
        known_until: at(60_000),
        contenders,
        left_out: 0,
        attempts: Vec::new(),
        is_cut: false,
        coverage: None,
        gaps: vec![PastGap { from: at(45_000), to: Some(at(50_000)), reason: "the network is down".to_owned() }],
        ensemble: Vec::new(),
        findings: vec![PastFinding {
            summary: "the holder is gone".to_owned(),
            ..finding("expiring-holder", 12_000, 32_500)
        }],
        deletions: vec![RecordedDeletion {
            at: at(40_000),
            lock: "/locks/billing".to_owned(),
            path: "/locks/billing/lock-9".to_owned(),
            czxid: None,
            by: Some("anna".to_owned()),
            result: "deleted".to_owned(),
            reason: None,
        }],
    }
}

/// Returns the same window, with names that contain markup, characters that reverse text, and
/// characters forbidden in XML.
pub(super) fn hostile() -> PastWindow {
    let bad = |text: &mut String| {
        text.push_str("<script>alert(1)</script>\" onload=\"x\u{202e}\u{0}\u{1b}]0;\u{ffff}&<img src=x>");
    };
    let mut window = window();
    for past in &mut window.contenders {
        bad(&mut past.lock);
        bad(&mut past.node);
        past.client_name.iter_mut().for_each(bad);
        past.client.iter_mut().for_each(bad);
    }
    for finding in &mut window.findings {
        bad(&mut finding.lock);
        bad(&mut finding.summary);
        finding.node.iter_mut().for_each(bad);
    }
    for deletion in &mut window.deletions {
        bad(&mut deletion.path);
        deletion.by.iter_mut().for_each(bad);
    }
    window.gaps.iter_mut().for_each(|gap| bad(&mut gap.reason));
    window
}

/// Returns an hour in which `holds` contenders hold one after the other, each while another waits.
pub(super) fn busy(holds: i64, locks: i64) -> PastWindow {
    let step = 3_600_000 / holds.max(1);
    let contenders = (0..holds).map(|id| {
        let from = id * step;
        let past = holder(
            &format!("_c_00000000-0000-4000-8000-000000000000-lock-{id:010}"),
            [from - step, from, from + step],
            ContenderEnd::Gone,
        );
        PastContender { id, lock: format!("/locks/lock-{}", id % locks), ..past }
    });
    PastWindow {
        to: at(3_600_000),
        known_until: at(3_600_000),
        contenders: contenders.collect(),
        gaps: Vec::new(),
        findings: Vec::new(),
        deletions: Vec::new(),
        ..window()
    }
}
