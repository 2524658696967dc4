//! Snapshots of the servers' reports and of the findings based on them.

use ratatui::style::{Color, Modifier};

use super::{LARGER_SIZES, SIZES, after, drawn, picture, second, show, show_at, show_once};
use crate::tui::app::{App, Event, Settings};
use crate::tui::testing::servers::{Clients, clients, motley, surveyed, trouble, untold};
use crate::tui::testing::{NOW, app, at, ensemble, live, node_reading, path, press};
use crate::tui::theme::{Theme, ThemeName};
use lockscope_base::znode::Zxid;
use lockscope_model::queue::Change;
use lockscope_model::server_view::{
    ComparedMember, Difference, MemberComparison, Provenance, ServerView, SyncSettings,
};

fn partly(size: (u16, u16)) -> App {
    let mut app = live(size);
    app.update(at(second(1), vec![motley(second(1), &clients())]), second(1));
    app
}

/// Shows three servers of which one has other nodes, and one was not read.
fn differ(size: (u16, u16)) -> App {
    let node = |at: &str, has| Difference {
        path: path(at),
        member: "zk2:2181".to_owned(),
        has,
        czxid: Some(Zxid(0x1_0000_0007)),
    };
    let differences = vec![node("/locks/billing", false), node("/locks/orders/stray-0000000001", true)];
    let error = Some("it gave no session within 4 s".to_owned());
    compared(size, differences, error, 3)
}

fn same(size: (u16, u16)) -> App {
    compared(size, Vec::new(), None, 0)
}

fn compared(size: (u16, u16), differences: Vec<Difference>, error: Option<String>, left_out: usize) -> App {
    let mut app = partly(size);
    let members = [("zk1:2181", None), ("zk2:2181", None), ("zk3:2181", error)];
    let members = members.map(|(address, error)| ComparedMember { address: address.to_owned(), error }).into();
    let comparison = MemberComparison { at: second(1), members, differences, parents: 14, left_out };
    app.update(at(second(5), vec![Change::Compared { comparison: comparison.into() }]), second(5));
    app
}

fn alone(size: (u16, u16)) -> App {
    let settings = Settings { asks_servers: false, ..app(size).settings().clone() };
    let mut app = App::new(settings, size, NOW);
    app.update(at(NOW, ensemble()), NOW);
    app
}

#[test]
fn findings_match_their_snapshots() {
    show("trouble-locks", trouble);
    show("trouble-queue", |size| after(trouble(size), ":lock /locks/billing\n"));
    show("trouble-queue-details", |size| after(trouble(size), ":lock /locks/orders\njj\t"));
    show("trouble-queue-why", |size| after(trouble(size), ":lock /locks/orders\njj\t\t"));
    show_once("trouble-expiring", |size| after(trouble(size), ":lock /apps/catalogue/index-rebuild\n"));
    show_once("trouble-single-node", |size| after(trouble(size), ":lock /controller\n"));
    show_once("trouble-timeline", |size| after(trouble(size), "6"));
}

/// Shows a holder whose connection was listed until four seconds ago.
fn cut_off(size: (u16, u16)) -> App {
    let mut app = live(size);
    let holder = 0x1b;
    let mut known = clients();
    app.update(at(second(1), vec![surveyed(second(1), &known)]), second(1));
    known.connected.retain(|owner| *owner != holder);
    known.expiring.push((holder, 20));
    for number in 2..=5 {
        app.update(at(second(number), vec![surveyed(second(number), &known)]), second(number));
        app.update(Event::Tick, second(number));
    }
    for number in 6..=9 {
        app.update(Event::Tick, second(number));
    }
    app
}

#[test]
fn a_bar_beside_the_countdown_of_a_disconnected_holder_shrinks() {
    show_at(&[(160, 45)], "cut-off-holder", cut_off);
    show_once("cut-off-holder-queue", |size| after(cut_off(size), ":lock /locks/billing\n"));
    let size = (160, 45);
    let (locks, queue) = (cut_off(size), after(cut_off(size), ":lock /locks/billing\n"));
    assert!(picture(&locks, size).contains("expiring 16s ███"), "16 of 30 s: {}", picture(&locks, size));
    assert!(picture(&queue, size).contains("expiring 16s ███"), "16 of 30 s: {}", picture(&queue, size));
}

/// Shows servers whose settings call for session timeouts of 51.25 s; the clients have 30 s.
fn lagging(size: (u16, u16)) -> App {
    let mut app = trouble(size);
    let mut view = ServerView::clone(app.world().table().view());
    for member in &mut view.members {
        member.extras.sync_settings = Some(SyncSettings { tick_ms: 2000, sync_limit: 20 });
    }
    let now = app.now();
    app.update(at(now, vec![Change::Surveyed { view: view.into() }]), now);
    app
}

#[test]
fn a_contending_session_that_may_outlive_its_timeout_is_marked() {
    show_once("session-short", |size| after(lagging(size), "3:sort session\n\n"));
    let idle = after(lagging((120, 40)), ":session 0xdead\n");
    assert!(!picture(&idle, (120, 40)).contains("past its end"));
}

#[test]
fn servers_that_list_no_client_are_said_to_with_the_line_that_mends_it() {
    for size in SIZES {
        let mut app = live(size);
        app.update(at(second(1), vec![untold(second(1))]), second(1));
        let locks = picture(&app, size);
        assert!(locks.contains("4lw.commands.whitelist=cons,dump,mntr,srvr"), "{locks}");
        let queue = picture(&after(app, ":lock /locks/billing\n"), size);
        assert!(queue.contains("not told: v"), "{queue}");
    }
}

#[test]
fn sessions_and_waits_match_their_snapshots() {
    show("sessions", |size| after(trouble(size), "3"));
    show_once("sessions-filtered", |size| after(trouble(size), "3/orders\n"));
    show_once("sessions-not-told", |size| after(alone(size), "3"));
    show("session", |size| after(trouble(size), "3:sort session\n\n"));
    show("session-events", |size| after(trouble(size), "3:sort session\n\n\t\t"));
    show_once("session-gone", |size| after(trouble(size), ":session 0xdead\n"));
    show_once("session-of-holder", |size| after(live(size), "o"));
    show("waits", |size| after(trouble(size), "4"));
    show_once("waits-none", |size| after(app(size), "4"));
}

#[test]
fn the_reports_of_the_servers_match_their_snapshots() {
    show("servers", |size| after(trouble(size), "v"));
    show("servers-partly", |size| after(partly(size), "v"));
    show("servers-differ", |size| after(differ(size), "v"));
    show_once("servers-same", |size| after(same(size), "v"));
    show_once("servers-off", |size| after(alone(size), "v"));
    show_once("locks-partly", partly);
}

#[test]
fn beside_tls_the_screens_say_that_plain_text_proves_nothing() {
    for size in LARGER_SIZES {
        let mut app = live(size);
        let Change::Surveyed { view } = surveyed(second(1), &Clients::default()) else { panic!("it is a view") };
        let mut view = ServerView::clone(&view);
        view.members[0].provenance = Provenance::PlainBesideTls;
        app.update(at(second(1), vec![Change::Surveyed { view: view.into() }]), second(1));
        for (keys, says) in
            [("v", "in plain text"), ("v", "could have written"), (":lock /locks/billing\n\t", "plain-text")]
        {
            press(&mut app, keys);
            let shown = picture(&app, size).replace('│', " ");
            let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(shown.contains(says), "{keys:?} at {size:?}: {shown}");
            press(&mut app, "1");
        }
    }
}

#[test]
fn every_screen_works_in_ascii_and_without_colours() {
    for size in SIZES {
        let settings = Settings { ascii: true, ..app(size).settings().clone() };
        for keys in ["", "\n", "\n\t", "3", "4", "v", "6"] {
            let mut plain = App::new(settings.clone(), size, NOW);
            plain.update(at(NOW, ensemble()), NOW);
            plain.update(at(second(1), vec![motley(second(1), &clients())]), second(1));
            press(&mut plain, keys);
            assert!(picture(&plain, size).is_ascii(), "{keys:?}");
            let buffer = drawn(&after(trouble(size), keys), size, &Theme::new(ThemeName::Mono, false));
            let grey = ratatui::style::Color::Reset;
            assert!(buffer.content.iter().all(|cell| cell.fg == grey && cell.bg == grey), "{keys:?}");
        }
    }
}

#[test]
fn in_waits_only_what_blocks_or_is_wrong_stands_out() {
    let app = after(trouble((160, 45)), "4");
    let theme = Theme::new(ThemeName::Terminal, false);
    let buffer = drawn(&app, (160, 45), &theme);
    let row = |y: u16| (0..160).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    let find = |text: &str| {
        let line = (0..45).find(|y| row(*y).contains(text)).unwrap_or_else(|| panic!("{text}"));
        let column = row(line).split(text).next().unwrap().chars().count();
        buffer[(u16::try_from(column).unwrap(), line)].clone()
    };
    assert_eq!(find("129 wait").fg, Color::Reset, "a lock is plain text");
    assert_eq!(Some(find("✖ deadlock").fg), theme.bad.fg, "its finding is as bad as it is");
    assert!(find("● worker-7").modifier.contains(Modifier::BOLD), "who blocks is strong");
    assert_eq!(Some(find(", in a cycle").fg), theme.bad.fg);
}

/// Opens the page of a node with this data.
fn node_page(size: (u16, u16), data: &[u8]) -> App {
    let mut app = after(live(size), ":node /locks/a\u{202e}b\n");
    let read = Ok(Box::new(Some(node_reading(data))));
    app.update(Event::NodeRead { path: path("/locks/a\u{202e}b"), read }, NOW);
    app
}

#[test]
fn the_page_of_a_node_matches_its_snapshots() {
    show("node", |size| node_page(size, br#"{"host":"worker-1","pids":[7,8],"lock":{}}"#));
    show_once("node-binary", |size| node_page(size, b"\x1b]0;owned\x07\xff\xfe\r\n\x00\x01 and more than one line"));
    show_once("node-not-read", |size| after(live(size), "\nd"));
}

#[test]
fn no_control_character_of_a_node_reaches_the_terminal() {
    for size in SIZES {
        for data in [&b"\x1b[2J\x9b31m\xff"[..], "{\"a\u{202e}\u{9b}\":\"\u{2066}\"}".as_bytes()] {
            let shown = picture(&node_page(size, data), size);
            let acts =
                |letter: char| letter != '\n' && (letter.is_control() || ('\u{202a}'..'\u{2070}').contains(&letter));
            assert!(!shown.contains(acts), "{shown}");
        }
    }
}
