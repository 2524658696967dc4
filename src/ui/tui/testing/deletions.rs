//! A console that may delete, and servers that report which sessions are alive.

use super::{NOW, at, ensemble, seen, session, settings};
use crate::tui::app::{App, AuditReading, Effect, Event, Settings, Update};
use lockscope_base::znode::Timestamp;
use lockscope_live::admin::audit::{AuditEntry, AuditHistory, AuditOutcome, Subject};
use lockscope_live::admin::{DeletePlan, Ending, NodeOutcome, Permitted, PlannedNode, RecreationGuard, Who};
use lockscope_model::queue::Change;
use lockscope_model::server_view::{
    AskedBy, Connection, Expiry, ListedSession, Listing, MemberView, ServerMode, ServerView,
};

/// Returns the settings of a console with the permission to write.
pub fn may_delete() -> Settings {
    Settings { write: true, audit_log: Some("/home/ann/.local/state/lockscope/audit.jsonl".into()), ..settings() }
}

/// Returns a console that may delete, in step with the small ensemble and its servers' reports. The
/// owners up to `0x40` are connected, except that 0x33 has lost its connection and expires in nine
/// seconds. All other sessions have ended, including the owner 60 of `/controller`.
pub fn deleting(size: (u16, u16)) -> App {
    with(may_delete(), size)
}

/// Returns the same console with other settings.
pub fn with(settings: Settings, size: (u16, u16)) -> App {
    let mut app = App::new(settings, size, NOW);
    let mut changes = ensemble();
    let persistent = match seen("/locks/leftover/lock-0000000009", 0, super::ago(3_600), b"left behind") {
        Change::Seen { path, mut node } => {
            node.stat.ephemeral_owner = None;
            Change::Seen { path, node }
        }
        other => other,
    };
    changes.insert(changes.len() - 1, super::listed("/locks/leftover", 10));
    changes.insert(changes.len() - 1, persistent);
    app.update(at(NOW, changes), NOW);
    let living: Vec<i64> = (1..0x41).filter(|owner| ![0x33, 60].contains(owner)).collect();
    app.update(at(NOW, vec![told(&living, &[(0x33, 9)], NOW)]), NOW);
    app
}

/// Returns the report of the only server at a time: the connected sessions, and those that expire
/// in the given number of seconds.
pub fn told(connected: &[i64], expiring: &[(i64, i64)], now: Timestamp) -> Change {
    let connections = connected.iter().map(|owner| Connection {
        session: session(*owner),
        client: format!("10.0.4.{owner}:51586"),
        timeout_ms: Some(30_000),
        established: None,
        last_operation: Some("PING".to_owned()),
        last_cxid: None,
        last_zxid: None,
        last_response: None,
        last_heard: Some(now),
        received: 7,
        sent: 7,
    });
    let ends = connected.iter().map(|owner| (*owner, 30)).chain(expiring.iter().copied());
    let sessions = ends.map(|(owner, seconds)| {
        let end = Timestamp(now.0 + seconds * 1000);
        let expiry = Expiry::Date { millis: end.0, utc: true };
        ListedSession { id: session(owner), expiry, expires_at: Some(end) }
    });
    let member = MemberView {
        mode: Some(ServerMode::Standalone),
        version: Some("3.8.0".to_owned()),
        asked_by: AskedBy::Words,
        answered_at: Some(now),
        connections: Some(Listing::new(connections.collect(), true, now)),
        sessions: Some(Listing::new(sessions.collect(), true, now)),
        ..MemberView::unasked("zk1:2181".to_owned())
    };
    let view = ServerView { at: now, members: vec![member], members_known: true, ..ServerView::default() };
    Change::Surveyed { view: view.into() }
}

/// Answers the search for guards of an update: all nodes may be written and deleted.
pub fn find_out(app: &mut App, update: &mut Update) {
    let is_wanted = |effect: &mut Effect| matches!(effect, Effect::FindGuards(_));
    for effect in update.effects.extract_if(.., is_wanted) {
        let Effect::FindGuards(plan) = effect else { continue };
        let permitted =
            plan.nodes().iter().map(|node| Permitted { guard: guard(node), lacks: None }).collect::<Vec<_>>();
        let found = Box::new(plan.guarded(permitted));
        app.update(Event::GuardsFound(Ok(found)), app.clock());
    }
}

fn guard(node: &PlannedNode) -> RecreationGuard {
    match node.sequence {
        _ if lockscope_base::recipe::is_never_reused(node.name()) => RecreationGuard::UniqueName,
        Some(_) => RecreationGuard::Parent { data_length: 0 },
        None => RecreationGuard::OwnNode { data_length: 7 },
    }
}

/// Returns the plan that an update wants carried out.
pub fn confirmed(update: &Update) -> Option<&DeletePlan> {
    update.effects.iter().find_map(|effect| match effect {
        Effect::Delete(plan) => Some(plan.what()),
        _ => None,
    })
}

/// Returns the event for a plan that was carried out; all nodes had the same ending.
pub fn done(plan: &DeletePlan, ending: &Ending) -> Event {
    let outcome = |node: &PlannedNode| NodeOutcome::new(node, ending.clone());
    Event::DeletionDone(Ok(plan.nodes().iter().map(outcome).collect()))
}

/// Returns a change in the audit log, in the minute `at`.
pub fn entry(number: u32, path: &str, life: &str, result: Option<(&str, &str)>) -> AuditEntry {
    let at = format!("2024-05-01T14:{:02}:07.250Z", number % 60);
    AuditEntry {
        id: format!("6f1c7a52-0000-4000-8000-{number:012}"),
        at: at.clone(),
        action: "delete".to_owned(),
        subject: Subject {
            lock: path.rsplit_once('/').map_or("/", |(lock, _)| lock).to_owned(),
            path: path.to_owned(),
            czxid: Some(8_589_934_592),
            version: Some(0),
            sequence: Some(4711),
            owner: Some("0x1000a2b3c40001b".to_owned()),
            life: life.to_owned(),
            evidence: format!("session 0x1000a2b3c40001b is {life} for all that the servers told"),
        },
        who: Who {
            user: "ann".to_owned(),
            uid: 1000,
            sudo_user: None,
            host: "ops1".to_owned(),
            pid: 4242,
            identities: vec!["digest:ann".to_owned(), "ip:10.0.0.7".to_owned()],
            ensemble: "zk1:2181,zk2:2181/prod".to_owned(),
            own_session: Some("0x1000a2b3c400b32".to_owned()),
        },
        confirmed_by: Some("yes".to_owned()),
        intended: true,
        outcome: result.map(|(result, reason)| AuditOutcome {
            at,
            result: result.to_owned(),
            reason: reason.to_owned(),
        }),
    }
}

/// Returns the event for the audit log with these entries.
pub fn log(entries: Vec<AuditEntry>) -> Event {
    let history = AuditHistory { entries, ..AuditHistory::default() };
    Event::AuditRead(Box::new(AuditReading { history: Ok(history), unwritable: None }))
}
