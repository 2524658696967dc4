//! Holds all sentences of findings in snapshots, so that each change is seen. Each check provides
//! examples for all its sentences.

use super::testing::{DiagnosisFixture, one_session_twice, queue};
use super::{Code, TableAt, checks};

#[test]
fn every_sentence_of_every_finding_is_as_it_was_reviewed() {
    let mut examples = checks::examples();
    examples.sort_by_key(|(code, _)| *code);
    let mut all = Vec::new();
    for (code, world) in &examples {
        let found = world.found(*code).unwrap_or_else(|| panic!("the example of {code} does not raise it"));
        let (severity, node) = (found.severity, found.node.as_deref().unwrap_or("-"));
        let (lock, summary, remedy) = (&found.lock.path, &found.summary, &found.remedy);
        all.push(format!("{code} ({severity}) {lock} {node}\n  {summary}\n  {remedy}"));
    }
    for code in Code::ALL {
        assert!(examples.iter().any(|(of, _)| *of == code), "{code} has no example");
    }
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn every_sentence_of_the_evidence_against_a_node_is_as_it_was_reviewed() {
    let mut all = Vec::new();
    for world in [one_session_twice(1, 1, 1), one_session_twice(1, 2, 1), unwatched()] {
        let table_at = TableAt::new(&world.table, world.now);
        let lock = world.lock("/l");
        for row in lock.rows(0..lock.len()) {
            all.push(row.contender.node.to_string());
            all.extend(table_at.suspicions(lock, &row).into_iter().map(|sentence| format!("  {sentence}")));
        }
    }
    insta::assert_snapshot!(all.join("\n"));
}

/// Returns a queue whose second contender does not watch the first.
fn unwatched() -> DiagnosisFixture {
    let mut world = queue(&[1, 2]);
    world.client(2).sound = false;
    world.pass(10);
    world
}
