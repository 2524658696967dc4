//! Tests of what is told: causes, their order and their words.

use proptest::prelude::*;

use crate::incident::causes::causes;
use crate::incident::paragraphs;
use crate::incident::testing::{at, at_lock, contended, ensemble_event, finding, holder, reader, waiter, window};
use crate::incident::{Incident, html};
use crate::record::history::{PastAttempts, PastContender, PastEnsembleEvent, PastFinding, PastGap, PastWindow};
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::{SessionId, TimeBounds, TimeRange, Timestamp};
use lockscope_model::ensemble::{BEFORE_THE_FIRST_LOOK, EnsembleEventKind};

fn told(window: &PastWindow) -> Vec<String> {
    let told = paragraphs::told(&Incident::new(window), true);
    told.paragraphs.into_iter().map(|paragraph| paragraph.text).chain(told.calm).collect()
}

fn kinds(window: &PastWindow) -> Vec<&'static str> {
    let told = paragraphs::told(&Incident::new(window), true);
    told.paragraphs.iter().map(|paragraph| paragraph.kind).collect()
}

/// Returns a holder of the incident's lock whose client releases it after 50 s, and one that waits
/// for 40 s of them.
fn kept() -> [PastContender; 2] {
    [
        holder("lock-1", [0, 0, 50_000], ContenderEnd::Released),
        holder("lock-2", [10_000, 50_000, 50_100], ContenderEnd::Gone),
    ]
}

#[test]
fn a_paragraph_names_lock_holder_length_cost_cause_and_end() {
    insta::assert_snapshot!(told(&window()).join("\n"), @r"
    /locks/billing stood for 27s from 14:41:12.000 on, 2 waited 49s in all: worker-3 (10.0.4.17:51586) held it from 14:41:08.000 until its session expired at 14:41:39.000 (expiring-holder: its client had no connection).
    /locks/billing stood for 1.0s from 14:41:39.000 on, 1 waited 1.0s: 10.0.4.18:51000 held it from 14:41:39.000 until 14:41:40.000, when its node was gone: released, or deleted by another; nothing was found that says why.
    ");
    let mut open = window();
    open.findings.clear();
    open.contenders.truncate(2);
    open.contenders[0] = holder("lock-1", [-9_000, -5_000, 0], ContenderEnd::Open);
    open.contenders[1].acquired = None;
    (open.contenders[1].ended, open.contenders[1].end) = (None, ContenderEnd::Open);
    insta::assert_snapshot!(told(&open).join("\n"), @"/locks/billing stood for 28s from 14:41:12.000 on, 1 waited 28s: worker-3 (10.0.4.17:51586) has held it since 2024-05-01 14:41:02 UTC, and still held it when the recording ended; nothing was found that says why.");
    let mut unseen = window();
    unseen.findings.clear();
    unseen.contenders[0].end = ContenderEnd::Unknown;
    unseen.contenders[0].ended = Some(TimeBounds::between(at(20_000), at(32_000)));
    insta::assert_snapshot!(told(&unseen).join("\n"), @r"
    /locks/billing stood for 27s from 14:41:12.000 on, 2 waited 49s in all: worker-3 (10.0.4.17:51586) held it from 14:41:08.000 until a time between 14:41:27.000 and 14:41:39.000 that nobody saw; nothing was found that says why.
    /locks/billing stood for 1.0s from 14:41:39.000 on, 1 waited 1.0s: 10.0.4.18:51000 held it from 14:41:39.000 until 14:41:40.000, when its node was gone: released, or deleted by another; nothing was found that says why.
    ");
    unseen.contenders[0].ended = Some(TimeBounds::exact(at(32_000)));
    let told_of_unsure = &told(&unseen)[0];
    assert!(
        told_of_unsure.contains("until 14:41:39.000, when its node was gone: released, deleted by another, or expired"),
        "{told_of_unsure}"
    );
    let mut released = window();
    released.contenders[1].end = ContenderEnd::Released;
    assert!(told(&released)[1].contains("until it released it at 14:41:40.000"), "{:?}", told(&released));
    let mut deleted = window();
    deleted.findings.clear();
    deleted.contenders[0].end = ContenderEnd::Deleted;
    assert!(told(&deleted)[0].contains("until its node was deleted by hand at 14:41:39.000"), "{:?}", told(&deleted));
}

#[test]
fn a_lock_that_others_tried_in_vain_stood() {
    let mut window = window();
    window.findings.clear();
    window.contenders.truncate(1);
    let tried = |session, from, to, count| PastAttempts {
        lock: Some("/locks/billing".to_owned()),
        session: Some(SessionId(session)),
        client_name: None,
        from: at(from),
        to: at(to),
        count,
    };
    // The second session gives up, and tries once more when the lock is free.
    window.attempts = vec![
        tried(7, 2_000, 9_000, 8),
        tried(8, 3_000, 4_000, 2),
        tried(7, 10_000, 19_000, 10),
        tried(8, 50_000, 50_000, 1),
    ];
    let told = told(&window).join("\n");
    let begins =
        "/locks/billing stood for 17s from 14:41:09.000 on, 2 waited or tried 20 times in vain, 18s in all: worker-3";
    assert!(told.starts_with(begins), "{told}");
    let page = html(&Incident::new(&window), true);
    assert!(page.contains("tried-in-vain") && page.contains("session 0x7") && page.contains("10 times"), "{page}");
    window.contenders.clear();
    assert_eq!(kinds(&window), [""; 0], "no holder is known");
}

#[test]
fn without_a_waiter_there_is_no_standstill() {
    let mut calm = window();
    calm.contenders.truncate(1);
    insta::assert_snapshot!(told(&calm).join("\n"), @"No lock stood for a second or longer while others waited for it (1 hold, 1 lock).");
    calm.contenders.clear();
    assert_eq!(told(&calm).len(), 1);
    let page = html(&Incident::new(&PastWindow { findings: Vec::new(), ..calm }), true);
    assert!(!page.contains("<svg class=\"bars\"") && page.contains("<h1>"), "{page}");
}

#[test]
fn many_small_standstills_are_not_called_none() {
    let locks = (0..200_i64).map(|number| (number, format!("/locks/{number}"))).collect::<Vec<_>>();
    let contenders = locks.iter().flat_map(|(number, lock)| {
        let own = |past: PastContender| PastContender {
            session: Some(SessionId(1_000 + number)),
            client: None,
            client_name: None,
            ..past
        };
        [
            holder("lock-1", [0, 0, 11_000], ContenderEnd::Gone),
            holder("lock-2", [1_000, 11_000, 12_000], ContenderEnd::Gone),
        ]
        .map(|past| at_lock(lock, own(past)))
    });
    let window = contended(contenders.collect::<Vec<_>>());
    assert_eq!(
        told(&window),
        [
            "Locks stood for up to 10s while others waited for them, who waited 33m20s in all (400 holds, 200 locks). No cause has a minute of it, or a hundredth."
        ]
    );
}

#[test]
fn the_costliest_comes_first_and_the_rest_is_counted() {
    let held = |lock: &str, length: i64, waiters: i64| {
        let first = at_lock(lock, holder("lock-1", [0, 0, length], ContenderEnd::Gone));
        let waits = move |id| waiter(&format!("lock-{}", id + 1), at(0).0, at(length).0);
        let lock = lock.to_owned();
        std::iter::once(first).chain((0..waiters).map(move |id| at_lock(&lock, waits(id))))
    };
    let locks = [
        ("/long", 40_000, 1),
        ("/many", 20_000, 9),
        ("/short", 900, 50),
        ("/c", 9_000, 1),
        ("/d", 8_000, 1),
        ("/e", 7_000, 1),
        ("/f", 6_000, 1),
    ];
    let window = contended(locks.into_iter().flat_map(|(lock, length, waiters)| held(lock, length, waiters)));
    let told = paragraphs::told(&Incident::new(&window), true);
    let begins: Vec<&str> = told.paragraphs.iter().filter_map(|paragraph| paragraph.text.split(' ').next()).collect();
    assert_eq!(begins, ["/many", "/long", "/c", "/d", "/e"]);
    assert_eq!(told.left_out, ["1 other cause of waiting, 6.0s in all, cost less and have no paragraph."]);
}

#[test]
fn a_blip_does_not_explain_a_tenure() {
    let mut window = contended(kept());
    window.findings = vec![finding("silent-holder", 20_000, 21_000), finding("stuck", 15_000, 50_000)];
    insta::assert_snapshot!(told(&window).join("\n"), @"/locks/billing stood for 40s from 14:41:17.000 on, 1 waited 40s: worker-3 (10.0.4.17:51586) held it from 14:41:07.000 until it released it at 14:41:57.000; nothing was found that says why (meanwhile: silent-holder for 1.0s).");
    // What covers most of the time is the cause.
    window.findings.push(finding("expiring-holder", 25_000, 50_000));
    insta::assert_snapshot!(told(&window).join("\n"), @"/locks/billing stood for 40s from 14:41:17.000 on, 1 waited 40s: worker-3 (10.0.4.17:51586) held it from 14:41:07.000 until it released it at 14:41:57.000 (expiring-holder: its client had no connection).");
    // A finding of a second is no cause of two, either.
    let brief = [holder("lock-1", [0, 0, 2_000], ContenderEnd::Released), waiter("lock-2", at(0).0, at(2_000).0)];
    let brief = PastWindow { findings: vec![finding("silent-holder", 1_000, 2_000)], ..contended(brief) };
    assert_eq!(kinds(&brief), ["kept"]);
}

#[test]
fn a_finding_about_another_node_or_of_normal_work_explains_nothing() {
    for other in [
        PastFinding { node: Some("lock-2".to_owned()), ..finding("silent-holder", 10_000, 50_000) },
        PastFinding { severity: "info".to_owned(), ..finding("silent-holder", 10_000, 50_000) },
        finding("idle-holder", 10_000, 50_000),
        finding("a-code-of-a-newer-version", 10_000, 50_000),
    ] {
        let window = PastWindow { findings: vec![other], ..contended(kept()) };
        assert_eq!(kinds(&window), ["kept"], "{:?}", window.findings);
    }
}

#[test]
fn findings_about_one_client_are_one_cause_at_all_its_locks() {
    let at_both = ["/a", "/b"].into_iter().flat_map(|lock| kept().map(|past| at_lock(lock, past)));
    let found = |lock: &str| PastFinding { lock: lock.to_owned(), ..finding("expiring-holder", 20_000, 50_000) };
    let window = PastWindow { findings: vec![found("/a"), found("/b")], ..contended(at_both) };
    insta::assert_snapshot!(told(&window).join("\n"), @"/a and /b stood for up to 40s from 14:41:17.000 on, 2 waited 1m20s in all: worker-3 (10.0.4.17:51586) held it from 14:41:07.000 until it released it at 14:41:57.000, the first of 2 such holds (expiring-holder: its client had no connection).");
}

#[test]
fn an_expiry_explains_no_more_than_its_timeout() {
    let ended = |held| [holder("lock-1", [0, 0, held], ContenderEnd::Expired), waiter("lock-2", at(0).0, at(held).0)];
    insta::assert_snapshot!(told(&contended(ended(30_000))).join("\n"), @"/locks/billing stood for 30s from 14:41:07.000 on, 1 waited 30s: worker-3 (10.0.4.17:51586) held it from 14:41:07.000 until its session expired at 14:41:37.000; no server heard its client for the timeout of the session.");
    let mut long = contended(ended(200_000));
    (long.to, long.known_until) = (at(300_000), at(300_000));
    insta::assert_snapshot!(told(&long).join("\n"), @"/locks/billing stood for 3m20s from 14:41:07.000 on, 1 waited 3m20s: worker-3 (10.0.4.17:51586) held it from 14:41:07.000 until its session expired at 14:44:27.000; nothing was found that says why.");
    for told in [told(&contended(ended(30_000))), told(&long)] {
        assert!(!told[0].contains("gone"), "an expiry alone says nothing of the client: {told:?}");
    }
}

#[test]
fn a_lost_majority_is_the_cause_of_all_that_stood() {
    let session = |id, past: PastContender| PastContender { session: Some(SessionId(id)), ..past };
    let mut contenders = Vec::new();
    for lock in 0..14 {
        // The sessions end ten seconds after the outage, since nobody could hear their clients.
        let end = if lock < 6 { ContenderEnd::Expired } else { ContenderEnd::Released };
        let path = format!("/locks/{lock}");
        contenders.push(session(lock, at_lock(&path, holder("lock-1", [0, 0, 50_000], end))));
        contenders.push(session(90, at_lock(&path, holder("lock-2", [10_000, 50_000, 50_001], ContenderEnd::Gone))));
    }
    let mut window = contended(contenders);
    window.ensemble = vec![
        ensemble_event(EnsembleEventKind::MemberMissing, 5_000, 45_000),
        ensemble_event(EnsembleEventKind::NoMajority, 12_000, 40_000),
        ensemble_event(EnsembleEventKind::LeaderChanged, 40_000, 40_000),
    ];
    window.findings = vec![PastFinding { lock: "/locks/0".to_owned(), ..finding("silent-holder", 12_000, 50_000) }];
    let told = told(&window);
    assert_eq!(kinds(&window)[0], "no-majority");
    insta::assert_snapshot!(told[0], @"Nobody was served from 14:41:19.000 to 14:41:47.000 (28s): the ensemble had no majority. 14 locks (/locks/1, /locks/2 and 12 others) stood, 14 waited 7m32s in all; 6 sessions ended then, whose clients may live.");
    // What stood after the outage, with a holder that lived, is charged to its holder.
    assert!(told[1..].iter().all(|told| told.contains("stood for 12s in 2 parts")), "{told:?}");
}

#[test]
fn what_ended_unseen_during_an_outage_counts_for_as_long_as_it_may_have_lasted() {
    // The recorder was cut two seconds after the waiter came, and found the node gone afterwards.
    let mut held = holder("lock-1", [9_000, 9_000, 40_000], ContenderEnd::Gone);
    held.ended = Some(TimeBounds::between(at(12_000), at(40_000)));
    let mut waited = holder("lock-2", [10_000, 40_000, 40_001], ContenderEnd::Gone);
    waited.acquired = held.ended;
    // Another lock stands for four seconds before it.
    let before = [
        at_lock("/before", holder("lock-1", [0, 0, 9_000], ContenderEnd::Released)),
        at_lock("/before", holder("lock-2", [5_000, 9_000, 9_100], ContenderEnd::Gone)),
    ];
    let mut window = contended([held, waited].into_iter().chain(before));
    window.ensemble = vec![
        ensemble_event(EnsembleEventKind::NoMajority, 11_000, 39_000),
        ensemble_event(EnsembleEventKind::LeaderChanged, 38_000, 39_000),
    ];
    let told = told(&window);
    insta::assert_snapshot!(told.join("\n"), @r"
    Nobody was served from 14:41:18.000 to 14:41:46.000 (28s): the ensemble had no majority. /locks/billing stood, 1 waited 1.0s to 28s.
    /before stood for 4.0s from 14:41:12.000 on, 1 waited 4.0s: worker-3 (10.0.4.17:51586) held it from 14:41:07.000 until it released it at 14:41:16.000; nothing was found that says why.
    /locks/billing stood for 1.0s from 14:41:17.000 on, 1 waited 1.0s: worker-3 (10.0.4.17:51586) held it from 14:41:16.000 until 14:41:47.000, when its node was gone: released, or deleted by another; nothing was found that says why.
    ");
}

#[test]
fn a_lost_majority_is_told_even_if_no_lock_is_known_to_have_stood() {
    let mut window = contended(kept().into_iter().take(1));
    window.ensemble = vec![ensemble_event(EnsembleEventKind::NoMajority, 12_000, 40_000)];
    window.ensemble[0].ended = None;
    insta::assert_snapshot!(told(&window).join("\n"), @"Nobody was served from 14:41:19.000 to 14:42:07.000 (48s): the ensemble had no majority, and it lasted when the recording ended. No lock is known to have stood.");
    // The servers are asked now and then.
    window.ensemble[0].began = TimeBounds::between(at(10_000), at(12_000));
    window.ensemble[0].ended = Some(TimeBounds::between(at(40_000), at(43_000)));
    let begins = "Nobody was served from 14:41:17.000 to 14:41:50.000 (33s), 28s of it for certain: the ensemble had no majority.";
    assert!(told(&window)[0].starts_with(begins), "{:?}", told(&window));
    window.ensemble = vec![ensemble_event(EnsembleEventKind::NoMajority, 12_000, 12_300)];
    assert_eq!(kinds(&window), [""; 0]);
}

#[test]
fn a_change_of_leader_explains_what_stood_then_if_it_is_known_when_that_was() {
    let mut window = contended(kept());
    let mut change = |from, to| {
        let bounds = TimeBounds::between(at(from), at(to));
        let event = ensemble_event(EnsembleEventKind::LeaderChanged, from, to);
        window.ensemble = vec![PastEnsembleEvent { began: bounds, ended: Some(bounds), epoch: Some(5), ..event }];
        told(&window)
    };
    insta::assert_snapshot!(change(20_000, 24_000)[1], @"The leadership of the ensemble went over between 14:41:27.000 and 14:41:31.000, with epoch 5. /locks/billing stood, 1 waited 4.0s.");
    assert_eq!(change(12_000, 48_000).len(), 1, "nobody wrote between two epochs of a quiet ensemble");
    // Nobody looked before.
    window.ensemble[0].began = TimeBounds::between(BEFORE_THE_FIRST_LOOK, at(30_000));
    (window.ensemble[0].what, window.ensemble[0].ended) =
        (EnsembleEventKind::NoMajority, Some(TimeBounds::exact(at(40_000))));
    assert!(
        told(&window).iter().any(|told| told.starts_with("Nobody was served from 14:41:37.000 to 14:41:47.000 (10s)"))
    );
}

#[test]
fn what_was_not_seen_is_not_known() {
    let mut window = contended(kept());
    window.gaps =
        vec![PastGap { from: at(20_000), to: Some(at(49_000)), reason: "the recorder was not running".to_owned() }];
    insta::assert_snapshot!(told(&window).join("\n"), @"Nothing was seen from 14:41:27.000 to 14:41:56.000 (29s): the recorder was not running. /locks/billing stood, 1 waited 40s; why is not known.");
    let page = html(&Incident::new(&window), true);
    assert_eq!(page.matches("the recorder was not running.").count(), 1, "it is told once: {page}");
    window.gaps[0].to = Some(at(21_000));
    assert_eq!(kinds(&window), ["kept"]);
}

#[test]
fn the_first_reading_leads_no_page() {
    let mut window = contended(kept());
    for (length, is_told) in [(200, false), (1_500, true)] {
        window.gaps =
            vec![PastGap { from: at(0), to: Some(at(length)), reason: "not everything was read yet".to_owned() }];
        assert_eq!(html(&Incident::new(&window), true).contains("Nothing was seen for"), is_told, "{length}");
    }
}

#[test]
fn the_critical_finding_without_a_waiter_is_told() {
    let leader = |node, times, end| at_lock("/app/leader", holder(node, times, end));
    let mut window = contended([
        leader("n-1", [0, 0, 10_000], ContenderEnd::Expired),
        leader("n-2", [55_000, 55_000, 0], ContenderEnd::Open),
    ]);
    // It is found after a minute of absence, and ends when somebody leads.
    let found = PastFinding {
        lock: "/app/leader".to_owned(),
        node: None,
        severity: "critical".to_owned(),
        ..finding("nobody-leads", 54_000, 55_100)
    };
    window.findings = vec![found.clone()];
    insta::assert_snapshot!(told(&window).join("\n"), @"Nobody led /app/leader from 14:41:17.000 to 14:42:02.000 (45s): worker-3 (10.0.4.17:51586) held it from 14:41:07.000 until its session expired at 14:41:17.000.");
    // It needs no words of its own if nobody was served at that time.
    window.ensemble = vec![ensemble_event(EnsembleEventKind::NoMajority, 10_000, 54_900)];
    assert_eq!(kinds(&window), ["no-majority"]);
    window.ensemble.clear();
    let former = PastFinding { code: "two-leaders".to_owned(), node: Some("n-1".to_owned()), ..found };
    window.findings.push(PastFinding { raised_at: at(56_000), cleared_at: None, ..former.clone() });
    window.findings.push(PastFinding { raised_at: at(20_000), cleared_at: Some(at(22_000)), ..former });
    insta::assert_snapshot!(told(&window)[1], @"/app/leader had the critical finding two-leaders of worker-3 (10.0.4.17:51586) from 14:42:03.000 to 14:42:07.000 (4.0s), and still when the recording ended: a former leader may have thought that it still led. It was found 1 time more.");
}

#[test]
fn of_many_critical_findings_the_longest_are_told() {
    let mut window = contended(kept());
    window.findings = (0..8)
        .map(|at| PastFinding {
            lock: format!("/e/{at}"),
            severity: "critical".to_owned(),
            ..finding("two-leaders", 1_000, 2_000 + at * 1_000)
        })
        .collect();
    let told = paragraphs::told(&Incident::new(&window), true);
    assert_eq!((told.paragraphs.len(), told.paragraphs[1].text.split(' ').next()), (6, Some("/e/7")));
    assert_eq!(told.left_out, ["3 other critical findings have no paragraph: the events below have them."]);
}

proptest! {
    #[test]
    fn costs_add_up(
        holds in prop::collection::vec((0_usize..3, 0_i64..60, 0_i64..40, 0_i64..40, any::<bool>()), 0..12),
        outages in prop::collection::vec((0_i64..60, 0_i64..30), 0..4),
        gap in (0_i64..60, 0_i64..60),
        found in prop::collection::vec((0_i64..60, 0_i64..60), 0..3),
    ) {
        const SECOND: i64 = 1_000;
        let contender = |(lock, came, waited, held, reads): &(usize, i64, i64, i64, bool)| {
            let [came, waited, held] = [came, waited, held].map(|seconds| seconds * SECOND);
            let times = [came, came + waited, came + waited + held];
            let past = if *reads { reader("lock-1", times) } else { holder("lock-1", times, ContenderEnd::Expired) };
            at_lock(["/a", "/b", "/c"][*lock], past)
        };
        let mut window = contended(holds.iter().map(contender));
        (window.to, window.known_until) = (at(200 * SECOND), at(200 * SECOND));
        let kinds = [EnsembleEventKind::NoMajority, EnsembleEventKind::Election, EnsembleEventKind::LeaderChanged, EnsembleEventKind::SlowWrites];
        window.ensemble = kinds.into_iter().zip(&outages).map(|(what, (from, length))| ensemble_event(what, from * SECOND, (from + length) * SECOND)).collect();
        window.gaps = vec![PastGap { from: at(gap.0 * SECOND), to: Some(at((gap.0 + gap.1) * SECOND)), reason: "a cut".to_owned() }];
        window.findings = found.iter().map(|(from, length)| PastFinding { lock: "/a".to_owned(), ..finding("silent-holder", from * SECOND, (from + length) * SECOND) }).collect();
        let incident = Incident::new(&window);
        let causes = causes(&incident);
        let cost: u64 = causes.iter().map(|cause| cause.cost_ms).sum();
        prop_assert_eq!(cost, incident.cost_ms());
        prop_assert!(causes.is_sorted_by(|one, next| one.cost_ms >= next.cost_ms));
        let mut pieces: Vec<(usize, TimeRange)> = causes.iter().flat_map(|cause| &cause.pieces).map(|piece| (piece.lock, piece.time)).collect();
        pieces.sort_unstable();
        prop_assert!(pieces.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[0].1.to <= pair[1].1.from), "told twice: {:?}", pieces);
        let told = paragraphs::told(&incident, true);
        prop_assert!(told.paragraphs.iter().all(|paragraph| paragraph.time.from > Timestamp(0)));
    }
}
