//! The exploration itself: small scenarios in full, its reductions, and the kept schedules.

use std::collections::BTreeSet;
use std::path::Path;

use lockscope_explore::rules::Limit;
use lockscope_explore::scenario::SimulatedScenario;
use lockscope_explore::search::{Walk, WalkOutcome, random_run, replay_with, run_random, shorten};
use lockscope_explore::story::{Story, tell};
use lockscope_explore::world::Explored;

fn scenario(text: &str) -> SimulatedScenario {
    text.parse().expect("a scenario")
}

/// Takes all schedules, and fails with the story of one that must not be.
fn all(walk: &mut Walk) -> WalkOutcome {
    let mut met = walk.run();
    if let Some(failure) = met.failure.take() {
        let failure = shorten(&mut walk.explored, failure);
        panic!("\n{}", tell(&mut walk.explored, &failure.steps, &[]).1);
    }
    assert!(met.complete);
    met
}

#[test]
fn every_schedule_of_two_clients_and_one_fault_keeps_what_is_promised() {
    for program in [
        "mutex",
        "mutex-parent",
        "herd",
        "chain",
        "chain@named:x",
        "shared-chain:write+downgrade",
        "chain+tries",
        "chain+guarded",
        "mutex+guarded",
    ] {
        let met = all(&mut Walk::new(scenario(&format!("programs={program},{program} faults=1 strangers"))));
        let limits: BTreeSet<Limit> = met.limits.0.keys().copied().collect();
        assert!(limits.contains(&Limit::NodeDeleted) || program == "chain+tries", "{program} meets {limits:?}");
    }
}

#[test]
fn guarded_writes_come_to_each_of_their_results() {
    for (program, results) in [
        ("chain+guarded", ["Done", "Expired", "NodeGone", "Unknown"].as_slice()),
        ("mutex+guarded", ["Done", "Expired", "Fenced", "NodeGone", "Unknown"].as_slice()),
    ] {
        let text = format!("programs={program},{program} rounds=2 faults=3 waits=2 members=2 strangers");
        let mut explored = Explored::new(scenario(&text));
        let (mut seed, mut met) = (0, BTreeSet::new());
        while met.len() < results.len() {
            assert!(seed < 20_000, "{program} comes to {met:?} alone");
            let run = random_run(&mut explored, seed);
            assert_eq!(run.violation, None, "seed {seed}");
            replay_with(&mut explored, &run.steps, |explored, _, _, after| {
                let writes = (0..2).flat_map(|client| &after.output(explored, client).facts.writes);
                met.extend(writes.map(|write| format!("{:?}", write.result)));
            });
            seed += 1;
        }
        assert_eq!(met.iter().map(String::as_str).collect::<Vec<_>>(), results, "{program}");
    }
}

#[test]
fn locks_queue_with_other_libraries_in_every_schedule() {
    for programs in ["chain,curator", "chain@kazoo,kazoo", "herd,curator"] {
        all(&mut Walk::new(scenario(&format!("programs={programs} faults=1"))));
    }
}

#[test]
fn the_reductions_lose_no_end_of_a_small_scenario() {
    for text in ["programs=mutex,mutex faults=1 waits=1", "programs=chain,chain faults=1 strangers"] {
        let reduced = all(&mut Walk::new(scenario(text)));
        let full = all(&mut Walk { reduced: false, ..Walk::new(scenario(text)) });
        assert!(reduced.states < full.states, "{text}");
        assert_eq!(reduced.end_states, full.end_states, "{text}");
    }
    let text = "programs=mutex,mutex";
    let pruned = all(&mut Walk::new(scenario(text)));
    let full = all(&mut Walk { reduced: false, prunes: false, ..Walk::new(scenario(text)) });
    assert!(pruned.steps < full.steps);
    assert_eq!(pruned.end_states, full.end_states);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let text = "programs=chain,herd,curator rounds=2 faults=4 waits=3 members=3";
    let (mut one, mut other) = (Explored::new(scenario(text)), Explored::new(scenario(text)));
    // The other one knows nothing of the seeds before.
    run_random(&mut one, 1_000..1_100);
    for seed in 0..50 {
        let (first, second) = (random_run(&mut one, seed), random_run(&mut other, seed));
        assert_eq!(first.steps, second.steps, "seed {seed}");
        let (first, second) = (tell(&mut one, &first.steps, &[]).1, tell(&mut other, &second.steps, &[]).1);
        assert_eq!(first, second, "seed {seed}");
    }
}

#[test]
fn kept_schedules_go_as_they_did() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schedules");
    let mut met = 0;
    for file in std::fs::read_dir(&folder).expect("the folder of kept schedules") {
        let path = file.expect("a file").path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            let kept = std::fs::read_to_string(&path).expect("a kept schedule");
            let (_, now) = Story::read(&kept).and_then(|story| story.run()).expect("a schedule that is possible");
            assert_eq!(now, kept, "{}", path.display());
            met += 1;
        }
    }
    assert!(met > 0);
}

#[test]
fn every_documented_limit_has_a_kept_schedule() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schedules");
    let files = std::fs::read_dir(&folder).expect("the folder of kept schedules");
    let texts = files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
    let texts: String = texts.collect::<Vec<_>>().concat();
    // No schedule comes to another node that was written to as often: the number is drawn at random.
    for limit in Limit::ALL.into_iter().filter(|limit| *limit != Limit::DeletedOther) {
        assert!(texts.contains(&format!("({limit})")), "{limit}");
    }
}
