//! The short texts about a lock in the lists, down to the narrowest columns.

use std::sync::Arc;
use std::time::Duration;

use super::{SIZES, after, picture, second};
use crate::tui::app::{App, Event, HistoryColumn, HistoryList, ListScreen, LockColumn, LockList};
use crate::tui::testing::servers::{Clients, surveyed};
use crate::tui::testing::{NOW, ago, app, at, connected, curator, deleted, gone, listed, live, path, seen, session};
use crate::tui::theme::{Theme, ThemeName};
use crate::tui::view::list::name_of;
use lockscope_base::znode::{ZnodeStat, Zxid};
use lockscope_model::diagnose::{Code, MAX_TITLE_WIDTH, Severity};
use lockscope_model::queue::Change;
use lockscope_model::server_view::{
    Expiry, ExpiryClock, ListedSession, Listing, ServerSettings, ServerView, SessionTiming,
};
use lockscope_model::text::width;

/// Returns the line of a picture that contains `text`.
pub fn line_with<'a>(picture: &'a str, text: &str) -> &'a str {
    picture.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("nothing shows {text}:\n{picture}"))
}

/// Returns the words of a picture, without the borders of its boxes.
fn words_of(picture: &str) -> String {
    picture.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Shows a group whose members are numbered but follow no recipe.
fn registry(size: (u16, u16)) -> App {
    let mut app = app(size);
    let members = (1..=3).map(|number| seen(&format!("/group/m-{number:010}"), number, ago(90 - number), b""));
    let mut changes = vec![connected(), Change::Syncing, listed("/group", 4)];
    changes.extend(members);
    changes.push(Change::Synced);
    app.update(at(NOW, changes), NOW);
    app
}

#[test]
fn an_assumed_holder_is_marked_at_any_width() {
    for size in SIZES {
        let picture = picture(&registry(size), size);
        let row = line_with(&picture, "/group  ");
        assert!(row.contains("● assumed") || row.contains("(assumed)"), "{size:?}: {row}");
    }
    let row = picture(&registry((80, 24)), (80, 24));
    assert!(line_with(&row, "/group  ").contains("● assumed"), "{row}");
}

#[test]
fn no_name_of_a_finding_is_cut_in_the_narrowest_column() {
    let app = live((80, 24));
    let findings = |width| LockList.place(&app, width).into_iter().find(|column| column.key == LockColumn::Finding);
    let what = |width| HistoryList.place(&app, width).into_iter().find(|column| column.key == HistoryColumn::What);
    let widths = (58..200)
        .flat_map(|columns| [findings(columns).map(|column| column.width), what(columns).map(|column| column.width)]);
    let narrowest = usize::from(widths.map(|width| width.expect("the column stays")).min().expect("a width"));
    assert!(narrowest >= MAX_TITLE_WIDTH, "{narrowest}");
    for code in Code::ALL {
        for (severity, ascii) in [(Severity::Info, false), (Severity::Warning, true), (Severity::Critical, false)] {
            let signs = Theme::new(ThemeName::Terminal, ascii).signs;
            let shown = name_of(code, signs.severity(severity), narrowest);
            assert!(width(&shown) <= narrowest, "{shown}");
            assert!([code.id(), code.title()].iter().any(|name| shown.ends_with(name)), "{shown}");
        }
    }
    assert_eq!(name_of(Code::HeadChangedByExpiry, "i", 14), "i expired head");
    assert_eq!(name_of(Code::PersistentContender, "!", 14), "! persistent");
    assert_eq!(name_of(Code::PersistentContender, "!", 24), "! persistent-contender");
}

/// Reports that the client of session `own` is connected and sends only heartbeats.
fn with_heartbeats(app: &mut App, number: u64, own: i64) {
    let clients = Clients { connected: vec![own, 0x1c, 0x1d], child_watches: 2, ..Clients::default() };
    let now = second(number);
    let Change::Surveyed { view } = surveyed(now, &clients) else { unreachable!("surveyed makes Surveyed") };
    let mut view = ServerView::clone(&view);
    for member in &mut view.members {
        let mut connections = member.connections.take().expect("a list of connections").items().to_vec();
        for connection in &mut connections {
            connection.last_operation = Some("PING".to_owned());
            connection.established = Some(ago(3_600));
        }
        member.connections = Some(Listing::new(connections, true, now));
    }
    app.update(at(now, vec![Change::Surveyed { view: Arc::new(view) }]), now);
    app.update(Event::Tick, now);
}

/// Shows a lock that had been stuck for a quarter of an hour when the console started. The console
/// has watched it for `seconds` since.
fn stands_still(size: (u16, u16), seconds: u64) -> App {
    stands_still_since(size, seconds, Zxid(i64::MAX), 3)
}

/// Shows the same lock, released by an earlier holder before that.
fn stands_still_after_a_release(size: (u16, u16)) -> String {
    picture(&after(stands_still_since(size, 2, Zxid(0), 5), "\n"), size)
}

/// Shows a stuck lock whose parent has the `pzxid` `last` and the `cversion` given.
fn stands_still_since(size: (u16, u16), seconds: u64, last: Zxid, cversion: i32) -> App {
    let mut app = app(size);
    let Change::Listed { path, stat } = listed("/locks/a", 3) else { unreachable!("listed makes Listed") };
    let parent = Change::Listed { path, stat: ZnodeStat { cversion, num_children: 3, pzxid: last, ..stat } };
    let waits = [(1, 0x1b, 822), (2, 0x1c, 700), (3, 0x1d, 600)];
    let mut changes = vec![connected(), Change::Syncing, parent];
    changes.extend(waits.map(|(number, owner, waits)| curator("/locks/a", number, owner, waits)));
    changes.push(Change::Synced);
    app.update(at(NOW, changes), NOW);
    (1..=seconds).for_each(|number| with_heartbeats(&mut app, number, 0x1b));
    app
}

#[test]
fn a_fresh_and_an_older_console_show_the_same_headline_for_a_stuck_lock() {
    let size = (80, 24);
    let code = |app: &App| app.world().diagnosis().findings().next().expect("a finding").code;
    let (fresh, older) = (stands_still(size, 2), stands_still(size, 70));
    assert_eq!([code(&fresh), code(&older)], [Code::Stuck, Code::Stuck]);
    assert!(older.world().diagnosis().findings().any(|finding| finding.code == Code::IdleHolder));
    for (app, held) in [(Box::new(fresh), "13m44s"), (Box::new(older), "14m52s")] {
        let headline = format!("! stuck {held}, 2 wait; its client is connected and idle");
        let locks = picture(&app, size);
        assert!(line_with(&locks, "/locks/a").contains(&format!("! stuck {held}")), "{locks}");
        assert!(locks.contains(&headline), "{locks}");
        let queue = after(*app, "\n");
        assert!(picture(&queue, size).contains(&headline), "{}", picture(&queue, size));
        let waits = picture(&after(queue, "4"), size);
        assert!(waits.contains(&format!("! stuck {held}")), "{waits}");
    }
}

/// Expires the session of the first holder, so that its successor holds.
fn head_expired(size: (u16, u16)) -> App {
    let mut app = live(size);
    let (holder, expires_at) = (0x1b, second(6));
    let listed = ListedSession {
        id: session(holder),
        expiry: Expiry::Monotonic { millis: expires_at.0 },
        expires_at: Some(expires_at),
    };
    let timing = SessionTiming {
        clock: Some(ExpiryClock::same_as_ours()),
        settings: ServerSettings::new(Duration::from_secs(2), Duration::from_secs(4)),
    };
    for number in 1..=5 {
        let now = second(number);
        let connected = if number == 1 { vec![holder] } else { Vec::new() };
        let Change::Surveyed { view } = surveyed(now, &Clients { connected, ..Clients::default() }) else { continue };
        let mut view = ServerView::clone(&view);
        view.members[0].sessions = Some(Listing::new(vec![listed.clone()], true, now));
        view.members[0].timing = timing;
        app.update(at(now, vec![Change::Surveyed { view: Arc::new(view) }]), now);
    }
    app.update(at(second(6), vec![gone("/locks/billing", 4711, holder)]), second(6));
    app.update(Event::Tick, second(7));
    app
}

#[test]
fn an_informational_finding_shows_below_the_list_and_in_its_row() {
    let size = (80, 24);
    let app = after(head_expired(size), "/billing\n");
    let locks = picture(&app, size);
    assert!(line_with(&locks, "/locks/billing").contains("expired head"), "{locks}");
    assert!(words_of(&locks).contains("lost the lock when its session expired"), "{locks}");
    let queue = picture(&after(app, "\n"), size);
    assert!(words_of(&queue).contains("lost the lock when its session expired"), "{queue}");
}

/// Readers hold and a writer waits behind them; the first `released` readers release.
fn readers_pass(size: (u16, u16), released: i32) -> App {
    let mut app = app(size);
    let node = |kind: &str, number: i32| format!("/rw/{kind}-{number:010}");
    let mut changes = vec![connected(), Change::Syncing, listed("/rw", 50)];
    changes.push(Change::Synced);
    changes.extend((0..43).map(|number| seen(&node("read", number), i64::from(number) + 1, ago(0), b"")));
    changes.push(seen(&node("write", 43), 99, ago(0), b"rebuild-1"));
    app.update(at(NOW, changes), NOW);
    for number in 0..released {
        let gone = deleted(&path(&node("read", number)));
        app.update(at(second(10), vec![gone]), second(10));
    }
    app.update(Event::Tick, second(425));
    app.update(Event::Tick, second(427));
    app
}

#[test]
fn a_writer_that_readers_passed_shows_all_readers_and_how_many_passed() {
    let size = (80, 24);
    let app = after(readers_pass(size, 41), ":lock /rw\n");
    let queue = picture(&app, size);
    assert!(line_with(&queue, " W ○").contains("41, 42"), "{queue}");
    let words = words_of(&queue);
    assert!(words.contains("has waited to write for 7m07s while 41 readers passed."), "{queue}");
    let details = picture(&after(app, "G\t"), size);
    assert!(details.contains("meanwhile  41 readers passed"), "{details}");
}

#[test]
fn the_end_of_a_possible_holder_before_the_first_look_is_shown_as_unknown() {
    let size = (80, 24);
    let page = |app: App| picture(&after(app, ":lock /locks/orders\n"), size);
    let found = page(live(size));
    let said = "whether the holder before it released or expired cannot be seen afterwards";
    assert!(words_of(&found).contains(&format!("before {said}")), "{found}");
    let stuck = stands_still_after_a_release(size);
    let said = format!("got the lock 13m42s before it was first seen here: {said}.");
    assert!(words_of(&stuck).contains(&said), "{stuck}");
    let mut handed_on = live(size);
    handed_on.update(at(second(1), vec![gone_from_orders()]), second(1));
    assert!(!page(handed_on).contains("the holder before it"), "its beginning was seen");
    let first = picture(&after(stands_still(size, 1), "\n"), size);
    assert!(!first.contains("the holder before it"), "nobody ever released it: {first}");
}

/// Returns the change by which the first holder of `/locks/orders` releases.
fn gone_from_orders() -> Change {
    let node = format!("/locks/orders/{:032x}__lock__{:010}", 7, 7);
    deleted(&path(&node))
}
