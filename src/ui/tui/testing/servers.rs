//! The reports of the servers of the tests' ensemble about themselves.

use std::sync::Arc;
use std::time::Duration;

use super::{NOW, ago, at, curator, live, path, seen, session};
use crate::tui::app::{App, Event};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};
use lockscope_model::queue::Change;
use lockscope_model::server_view::{
    AskedBy, Connection, Expiry, ListedSession, Listing, Load, MemberView, ServerMode, ServerView, WatchEventTotals,
    WatchTotals, WatchedPath,
};

/// The clients of a view, by the numbers of their sessions.
#[derive(Clone, Debug, Default)]
pub struct Clients {
    /// The connected sessions.
    pub connected: Vec<i64>,
    /// The disconnected sessions, and in how many seconds each expires.
    pub expiring: Vec<(i64, i64)>,
    /// The watches: a node and the session that watches it.
    pub watching: Vec<(ZnodePath, i64)>,
    /// The total of watches on children.
    pub child_watches: u64,
    /// The watch events sent so far.
    pub fired: u64,
}

/// Returns the report of a single server that was asked for everything at this time.
pub fn surveyed(at: Timestamp, clients: &Clients) -> Change {
    let looked_at = clients.watching.iter().map(|(path, owner)| watched(path, *owner)).collect::<Vec<_>>();
    let watches = looked_at.len() as u64;
    let totals = WatchTotals { connections: watches, paths: watches, watches };
    let sessions = clients.connected.iter().map(|owner| (*owner, 20)).chain(clients.expiring.iter().copied());
    let sessions = sessions.map(|(owner, left)| listed(owner, Timestamp(at.0 + left * 1000))).collect();
    let member = MemberView {
        mode: Some(ServerMode::Standalone),
        version: Some("3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f".to_owned()),
        asked_by: AskedBy::Words,
        answered_at: Some(at),
        connections: Some(Listing::new(
            clients.connected.iter().map(|owner| connection(*owner, at)).collect(),
            true,
            at,
        )),
        sessions: Some(Listing::new(sessions, true, at)),
        watched: Some(Listing::new(looked_at, true, at)),
        counted_at: Some(at),
        watch_totals: Some(totals),
        watch_count: Some(watches + clients.child_watches),
        fired: Some(WatchEventTotals { deleted: clients.fired, ..WatchEventTotals::default() }),
        ..MemberView::unasked("zk1:2181".to_owned())
    };
    view(at, vec![member])
}

/// Returns the reports of three servers: one reports everything, one less, and one nothing.
pub fn motley(at: Timestamp, clients: &Clients) -> Change {
    let Change::Surveyed { view: alone } = surveyed(at, clients) else { unreachable!("surveyed makes Surveyed") };
    let whole = MemberView { mode: Some(ServerMode::Leader), ..alone.members[0].clone() };
    let error =
        "`cons` and `dump` are not allowed at zk2:2181: add 4lw.commands.whitelist=cons,dump,srvr to its zoo.cfg";
    let less = MemberView {
        mode: Some(ServerMode::Follower),
        version: whole.version.clone(),
        asked_by: AskedBy::Words,
        answered_at: Some(at),
        error: Some(error.to_owned()),
        ..MemberView::unasked("zk2:2181".to_owned())
    };
    let error = Some("zk3:2181 does not answer: connection refused".to_owned());
    let none = MemberView { error, ..MemberView::unasked("zk3:2181".to_owned()) };
    view(at, vec![whole, less, none])
}

/// Returns the report of a server that allows only `srvr`.
pub fn untold(at: Timestamp) -> Change {
    let Change::Surveyed { view: motley } = motley(at, &clients()) else { unreachable!("motley makes Surveyed") };
    view(at, vec![motley.members[1].clone()])
}

fn view(at: Timestamp, members: Vec<MemberView>) -> Change {
    let asked = Load { requests: 1_234, bytes: 567_890, time_ms: 321 };
    let view = ServerView {
        at,
        members,
        members_known: true,
        own_session: Some(SessionId(1)),
        own_session_since: None,
        asked,
        voters: Some(3),
    };
    Change::Surveyed { view: Arc::new(view) }
}

fn connection(owner: i64, at: Timestamp) -> Connection {
    Connection {
        session: session(owner),
        client: format!("10.0.4.{}:{}", owner % 250, 50_000 + owner),
        timeout_ms: Some(30_000),
        established: Some(Timestamp(at.0 - 3_600_000)),
        last_operation: Some("GETD".to_owned()),
        last_cxid: Some(owner),
        last_zxid: None,
        last_response: Some(12_222_976),
        last_heard: Some(Timestamp(at.0 - 2_100)),
        received: 100,
        sent: 100,
    }
}

fn listed(owner: i64, expires_at: Timestamp) -> ListedSession {
    let expiry = Expiry::Date { millis: expires_at.0, utc: true };
    ListedSession { id: session(owner), expiry, expires_at: Some(expires_at) }
}

fn watched(path: &ZnodePath, owner: i64) -> WatchedPath {
    WatchedPath { path: path.clone(), sessions: [session(owner)].into_iter().collect() }
}

fn curators(number: i32, owner: i64) -> ZnodePath {
    path(&format!("/locks/billing/_c_{owner:08x}-5c1d-4f7e-9a3b-0d2c4e6f8a1b-lock-{number:010}"))
}

fn orders(number: i32, owner: i64) -> ZnodePath {
    path(&format!("/locks/orders/{owner:032x}__lock__{number:010}"))
}

fn rebuilding(name: &str, number: i32, owner: i64) -> ZnodePath {
    let node = format!("_c_{owner:08x}-5c1d-4f7e-9a3b-0d2c4e6f8a1b-{name}{number:010}");
    path(&format!("/apps/catalogue/index-rebuild/{node}"))
}

/// Returns the clients of [`trouble`]. All are connected except the first reader of
/// `index-rebuild`. Each watches its blocker, except for one in `orders`. Two stand by for the
/// controller.
pub fn clients() -> Clients {
    let waiters = (1..=128).map(|at| (curators(4711 + at - 1, 0x1b + i64::from(at) - 1), 0x1b + i64::from(at)));
    let mut watching: Vec<_> = waiters.collect();
    watching.extend([
        (curators(4839, 0x1b + 128), 7),
        (orders(7, 7), 9),
        (orders(9, 12), 44),
        (orders(12, 44), 45),
        (orders(30, 45), 0x1b),
        (rebuilding("__READ__", 4, 51), 52),
        (rebuilding("__WRIT__", 5, 52), 53),
        (path("/controller"), 70),
        (path("/controller"), 71),
    ]);
    let mut connected: Vec<i64> = (0x1b..=0x1b + 128).collect();
    connected.retain(|owner| *owner != 50);
    connected.extend([7, 9, 12]);
    Clients { connected, expiring: vec![(50, 9)], watching, child_watches: 0, fired: 0 }
}

/// Returns the tests' ensemble with two sessions that wait for each other, and its server's reports
/// of the first five seconds.
pub fn trouble(size: (u16, u16)) -> App {
    let mut app = live(size);
    let knot =
        vec![curator("/locks/billing", 4900, 7, 30), seen(orders(31, 0x1b).as_str(), 0x1b, ago(20), b"worker-27")];
    app.update(at(NOW, knot), NOW);
    // A cycle is a deadlock once it has lasted for ten seconds.
    for second in 1..=11 {
        let now = NOW.plus(Duration::from_secs(second));
        let mut clients = clients();
        clients.fired = 40 * second;
        clients.expiring = vec![(50, 15 - i64::try_from(second).expect("small"))];
        app.update(at(now, vec![surveyed(now, &clients)]), now);
        app.update(Event::Tick, now);
    }
    app
}
