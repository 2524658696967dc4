//! Transactions and multi-reads.

use super::pair::same;
use crate::harness::raw::{ANYONE, Request as R};

#[test]
fn a_transaction_does_all_or_nothing() {
    same(2, |side| {
        side.ask_all(1, &[R::add_watch("/", 1), R::get_children("/", true)]);
        let good = R::multi(&[
            R::create("/t", 0),
            R::create2("/t/a", 0),
            R::create("/t/n-", 3),
            R::create("/t/n-", 2),
            R::create_container("/t/c"),
            R::create_ttl("/t/ttl", 5, 60_000),
            R::set_data("/t/a", Some(b"x"), 0),
            R::check("/t/a", 1),
            R::create("/t/b", 1),
            R::delete("/t/b", 0),
            R::check("/t", -1),
        ]);
        side.ask(0, &good);
        side.events(1);
        let bad = R::multi(&[
            R::set_data("/t/a", None, 1),
            R::delete("/t/a", 2),
            R::create("/t/n-", 3),
            R::create_container("/t/d"),
            R::check("/t", 7),
            R::delete("/t/c", -1),
            R::create("/t/c", 0),
        ]);
        side.ask_all(0, &[bad, good, R::get_data("/t/a", false), R::get_children2("/t", false), R::create("/t/n-", 3)]);
        side.events(1);
        side.ask_all(0, &[R::multi(&[]), R::multi(&[R::check("/t/a", 1), R::check("/none", -1)])]);
        side.ask_all(0, &[R::multi(&[R::delete("/none", -1)]), R::multi(&[R::create("/", 0), R::create("/x", 0)])]);
        side.ask_all(0, &[R::get_children2("/t", false), R::exists("/t/c", false)]);
        side.events(1);
    });
}

#[test]
fn operations_not_allowed_in_a_transaction_are_refused_alike() {
    same(1, |side| {
        side.ask_all(
            0,
            &[
                R::create("/t", 0),
                R::multi(&[R::set_acl("/t", &[ANYONE], -1)]),
                R::multi(&[R::delete_container("/t")]),
                R::multi(&[R::exists("/t", false)]),
                R::multi(&[R::sync("/t")]),
                R::multi_read(&[R::exists("/t", false)]),
                R::multi_read(&[R::get_children2("/t", false)]),
                R::exists("/t", false),
            ],
        );
    });
}

#[test]
fn in_a_transaction_the_flags_of_a_new_node_count() {
    same(1, |side| {
        side.ask(0, &R::create("/f", 0));
        for flags in -1..8 {
            for op in [1, 15, 19] {
                side.ask(0, &R::multi(&[R::create_as(op, &format!("/f/{op}-{flags}-"), None, &[ANYONE], flags)]));
            }
            for ttl in [-1, 60_000] {
                side.ask(0, &R::multi(&[R::create_ttl(&format!("/f/ttl{ttl}-{flags}-"), flags, ttl)]));
            }
        }
        side.ask_all(0, &[R::get_children2("/f", false), R::get_ephemerals("")]);
    });
}

#[test]
fn several_nodes_are_read_alike() {
    same(2, |side| {
        side.ask_all(0, &[R::create("/r", 0), R::create("/r/a", 0), R::create_as(1, "/r/b", None, &[ANYONE], 0)]);
        side.ask_all(
            0,
            &[
                R::multi_read(&[
                    R::get_data("/r", true),
                    R::get_children("/r", true),
                    R::get_data("/none", true),
                    R::get_data("/r/b", false),
                    R::get_children("/none", false),
                ]),
                R::multi_read(&[]),
            ],
        );
        side.ask_all(1, &[R::set_data("/r", None, -1), R::create("/none", 0), R::delete("/r/a", -1)]);
        side.events(0);
    });
}
