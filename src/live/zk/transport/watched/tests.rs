//! Tests of the watched paths: the relay passes exactly what the library has a watch for.

use lockscope_base::wire::Writer;

use super::*;

fn arguments(path: &str, more: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    out.put_text(path);
    more(&mut out);
    out
}

/// Lets a request for a one-shot watch be answered with this error.
fn set(watched: &mut WatchedPaths, operation: i32, path: &str, error: i32) {
    let asked = arguments(path, |out| out.put_bool(true));
    let wanted = watched.asked(operation, &asked).expect("it asks for a watch");
    watched.answered(wanted, operation, error);
}

fn add(watched: &mut WatchedPaths, path: &str, mode: i32) {
    let wanted = watched.asked(op::ADD_WATCH, &arguments(path, |out| out.put_int(mode))).expect("a watch");
    watched.answered(wanted, op::ADD_WATCH, 0);
}

const ALL_KINDS: [EventKind; 4] =
    [EventKind::Created, EventKind::Deleted, EventKind::DataChanged, EventKind::ChildrenChanged];

#[test]
fn a_recursive_watch_takes_all_events_below_it_and_none_beside_it() {
    let mut watched = WatchedPaths::default();
    add(&mut watched, "/locks", 1);
    for kind in ALL_KINDS {
        assert!(watched.takes(kind, b"/locks"), "{kind:?}");
        // A server sends no such event for a recursive watch, and the library would answer it.
        assert_eq!(watched.takes(kind, b"/locks/a/b"), kind != EventKind::ChildrenChanged, "{kind:?}");
        for path in ["/", "/lock", "/locksmith", "/other/locks"] {
            assert!(!watched.takes(kind, path.as_bytes()), "{kind:?} {path}");
        }
    }
    let mut everything = WatchedPaths::default();
    add(&mut everything, "/", 1);
    for path in ["/", "/a", "/a/b/c"] {
        assert!(everything.takes(EventKind::Created, path.as_bytes()), "{path}");
    }
}

#[test]
fn a_one_shot_watch_takes_events_until_it_has_fired() {
    let cases = [
        (op::EXISTS, -101, EventKind::Created),
        (op::EXISTS, 0, EventKind::Deleted),
        (op::GET_DATA, 0, EventKind::DataChanged),
        (op::GET_CHILDREN, 0, EventKind::ChildrenChanged),
        (op::GET_CHILDREN2, 0, EventKind::Deleted),
    ];
    for (operation, error, fires) in cases {
        let mut watched = WatchedPaths::default();
        set(&mut watched, operation, "/a", error);
        assert!(!watched.takes(fires, b"/a/b"), "{operation}");
        assert!(watched.takes(fires, b"/a"), "{operation}");
        assert!(!watched.takes(fires, b"/a"), "{operation}: it has fired");
    }
    let mut watched = WatchedPaths::default();
    set(&mut watched, op::GET_DATA, "/a", -101);
    assert!(!watched.takes(EventKind::Created, b"/a"), "that request sets no watch at a missing node");
}

#[test]
fn a_second_watch_on_a_path_outlives_the_event_of_the_first() {
    let mut watched = WatchedPaths::default();
    let asked = arguments("/a", |out| out.put_bool(true));
    let both = [(); 2].map(|()| watched.asked(op::GET_DATA, &asked).expect("a watch"));
    watched.answered(both[0], op::GET_DATA, 0);
    assert!(watched.takes(EventKind::DataChanged, b"/a"));
    watched.answered(both[1], op::GET_DATA, 0);
    assert!(watched.takes(EventKind::DataChanged, b"/a"));
    assert!(!watched.takes(EventKind::DataChanged, b"/a"));
}

#[test]
fn a_watch_ends_with_the_request_that_removes_it() {
    let mut watched = WatchedPaths::default();
    add(&mut watched, "/a", 0);
    add(&mut watched, "/a", 1);
    set(&mut watched, op::GET_CHILDREN, "/a", 0);
    let remove = |watched: &mut WatchedPaths, mode: i32| {
        watched.asked(op::REMOVE_WATCHES, &arguments("/a", |out| out.put_int(mode)));
    };
    remove(&mut watched, 5);
    assert!(!watched.takes(EventKind::Created, b"/a/b") && watched.takes(EventKind::Created, b"/a"));
    remove(&mut watched, 3);
    assert!(ALL_KINDS.iter().all(|kind| !watched.takes(*kind, b"/a")));
    assert!(watched.bits.is_empty() && watched.recursive == 0);
}

#[test]
fn watches_that_are_set_again_after_a_reconnect_are_known() {
    let mut watched = WatchedPaths::default();
    let mut asked = Vec::new();
    asked.put_long(7);
    for path in ["/data", "/exist", "/child", "/persistent", "/recursive"] {
        asked.put_length(1);
        asked.put_text(path);
    }
    assert_eq!(watched.asked(op::SET_WATCHES2, &asked), None);
    for (kind, path) in [
        (EventKind::DataChanged, "/data"),
        (EventKind::Created, "/exist"),
        (EventKind::ChildrenChanged, "/child"),
        (EventKind::ChildrenChanged, "/persistent"),
        (EventKind::Created, "/recursive/a"),
    ] {
        assert!(watched.takes(kind, path.as_bytes()), "{path}");
    }
    assert!(!watched.takes(EventKind::DataChanged, b"/data"));
}

#[test]
fn every_event_passes_once_the_watches_cannot_be_known() {
    let mut watched = WatchedPaths::default();
    watched.asked(op::ADD_WATCH, &[0, 0]);
    assert!(watched.takes(EventKind::Created, b"/a"), "the request could not be read");
    let mut many = WatchedPaths::default();
    for path in 0..=MAX_WATCHED as u64 {
        assert!(!many.passes_all);
        many.add(WantedWatch { path, bits: WatchBits::DATA });
    }
    assert!(many.takes(EventKind::Created, b"/a") && many.bits.is_empty());
}
