//! Which findings a mute covers, and when.

use super::*;

fn path(text: &str) -> ZnodePath {
    ZnodePath::new(text).expect("a path")
}

fn mute(scope: MuteScope, since: i64, until: Option<i64>) -> Arc<Mute> {
    let until = until.map(Timestamp);
    Arc::new(Mute { scope, since: Timestamp(since), until, note: "known".into(), by: "ann@host".into() })
}

fn of_finding(lock: &str, node: Option<&str>, severity: &str) -> MuteScope {
    let (code, node) = ("stuck".into(), node.map(Arc::from));
    MuteScope::Finding(MutedFinding { lock: path(lock), name: None, code, node, severity: severity.into() })
}

/// Returns the scope that covers a finding of this lock and node.
fn covered<'a>(
    mutes: &'a Mutes,
    (lock, node): (&str, Option<&str>),
    (code, severity): (&str, &str),
    now: i64,
) -> Option<&'a MuteScope> {
    let lock = path(lock);
    let finding = MutableFinding { lock: &lock, name: None, code, node, severity, is_of_liveness: code == "ghost" };
    mutes.of(&finding, Timestamp(now)).map(|mute| &mute.scope)
}

#[test]
fn a_mute_covers_its_finding_alone_and_not_once_it_is_worse() {
    let scope = of_finding("/a", Some("lock-1"), "warning");
    let mutes = Mutes::new([mute(scope.clone(), 0, None)]);
    let at = |place, finding| covered(&mutes, place, finding, 5);
    assert_eq!(at(("/a", Some("lock-1")), ("stuck", "warning")), Some(&scope));
    assert_eq!(at(("/a", Some("lock-1")), ("stuck", "info")), Some(&scope));
    for (place, finding) in [
        (("/a", Some("lock-1")), ("stuck", "critical")),
        (("/a", Some("lock-2")), ("stuck", "warning")),
        (("/a", None), ("stuck", "warning")),
        (("/b", Some("lock-1")), ("stuck", "warning")),
        (("/a", Some("lock-1")), ("ghost", "warning")),
    ] {
        assert_eq!(at(place, finding), None, "{place:?} {finding:?}");
    }
}

#[test]
fn a_mute_counts_from_its_beginning_until_its_end() {
    let mutes = Mutes::new([mute(of_finding("/a", None, "critical"), 10, Some(20))]);
    let counts = [9, 10, 19, 20].map(|now| covered(&mutes, ("/a", None), ("stuck", "critical"), now).is_some());
    assert_eq!(counts, [false, true, true, false]);
}

#[test]
fn planned_work_covers_its_kinds_at_its_locks_and_maintenance_what_rests_on_connections() {
    let planned = |path: &str, codes: &[&str]| MuteScope::Locks {
        path: PathPattern::new(path).expect("a pattern"),
        codes: codes.iter().copied().map(Arc::from).collect(),
    };
    let work = Mutes::new([mute(planned("/app/*", &["stuck"]), 0, None), mute(planned("/b", &[]), 0, None)]);
    let at = |mutes: &Mutes, lock, code| covered(mutes, (lock, None), (code, "critical"), 1).is_some();
    assert!(at(&work, "/app/x", "stuck") && !at(&work, "/app/x", "ghost") && !at(&work, "/app/x/y", "stuck"));
    assert!(at(&work, "/b", "ghost") && work.maintenance(Timestamp(1)).is_none());
    let maintenance = Mutes::new([mute(MuteScope::Maintenance, 0, Some(5))]);
    assert!(at(&maintenance, "/a", "ghost") && !at(&maintenance, "/a", "stuck"));
    assert!(maintenance.maintenance(Timestamp(4)).is_some() && maintenance.maintenance(Timestamp(5)).is_none());
}

#[test]
fn mutes_are_bounded_and_survive_being_written() {
    let many = (0..MAX_MUTES + 5).map(|at| mute(of_finding(&format!("/{at}"), None, "info"), 0, None));
    let mutes = Mutes::new(many);
    assert_eq!(mutes.all().len(), MAX_MUTES);
    let text = serde_json::to_string(&mutes).expect("it is written");
    assert_eq!(serde_json::from_str::<Mutes>(&text).expect("it is read"), mutes);
}
