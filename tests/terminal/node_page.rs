//! The pages of a session and of a node.

use zookeeper_client::{Acl, Acls, AuthId, CreateMode, Permission};

use crate::harness::terminal::Terminal;
use crate::harness::zk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_of_a_node_shows_its_stat_its_acl_and_its_data_in_three_forms() {
    let at = zk::own_root("node-page").await;
    let client = zk::connect(&at).await;
    zk::make(&client, ["/orders".to_owned()]).await;
    let json = br#"{"host":"worker-1","pids":[7,8]}"#.to_vec();
    let binary = b"\x00\x01\xff\x1b]0;owned\x07".to_vec();
    let wishes = [json, binary].map(|data| ("/orders/lock-".to_owned(), data));
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let guarded = [
        Acl::new(Permission::READ | Permission::WRITE, AuthId::new("ip", "127.0.0.1")),
        Acl::new(Permission::ADMIN, AuthId::new("digest", "operator:bjkZ9W+M82HUZ9xb8/Oy4cmJGfg=")),
    ];
    let options = CreateMode::Persistent.with_acls(Acls::new(&guarded));
    client.create("/guarded", b"10.0.4.17", &options).await.expect("it is created");
    let closed = [Acl::new(Permission::ALL, AuthId::new("digest", "operator:bjkZ9W+M82HUZ9xb8/Oy4cmJGfg="))];
    let options = CreateMode::Persistent.with_acls(Acls::new(&closed));
    client.create("/closed", b"secret", &options).await.expect("it is created");

    let mut terminal = Terminal::lockscope(&["--connect", &at, "--root", "/orders"], 120, 45);
    terminal.shows_all(&["● live", "2 contenders"]);
    terminal.press("\rd");
    terminal.shows_all(&["czxid", "ephemeralOwner", "goes with it", "world:anyone"]);
    terminal.shows_all(&["as JSON", "\"host\": \"worker-1\",", "as text", "7b22686f7374223a"]);
    terminal.press("\x1b");
    terminal.shows("● holds");
    terminal.press("jd");
    terminal.shows_all(&["lock-0000000001", "not UTF-8", "\\u{1b}]0;owned", "0001ff1b5d303b6f"]);
    assert!(!terminal.text().contains("as JSON"), "{}", terminal.text());

    terminal.press(":node /guarded\r");
    terminal.shows_all(&["ip:127.0.0.1  read, write", "admin", "no session", "10.0.4.17"]);
    terminal.press(":node /closed\r");
    terminal.shows_all(&["lacks the permission READ", "6 bytes, not read"]);
    terminal.press(":node /nowhere\r");
    terminal.shows("There was no such node");

    for shown in ["lacks the permission READ", "ip:127.0.0.1", "lock-0000000001", "○ waits"] {
        terminal.press("\x1b");
        terminal.shows(shown);
    }
    terminal.press("go");
    terminal.shows_all(&["holds 1", "waits for 1", "/orders", "What happened to it"]);
    terminal.press("j\r");
    terminal.shows_all(&["lock-0000000001", "○ waits"]);
    terminal.press("q");
    assert!(terminal.ends().success());
    let sent = terminal.sent();
    assert!(!sent.windows(6).any(|window| window == b"bjkZ9W"), "the hash of a password reached the terminal");
    assert!(!sent.windows(4).any(|window| window == b"\x1b]0;"), "data reached the terminal as it is");
}
