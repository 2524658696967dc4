//! Requests, encoded and ready to be sent.

use std::fmt::{self, Write};

use super::Jute;

/// An ACL entry that allows everything to everyone.
pub const ANYONE: (i32, &str, &str) = (31, "world", "anyone");

/// A request: its name in reports, its operation and its body.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    pub name: String,
    pub op: i32,
    pub body: Vec<u8>,
    /// The xid to send instead of the next one.
    pub xid: Option<i32>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The lists of paths in a `setWatches`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watches<'a> {
    pub data: &'a [&'a str],
    pub exist: &'a [&'a str],
    pub child: &'a [&'a str],
    pub persistent: &'a [&'a str],
    pub recursive: &'a [&'a str],
}

impl Request {
    pub fn new(name: impl Into<String>, op: i32, body: Vec<u8>) -> Self {
        Self { name: name.into(), op, body, xid: None }
    }

    fn of_path(name: &str, op: i32, path: &str, more: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut body = Vec::new();
        body.put_text(path);
        more(&mut body);
        Self::new(format!("{name} {path:?}"), op, body)
    }

    /// Encodes a create. `op` is one of `create`, `create2`, `createContainer`.
    pub fn create_as(op: i32, path: &str, data: Option<&[u8]>, acls: &[(i32, &str, &str)], flags: i32) -> Self {
        let mut request = Self::of_path("create", op, path, |body| {
            body.put_buffer(data);
            put_acls(body, acls);
            body.put_int(flags);
        });
        let _ = write!(request.name, " op {op} flags {flags} {acls:?}");
        request
    }

    pub fn create(path: &str, flags: i32) -> Self {
        Self::create_as(1, path, Some(b"data"), &[ANYONE], flags)
    }

    pub fn create2(path: &str, flags: i32) -> Self {
        Self::create_as(15, path, Some(b"data"), &[ANYONE], flags)
    }

    pub fn create_container(path: &str) -> Self {
        Self::create_as(19, path, None, &[ANYONE], 4)
    }

    pub fn create_ttl(path: &str, flags: i32, ttl: i64) -> Self {
        let mut request = Self::create_as(21, path, Some(b""), &[ANYONE], flags);
        request.body.put_long(ttl);
        let _ = write!(request.name, " ttl {ttl}");
        request
    }

    pub fn delete(path: &str, version: i32) -> Self {
        Self::versioned("delete", 2, path, version)
    }

    pub fn delete_container(path: &str) -> Self {
        Self::of_path("deleteContainer", 20, path, |_| {})
    }

    pub fn check(path: &str, version: i32) -> Self {
        Self::versioned("check", 13, path, version)
    }

    fn versioned(name: &str, op: i32, path: &str, version: i32) -> Self {
        let mut request = Self::of_path(name, op, path, |body| {
            body.put_int(version);
        });
        let _ = write!(request.name, " v{version}");
        request
    }

    pub fn set_data(path: &str, data: Option<&[u8]>, version: i32) -> Self {
        Self::of_path("setData", 5, path, |body| {
            body.put_buffer(data).put_int(version);
        })
    }

    pub fn set_acl(path: &str, acls: &[(i32, &str, &str)], version: i32) -> Self {
        Self::of_path("setACL", 7, path, |body| {
            put_acls(body, acls);
            body.put_int(version);
        })
    }

    fn watching(name: &str, op: i32, path: &str, watch: bool) -> Self {
        let mut request = Self::of_path(name, op, path, |body| {
            body.put_bool(watch);
        });
        request.name += if watch { " and watch" } else { "" };
        request
    }

    pub fn exists(path: &str, watch: bool) -> Self {
        Self::watching("exists", 3, path, watch)
    }

    pub fn get_data(path: &str, watch: bool) -> Self {
        Self::watching("getData", 4, path, watch)
    }

    pub fn get_children(path: &str, watch: bool) -> Self {
        Self::watching("getChildren", 8, path, watch)
    }

    pub fn get_children2(path: &str, watch: bool) -> Self {
        Self::watching("getChildren2", 12, path, watch)
    }

    pub fn get_acl(path: &str) -> Self {
        Self::of_path("getACL", 6, path, |_| {})
    }

    pub fn sync(path: &str) -> Self {
        Self::of_path("sync", 9, path, |_| {})
    }

    pub fn get_ephemerals(prefix: &str) -> Self {
        Self::of_path("getEphemerals", 103, prefix, |_| {})
    }

    pub fn get_all_children_number(path: &str) -> Self {
        Self::of_path("getAllChildrenNumber", 104, path, |_| {})
    }

    pub fn who_am_i() -> Self {
        Self::new("whoAmI", 107, Vec::new())
    }

    pub fn add_watch(path: &str, mode: i32) -> Self {
        Self::versioned("addWatch", 106, path, mode)
    }

    pub fn check_watches(path: &str, kind: i32) -> Self {
        Self::versioned("checkWatches", 17, path, kind)
    }

    pub fn remove_watches(path: &str, kind: i32) -> Self {
        Self::versioned("removeWatches", 18, path, kind)
    }

    /// Encodes a `setWatches`, or a `setWatches2` if there are persistent watches.
    pub fn set_watches(zxid: i64, watches: Watches<'_>) -> Self {
        let mut body = Vec::new();
        body.put_long(zxid).put_texts(watches.data).put_texts(watches.exist).put_texts(watches.child);
        let more = !watches.persistent.is_empty() || !watches.recursive.is_empty();
        if more {
            body.put_texts(watches.persistent).put_texts(watches.recursive);
        }
        let request = Self::new(format!("setWatches {watches:?}"), if more { 105 } else { 101 }, body);
        Self { xid: Some(-8), ..request }
    }

    pub fn auth(scheme: &str, credentials: &str) -> Self {
        let mut body = Vec::new();
        body.put_int(0).put_text(scheme).put_buffer(Some(credentials.as_bytes()));
        Self { xid: Some(-4), ..Self::new(format!("auth {scheme}"), 100, body) }
    }

    pub fn close() -> Self {
        Self::new("close", -11, Vec::new())
    }

    pub fn multi(requests: &[Request]) -> Self {
        Self::list("multi", 14, requests)
    }

    pub fn multi_read(requests: &[Request]) -> Self {
        Self::list("multiRead", 22, requests)
    }

    fn list(name: &str, op: i32, requests: &[Request]) -> Self {
        let mut body = Vec::new();
        for request in requests {
            body.put_int(request.op).put_bool(false).put_int(-1).extend(&request.body);
        }
        body.put_int(-1).put_bool(true).put_int(-1);
        let names: Vec<&str> = requests.iter().map(|request| &*request.name).collect();
        Self::new(format!("{name} [{}]", names.join("; ")), op, body)
    }
}

fn put_acls(body: &mut Vec<u8>, acls: &[(i32, &str, &str)]) {
    body.put_int(i32::try_from(acls.len()).expect("a short list"));
    for (permissions, scheme, id) in acls {
        body.put_int(*permissions).put_text(scheme).put_text(id);
    }
}
