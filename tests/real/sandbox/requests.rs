//! Requests and refusals, one by one.

use super::pair::{same, same_aside};
use crate::harness::raw::{ANYONE, Request as R};

#[test]
fn nodes_are_created_read_changed_and_deleted_alike() {
    same(2, |side| {
        side.ask_all(
            0,
            &[
                R::create("/n", 0),
                R::create2("/n/a", 0),
                R::create_as(1, "/n/none", None, &[ANYONE], 0),
                R::create_as(1, "/n/empty", Some(b""), &[ANYONE], 1),
                R::get_data("/n/none", false),
                R::get_data("/n/empty", false),
                R::exists("/n", false),
                R::get_children("/n", false),
                R::get_children2("/n", false),
                R::set_data("/n/a", Some(b"other"), 0),
                R::set_data("/n/a", None, -1),
                R::set_data("/n/a", Some(b""), 0),
                R::get_data("/n/a", false),
                R::delete("/n/a", 0),
                R::delete("/n/a", 2),
                R::exists("/n/a", false),
                R::exists("/n", false),
                R::sync("/n"),
                R::sync("/nowhere"),
                R::get_all_children_number("/n"),
                R::get_all_children_number("/"),
                R::get_all_children_number("/none"),
                R::delete("/n", -1),
                R::delete("/n/none", -1),
                R::delete("/n/empty", -1),
                R::exists("/n", false),
                R::delete("/n", -1),
                R::delete("/n", -1),
            ],
        );
        side.zxid(1);
    });
}

#[test]
fn paths_are_refused_alike() {
    let paths = [
        "",
        "/",
        "a",
        "a/b",
        "//",
        "/a/",
        "/a//b",
        "/./a",
        "/a/..",
        "/\0",
        "/a\0b",
        "/\u{1}",
        "/\u{1f}",
        "/\u{7f}",
        "/\u{9f}",
        "/\u{e000}",
        "/\u{f8ff}",
        "/\u{f900}",
        "/\u{fff0}",
        "/\u{1f600}",
        "/none/a",
        "/zookeeper",
        "/zookeeper/quota",
        "/zookeeper/config",
        "/zookeeper/x/y",
        "/ok",
    ];
    same(1, |side| {
        for path in paths {
            side.ask_all(
                0,
                &[
                    R::create2(path, 0),
                    R::create2(path, 3),
                    R::exists(path, false),
                    R::get_data(path, false),
                    R::get_children2(path, false),
                    R::get_acl(path),
                    R::set_data(path, Some(b"x"), 7),
                    R::set_acl(path, &[ANYONE], 7),
                    R::get_all_children_number(path),
                    R::multi(&[R::check(path, 7)]),
                    R::delete(path, 7),
                    R::delete(path, -1),
                ],
            );
        }
    });
}

#[test]
fn sequence_numbers_are_the_same() {
    same(1, |side| {
        side.ask_all(
            0,
            &[
                R::create("/q", 0),
                R::create("/q/n-", 3),
                R::create2("/q/n-", 2),
                R::create("/q/plain", 1),
                R::create("/q/", 3),
                R::delete("/q/n-0000000000", -1),
                R::create("/q/n-", 3),
                R::create("/q/n-", 3),
                R::get_children2("/q", false),
                R::create("/q/n-0000000006", 1),
                R::create("/q/n-", 3),
                R::get_children2("/q", false),
                R::create_ttl("/q/t-", 6, 10_000),
            ],
        );
    });
}

#[test]
fn modes_and_ttls_are_accepted_and_refused_alike() {
    same(1, |side| {
        side.ask(0, &R::create("/m", 0));
        for flags in -1..8 {
            side.ask(0, &R::create(&format!("/m/c{flags}"), flags));
            for ttl in [-1, 0, 600_000, 0xff_ffff_ffff, 0x100_0000_0000] {
                // In the TTL operation, a mode without a TTL is undefined even on a real server.
                if flags > 4 || ttl >= 0 {
                    side.ask(0, &R::create_ttl(&format!("/m/t{flags}-{ttl}-"), flags, ttl));
                }
            }
            side.ask(0, &R::create_as(19, &format!("/m/k{flags}-"), Some(b"x"), &[ANYONE], flags));
        }
        side.ask_all(0, &[R::create("/m/c1/child", 0), R::get_children2("/m", false), R::exists("/m/c1", false)]);
    });
}

#[test]
fn containers_and_expired_ttl_nodes_are_removed_alike() {
    use crate::harness::wait::eventually_blocking;
    same(2, |side| {
        side.ask_all(
            0,
            &[
                R::create("/gone", 0),
                R::create_container("/gone/container"),
                R::create_container("/gone/unused"),
                R::create_ttl("/gone/ttl", 5, 100),
                R::create("/gone/container/child", 0),
                R::exists("/gone/container", false),
                R::exists("/gone/ttl", false),
                R::delete("/gone/container/child", -1),
            ],
        );
        eventually_blocking("both are gone", || {
            let left = side.raw(1).ask(&R { xid: Some(0), ..R::get_children("/gone", false) }).pop().expect("a reply");
            if left.body.len() == 4 + 4 + "unused".len() { Ok(()) } else { Err(left) }
        });
        side.ask_all(1, &[R::get_children2("/gone", false), R::delete_container("/gone/unused")]);
        side.ask_all(
            1,
            &[R::delete_container("/gone"), R::delete_container("/gone"), R::delete_container("/zookeeper")],
        );
    });
}

#[test]
fn ephemeral_nodes_are_listed_alike() {
    same(2, |side| {
        side.ask_all(0, &[R::create("/e", 0), R::create("/e/a", 1), R::create("/e/b", 1), R::create("/f", 1)]);
        side.ask(1, &R::create("/e/c", 1));
        for prefix in ["", "/", " ", "/e", "/e/b", "/none"] {
            side.ask(0, &R::get_ephemerals(prefix));
        }
        side.ask(1, &R::get_ephemerals("/"));
    });
}

#[test]
fn malformed_bodies_are_refused_alike() {
    same(1, |side| {
        for op in [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 17, 18, 19, 20, 21, 22, 101, 103, 104, 105, 106] {
            for body in [vec![], vec![0, 0, 0, 9, 1], vec![0x7f, 0xff, 0xff, 0xff], vec![0xff; 4], vec![0xff; 3]] {
                side.ask(0, &R::new(format!("operation {op} with {body:?}"), op, body));
            }
        }
        side.ask(0, &R::exists("/", false));
    });
}

#[test]
fn unknown_operations_close_the_connection_alike() {
    for op in [0, -1, 10, 23, 99, 108, 9999, i32::MIN] {
        same_aside(1, |side| {
            side.ask(0, &R::new(format!("operation {op}"), op, Vec::new()));
            let more = side.raw(0).receive().map(|frame| frame.xid);
            side.note(format!("{more:?}"));
            side.sessions.clear();
        });
    }
}
