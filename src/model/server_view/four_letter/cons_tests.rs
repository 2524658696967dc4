//! Tests of `cons`.

use super::*;
use lockscope_base::znode::Timestamp;

const REAL: &str = include_str!("../captures/standalone-cons.txt");

/// From the documentation of `ClickHouse` Keeper.
const OF_KEEPER: &str = " 192.168.1.1:52163(recved=0,sent=0,sid=0xffffffffffffffff,lop=NA,est=1636454787393,to=30000,\
         lzxid=0xffffffffffffffff,lresp=0,llat=0,minlat=0,avglat=0,maxlat=0)\n 192.168.1.1:52042(recved=9,sent=18,\
         sid=0x0000000000000001,lop=List,est=1636454739887,to=30000,lcxid=0x0000000000000005,lzxid=0x0000000000000005,\
         lresp=1636454739892,llat=0,minlat=0,avglat=0,maxlat=0)\n\n";

#[test]
fn the_answer_of_keeper_lists_the_connections() {
    let found = cons(OF_KEEPER);
    assert!(found.whole);
    assert_eq!(found.without_session, ["192.168.1.1:52163"]);
    let one = &found.with_session[0];
    assert_eq!((one.session, one.client.as_str(), one.last_cxid), (SessionId(1), "192.168.1.1:52042", Some(5)));
    assert_eq!((one.timeout_ms, one.last_operation.as_deref()), (Some(30_000), Some("List")));
}

#[test]
fn a_real_answer_lists_the_connections() {
    let found = cons(REAL);
    assert!(found.whole);
    assert_eq!((found.with_session.len(), found.without_session.len()), (4, 1));
    let last = found.with_session.iter().find(|one| one.session == SessionId(0x100_00b2_e295_000b));
    let last = last.expect("the session is listed");
    assert_eq!(last.client, "127.0.0.1:40086");
    assert_eq!(last.timeout_ms, Some(30_000));
    assert_eq!(last.established, Some(Timestamp(1_795_247_818_281)));
    assert_eq!(last.last_cxid, Some(3));
}

/// Answers of ZooKeeper 3.8.0: a session right after it moved, and after its first heartbeat.
const MOVED: &str = " /127.0.0.11:54189[1](queued=0,recved=1,sent=1,sid=0x1000076f61b0000,lop=null,\
         est=1795814746976,to=6000,lcxid=0x0,lzxid=0x0,lresp=0,llat=0,minlat=0,avglat=0,maxlat=0)\n\n";
const HEARD: &str = " /127.0.0.11:54189[1](queued=0,recved=3,sent=3,sid=0x1000076f61b0000,lop=PING,\
         est=1795814746976,to=6000,lcxid=0x0,lzxid=0x2,lresp=7801095,llat=0,minlat=0,avglat=0,maxlat=1)\n\n";

#[test]
fn a_session_that_has_just_moved_has_no_answer_yet() {
    let [moved, heard] = [MOVED, HEARD].map(|answer| cons(answer).with_session.remove(0));
    assert_eq!((moved.last_response, moved.last_cxid, moved.last_zxid), (None, None, None));
    assert_eq!((moved.last_operation.as_deref(), moved.timeout_ms), (None, Some(6_000)));
    assert_eq!((heard.last_response, heard.last_cxid), (Some(7_801_095), Some(0)));
    for none in ["NA", "null", ""] {
        let line = MOVED.replacen("lop=null", &format!("lop={none}"), 1);
        assert_eq!(cons(&line).with_session[0].last_operation, None, "{none}");
    }
}

#[test]
fn a_truncated_answer_keeps_its_whole_lines_and_is_not_whole() {
    for cut in 1..REAL.len() {
        let found = cons(&REAL[..cut]);
        assert!(!found.whole, "{cut}");
        assert!(found.with_session.len() <= 4);
    }
}

#[test]
fn an_unknown_line_is_ignored_and_counts_as_missing() {
    let found = cons(&format!(" rubbish\n{REAL}"));
    assert!(!found.whole);
    assert_eq!(found.with_session.len(), 4);
}

#[test]
fn an_ipv6_address_ends_where_the_next_field_begins() {
    let line = " /[0:0:0:0:0:0:0:1]:7[1](queued=0,recved=1,sent=1,sid=0xff00000000000001,lop=PING,est=1,to=2,\
             lcxid=0x1,lzxid=0xffffffffffffffff,lresp=5)\n\n";
    let found = cons(line);
    assert_eq!(found.with_session[0].client, "[0:0:0:0:0:0:0:1]:7");
    assert_eq!(found.with_session[0].session.to_string(), "0xff00000000000001");
    assert_eq!(found.with_session[0].last_zxid, None);
}
