//! Entries that are made by hand, and any bytes.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::disk::NodeKind;
use crate::disk::testing::{SESSION, entry, put_open_acl, written};
use crate::wire::{Writer, op};
use crate::znode::SessionId;

fn read(bytes: &[u8]) -> Entry<'_> {
    Entry::read(bytes).expect("an entry")
}

fn put_node(out: &mut Vec<u8>) {
    out.put_text("/a");
    out.put_buffer(Some(b"data"));
    put_open_acl(out);
}

fn put_digest(out: &mut Vec<u8>) {
    out.put_int(2);
    out.put_long(-5);
}

fn create(bytes: &[u8]) -> CreateTxn<'_> {
    match read(bytes).txn {
        Txn::Create(create) => create,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_create_of_each_version_is_read() {
    let old = entry(1, op::CREATE, |out| {
        put_node(out);
        out.put_bool(true);
    });
    let old = create(&old);
    assert_eq!((&*old.path, old.data, old.parent_cversion), ("/a", &b"data"[..], None));
    assert_eq!(old.kind, NodeKind::Ephemeral(SessionId(SESSION)));
    let acl: Vec<_> = old.acl.entries().collect();
    assert_eq!(acl, [AclEntry { permissions: 31, scheme: "world".into(), id: "anyone".into() }]);

    let later = |digest: bool| {
        entry(1, op::CREATE2, |out| {
            put_node(out);
            out.put_bool(false);
            out.put_int(7);
            if digest {
                put_digest(out);
            }
        })
    };
    for has_digest in [false, true] {
        let bytes = later(has_digest);
        assert_eq!((create(&bytes).kind, create(&bytes).parent_cversion), (NodeKind::Persistent, Some(7)));
        let digest = TxnDigest { version: 2, digest: -5 };
        assert_eq!(read(&bytes).digest, has_digest.then_some(digest));
    }
}

#[test]
fn containers_and_ttl_nodes_are_told_apart() {
    let container = entry(1, op::CREATE_CONTAINER, |out| {
        put_node(out);
        out.put_int(3);
    });
    assert_eq!((create(&container).kind, create(&container).parent_cversion), (NodeKind::Container, Some(3)));
    let brief = entry(1, op::CREATE_TTL, |out| {
        put_node(out);
        out.put_int(3);
        out.put_long(1500);
        put_digest(out);
    });
    assert_eq!(create(&brief).kind, NodeKind::Ttl(Duration::from_millis(1500)));
    assert!(Entry::read(&brief[..brief.len() - 13]).is_err(), "the time to live is not whole");
}

#[test]
fn the_paths_of_a_closed_session_are_told_from_a_digest() {
    let paths = |bytes: &[u8]| match read(bytes) {
        Entry { txn: Txn::CloseSession { deleted }, digest, .. } => {
            let paths = deleted.map(|paths| paths.iter().map(String::from).collect::<Vec<_>>());
            (paths, digest.is_some())
        }
        other => panic!("{other:?}"),
    };
    let close = |body: &dyn Fn(&mut Vec<u8>)| entry(1, op::CLOSE_SESSION, body);
    let put_paths = |out: &mut Vec<u8>, paths: &[&str]| {
        out.put_length(paths.len());
        for path in paths {
            out.put_text(path);
        }
    };
    assert_eq!(paths(&close(&|_| {})), (None, false));
    assert_eq!(paths(&close(&|out| put_digest(out))), (None, true));
    for names in [&[][..], &["/abc"], &["/", "/"], &["/a", "/b/c"]] {
        let names_out: Vec<String> = names.iter().map(ToString::to_string).collect();
        assert_eq!(paths(&close(&|out| put_paths(out, names))), (Some(names_out.clone()), false));
        let both = close(&|out| {
            put_paths(out, names);
            put_digest(out);
        });
        assert_eq!(paths(&both), (Some(names_out), true));
    }
}

#[test]
fn a_failed_multi_tells_its_first_error() {
    let parts = |out: &mut Vec<u8>, last: i32| {
        out.put_length(3);
        for (kind, body) in [
            (op::DELETE, written(|out| out.put_text("/gone"))),
            (
                op::CHECK,
                written(|out| {
                    out.put_text("/a");
                    out.put_int(4);
                }),
            ),
            (last, written(|out| out.put_int(-103))),
        ] {
            out.put_int(kind);
            out.put_buffer(Some(&body));
        }
    };
    let multi = |bytes: &[u8]| match read(bytes).txn {
        Txn::Multi(multi) => {
            let parts: Vec<String> = multi.parts().map(|part| format!("{part:?}")).collect();
            (multi.failure(), parts)
        }
        other => panic!("{other:?}"),
    };
    let failed = entry(1, op::MULTI, |out| parts(out, op::ERROR));
    let (failure, shown) = multi(&failed);
    assert_eq!(failure, Some(-103));
    assert_eq!(shown[0], r#"Delete { path: "/gone", by_servers: false }"#);
    assert_eq!(shown[1], r#"Check { path: "/a", version: 4 }"#);
    assert_eq!(shown[2], "Error(-103)");
    // A multi within a multi has no meaning, and must not take up the stack.
    let (failure, shown) = multi(&entry(1, op::MULTI, |out| parts(out, op::MULTI)));
    assert_eq!((failure, &*shown[2]), (None, "Other(14)"));
}

#[test]
fn short_bodies_and_unknown_types_are_read() {
    let txn = |op, body: &dyn Fn(&mut Vec<u8>)| format!("{:?}", read(&entry(1, op, body)).txn);
    assert_eq!(txn(op::ERROR, &|out| out.put_int(-110)), "Error(-110)");
    assert_eq!(txn(op::CREATE_SESSION, &|out| out.put_int(2000)), "CreateSession { timeout: 2000 }");
    assert_eq!(txn(77, &|out| out.put_int(2000)), "Other(77)");
    let gone = txn(op::DELETE_CONTAINER, &|out| out.put_text("/box"));
    assert_eq!(gone, r#"Delete { path: "/box", by_servers: true }"#);
    let members = txn(op::RECONFIG, &|out| {
        out.put_text("/zookeeper/config");
        out.put_buffer(None);
        out.put_int(-1);
    });
    assert_eq!(members, r#"Reconfig { path: "/zookeeper/config", data: [], version: -1 }"#);
}

#[test]
fn only_the_servers_end_sessions_without_a_request() {
    let mut header = read(&entry(1, op::CLOSE_SESSION, |_| {})).header;
    assert!(!header.is_expiry());
    header.cxid = 0;
    assert!(header.is_expiry());
    header.op = op::CREATE_SESSION;
    assert!(!header.is_expiry());
}

/// Walks through all that can be walked through.
fn walk(txn: &Txn<'_>) {
    match txn {
        Txn::Create(create) => drop(create.acl.entries().count()),
        Txn::SetAcl { acl, .. } => drop(acl.entries().count()),
        Txn::CloseSession { deleted: Some(paths) } => drop(paths.iter().count()),
        Txn::Multi(multi) => multi.parts().for_each(|part| walk(&part)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(
        kind in prop_oneof![-11..24, any::<i32>()],
        body in proptest::collection::vec(prop_oneof![3 => Just(0), 2 => 1_u8..9, 1 => any::<u8>()], 0..200),
    ) {
        if let Ok(entry) = Entry::read(&entry(1, kind, |out| out.extend(&body))) {
            walk(&entry.txn);
        }
    }
}
