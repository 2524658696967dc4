//! Files that are made by hand: what stood, and what is missing.

use std::fs;

use super::Folder;
use super::made_files::{Log, empty_snapshot, snapshot, time};
use crate::import::{Certainty, Defect, ImportError, ImportOptions, Proof, ServerFiles, import};
use crate::record::Store;
use lockscope_base::znode::Zxid;
use lockscope_model::ensemble::EnsembleEventKind;

fn node(number: i32) -> String {
    format!("/lock/_c_00000000-0000-4000-8000-000000000001-lock-{number:010}")
}

fn short(rows: &[String]) -> Vec<&str> {
    rows.iter().map(|row| row.split("-lock-00000000").nth(1).unwrap()).collect()
}

/// A server writes a snapshot while its clients go on: a node that goes meanwhile may be missing,
/// although it stood at the transaction in the snapshot's name. Nothing describes it, so nothing is
/// told until it is gone.
#[test]
fn a_waiter_holds_only_once_a_holder_is_gone_that_went_while_the_snapshot_was_written() {
    for digest in [Some(13), None] {
        let folder = Folder::of(&[
            ("snapshot.a", &snapshot(&[(&node(1), 3)], (2, 3), digest)),
            ("log.b", &Log::new().creates(11, "/x", 1).deletes(12, &node(0)).deletes(13, &node(1)).0),
        ]);
        let rows = folder.import().unwrap().rows();
        assert_eq!(short(&rows), ["01 held - released 13"], "{digest:?}");
    }
}

#[test]
fn a_waiter_holds_only_once_a_holder_is_gone_that_went_while_a_later_snapshot_was_written() {
    let log = Log::new().creates(11, "/x", 1).creates(12, "/y", 2).creates(13, "/z", 3);
    for digest in [Some(13), None] {
        let folder = Folder::of(&[
            ("snapshot.c", &snapshot(&[(&node(1), 3)], (2, 3), digest)),
            ("log.b", &log_of(&log).deletes(14, &node(0)).deletes(15, &node(1)).0),
        ]);
        let rows = folder.import().unwrap().rows();
        assert_eq!(short(&rows), ["01 held - released 15"], "{digest:?}");
    }
}

/// The import writes its rows first and sorts them afterwards.
#[test]
fn an_imported_recording_has_the_tables_and_indexes_of_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let schema = |name: &str| {
        let query = "SELECT type || ' ' || name FROM sqlite_master ORDER BY 1";
        let recording = rusqlite::Connection::open(folder.path().join(name)).unwrap();
        let mut query = recording.prepare(query).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<Vec<String>>>().unwrap()
    };
    let log = Log::new().creates(1, "/lock", 1).creates(2, &node(0), 1);
    Folder::of(&[("log.1", &log.0)]).import_into(&folder.path().join("imported.db")).unwrap();
    drop(Store::create(&folder.path().join("recorded.db"), false).unwrap());
    assert_eq!(schema("imported.db"), schema("recorded.db"));
    assert!(schema("imported.db").contains(&"index contender_lock".to_owned()));
}

fn log_of(log: &Log) -> Log {
    Log(log.0.clone())
}

/// A follower that was down gets a snapshot in place of the log that it missed. When a new leader
/// counts from 1 meanwhile, the next transaction looks like the next one.
#[test]
fn transactions_that_are_missing_before_a_new_epoch_are_a_gap() {
    let (first, second) = (1_i64 << 32, 2_i64 << 32);
    let folder = Folder::of(&[
        ("log.100000001", &Log::new().creates(first + 1, "/lock", 1).creates(first + 2, &node(0), 1).0),
        ("snapshot.100000009", &snapshot(&[(&node(1), first + 5)], (2, first + 7), None)),
        ("log.200000001", &Log::new().deletes(second + 1, &node(1)).0),
    ]);
    let told = folder.import().unwrap();
    let gaps: Vec<_> = told.imported.missing.iter().map(|gap| (gap.after.0, gap.before.0)).collect();
    assert_eq!(gaps, [(first + 2, second + 1)]);
    let rows = told.rows();
    let [gone, last] = short(&rows)[..] else { panic!("{rows:?}") };
    assert!(gone.starts_with("00 ") && !gone.contains("open"), "{rows:?}");
    assert_eq!(last, format!("01 held - released {}", time(second + 1)));
}

#[test]
fn a_new_leader_that_goes_on_is_no_gap() {
    let (first, second) = (1_i64 << 32, 2_i64 << 32);
    let folder = Folder::of(&[
        ("log.100000001", &Log::new().creates(first + 1, "/lock", 1).creates(first + 2, &node(0), 1).0),
        ("snapshot.100000002", &snapshot(&[(&node(0), first + 2)], (1, first + 2), None)),
        ("snapshot.200000000", &snapshot(&[(&node(0), first + 2)], (1, first + 2), None)),
        ("log.200000001", &Log::new().expires(second + 1).0),
    ]);
    let told = folder.import().unwrap();
    assert_eq!(told.imported.missing, []);
    assert_eq!(short(&told.rows()), [format!("00 held {} expired {}", time(first + 2), time(second + 1))]);
}

#[test]
fn a_wrong_clock_does_not_make_the_import_go_on_for_ages() {
    for at in [i64::MAX, i64::MAX - 1, 4_000_000_000_000, -5] {
        let log = Log::new().creates(1, "/lock", 1).creates(2, &node(0), 1).deletes_at(3, at, &node(0));
        let rows = Folder::of(&[("log.1", &log.0)]).import().unwrap().rows();
        // A time before the last one is taken for the same.
        assert_eq!(short(&rows), [format!("00 held 2 released {}", at.max(2))]);
    }
}

/// A node that came while transactions are missing did not stand before them.
#[test]
fn what_came_in_a_gap_did_not_stand_before_it() {
    let log = Log::new().creates(5, "/x", 1).creates(6, &node(1), 2).deletes(20, &node(0)).deletes(21, &node(1));
    let snapshot = snapshot(&[], (2, 21), Some(21));
    let told = Folder::of(&[("log.5", &log.0), ("snapshot.15", &snapshot)]).import().unwrap();
    assert_eq!(told.imported.missing.len(), 1);
    // It may have been there before, or not.
    assert!(!told.rows().iter().any(|row| row.contains("00 held 5") || row.contains("01 waited")), "{:?}", told.rows());
}

#[test]
fn a_server_that_has_just_begun_has_no_past() {
    let folder = Folder::of(&[("snapshot.0", &snapshot(&[], (0, 0), None))]);
    let error = folder.import().expect_err("nothing");
    assert!(error.to_string().starts_with("the files have no transaction of that time"), "{error}");
}

/// A snapshot behind a second gap does not tell what stood before the first transaction behind the
/// first one: a node that it lacks may have gone in either.
#[test]
fn what_a_snapshot_behind_another_gap_lacks_had_not_gone_by_the_first() {
    let told = Folder::of(&[
        ("log.1", &Log::new().creates(1, "/lock", 1).creates(2, &node(0), 1).0),
        ("log.5", &Log::new().creates(5, &node(1), 2).creates(6, "/y", 3).0),
        ("snapshot.8", &snapshot(&[(&node(1), 5)], (2, 7), Some(8))),
        ("log.a", &Log::new().deletes(10, &node(1)).0),
    ]);
    let told = told.import().unwrap();
    let gaps: Vec<_> = told.imported.missing.iter().map(|gap| (gap.after.0, gap.before.0)).collect();
    assert_eq!(gaps, [(2, 5), (6, 10)]);
    let holder = told.history.holds.iter().find(|row| row.czxid == Some(2)).expect("it held");
    assert!(holder.ended.is_none_or(|ended| ended.before.0 >= time(7)), "{holder:?}");
}

fn log_from(begin: i64) -> Log {
    Log::new().creates(begin, "/lock", 1)
}

/// The end of an epoch is known by its successor, and not by the numbers: what is lost there shows
/// nowhere.
#[test]
fn an_epoch_whose_end_nothing_proves_is_a_possible_gap() {
    let (first, second) = (1_i64 << 32, 2_i64 << 32);
    let before = log_from(first + 1).creates(first + 2, &node(0), 1).0;
    let after = Log::new().creates(second + 1, "/x", 1).0;
    let told = Folder::of(&[("log.100000001", &before), ("log.200000001", &after)]).import().unwrap();
    let [missing] = told.imported.missing[..] else { panic!("{:?}", told.imported) };
    assert_eq!((missing.after.0, missing.before.0), (first + 2, second + 1));
    assert_eq!(missing.certainty, Certainty::Possible);
    // Nobody names the holder again, so nothing is known from then on.
    let [gap] = &told.history.gaps[..] else { panic!("{:?}", told.history.gaps) };
    assert_eq!((gap.from.0, gap.to), (time(first + 2), None));
    assert!(gap.reason.starts_with("nothing proves that epoch 1 ended with 0x100000002"), "{}", gap.reason);
    let [covered] = told.imported.covered[..] else { panic!("{:?}", told.imported.covered) };
    assert_eq!(covered.to.0.0, first + 2);
}

#[test]
fn a_log_that_goes_on_into_the_next_epoch_proves_the_end_of_the_last_one() {
    let (first, second) = (1_i64 << 32, 2_i64 << 32);
    let log = log_from(first + 1).creates(first + 2, &node(0), 1).deletes(second + 1, &node(0));
    let told = Folder::of(&[("log.100000001", &log.0), ("snapshot.0", &empty_snapshot())]).import().unwrap();
    assert_eq!(told.imported.missing, []);
    assert_eq!(told.imported.covered.iter().map(|covered| covered.proof).collect::<Vec<_>>(), [Proof::Log]);
    // Without a snapshot from before, the member may have got one in between.
    let told = Folder::of(&[("log.100000001", &log.0)]).import().unwrap();
    assert_eq!(told.imported.missing.len(), 1);
}

#[test]
fn a_hole_of_zeros_in_a_log_is_a_gap() {
    let log = log_from(1).creates(2, &node(0), 1);
    let (from, log) = (log.0.len(), log.deletes(3, &node(0)).creates(4, &node(1), 2));
    let (until, log) = (log.0.len(), log.deletes(5, &node(1)).creates(6, &node(2), 3).deletes(7, &node(2)));
    let mut bytes = log.0;
    bytes[from..until].fill(0);
    bytes.resize(bytes.len() + 1_000, 0);
    let told = Folder::of(&[("log.1", &bytes)]).import().unwrap();
    let gaps: Vec<_> = told.imported.missing.iter().map(|gap| (gap.after.0, gap.before.0, gap.certainty)).collect();
    assert_eq!(gaps, [(2, 5, Certainty::Certain)]);
    assert!(matches!(told.imported.defects[..], [Defect::Damaged { .. }]), "{:?}", told.imported.defects);
    assert!(told.rows().iter().all(|row| !row.contains("open") || row.contains("00 held 2")), "{:?}", told.rows());
}

#[test]
fn a_damaged_head_costs_no_transaction_and_a_file_without_one_is_named() {
    let log = log_from(1).creates(2, &node(0), 1).deletes(3, &node(0)).0;
    let mut damaged = log.clone();
    damaged[1] ^= 4;
    let told = Folder::of(&[("log.1", &damaged), ("log.9", b"a log of another program")]).import().unwrap();
    assert_eq!(short(&told.rows()), ["00 held 2 released 3"]);
    let [Defect::BadHead { .. }, Defect::NotALog { .. }] = &told.imported.defects[..] else {
        panic!("{:?}", told.imported.defects)
    };
    let refused = Folder::of(&[("log.9", b"a log of another program")]).import().unwrap_err();
    assert!(refused.to_string().contains("is no file of a ZooKeeper server"), "{refused}");
}

#[test]
fn two_ensembles_are_not_one() {
    let folder = Folder::of(&[]);
    let put = |name: &str, log: Log| {
        let at = folder.path(name);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, log.0).unwrap();
    };
    let import = |one: &str, other: &str| {
        let places = [one, other].map(|name| folder.path(name));
        import(ServerFiles::find(&places).unwrap(), &folder.path("history.db"), &ImportOptions::default(), &mut |_| {
            true
        })
    };
    let long = |begin: i64, from: i64, mut log: Log| {
        for at in 0..20 {
            log = log.creates_at(begin + at, from + at * 500, &format!("/x{at}"));
        }
        log
    };
    put("a/log.1", log_from(1).creates(2, &node(0), 1));
    put("b/log.1", log_from(1).creates_at(2, 9, &node(0)));
    let refused = import("a", "b").unwrap_err();
    assert!(matches!(refused, ImportError::OtherEnsemble { .. }), "another time of one transaction: {refused}");
    // No transaction is in both, and both wrote at the same time.
    put("c/log.1", long(1, 1_000, Log::new()));
    put("d/log.300000001", long(0x3_0000_0001, 1_200, Log::new()));
    let refused = import("c", "d").unwrap_err();
    assert!(matches!(refused, ImportError::OtherEnsemble { .. }), "{refused}");
    assert!(refused.to_string().contains("are of different ensembles"), "{refused}");
    assert!(!folder.path("history.db").exists());
}

#[test]
fn a_clock_that_was_set_back_is_named_and_recorded() {
    let log = log_from(1).deletes_at(2, 400 * 86_400_000, "/x").creates(3, &node(0), 1).deletes(4, &node(0));
    let told = Folder::of(&[("log.1", &log.0)]).import().unwrap();
    let [Defect::ClockSetBack { zxid: Zxid(3), by }] = told.imported.defects[..] else {
        panic!("{:?}", told.imported.defects)
    };
    assert_eq!(by.as_secs(), 400 * 86_400 - 1);
    let events: Vec<_> = told.history.ensemble.iter().map(|event| event.what).collect();
    assert_eq!(events, [EnsembleEventKind::ClockSetBack]);
}
