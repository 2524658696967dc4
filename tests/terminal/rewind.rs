//! The live console goes back in its past, on a real ensemble.

use std::process::Command;

use zookeeper_client::CreateMode;

use crate::harness::terminal::Terminal;
use crate::harness::zk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_console_goes_back_to_an_earlier_holder_and_its_file_says_the_same() {
    let at = zk::own_root("rewind").await;
    let client = zk::connect(&at).await;
    zk::make(&client, ["/billing".to_owned()]).await;
    let wishes = ["first", "second", "third"].map(|data| ("/billing/lock-".to_owned(), data.into()));
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("locks.db").display().to_string();
    let mut terminal = Terminal::lockscope(&["--connect", &at, "--store", &file, "--write"], 120, 35);
    terminal.shows_all(&["● live", "3 contenders", "past <1m"]);
    terminal.press(":lock /billing\r");
    terminal.shows_all(&["2 waiting", "lock-0000000000"]);
    client.delete("/billing/lock-0000000000", None).await.expect("it is deleted");
    terminal.shows_all(&["1 waiting", "lock-0000000001"]);

    // The last event is the second client's acquisition; before it, the first client held.
    terminal.press("[[");
    terminal.shows_all(&["REWOUND", "2 waiting", "first"]);
    terminal.press("x");
    terminal.shows("F goes back to live");
    client.delete("/billing/lock-0000000001", None).await.expect("it is deleted");
    terminal.shows_all(&["REWOUND", "2 waiting"]);
    terminal.press("F");
    terminal.shows_all(&["● live", "third", "0 waiting"]);
    terminal.press("[[");
    terminal.shows_all(&["REWOUND", "1 waiting", "second"]);
    terminal.press("q");
    assert!(terminal.ends().success());

    let history = Command::new(env!("CARGO_BIN_EXE_lockscope"))
        .args(["history", "--store", &file, "--format", "json"])
        .output()
        .expect("it runs");
    let history: serde_json::Value = serde_json::from_slice(&history.stdout).expect("JSON");
    assert_eq!(history["holds"].as_array().map(Vec::len), Some(3), "{history}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_before_the_start_of_the_console_is_refused_and_one_word_leads_there() {
    let at = zk::own_root("start").await;
    let client = zk::connect(&at).await;
    zk::make(&client, ["/billing".to_owned()]).await;
    let wishes = [("/billing/lock-".to_owned(), b"first".to_vec())];
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let mut terminal = Terminal::lockscope(&["--connect", &at], 160, 35);
    terminal.shows_all(&["● live", "1 contender", "past <1m"]);
    terminal.press(":at -2h\r");
    terminal.shows_all(&["the past begins at", "`:at start` goes there", "● live"]);
    terminal.press(":at start\r");
    terminal.shows_all(&["REWOUND", "0 events since", "first"]);
    terminal.hides("cut off");
    zk::delete_all(&client, ["/billing/lock-0000000000".to_owned()]).await;
    terminal.shows_all(&["REWOUND", "1 event since"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}
