//! A file that a server wrote.

use super::*;
use crate::disk::Txn;
use crate::disk::testing::LOG;

/// What the clients and servers did; see the README beside the file.
const STORY: &str = "\
1 servers begin 2000
2 client create /locks 0 Persistent 1
3 client create /locks/m 5 Persistent 1
4 servers begin 2000
5 client create /locks/m/lock-0000000000 5 Ephemeral(0x1000012e5d20001) 1
6 client create /locks/m/lock-0000000001 6 Ephemeral(0x1000012e5d20000) 2
7 servers begin 1000
8 client create /locks/m/ghost-0000000002 5 Ephemeral(0x1000012e5d20002) 3
9 client create /locks/m/ghost-0000000003 6 Ephemeral(0x1000012e5d20002) 4
10 client set /locks/m 12 1
11 client set /locks/m 300 2
12 client acl /locks/m 2 1
13 client error -110 undigested
14 client error -101 undigested
15 client error -103 undigested
16 client create /box 3 Container 2
17 client create /box/child 0 Persistent 1
18 client delete /box/child false
19 client create /brief 3 Ttl(700ms) 3
20 client create /box2 4 Container 4
21 client create /box2/child 4 Persistent 1
22 client create /long 3 Ttl(86400s) 5
23 client create /two 3 Persistent 6
24 servers delete /box true
25 client multi None [create /locks/t 1 Persistent 2, check /locks/m 3, set /locks/t 1 1, create /locks/t/e-0000000000 1 Ephemeral(0x1000012e5d20000) 1, create /gone 0 Persistent 7, delete /gone false]
26 client multi Some(-103) [create /locks/u 1 Persistent 3, error -103, error -2]
27 client close /locks/m/lock-0000000000
28 servers close /locks/m/ghost-0000000003 /locks/m/ghost-0000000002
29 servers delete /brief true
30 client create /locks/m/lock-0000000004 5 Ephemeral(0x1000012e5d20000) 5
31 client create /last 450 Persistent 8
32 servers begin 2000
33 client create /locks/m/lock-0000000005 6 Ephemeral(0x1000012e5d20003) 6
";

#[test]
fn every_kind_of_transaction_is_read() {
    let mut log = open(LOG);
    let mut story = String::new();
    while let LogItem::Record(record) = log.read().expect("bytes in memory") {
        story += &show(&record);
        story.push('\n');
    }
    assert_eq!(story, STORY);
}

fn show(record: &Record<'_>) -> String {
    let header = record.entry.header;
    let by = if header.cxid == 0 { "servers" } else { "client" };
    let digest = if record.entry.digest.is_some() { "" } else { " undigested" };
    format!("{} {by} {}{digest}", header.zxid, show_txn(&record.entry.txn))
}

fn show_txn(txn: &Txn<'_>) -> String {
    match txn {
        Txn::Create(create) => {
            let (path, bytes, kind) = (&create.path, create.data.len(), create.kind);
            let of = create.parent_cversion.expect("a new file");
            format!("create {path} {bytes} {kind:?} {of}")
        }
        Txn::Delete { path, by_servers } => format!("delete {path} {by_servers}"),
        Txn::SetData { path, data, version } => format!("set {path} {} {version}", data.len()),
        Txn::SetAcl { path, acl, version } => format!("acl {path} {} {version}", acl.entries().count()),
        Txn::Check { path, version } => format!("check {path} {version}"),
        Txn::Multi(multi) => {
            let parts: Vec<String> = multi.parts().map(|part| show_txn(&part)).collect();
            format!("multi {:?} [{}]", multi.failure(), parts.join(", "))
        }
        Txn::Error(code) => format!("error {code}"),
        Txn::CreateSession { timeout } => format!("begin {timeout}"),
        Txn::CloseSession { deleted } => {
            let deleted: Vec<_> = deleted.expect("a new file").iter().collect();
            format!("close {}", deleted.join(" "))
        }
        other => panic!("{other:?}"),
    }
}
