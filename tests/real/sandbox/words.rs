//! The four-letter words, compared with those of a real server.

use std::collections::BTreeMap;

use lockscope_base::znode::SessionId;

use super::pair::Pair;
use super::side::Side;
use crate::harness::raw::Request as R;
use crate::harness::wait::{PATIENCE, eventually_blocking};
use crate::harness::words::{ask, connections, figure};

fn answer(port: u16, word: &str) -> String {
    ask(port, word, PATIENCE).expect("an answer")
}

/// Returns each session's nodes, by the session's number.
fn ephemerals(dump: &str, side: &Side) -> BTreeMap<usize, Vec<String>> {
    let mut found: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut owner = None;
    let after = dump.lines().skip_while(|line| !line.starts_with("Sessions with Ephemerals"));
    for line in after.take_while(|line| !line.starts_with("Connections")) {
        if let Some(id) = line.strip_prefix("0x").and_then(|line| line.strip_suffix(':')) {
            owner = i64::from_str_radix(id, 16).ok().and_then(|id| side.place(id));
        } else if let (Some(owner), Some(path)) = (owner, line.strip_prefix('\t')) {
            found.entry(owner).or_default().push(path.to_owned());
        }
    }
    for paths in found.values_mut() {
        paths.sort();
    }
    found
}

/// Returns the lines of a listing with the sessions' numbers, in order.
fn listing(text: &str, side: &Side) -> Vec<String> {
    let named = |line: &str| {
        let (indent, rest) = line.split_at(usize::from(line.starts_with('\t')));
        match rest.strip_prefix("0x").and_then(|id| i64::from_str_radix(id, 16).ok()) {
            Some(id) => format!("{indent}session {:?}", side.place(id)),
            None => line.to_owned(),
        }
    };
    let mut groups: Vec<String> = Vec::new();
    for line in text.lines().map(named) {
        match groups.last_mut() {
            Some(group) if line.starts_with('\t') => *group += &line,
            _ => groups.push(line),
        }
    }
    groups.sort();
    groups
}

#[test]
fn words_report_the_same_sessions_watches_and_nodes() {
    let pair = Pair::shared();
    let [real, sandbox] = pair.ports().map(|port| {
        let before = answer(port, "mntr");
        let mut side = Side::new(port, 2);
        side.ask_all(0, &[R::create("/words", 0), R::create("/words/a", 1), R::create("/words/b", 1)]);
        side.ask_all(1, &[R::get_data("/words/a", true), R::get_children("/words", true), R::add_watch("/words", 1)]);
        side.ask_all(0, &[R::exists("/words/c", true), R::set_data("/words/a", None, -1), R::create("/words/c", 1)]);
        let figures = [
            "zk_ephemerals_count",
            "zk_watch_count",
            "zk_znode_count",
            "zk_approximate_data_size",
            "zk_sum_node_created_watch_count",
            "zk_sum_node_deleted_watch_count",
            "zk_sum_node_changed_watch_count",
            "zk_sum_node_children_watch_count",
            "zk_cnt_node_created_watch_count",
            "zk_cnt_node_deleted_watch_count",
            "zk_cnt_node_changed_watch_count",
            "zk_cnt_node_children_watch_count",
        ];
        side.ask(0, &R::delete("/words/c", -1));
        let after = answer(port, "mntr");
        for name in figures {
            let [before, after] =
                [&before, &after].map(|text| i64::try_from(figure(text, name).expect(name)).expect("few"));
            side.note(format!("{name} {}", after - before));
        }
        let cons = answer(port, "cons");
        for line in cons.lines().filter(|line| line.contains("sid=")) {
            assert!(
                ["est=", "to=30000", "lcxid=0x", "lzxid=0x", "lresp="].iter().all(|part| line.contains(part)),
                "{line}"
            );
        }
        for connection in connections(&cons) {
            let SessionId(id) = connection.session;
            if let Some(place) = side.place(id) {
                side.note(format!("{place} {} {} {}", connection.received, connection.sent, connection.last));
            }
        }
        let notes = [
            format!("{:?}", ephemerals(&answer(port, "dump"), &side)),
            format!("{:?}", listing(&answer(port, "wchp"), &side)),
            format!("{:?}", listing(&answer(port, "wchc"), &side)),
            answer(port, "wchs"),
            answer(port, "ruok"),
            answer(port, "isro"),
        ];
        for note in notes {
            side.note(note);
        }
        side.raze("/words");
        let mut report = side.report;
        report.sort();
        report
    });
    super::pair::compare(&real, &sandbox);
}

/// Removes times, ids, ports, versions and figures of memory and machine, so that only the form is
/// left.
fn form(text: &str) -> Vec<String> {
    let masked = |line: &str| match line.split_once(['=', ':']) {
        Some((name, value)) => format!("{name} {}", value.chars().any(char::is_alphanumeric)),
        None => line.to_owned(),
    };
    text.split('\n').map(masked).collect()
}

/// Returns the value of a line `NAME: VALUE` or `NAME=VALUE`.
fn value<'a>(text: &'a str, name: &str) -> &'a str {
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([':', '=']));
    found.unwrap_or_else(|| panic!("no {name} in {text}")).trim()
}

/// Parses a version as kazoo and aiozk do: three numbers, a dash, the build, and its time.
fn version(text: &str) -> Vec<u32> {
    let (numbers, build) = text.split_once('-').unwrap_or_else(|| panic!("no build in {text}"));
    let (name, time) = build.split_once(", built on ").unwrap_or_else(|| panic!("no date in {text}"));
    assert!(!name.is_empty() && !name.contains(char::is_whitespace), "{text}");
    let time = chrono::NaiveDateTime::parse_from_str(time, "%Y-%m-%d %H:%M UTC");
    assert!(time.is_ok(), "{text}");
    numbers.split('.').map(|number| number.parse().expect("a number")).collect()
}

fn count(text: &str, name: &str) -> u64 {
    value(text, name).parse().expect("a count")
}

/// Returns `srvr` and then `stat`, once the server has counted everything that it sent before. A
/// real server counts with a short delay.
fn settled(port: u16) -> [String; 2] {
    eventually_blocking("a server that has counted what it sent", || {
        let [srvr, stat] = ["srvr", "stat"].map(|word| answer(port, word));
        let sent = [&srvr, &stat].map(|text| count(text, "Sent"));
        if sent[1] == sent[0] + 1 { Ok([srvr, stat]) } else { Err(sent) }
    })
}

#[test]
fn envi_stat_and_srvr_have_a_real_servers_form_and_give_the_same_version() {
    let pair = Pair::shared();
    let [real, sandbox] = pair.ports().map(|port| {
        let mut side = Side::new(port, 2);
        side.ask_all(0, &[R::create("/version", 1), R::get_data("/version", true)]);
        let [srvr, stat] = settled(port);
        let [envi, mntr] = ["envi", "mntr"].map(|word| answer(port, word));
        let versions = [
            value(&srvr, "Zookeeper version"),
            value(&stat, "Zookeeper version"),
            value(&envi, "zookeeper.version"),
            mntr.lines().find_map(|line| line.strip_prefix("zk_version\t")).expect("a version"),
        ];
        assert!(versions.windows(2).all(|pair| pair[0] == pair[1]), "{versions:?}");
        side.note(format!("{:?}", version(versions[0])));
        let (clients, rest) = stat.split_once("\n\n").expect("two parts");
        let mut clients: Vec<&str> = clients.lines().skip(2).collect();
        clients.sort_by_key(|line| line.rsplit_once('[').expect("a port").1);
        side.note(format!(
            "{:?}",
            clients.iter().map(|line| line.rsplit_once('[').expect("a port").1).collect::<Vec<_>>()
        ));
        assert!(clients.iter().all(|line| line.starts_with(" /127.0.0.1:") && line.ends_with(')')), "{clients:?}");
        for name in ["Connections", "Outstanding", "Mode", "Node count"] {
            side.note(format!("{name} {} {}", value(rest, name), value(&srvr, name)));
        }
        // A word is counted like a request: once received and once sent.
        for name in ["Received", "Sent"] {
            side.note(format!("{name} {}", count(rest, name) - count(&srvr, name)));
        }
        for text in [&srvr, rest, &envi] {
            let form = form(text);
            side.report.extend(form);
        }
        side.raze("/version");
        side.report
    });
    super::pair::compare(&real, &sandbox);
}
