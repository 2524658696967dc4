//! The files of three members whose servers are killed and started again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, block_in_place, spawn_blocking};
use tokio::time::sleep;
use zookeeper_client::{Client, CreateMode};

use super::fixture::{Import, Row, copied, named, zxid_of};
use super::lives::Lives;
use crate::harness::ensemble::{Ensemble, MEMBERS};
use crate::harness::wait::{PATIENCE, eventually};
use crate::harness::{words, zk};
use crate::observe::fixture::curator;

const LOCKS: [&str; 1] = ["/locks"];

/// The folders of the members' files, which are in their answers about themselves.
pub fn folders(ensemble: &Ensemble) -> Vec<PathBuf> {
    let folder = |member| {
        let address = ensemble.address(member).parse().expect("an address");
        let answer = words::ask_at(address, "conf", PATIENCE).expect("the member answers");
        let line = answer.lines().find_map(|line| line.strip_prefix("dataDir=").map(PathBuf::from));
        line.unwrap_or_else(|| panic!("no folder in {answer}"))
    };
    (0..MEMBERS).map(folder).collect()
}

/// Starts sessions that contend until told to stop, and begin anew after a failure. Their old
/// sessions expire.
pub fn contend(at: &str, ended: &Arc<AtomicBool>) -> Vec<JoinHandle<()>> {
    let client = |number: usize| {
        let (at, ended) = (at.to_owned(), Arc::clone(ended));
        let work = async move || {
            while !ended.load(Ordering::Relaxed) {
                let connector = Client::connector().with_session_timeout(Duration::from_secs(1));
                let Ok(client) = connector.connect(&at).await else { continue };
                while !ended.load(Ordering::Relaxed) {
                    let prefix = format!("/locks/{}/{}", ["a", "b"][number % 2], curator());
                    let options = zk::open(CreateMode::EphemeralSequential);
                    let Ok((_, sequence)) = client.create(&prefix, b"worker", &options).await else { break };
                    sleep(Duration::from_millis(fastrand::u64(1..20))).await;
                    if client.delete(&format!("{prefix}{sequence}"), None).await.is_err() {
                        break;
                    }
                }
            }
        };
        let runtime = Handle::current();
        spawn_blocking(move || runtime.block_on(work()))
    };
    (0..6).map(client).collect()
}

/// Waits until some member has written so many more transactions.
pub async fn until_written(folders: &[PathBuf], more: usize) {
    let count = || folders.iter().map(|folder| Lives::read(folder).zxids.len()).max().expect("members");
    let before = count();
    eventually("more transactions", async || {
        let now = count();
        if now >= before + more { Ok(()) } else { Err(now) }
    })
    .await;
}

/// Waits until all members have written the same, and no session of a contender is left.
pub async fn settled(ensemble: &Ensemble, folders: &[PathBuf]) {
    let client = zk::connect(&ensemble.connect_string()).await;
    eventually("no contenders", async || {
        let tree = zk::tree(&client, "/locks").await;
        let left: Vec<String> =
            tree.into_iter().filter(|node| node.stat.ephemeral_owner != 0).map(|node| node.path).collect();
        if left.is_empty() { Ok(()) } else { Err(left) }
    })
    .await;
    zk::make(&client, ["/marker".to_owned()]).await;
    eventually("the last write in all logs", async || {
        let without = folders.iter().filter(|folder| !Lives::read(folder).made.contains("/marker")).count();
        if without == 0 { Ok(()) } else { Err(without) }
    })
    .await;
}

/// Returns what an import says about transactions that a killed leader alone has. They stay in its
/// log when it comes back and gets a snapshot.
fn lost(import: &Import) -> Vec<&str> {
    let mut said = import.damaged();
    said.retain(|said| said.contains("which its leader lost"));
    said
}

/// Imports each folder and all of them. Asserts that all agree with each other and with the logs.
/// Returns the number of gaps of each member, none for one that lost a transaction as the leader.
async fn agree(folders: &[PathBuf]) -> Vec<Option<usize>> {
    let paths: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let truth = Lives::committed(&paths).rows(&LOCKS);
    let together = Import::of(&paths).await;
    let lost = lost(&together);
    assert_eq!((together.gaps(), together.damaged()), (vec![], lost.clone()));
    assert_eq!(together.rows, truth, "all members together tell each contender once");
    let mut gaps = Vec::new();
    for folder in paths {
        // Its files alone do not show that nobody else has the transaction.
        if lost.iter().any(|said| said.starts_with(&*folder.to_string_lossy())) {
            gaps.push(None);
            continue;
        }
        let alone = Import::of(&[folder]).await;
        let files = [named(folder, "log."), named(folder, "snapshot.")].concat();
        println!("{} of {} rows, gaps {:x?}, {files:?}", alone.rows.len(), truth.len(), alone.gaps());
        assert_eq!(alone.damaged(), Vec::<&str>::new());
        for row in &alone.rows {
            let known = truth.iter().find(|known| known.is_of(row));
            let known = known.unwrap_or_else(|| panic!("{row:?} was never there"));
            let is_certain = ["released", "left", "expired", "closed", "deleted", "open"].contains(&row.end.as_str());
            assert!(!is_certain || is_same(row, known), "{row:?}, {known:?}");
            assert!(!row.held || known.held, "{row:?}, {known:?}");
        }
        if alone.gaps().is_empty() {
            assert_eq!(alone.rows, truth);
        }
        gaps.push(Some(alone.gaps().len()));
    }
    gaps
}

fn is_same(row: &Row, known: &Row) -> bool {
    (&row.end, row.released_at, row.session.as_str()) == (&known.end, known.released_at, known.session.as_str())
        && (row.acquired_at.is_none() || row.acquired_at == known.acquired_at)
}

/// Damages files of a folder: bits, zeros, ends, whole files.
fn damage(folder: &Path) {
    for _ in 0..3 {
        let names = [named(folder, "log."), named(folder, "snapshot.")].concat();
        let Some(name) = fastrand::choice(names) else { return };
        let path = folder.join(name);
        let mut bytes = fs::read(&path).expect("the file");
        let written = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        let at = fastrand::usize(..=written);
        match fastrand::u8(..4) {
            0 => bytes[at] ^= 1 << fastrand::u8(..8),
            1 => bytes[at..written.min(at + 900)].fill(0),
            2 => bytes.truncate(at),
            _ => {
                fs::remove_file(path).expect("removed");
                continue;
            }
        }
        fs::write(path, bytes).expect("written");
    }
}

/// Asserts that damage to two of the members costs nothing.
async fn agree_when_damaged(folders: &[PathBuf]) {
    let paths: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let truth = Lives::committed(&paths).rows(&LOCKS);
    for whole in 0..folders.len() {
        let copies: Vec<TempDir> = folders.iter().map(|folder| copied(folder, |_| true)).collect();
        for (_, copy) in copies.iter().enumerate().filter(|(member, _)| *member != whole) {
            damage(copy.path());
        }
        let together = Import::of(&copies.iter().map(TempDir::path).collect::<Vec<_>>()).await;
        assert_eq!(together.gaps(), vec![], "{:?}", together.damaged());
        assert_eq!(together.rows, truth, "{:?}", together.damaged());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn members_that_were_killed_and_came_back_tell_the_same() {
    let mut ensemble = block_in_place(|| Ensemble::with(&["snapCount=150"]));
    let folders = folders(&ensemble);
    let at = ensemble.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, ["/locks/a", "/locks/b"].map(str::to_owned)).await;
    drop(client);
    let ended = Arc::new(AtomicBool::new(false));
    let clients = contend(&at, &ended);
    for round in 0..3 {
        until_written(&folders, 200).await;
        let killed = block_in_place(|| if round % 2 == 0 { ensemble.kill_leader() } else { ensemble.follower() });
        block_in_place(|| ensemble.stop(killed));
        until_written(&folders, 200).await;
        block_in_place(|| ensemble.start_again(killed));
    }
    ended.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.expect("no panic");
    }
    settled(&ensemble, &folders).await;
    // The damage may hit what shows that a transaction was lost.
    if agree(&folders).await.iter().all(Option::is_some) {
        agree_when_damaged(&folders).await;
    }
}

/// A member that comes back after very many transactions gets a snapshot in place of their log. If
/// a new leader counts from 1 meanwhile, the numbers alone do not show that something is missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_member_missed_before_a_new_leader_is_a_gap() {
    let mut ensemble = block_in_place(|| Ensemble::with(&["snapCount=100000", "snapshotSizeFactor=-1"]));
    let folders = folders(&ensemble);
    let client = zk::connect(&ensemble.connect_string()).await;
    zk::make(&client, ["/locks/a", "/locks/b"].map(str::to_owned)).await;
    let prefix = |lock: &str| format!("/locks/{lock}/{}", curator());
    let stays = ["a", "a"].map(|lock| (prefix(lock), Vec::new()));
    let stays = zk::create_all(&client, CreateMode::EphemeralSequential, stays).await;
    let lags = block_in_place(|| ensemble.follower());
    block_in_place(|| ensemble.stop(lags));
    let before = Lives::read(&folders[lags]).last_zxid;
    let other = zk::connect(&ensemble.address(block_in_place(|| ensemble.leader()))).await;
    for _ in 0..20 {
        let passing = (0..30).map(|_| (prefix("b"), Vec::new()));
        let passing = zk::create_all(&other, CreateMode::EphemeralSequential, passing).await;
        zk::delete_all(&other, passing).await;
    }
    zk::delete_all(&other, stays).await;
    drop(other);
    drop(client);
    let leader = block_in_place(|| ensemble.leader());
    block_in_place(|| {
        ensemble.stop(leader);
        ensemble.start_again(lags);
        ensemble.start_again(leader);
    });
    let client = zk::connect(&ensemble.connect_string()).await;
    let more = ["a", "b"].map(|lock| (prefix(lock), Vec::new()));
    let more = zk::create_all(&client, CreateMode::EphemeralSequential, more).await;
    zk::delete_all(&client, more).await;
    drop(client);
    settled(&ensemble, &folders).await;
    let snapshot = named(&folders[lags], "snapshot.").into_iter().map(|name| zxid_of(&name)).max().expect("one");
    assert!(snapshot > before, "the member got a snapshot");
    let gaps = agree(&folders).await;
    assert_eq!(gaps[lags], Some(1), "{gaps:?}");
}
