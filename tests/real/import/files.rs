//! Files in the states in which people have them: of a running server, packed, only some of them.

use std::path::{Path, PathBuf};

use super::fixture::{Contention, Import, Row, copied, listing, named, zxid_of};
use super::lives::Lives;
use crate::harness::wait::eventually;

const LOCKS: [&str; 1] = ["/locks"];

/// Asserts that two imports say the same about everything that both saw from its beginning to its
/// end, and returns the number of these contenders.
fn agree(rows: &[Row], truth: &[Row]) -> usize {
    for row in rows {
        assert!(truth.contains(row), "{row:?} is not in {truth:#?}");
    }
    rows.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_servers_folder_is_imported_again_and_again_and_stays_as_it_is() {
    let contention = Contention::start(Some(120), &[]).await;
    let files = contention.files();
    let ended = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Relaxed;
    let imports = async {
        let mut imports: Vec<Import> = Vec::new();
        while !ended.load(order) || imports.len() < 5 {
            let before = Lives::read(&files).last_zxid;
            let import = Import::of(&[&files]).await;
            assert_eq!(import.gaps(), vec![]);
            let last = import.said["read"]["last_zxid"].as_str().expect("a transaction").to_owned();
            let last = i64::from_str_radix(&last[2..], 16).expect("hex");
            assert!(last >= before, "what was written before the import is in it: {last} after {before}");
            imports.push(import);
        }
        imports
    };
    let writes = async {
        for _ in 0..40 {
            contention.churns(10).await;
        }
        ended.store(true, order);
    };
    let (imports, ()) = tokio::join!(imports, writes);
    let lives = contention.lives().await;
    let last = Import::of(&[&files]).await;
    assert_eq!(last.rows, lives.rows(&LOCKS));
    for import in &imports {
        for row in &import.rows {
            let later = last.rows.iter().find(|later| later.czxid == row.czxid).expect("rows stay");
            if row.end == "open" {
                assert_eq!((&row.node, row.enqueued_at), (&later.node, later.enqueued_at));
                assert!(row.acquired_at.is_none() || row.acquired_at == later.acquired_at, "{row:?}, {later:?}");
            } else {
                assert_eq!(row, later);
            }
        }
    }
    println!("{} imports beside a running server, of {} rows at last", imports.len(), last.rows.len());
    let before = listing(&files);
    assert!(named(&files, "log.").len() >= 3 && named(&files, "snapshot.").len() >= 3, "{before:?}");
    Import::of(&[&files]).await;
    assert_eq!(listing(&files), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_servers_files_are_found_by_any_of_their_names() {
    let contention = Contention::start(Some(60), &[]).await;
    contention.churns(60).await;
    let truth = contention.lives().await.rows(&LOCKS);
    let files = contention.files();
    let data = files.parent().expect("dataDir");
    let names = [named(&files, "log."), named(&files, "snapshot.")].concat();
    let single: Vec<_> = names.iter().map(|name| files.join(name)).collect();
    let single: Vec<&Path> = single.iter().map(PathBuf::as_path).collect();
    for places in [&[data][..], &[files.as_path()], &single, &[data, files.as_path()]] {
        let import = Import::of(places).await;
        assert_eq!(import.rows, truth, "{places:?}");
        assert_eq!((import.gaps(), import.damaged()), (vec![], vec![]), "{places:?}");
    }
    let only_b = Import::with(&[data], &["--root", "/locks/b"]).await;
    let of_b: Vec<Row> = truth.iter().filter(|row| row.lock == "/locks/b").cloned().collect();
    assert_eq!(only_b.rows, of_b);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_alone_are_enough_from_the_first_on() {
    let contention = Contention::start(Some(60), &[]).await;
    contention.churns(60).await;
    let truth = contention.lives().await.rows(&LOCKS);
    let logs = copied(&contention.files(), |name| name.starts_with("log."));
    let import = Import::of(&[logs.path()]).await;
    assert_eq!(import.rows, truth);
    assert_eq!((import.gaps(), import.damaged()), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_from_the_middle_without_a_snapshot_claim_no_false_holder() {
    let contention = Contention::start(Some(60), &[]).await;
    let holder = contention.comes("/locks/a").await;
    for _ in 0..40 {
        contention.comes("/locks/a").await;
        let passing = contention.comes("/locks/a").await;
        contention.goes(&passing).await;
    }
    contention.goes(&holder).await;
    contention.churns(60).await;
    let truth = contention.lives().await.rows(&LOCKS);
    let names = named(&contention.files(), "log.");
    assert!(names.len() >= 3, "{names:?}");
    for skipped in 1..names.len() {
        let logs = copied(&contention.files(), |name| names[skipped..].iter().any(|kept| kept == name));
        let import = Import::of(&[logs.path()]).await;
        let known = agree(&import.rows, &truth);
        println!("{known} of {} rows without the first {skipped} logs", truth.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_from_the_middle_are_bridged_from_the_next_snapshot() {
    let contention = Contention::start(Some(60), &[]).await;
    let (stays, _waits) = (contention.comes("/locks/a").await, contention.comes("/locks/a").await);
    contention.churns(80).await;
    contention.goes(&stays).await;
    contention.churns(20).await;
    let lives = contention.lives().await;
    let truth = lives.rows(&LOCKS);
    let logs = named(&contention.files(), "log.");
    let first = zxid_of(&logs[1]);
    for is_exact in [true, false] {
        let snapshot_from = |name: &str| zxid_of(name) >= if is_exact { first - 1 } else { first };
        let files = copied(&contention.files(), |name| match name.split_once('.') {
            Some(("log", _)) => name != logs[0],
            Some(("snapshot", _)) => snapshot_from(name),
            _ => false,
        });
        let import = Import::of(&[files.path()]).await;
        assert_eq!(import.gaps(), vec![]);
        // The recording begins once no contender stands that nothing describes. Whoever came later is
        // known in full, and those that stood are known to stand.
        let began = import.first_zxid();
        for row in truth.iter().filter(|row| row.czxid > began) {
            assert!(import.rows.contains(row), "{row:?} is not in {:#?}", import.rows);
        }
        let stood = lives.nodes.iter().filter(|life| {
            life.path.starts_with("/locks") && life.czxid <= began && life.went.is_none_or(|(zxid, ..)| zxid > began)
        });
        for life in stood {
            let true_row = truth.iter().find(|row| row.czxid == life.czxid).expect("it is true");
            let told = import.rows.iter().find(|row| row.is_of(true_row));
            let told = told.unwrap_or_else(|| panic!("{true_row:?} is not in {:#?}", import.rows));
            assert_eq!((told.held, &told.end), (true_row.held, &true_row.end), "{told:?}");
            assert_eq!(told.released_at, true_row.released_at, "{told:?}");
            assert!(told.acquired_at.is_none() || told.acquired_at == true_row.acquired_at, "{told:?}, {true_row:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_alone_shows_who_held_and_who_waited_packed_or_not() {
    for method in ["", "gz", "snappy"] {
        let property = format!("zookeeper.snapshot.compression.method={method}");
        let mut contention = Contention::start(None, &[&property]).await;
        contention.churns(20).await;
        let (holds, waits) = (contention.comes("/locks/a").await, contention.comes("/locks/a").await);
        let last = contention.lives().await.last_zxid;
        // A server writes a snapshot when it starts.
        contention.server.restart();
        let newest = eventually("a snapshot with the contenders", async || {
            let newest = named(&contention.files(), "snapshot.").pop().expect("a snapshot");
            if zxid_of(&newest) >= last { Ok(newest) } else { Err(newest) }
        })
        .await;
        let packed = newest.split('.').nth(2).unwrap_or_default();
        assert_eq!(packed, method, "{newest}");
        let import = Import::of(&[&contention.files().join(&newest)]).await;
        let told: Vec<_> = import.rows.iter().map(|row| (row.node.clone(), row.held, row.end.as_str())).collect();
        let name = |path: &str| path.rsplit('/').next().expect("a name").to_owned();
        assert_eq!(told, [(name(&holds), true, "open"), (name(&waits), false, "open")], "{newest}");

        contention.goes(&holds).await;
        let truth = contention.lives().await.rows(&LOCKS);
        let logs = named(&contention.files(), "log.");
        let later = logs.iter().map(|log| zxid_of(log)).find(|first| *first > zxid_of(&newest)).expect("a log");
        let files = copied(&contention.files(), |name| name == newest || zxid_of_log(name) >= Some(later));
        let import = Import::of(&[files.path()]).await;
        assert_eq!((import.gaps(), import.damaged()), (vec![], vec![]));
        for row in &import.rows {
            let known = truth.iter().find(|known| known.is_of(row)).expect("it is true");
            assert_eq!((row.held, &row.end, row.released_at), (known.held, &known.end, known.released_at));
        }
        let next = import.rows.iter().find(|row| waits.ends_with(&row.node)).expect("the next holder");
        assert_eq!(next.acquired_at, import.rows[0].released_at, "{:?}", import.rows);
    }
}

fn zxid_of_log(name: &str) -> Option<i64> {
    name.starts_with("log.").then(|| zxid_of(name))
}
