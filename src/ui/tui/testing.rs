//! A small ensemble for the tests of the screen, in the form of an observer's changes.

pub mod deletions;
pub mod ensembles;
pub mod fleets;
pub mod live_past;
pub mod recording;
pub mod servers;
pub mod stepped;
pub mod tree;

use std::cell::RefCell;

use super::app::{App, Bindings, Event, Key, Settings, Update};
pub use crate::testing::{deleted, path};
use lockscope_base::znode::{SessionId, Timestamp, ZnodeStat, Zxid};
use lockscope_live::observe::Observed;
use lockscope_live::zk::{NodeReading, ShownAclEntry};
use lockscope_model::queue::{Change, ConnectionState};

/// The start of the tests: 14:41:07.250 UTC.
pub const NOW: Timestamp = Timestamp(1_714_574_467_250);
/// The console's own session.
pub const OWN: SessionId = SessionId(0x0100_0a2b_3c40_0b31);

/// Returns a console of this size, not yet connected.
pub fn app(size: (u16, u16)) -> App {
    App::new(settings(), size, NOW)
}

thread_local! {
    static BINDINGS: RefCell<Bindings> = RefCell::default();
}

/// Makes a console whose settings have these keys.
pub fn bound(bindings: Bindings, make: impl FnOnce() -> App) -> App {
    BINDINGS.set(bindings);
    let app = make();
    BINDINGS.take();
    app
}

/// Returns the settings of the tests' console.
pub fn settings() -> Settings {
    Settings {
        connect: "zk1:2181,zk2:2181/prod".to_owned(),
        utc: true,
        asks_servers: true,
        bindings: BINDINGS.with_borrow(Clone::clone),
        ..Settings::default()
    }
}

/// Returns a session of the ensemble's first server.
pub fn session(number: i64) -> SessionId {
    SessionId(0x0100_0a2b_3c40_0000 + number)
}

/// Returns the time `seconds` before [`NOW`].
pub fn ago(seconds: i64) -> Timestamp {
    Timestamp(NOW.0 - seconds * 1000)
}

/// Returns the change for a node that was read.
pub fn seen(node: &str, owner: i64, created: Timestamp, data: &[u8]) -> Change {
    let number = node.bytes().fold(0_i64, |sum, byte| (sum * 31 + i64::from(byte)) % 1_000_003);
    let czxid = Zxid(8_589_000_000 + (created.0 - ago(100_000).0) + number % 10);
    crate::testing::seen(node, ZnodeStat::of_new(czxid, created, Some(session(owner))), data)
}

/// Returns the change for a listed lock parent; `next` is the number of its next child. A child was
/// deleted just before, so the stat proves nothing.
pub fn listed(parent: &str, next: i32) -> Change {
    let Change::Seen { node, .. } = seen(parent, 0, ago(90_000), b"") else { unreachable!("seen makes Seen") };
    let stat = ZnodeStat { ephemeral_owner: None, cversion: next * 2, pzxid: Zxid(i64::MAX), ..node.stat };
    Change::Listed { path: path(parent), stat }
}

/// Returns the change for a contender of Curator's mutex.
pub fn curator(parent: &str, number: i32, owner: i64, waits: i64) -> Change {
    let data = format!("10.0.4.{}", owner % 250);
    let node = format!("{parent}/_c_{owner:08x}-5c1d-4f7e-9a3b-0d2c4e6f8a1b-lock-{number:010}");
    seen(&node, owner, ago(waits), data.as_bytes())
}

/// Returns the change for the deleted node of [`curator`].
pub fn gone(parent: &str, number: i32, owner: i64) -> Change {
    let node = format!("{parent}/_c_{owner:08x}-5c1d-4f7e-9a3b-0d2c4e6f8a1b-lock-{number:010}");
    deleted(&path(&node))
}

/// Returns the reading of a node from 14:40, with two entries in its ACL.
pub fn node_reading(data: &[u8]) -> NodeReading {
    let Change::Seen { node, .. } = seen("/a", 7, ago(67), data) else { unreachable!("seen makes Seen") };
    let entry = |scheme: &str, id: &str, permissions: &str| ShownAclEntry {
        scheme: scheme.to_owned(),
        id: id.to_owned(),
        permissions: permissions.to_owned(),
    };
    let acl = vec![entry("world", "anyone", "r"), entry("sasl", "ops\u{1b}[2J", "cdrwa")];
    NodeReading { stat: node.stat, data: Ok(data.to_vec()), acl: Ok((acl, 2)) }
}

/// Returns the change for a new connection.
pub fn connected() -> Change {
    Change::Connection(ConnectionState::Connected { session: OWN, recursive: true })
}

/// Returns the changes of an ensemble with a few locks of different recipes, from the connection to
/// the end of the first reading.
pub fn ensemble() -> Vec<Change> {
    let mut changes = vec![connected(), Change::Syncing];
    changes.push(listed("/locks/billing", 4840));
    changes.push(curator("/locks/billing", 4711, 0x1b, 842));
    changes.extend((1..=128).map(|at| curator("/locks/billing", 4711 + at, 0x1b + i64::from(at), 838 - i64::from(at))));
    changes.push(listed("/locks/orders", 31));
    for (number, owner, waits) in [(7, 7, 38), (8, 9, 36), (9, 12, 20), (12, 44, 11), (30, 45, 3)] {
        let node = format!("/locks/orders/{owner:032x}__lock__{number:010}");
        changes.push(seen(&node, owner, ago(waits), format!("worker-{owner}").as_bytes()));
    }
    changes.push(listed("/apps/catalogue/index-rebuild", 12));
    for (name, number, owner) in [("__READ__", 3, 50), ("__READ__", 4, 51), ("__WRIT__", 5, 52), ("__READ__", 6, 53)] {
        let node =
            format!("/apps/catalogue/index-rebuild/_c_{owner:08x}-5c1d-4f7e-9a3b-0d2c4e6f8a1b-{name}{number:010}");
        changes.push(seen(&node, owner, ago(i64::from(70 - number)), b"10.0.9.1"));
    }
    changes.push(seen("/controller", 60, ago(187_500), br#"{"version":1,"brokerid":3}"#));
    changes.push(listed("/locks/empty", 0));
    changes.push(Change::Unreadable { path: path("/secret"), why: "not authenticated for reading".to_owned() });
    changes.push(Change::Unreadable { path: path("/vault/keys"), why: "not authenticated for reading".to_owned() });
    changes.push(Change::Synced);
    changes
}

/// Returns the event for changes that were all seen at one time.
pub fn at(time: Timestamp, changes: Vec<Change>) -> Event {
    Event::Changes(changes.into_iter().map(|change| Observed { at: time, change }).collect())
}

/// Returns a console in step with [`ensemble`].
pub fn live(size: (u16, u16)) -> App {
    let mut app = app(size);
    app.update(at(NOW, ensemble()), NOW);
    app
}

/// Presses keys, one for each character of `keys`: `\n` is Enter, `\u{1b}` Esc and `\t` Tab.
pub fn press(app: &mut App, keys: &str) -> Update {
    let mut last = Update::default();
    for letter in keys.chars() {
        let key = match letter {
            '\n' => Key::Enter,
            '\u{1b}' => Key::Esc,
            '\t' => Key::Tab,
            letter => Key::Char(letter),
        };
        last = app.update(Event::Key(key), app.clock());
        deletions::find_out(app, &mut last);
    }
    last
}
