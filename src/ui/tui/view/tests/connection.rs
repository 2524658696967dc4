//! Snapshots of a connection that is lost, lags or delivers too many events.

use super::{after, link, second, show, show_at, show_once};
use crate::tui::app::{App, Event};
use crate::tui::testing::{self, NOW, app, at, listed, live};
use lockscope_base::znode::ZnodeStat;
use lockscope_model::queue::{Change, ConnectionState};

/// The observer's text about a lagging member, where no other member can be reached.
const LAGS: &str = "zk2.example.org:2181 lags behind zk1.example.org:2181 and may be cut off from the other members: what it showed is \
                    kept until it has caught up; name other members in --connect to continue with one of them";

/// Shows more events than the observer can follow, and two samples of two locks.
fn overloaded(size: (u16, u16)) -> App {
    let mut app = live(size);
    let reason = "events come faster than they can be taken in: queues are shown as they were until everything is read again, \
                  and counts with ~ are samples; --root limits what is watched";
    app.update(link(ConnectionState::Overloaded { reason: reason.to_owned() }), second(4));
    for (now, created) in [(5, 5_000), (6, 6_224)] {
        let samples = [("/locks/billing", created), ("/locks/orders", 4_999)].map(|(lock, created)| {
            let Change::Listed { path, stat } = listed(lock, created) else { panic!("it is a listing") };
            Change::Sampled { path, stat: ZnodeStat { cversion: 2 * created - 130, num_children: 130, ..stat } }
        });
        app.update(at(second(now), samples.to_vec()), second(now));
    }
    app
}

#[test]
fn connection_trouble_matches_its_snapshots() {
    show_once("connecting", app);
    show("no-connection", |size| {
        let mut app = app(size);
        let reason = Some("connection refused by zk1:2181; are the servers running?".to_owned());
        app.update(link(ConnectionState::Connecting { attempt: 4, reason, next_try: Some(second(7)) }), second(4));
        app
    });
    show_at(&[(60, 18)], "lagging", |size| {
        let mut app = live(size);
        app.update(at(second(3), vec![Change::Heard { at: second(2) }]), second(3));
        let (member, reason) = ("zk2.example.org:2181".to_owned(), LAGS.to_owned());
        app.update(link(ConnectionState::Lagging { member, reason }), second(4));
        app
    });
    show("silent", |size| {
        let mut app = after(live(size), "\n");
        app.update(link(ConnectionState::Silent { since: second(2) }), second(5));
        app.update(Event::Tick, second(9));
        app
    });
    show("too-many-events", overloaded);
    show_once("too-many-events-queue", |size| after(overloaded(size), ":lock /locks/billing\n"));
    show_once("refused", |size| {
        let mut app = app(size);
        let reason = "The server refused the credentials: check the file given with --auth-file.".to_owned();
        app.update(link(ConnectionState::Refused { reason }), second(4));
        app.update(Event::ObserverEnded, second(4));
        app
    });
    show_once("reading", |size| {
        let mut app = app(size);
        let mut changes = testing::ensemble();
        changes.pop();
        app.update(at(NOW, changes), NOW);
        app
    });
    show_once("lost", |size| {
        let mut app = after(live(size), "\n");
        app.update(at(second(4), vec![Change::Heard { at: second(4) }]), second(4));
        app.update(link(ConnectionState::Lost { reason: "connection reset by peer".to_owned() }), second(4));
        app.update(Event::Tick, second(9));
        app
    });
}
