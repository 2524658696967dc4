//! What a server of 3.5 does not know, and what its words say.

use super::*;
use crate::config::ServerBehaviour;

fn old_machine() -> Machine {
    let options = SandboxConfig { behaviour: ServerBehaviour::ZooKeeper35, ..SandboxConfig::default() };
    Machine::new(options, [7; PASSWORD_BYTES], NOW)
}

fn word(machine: &mut Machine, word: [u8; 4]) -> String {
    let id = open(machine);
    let (sent, end) = send(machine, id, &word, NOW);
    assert_eq!(end, Some(CloseReason::Word));
    String::from_utf8(sent).unwrap()
}

#[test]
fn requests_of_later_servers_are_refused_and_end_the_connection() {
    for op in
        [op::ADD_WATCH, op::SET_WATCHES2, op::MULTI_READ, op::GET_EPHEMERALS, op::GET_ALL_CHILDREN_NUMBER, op::WHO_AM_I]
    {
        let mut machine = old_machine();
        let id = session(&mut machine, 5000);
        let (sent, end) = send(&mut machine, id, &request(3, op, |out| out.put_text("/")), NOW);
        assert_eq!(outcomes(&sent), [(3, ErrorCode::Unimplemented.number())], "{op}");
        assert_eq!(end, Some(CloseReason::UnknownOperation(op)));
    }
}

#[test]
fn containers_and_one_shot_watches_are_known() {
    let mut machine = old_machine();
    let id = session(&mut machine, 5000);
    let container = request(1, op::CREATE_CONTAINER, |out| {
        out.put_text("/c");
        out.put_buffer(None);
        out.put_acls(&anyone(permission::ALL));
        out.put_int(4);
    });
    let watches = request(3, op::SET_WATCHES, |out| {
        out.put_long(0);
        (0..3).for_each(|_| out.put_length(0));
    });
    let remove = request(4, op::REMOVE_WATCHES, |out| {
        out.put_text("/c");
        out.put_int(1);
    });
    let (sent, end) = send(&mut machine, id, &[container, list(2, "/c", true), watches, remove].concat(), NOW);
    assert_eq!(end, None);
    // The removal's event comes before its reply.
    let codes: Vec<i32> = outcomes(&sent).into_iter().filter(|(xid, _)| *xid > 0).map(|(_, code)| code).collect();
    assert_eq!(codes, [0; 4]);
}

#[test]
fn words_name_the_old_version_and_lack_later_figures() {
    let mut machine = old_machine();
    let srvr = word(&mut machine, *b"srvr");
    assert!(srvr.starts_with("Zookeeper version: 3.5.4-beta-"), "{srvr}");
    assert!(srvr.contains("\nLatency min/avg/max: 0/0/0\n"), "{srvr}");
    let mntr = word(&mut machine, *b"mntr");
    let names: Vec<&str> = mntr.lines().filter_map(|line| line.split_once('\t')).map(|(name, _)| name).collect();
    assert_eq!(names[0], "zk_version");
    assert_eq!(names.len(), 13, "{mntr}");
    assert!(!names.iter().any(|name| name.contains("node_created") || name.contains("uptime")), "{mntr}");
    assert!(word(&mut machine, *b"envi").contains("zookeeper.version=3.5.4-beta-"));
}
