//! Tests of pages and traces of incidents made by hand.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::incident::testing::{at, busy, ensemble_event, hostile, window};
use crate::incident::{Incident, html, trace};
use crate::record::history::PastWindow;
use lockscope_model::ensemble::EnsembleEventKind;

#[test]
fn a_page_has_no_script_and_refers_to_nothing_outside() {
    let window = window();
    let text = html(&Incident::new(&window), true);
    for part in ["<script", "http:", "https:", "src=", "@import", "url(h"] {
        assert!(!text.contains(part), "{part} in {text}");
    }
    assert_eq!(text.matches("url(").count(), text.matches("url(#gap)").count());
    for part in [
        "expiring-holder",
        "the network is down",
        "anna",
        "data-held-at-least-ms=\"31000\"",
        "data-standstill-ms=\"27000\"",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

/// Returns the pictures of a page, which are XML.
fn pictures(page: &str) -> Vec<&str> {
    let parts = page.match_indices("<svg class=\"bars\"");
    parts.map(|(at, _)| &page[at..at + page[at..].find("</svg>").expect("an end") + 6]).collect()
}

#[test]
fn pictures_are_complete_and_stay_within_their_frame() {
    let window = window();
    let text = html(&Incident::new(&window), true);
    let pictures = pictures(&text);
    assert_eq!(pictures.len(), 1);
    let document = roxmltree::Document::parse(pictures[0]).unwrap_or_else(|error| panic!("{error} in {}", pictures[0]));
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        for (name, most) in [("x", 1120.0), ("x1", 1120.0), ("y", 1000.0)] {
            let place: Option<f64> = node.attribute(name).and_then(|place| place.parse().ok());
            assert!(place.is_none_or(|place| (0.0..=most).contains(&place)), "{name} of {node:?}");
        }
        let end = node
            .attribute("x")
            .zip(node.attribute("width"))
            .map(|(x, width)| x.parse::<f64>().unwrap() + width.parse::<f64>().unwrap());
        assert!(end.is_none_or(|end| end <= 1121.0), "{node:?}");
    }
    let rows: Vec<_> = document.descendants().filter(|node| node.attribute("class") == Some("contender")).collect();
    let ends: Vec<_> = rows.iter().filter_map(|row| row.attribute("data-end")).collect();
    assert_eq!(ends, ["expired", "open", "gone"], "the first and the last are of one client");
}

#[test]
fn hostile_names_stay_text_on_the_page_and_in_the_trace() {
    let window = hostile();
    let incident = Incident::new(&window);
    let text = html(&incident, true);
    assert!(!text.contains("<script") && !text.contains("<img") && text.contains("&lt;script&gt;"), "{text}");
    assert!(!text.contains("\" onload=") && text.contains("&quot; onload="), "{text}");
    assert!(!text.contains(['\u{202e}', '\0', '\u{1b}', '\u{ffff}']), "{text}");
    for picture in pictures(&text) {
        roxmltree::Document::parse(picture).unwrap_or_else(|error| panic!("{error} in {picture}"));
    }
    let text = trace(&incident).expect("JSON");
    assert!(!text.contains(['\u{202e}', '\0', '\u{1b}']), "{text}");
    checked(&text);
}

/// Reads a trace as strictly as the strictest importer of Perfetto, and returns its events.
fn checked(text: &str) -> Vec<Value> {
    assert!(!text.contains(char::is_control), "it has a control character");
    let has_escape = text.match_indices("\\u").any(|(at, _)| {
        let before = text[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        before.is_multiple_of(2)
    });
    assert!(!has_escape, "it has a character as a number, which is not read");
    assert!(text.starts_with("{\"traceEvents\":["), "what stands before the events may hinder reading them");
    let trace: Value = serde_json::from_str(text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events").clone();
    let mut slices: BTreeMap<Thread, Vec<(i64, i64)>> = BTreeMap::new();
    let mut flows: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    let mut named = BTreeSet::new();
    let mut process_of_thread = BTreeMap::new();
    for event in &events {
        let fields = event.as_object().expect("an object");
        assert!(fields.values().all(|value| !value.is_array()), "{event}");
        let (thread, ts) = (thread(event), event["ts"].as_i64().expect("a time"));
        assert_eq!(*process_of_thread.entry(thread.1).or_insert(thread.0), thread.0, "{event}: of two processes");
        assert!((0..1 << 53).contains(&ts), "{event}: no exact number everywhere");
        let name = event["name"].as_str().expect("a name");
        match event["ph"].as_str().expect("a phase") {
            "X" => slices.entry(thread).or_default().push((ts, ts + event["dur"].as_i64().expect("a length"))),
            "s" | "f" => flows.entry(event["id"].as_u64().expect("a number")).or_default().push(event),
            "i" => assert_eq!(event["s"], "p", "{event}"),
            "C" => {
                assert!(event["args"].as_object().is_some_and(|args| args.values().all(Value::is_number)), "{event}");
            }
            "M" => {
                let is_number = name.ends_with("_sort_index") && event["args"]["sort_index"].is_u64();
                let is_name = event["args"]["name"].as_str().is_some_and(|name| !name.is_empty());
                assert!(is_number || is_name, "{event}");
                named
                    .insert((name.to_owned(), if name.starts_with("process") { (thread.0, thread.0) } else { thread }));
            }
            other => panic!("{other} in {event}"),
        }
    }
    for event in &events {
        let (pid, tid) = thread(event);
        assert!(named.contains(&("process_name".to_owned(), (pid, pid))), "{event}: its process has no name");
        assert!(
            pid == tid || named.contains(&("thread_name".to_owned(), (pid, tid))),
            "{event}: its thread has no name"
        );
    }
    for of_thread in slices.values_mut() {
        of_thread.sort_unstable();
        assert!(of_thread.windows(2).all(|pair| pair[0].1 <= pair[1].0), "slices of a thread overlap: {of_thread:?}");
    }
    for ends in flows.values() {
        is_a_flow(ends, &slices);
    }
    events
}

/// A process id and a thread id.
type Thread = (u32, u32);

fn thread(event: &Value) -> Thread {
    let number = |key: &str| u32::try_from(event[key].as_u64().expect("a number")).expect("a number of 32 bits");
    let thread = (number("pid"), number("tid"));
    assert!(thread.0 > 0 && thread.1 > 0, "{event}: 0 is the system's own");
    thread
}

/// Asserts that a flow begins within a slice and ends within another one.
fn is_a_flow(ends: &[&Value], slices: &BTreeMap<Thread, Vec<(i64, i64)>>) {
    let [start, finish] = ends else { panic!("{ends:?}") };
    let phases = (start["ph"].as_str(), finish["ph"].as_str(), finish["bp"].as_str());
    assert_eq!(phases, (Some("s"), Some("f"), Some("e")));
    let is_one = start["cat"] == finish["cat"] && start["name"] == finish["name"];
    assert!(is_one && start["ts"].as_i64() <= finish["ts"].as_i64());
    for end in [start, finish] {
        let ts = end["ts"].as_i64().unwrap();
        assert!(slices[&thread(end)].iter().any(|(from, to)| (*from..*to).contains(&ts)), "{end} is in no slice");
    }
}

#[test]
fn a_trace_has_locks_as_processes_holds_and_waits_as_slices_and_hand_overs_as_flows() {
    let window = window();
    let events = checked(&trace(&Incident::new(&window)).expect("JSON"));
    let of = |phase: &str, cat: &str| {
        events.iter().filter(|event| event["ph"] == phase && event["cat"] == cat).collect::<Vec<_>>()
    };
    assert_eq!((of("X", "hold").len(), of("X", "wait").len(), of("X", "gap").len()), (3, 2, 1));
    assert_eq!((of("s", "hand-over").len(), of("i", "end").len(), of("i", "finding").len()), (2, 1, 1));
    let first = of("X", "hold")[0];
    assert_eq!(first["ts"], at(1_000).0 * 1_000);
    assert_eq!((&first["dur"], &first["args"]["held_at_least_ms"]), (&Value::from(31_000_000), &Value::from(31_000)));
    let names: BTreeSet<&str> = events
        .iter()
        .filter(|event| event["name"] == "process_name")
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    assert!(names.contains("/locks/billing"), "{names:?}");
}

#[test]
fn a_trace_has_the_causes_of_the_page_and_what_happened_to_the_ensemble() {
    let mut window = window();
    window.ensemble = vec![ensemble_event(EnsembleEventKind::NoMajority, 6_000, 26_000)];
    let incident = Incident::new(&window);
    let (page, text) = (html(&incident, true), trace(&incident).expect("JSON"));
    let slices = checked(&text).into_iter().filter(|event| event["cat"] == "ensemble").count();
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    let causes = trace["otherData"]["causes"].as_array().expect("causes");
    let kinds: Vec<&str> = causes.iter().filter_map(|cause| cause["kind"].as_str()).collect();
    assert_eq!((slices, &kinds[..]), (1, &["no-majority", "finding", "kept"][..]), "{causes:?}");
    assert_eq!((&causes[0]["cost_ms"], &causes[0]["locks"][0]), (&36_000.into(), &"/locks/billing".into()));
    assert_eq!(causes[1]["finding"], "expiring-holder");
    for cause in causes {
        let text = cause["text"].as_str().expect("a text");
        assert!(page.contains(text), "{text} is not in {page}");
    }
    assert_eq!(trace["otherData"]["ensemble_events"][0]["what"], "no-majority");
}

#[test]
fn many_holds_are_summarized_and_the_page_says_so() {
    let window = busy(20_000, 30);
    let incident = Incident::new(&window);
    let (page, trace) = (html(&incident, true), trace(&incident).expect("JSON"));
    assert!(page.len() < 5_000_000 && trace.len() < 5_000_000, "{} {}", page.len(), trace.len());
    for part in ["22 other locks cost less waiting", "events of the contenders that held and waited shortest"] {
        assert!(page.contains(part), "{part}");
    }
    checked(&trace);
    assert!(trace.contains("\"contendersLeftOut\":15000"));
    let times: Vec<&str> =
        page.match_indices("data-holds=\"").map(|(at, found)| &page[at + found.len()..at + found.len() + 3]).collect();
    assert!(times.iter().all(|holds| *holds == "667" || *holds == "666"), "{times:?}");
}

/// Returns the numbers of requests of the rows, and what is said of clients without a row.
fn rows_of(window: &PastWindow) -> (Vec<usize>, Option<String>) {
    let text = html(&Incident::new(window), true);
    let picture = pictures(&text)[0];
    let document = roxmltree::Document::parse(picture).unwrap_or_else(|error| panic!("{error} in {picture}"));
    let rows = document.descendants().filter_map(|node| node.attribute("data-requests")?.parse().ok()).collect();
    let caption = text.find("<figcaption>").map(|at| text[at + 12..].chars().take_while(|sign| *sign != ':').collect());
    (rows, caption)
}

#[test]
fn a_client_has_one_row_however_often_it_came_back() {
    let mut window = busy(385, 1);
    for past in &mut window.contenders {
        // Each has its own connection: a client has another port after each reconnect.
        past.client_name = Some(format!("worker-{}", past.id % 2));
        past.client = Some(format!("10.0.4.{}:{}", past.id % 2, 40_000 + past.id));
    }
    assert_eq!(rows_of(&window), (vec![193, 192], None));
    for past in &mut window.contenders {
        past.client_name = Some(format!("worker-{}", past.id % 30));
    }
    let (rows, caption) = rows_of(&window);
    assert_eq!((rows.len(), caption.as_deref()), (24, Some("6 other clients have no row here")));
    // A client without a name is known by its address, which each connection has anew.
    for past in &mut window.contenders {
        (past.client_name, past.client) = (None, Some(format!("10.0.4.7:{}", 40_000 + past.id)));
    }
    assert_eq!(rows_of(&window).1.as_deref(), Some("361 other clients have no row here"));
}

#[test]
fn missing_findings_and_deletions_are_mentioned() {
    let part = "There are more findings or deletions than this page has";
    for is_cut in [false, true] {
        let window = PastWindow { is_cut, ..window() };
        let incident = Incident::new(&window);
        assert_eq!(html(&incident, true).contains(part), is_cut);
        assert!(trace(&incident).expect("JSON").contains(&format!("\"moreFindingsOrDeletions\":{is_cut}")));
    }
}

#[test]
fn a_lock_in_a_table_leads_to_its_picture() {
    let window = window();
    let text = html(&Incident::new(&window), true);
    let places: BTreeSet<&str> =
        text.split("<figure id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let links: BTreeSet<&str> = text.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(!links.is_empty() && links.is_subset(&places), "{links:?} of {places:?}");
}
