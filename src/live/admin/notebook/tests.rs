//! Notes that are kept, changed by several programs, and damaged.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use lockscope_base::znode::ZnodePath;

fn finding(lock: &str) -> MutedFinding {
    let lock = ZnodePath::new(lock).expect("a path");
    MutedFinding { lock, name: None, code: "stuck".into(), node: None, severity: "warning".into() }
}

fn mute(lock: &str, until: Option<Timestamp>) -> Mute {
    let scope = MuteScope::Finding(finding(lock));
    Mute { scope, since: Timestamp(1), until, note: "is known".into(), by: "ann@host".into() }
}

fn locks(notes: &EnsembleNotes) -> Vec<String> {
    let lock = |mute: &Arc<Mute>| match &mute.scope {
        MuteScope::Finding(finding) => finding.lock.to_string(),
        other => format!("{other:?}"),
    };
    notes.mutes.iter().map(lock).collect()
}

#[test]
fn notes_are_of_one_ensemble_whatever_the_order_of_its_servers_and_for_the_owner_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let notebook = Notebook::at(folder.path().join("new/notes.json"));
    let [here, again, chroot] = ["zk1,zk2:2181/app", "ZK2,zk1/app", "zk1,zk2"].map(EnsembleAddress::of);
    let add = |of: &EnsembleAddress, lock: &str| notebook.change(of, NoteChange::Mute(vec![mute(lock, None)]));
    add(&here, "/a").expect("it is kept");
    add(&again, "/b").expect("it is kept");
    assert_eq!(locks(&notebook.read(&here).expect("it is read")), ["/a", "/b"]);
    assert_eq!(notebook.read(&chroot), Ok(EnsembleNotes::default()));
    let mode = |name: &str| fs::metadata(folder.path().join(name)).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode("new/notes.json"), mode("new")), (0o600, 0o700));
    let ended = NoteChange::Unmute(vec![MuteScope::Finding(finding("/a"))]);
    assert_eq!(locks(&notebook.change(&here, ended).expect("it is kept")), ["/b"]);
}

#[test]
fn programs_that_change_notes_at_once_lose_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.json");
    let writers = (0..4).map(|writer| {
        let notebook = Notebook::at(path.clone());
        std::thread::spawn(move || {
            for note in 0..10 {
                let mutes = vec![mute(&format!("/{writer}-{note}"), None)];
                notebook.change(&EnsembleAddress::of("zk1"), NoteChange::Mute(mutes)).expect("it is kept");
            }
        })
    });
    writers.collect::<Vec<_>>().into_iter().for_each(|writer| writer.join().expect("it ends"));
    assert_eq!(Notebook::at(path).read(&EnsembleAddress::of("zk1")).expect("it is read").mutes.len(), 40);
}

#[test]
fn a_damaged_file_mutes_nothing_and_is_not_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.json");
    let notebook = Notebook::at(path.clone());
    let ensemble = EnsembleAddress::of("zk1");
    for damaged in ["{", "[]", "{\"schema\":1,\"ensembles\":7}"] {
        fs::write(&path, damaged).expect("a file");
        let error = notebook.change(&ensemble, NoteChange::Mute(vec![mute("/a", None)])).expect_err("it is damaged");
        assert!(error.to_string().contains("notes.json cannot be read: "), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("the file"), damaged);
        let mut follower = NotesFollower::new(Some(notebook.clone()), None, "zk1");
        let told = follower.news().expect("the first is news");
        assert!(told.mutes.is_empty() && told.trouble.is_some());
    }
}

#[test]
fn a_follower_tells_changes_once_and_keeps_what_it_knew_while_the_file_is_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.json");
    let (notebook, ensemble) = (Notebook::at(path.clone()), EnsembleAddress::of("zk1"));
    let mut follower = NotesFollower::new(Some(notebook.clone()), None, "zk1");
    assert_eq!(follower.news(), Some(&FollowedNotes::default()), "the first is news, even if there is no file");
    assert_eq!(follower.news(), None);
    notebook.change(&ensemble, NoteChange::Mute(vec![mute("/a", None)])).expect("it is kept");
    assert_eq!(follower.news().expect("a change").mutes.all().len(), 1);
    notebook.change(&EnsembleAddress::of("other"), NoteChange::Mute(vec![mute("/b", None)])).expect("it is kept");
    assert_eq!(follower.news(), None, "nothing of this ensemble has changed");
    fs::write(&path, "half of i").expect("a file");
    let told = follower.news().expect("a trouble");
    assert!(told.trouble.is_some() && told.mutes.all().len() == 1, "{told:?}");
}

#[test]
fn what_is_over_goes_and_a_second_console_does_not_make_seen_findings_new() {
    let folder = tempfile::tempdir().expect("a folder");
    let notebook = Notebook::at(folder.path().join("notes.json"));
    let ensemble = EnsembleAddress::of("zk1");
    let change = |change| notebook.change(&ensemble, change).expect("it is kept");
    change(NoteChange::Mute(vec![
        mute("/a", Some(Timestamp(5))),
        mute("/b", Some(now().plus(Duration::from_secs(60)))),
    ]));
    assert_eq!(locks(&notebook.read(&ensemble).expect("it is read")), ["/b"]);
    let known = |since, seen| KnownFinding { finding: finding("/a"), since: Timestamp(since), seen };
    change(NoteChange::Know(vec![known(10, true)]));
    assert_eq!(change(NoteChange::Know(vec![known(20, false)])).findings, [known(10, true)]);
    assert_eq!(change(NoteChange::Know(Vec::new())).findings, []);
}
