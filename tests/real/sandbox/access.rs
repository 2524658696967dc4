//! Permissions and identities.

use super::pair::{same, same_aside};
use super::side::Side;
use crate::harness::raw::{ANYONE, Request as R};

/// `ann:secret`, as `DigestAuthenticationProvider` writes it.
const ANN: &str = "ann:FpqQNOK57MHfUSPwnjGw+Tp9F9s=";

fn everything(side: &mut Side, session: usize, path: &str) {
    side.ask_all(
        session,
        &[
            R::exists(path, false),
            R::get_data(path, true),
            R::get_children(path, false),
            R::get_children2(path, true),
            R::get_all_children_number(path),
            R::get_acl(path),
            R::set_data(path, Some(b"x"), -1),
            R::create(&format!("{path}/child"), 0),
            R::delete(&format!("{path}/child"), -1),
            R::multi(&[R::check(path, -1)]),
            R::multi_read(&[R::get_data(path, false), R::get_children(path, false)]),
            R::set_acl(path, &[(31, "digest", ANN)], 99),
        ],
    );
}

#[test]
fn each_permission_allows_its_operations() {
    for permissions in [0, 1, 2, 4, 8, 16, 17, 12, 31] {
        same(2, |side| {
            side.ask(0, &R::auth("digest", "ann:secret"));
            let acls = [(permissions, "world", "anyone"), (31, "digest", ANN)];
            side.ask(0, &R::create_as(15, "/acl", None, &acls, 0));
            everything(side, 1, "/acl");
            everything(side, 0, "/acl");
            side.ask_all(0, &[R::set_acl("/acl", &[ANYONE], 0), R::set_acl("/acl", &[ANYONE], 0), R::get_acl("/acl")]);
            side.ask_all(0, &[R::delete("/acl/child", -1), R::delete("/acl", -1)]);
        });
    }
}

#[test]
fn identities_are_accepted_and_named_alike() {
    same(1, |side| {
        side.ask(0, &R::create_as(1, "/early", None, &[(31, "auth", "")], 0));
        side.ask(0, &R::who_am_i());
        side.ask_all(0, &[R::auth("digest", "ann:secret"), R::auth("digest", "ann:secret"), R::auth("ip", "")]);
        side.ask(0, &R::new("sasl", 102, vec![0, 0, 0, 1, 7]));
        side.ask(0, &R::create_as(1, "/auth", None, &[(31, "auth", "whoever"), ANYONE, ANYONE], 0));
        side.ask_all(0, &[R::get_acl("/auth"), R::delete("/auth", -1)]);
    });
}

#[test]
fn invalid_acls_are_refused_alike() {
    let good = [
        (1, "ip", "127.0.0.1"),
        (31, "ip", "10.0.0.0/8"),
        (31, "digest", "a:b"),
        (-1, "world", "anyone"),
        (64, "world", "anyone"),
    ];
    let bad = [
        (31, "world", "all"),
        (31, "digest", "a"),
        (31, "digest", "a:"),
        (31, "digest", ":a"),
        (31, "digest", ""),
        (31, "digest", "a:b:c"),
        (31, "ip", "x"),
        (31, "ip", "1.2.3.4.5"),
        (31, "ip", "1.2.3.4/33"),
        (31, "ip", "1.2.3.4/0"),
        (31, "ip", "1.2.3.4/-1"),
        (31, "ip", "256.1.1.1"),
        (31, "none", "x"),
        (31, "", ""),
        (31, "super", ""),
        (31, "x509", "x"),
        (31, "sasl", "x"),
    ];
    same(1, |side| {
        side.ask(0, &R::create_as(1, "/none", None, &[], 0));
        for acl in good.into_iter().chain(bad) {
            side.ask_all(0, &[R::create_as(1, "/acl", None, &[acl], 0), R::get_acl("/acl"), R::delete("/acl", -1)]);
        }
        side.ask(0, &R::create("/acl", 0));
        for acl in bad {
            side.ask(0, &R::set_acl("/acl", &[ANYONE, acl], -1));
        }
        side.ask_all(0, &[R::set_acl("/none", &[], -1), R::set_acl("/none", &[ANYONE], -1), R::delete("/acl", -1)]);
    });
}

#[test]
fn a_network_in_an_acl_allows_its_addresses() {
    for (id, note) in [("127.0.0.1", "own"), ("127.0.0.0/8", "network"), ("127.0.0.2", "other"), ("0.0.0.0/0", "all")] {
        same(1, |side| {
            side.note(note);
            side.ask_all(0, &[R::create_as(1, "/ip", None, &[(31, "ip", id)], 0), R::get_data("/ip", false)]);
            side.ask_all(0, &[R::create("/ip/a", 0), R::delete("/ip/a", -1), R::delete("/ip", -1)]);
        });
    }
}

#[test]
fn a_session_without_read_permission_gets_no_event() {
    same(2, |side| {
        side.ask_all(0, &[R::create("/told", 0), R::create("/told/open", 0)]);
        side.ask_all(1, &[R::add_watch("/told", 1), R::exists("/told/hidden", true), R::get_children("/told", true)]);
        side.ask_all(1, &[R::get_data("/told/open", true), R::get_children("/told/open", true)]);
        side.ask(0, &R::create_as(1, "/told/hidden", None, &[(30, "world", "anyone")], 0));
        side.events(1);
        side.ask_all(0, &[R::set_acl("/told/open", &[(14, "world", "anyone")], -1), R::create("/told/open/child", 0)]);
        side.ask_all(0, &[R::set_data("/told/open", None, -1), R::delete("/told/open/child", -1)]);
        side.ask_all(0, &[R::delete("/told/open", -1), R::delete("/told/hidden", -1), R::delete("/told", -1)]);
        side.events(1);
    });
}

#[test]
fn rejected_credentials_end_the_connection() {
    for scheme in ["world", "auth", "x", ""] {
        same_aside(1, |side| {
            side.ask(0, &R::auth(scheme, "anyone"));
            let more = side.raw(0).receive().map(|frame| frame.xid);
            side.note(format!("{more:?}"));
            side.sessions.clear();
        });
    }
}
