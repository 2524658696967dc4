//! An ensemble in which each member has its own principal.

use crate::fixture::{Realm, closed_lock, contender};
use crate::harness::ensemble::Ensemble;
use crate::harness::wait::eventually;
use crate::harness::zk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_console_logs_in_to_another_member_when_one_is_killed() {
    let realm = Realm::start();
    let properties = ["127.0.0.1", "127.0.0.2", "127.0.0.3"].map(|host| realm.kdc.server(host));
    let mut ensemble = tokio::task::block_in_place(|| Ensemble::with_properties(properties));
    let client = zk::connect(&ensemble.connect_string()).await;
    closed_lock(&client).await;
    realm.kinit("ticket");
    let mut console = realm.console("ticket", &["--connect", &ensemble.connect_string(), "--kerberos"]);
    console.shows_all(&["/closed/job", "1 contender", "● live 3/3"]);
    // Every session is disconnected when the leader ends.
    tokio::task::block_in_place(|| ensemble.kill_leader());
    console.shows_all(&["● live", "2/3 servers"]);
    eventually("a session of the test's own again", async || client.check_stat("/").await).await;
    contender(&client).await;
    console.shows("2 contenders");
    console.press("q");
    assert!(console.ends().success());
}
