//! Starting test clients, from the prompt and into a queue.

use std::time::Duration;

use crate::tui::app::tests::{SIZE, lost};
use crate::tui::app::{App, Effect, FleetSide, Screen, Settings};
use crate::tui::testing::fleets::{outcome, running, started, with, writing};
use crate::tui::testing::{NOW, ago, at, listed, live, path, press, seen, settings};
use lockscope_lab::contend::Scenario;
use lockscope_lock::{Access, Algorithm, Naming};
use lockscope_model::queue::Change;

fn told(app: &App) -> String {
    app.notice().map(|notice| notice.text.clone()).unwrap_or_default()
}

#[test]
fn a_herd_and_a_chain_start_side_by_side_with_the_typed_number_of_clients() {
    let mut app = writing(SIZE);
    let scenarios = started(&press(&mut app, "5c20 50ms\n"));
    let [herd, chain] = scenarios.as_slice() else { panic!("{scenarios:?}") };
    assert_eq!((herd.algorithm, herd.path.clone()), (Algorithm::Herd, path("/lockscope/herd")));
    assert_eq!((chain.algorithm, chain.path.clone()), (Algorithm::Chain, path("/lockscope/chain")));
    for scenario in [herd, chain] {
        assert_eq!((scenario.clients, scenario.hold, scenario.rounds), (20, Duration::from_millis(50), None));
    }
    assert_eq!(app.living_clients(), 40);
}

#[test]
fn the_word_ahead_starts_a_chain_beside_one_that_looks_ahead() {
    for (typed, clients) in [("20 50ms ahead", 20), ("20 ahead", 20), ("ahead", 10)] {
        let mut app = writing(SIZE);
        let scenarios = started(&press(&mut app, &format!("5c{typed}\n")));
        let places: Vec<_> = scenarios.iter().map(|scenario| (scenario.algorithm, scenario.path.clone())).collect();
        let expected =
            [(Algorithm::Chain, path("/lockscope/chain")), (Algorithm::ChainAhead, path("/lockscope/chain-ahead"))];
        assert_eq!(places, expected, "{typed}");
        assert_eq!(scenarios[1].clients, clients, "{typed}");
    }
}

#[test]
fn enter_alone_starts_ten_clients_and_opens_contend() {
    let mut app = writing(SIZE);
    let scenarios = started(&press(&mut app, "c\n"));
    assert_eq!(scenarios.iter().map(|scenario| scenario.clients).collect::<Vec<_>>(), [10, 10]);
    assert_eq!(app.screen(), Screen::Contend);
}

#[test]
fn the_start_command_starts_clients_without_a_prompt() {
    let mut app = writing(SIZE);
    let scenarios = started(&press(&mut app, ":start 7 1s\n"));
    assert_eq!((scenarios.len(), scenarios[0].clients, scenarios[0].hold), (2, 7, Duration::from_secs(1)));
}

#[test]
fn invalid_input_starts_nothing_and_says_why() {
    for (typed, why) in [("0", "1 to 5000"), ("5001", "1 to 5000"), ("ten", "ten"), ("5 soon", "soon"), ("5 1s 3", "3")]
    {
        let mut app = writing(SIZE);
        assert_eq!(press(&mut app, &format!("5c{typed}\n")).effects, [], "{typed}");
        assert!(
            app.notice().is_some_and(|notice| notice.sign != crate::tui::page::Sign::Done) && told(&app).contains(why),
            "{}",
            told(&app)
        );
    }
}

#[test]
fn esc_closes_the_prompt_and_starts_nothing() {
    let mut app = writing(SIZE);
    assert_eq!(press(&mut app, "5c30\u{1b}").effects, []);
    assert!(app.prompt().is_none() && !app.has_fleets());
}

#[test]
fn a_read_only_console_starts_nothing_and_names_the_option() {
    for keys in ["c", "5c", "\nc", ":start 5\n"] {
        let mut app = live(SIZE);
        assert_eq!(press(&mut app, keys).effects, []);
        assert!(told(&app).contains("--write"), "{keys:?}: {}", told(&app));
        assert!(app.prompt().is_none());
    }
}

#[test]
fn clients_do_not_start_while_others_run() {
    let mut app = running(SIZE, 5);
    assert_eq!(press(&mut app, "c").effects, []);
    assert!(told(&app).contains('X'), "{}", told(&app));
    press(&mut app, "X");
    press(&mut app, "c");
    assert!(app.prompt().is_none(), "they are still leaving");
    for side in FleetSide::BOTH {
        let scenario = app.fleets().fleet(side).unwrap().scenario.clone();
        let outcome = Box::new(outcome(&scenario, Some(0)));
        app.update(crate::tui::app::Event::FleetEnded { side, outcome }, NOW);
    }
    assert_eq!(started(&press(&mut app, "c3\n")).len(), 2);
}

#[test]
fn the_locks_of_test_clients_are_below_an_observed_root() {
    for (roots, herd) in [
        (vec![], "/lockscope/herd"),
        (vec!["/"], "/lockscope/herd"),
        (vec!["/app", "/lockscope"], "/lockscope/herd"),
        (vec!["/app", "/other"], "/app/lockscope/herd"),
        (vec!["/lockscope/mine"], "/lockscope/mine/herd"),
    ] {
        let roots = roots.into_iter().map(path).collect();
        let mut app = with(Settings { write: true, roots, ..settings() }, SIZE);
        assert_eq!(started(&press(&mut app, "c\n"))[0].path, path(herd));
    }
}

/// Opens the lock at a path and starts two clients in its queue.
fn sent(app: &mut App, lock: &str) -> Scenario {
    let scenarios = started(&press(app, &format!(":lock {lock}\nc2\n")));
    assert_eq!(scenarios.len(), 1, "{lock}: {}", told(app));
    assert_eq!(app.screen(), Screen::Contend);
    scenarios[0].clone()
}

#[test]
fn clients_join_the_open_queue_with_its_naming() {
    let shared = Algorithm::SharedChain(Access::Write);
    let two = std::num::NonZeroU32::new(2).unwrap();
    let guid = "5f0c1d2e-0f1e-4a2b-8c3d-112233445566";
    let hex = "b3a1c2d40f1e4a2b8c3d112233445566";
    let nodes = |lock: &str, names: &[String]| {
        let mut changes = vec![listed(lock, 9)];
        changes.extend(names.iter().map(|name| seen(&format!("{lock}/{name}"), 5, ago(5), b"x")));
        changes
    };
    for (lock, names, algorithm, naming, reads) in [
        ("/x/mutex", vec![format!("_c_{guid}-lock-0000000001")], Algorithm::Chain, Naming::Curator, 0),
        ("/x/go", vec![format!("_c_{hex}-lock-0000000001")], Algorithm::Chain, Naming::Curator, 0),
        ("/x/plain", vec!["lock-0000000001".to_owned()], Algorithm::Chain, Naming::Curator, 0),
        ("/x/rw", vec![format!("_c_{guid}-__READ__0000000001")], shared, Naming::Curator, 50),
        ("/x/kazoo", vec![format!("{hex}__lock__0000000001")], Algorithm::Chain, Naming::Kazoo, 0),
        ("/x/kazoo-rw", vec![format!("{hex}__rlock__0000000001")], shared, Naming::Kazoo, 50),
        ("/x/java", vec!["x-72057594037927937-0000000001".to_owned()], Algorithm::Chain, Naming::WriteLock, 0),
        ("/x/session", vec!["lock-0x100000000000001-0000000001".to_owned()], Algorithm::Chain, Naming::Session, 0),
        ("/x/red", vec!["red_lock_0000000001".to_owned()], Algorithm::Chain, Naming::Named("red".to_owned()), 0),
        ("/x/shared", vec!["host-R-0000000001".to_owned()], shared, Naming::Session, 50),
    ] {
        let mut app = writing(SIZE);
        app.update(at(NOW, nodes(lock, &names)), NOW);
        let scenario = sent(&mut app, lock);
        assert_eq!((scenario.algorithm, scenario.naming, scenario.reads), (algorithm, naming, reads), "{lock}");
        assert_eq!((scenario.path, scenario.clients, scenario.rounds), (path(lock), 2, None));
    }
    let mut app = writing(SIZE);
    let leases = [format!("_c_{guid}-lease-0000000001"), format!("_c_{guid}-lease-0000000002")];
    app.update(at(NOW, nodes("/x/sem/leases", &leases)), NOW);
    let scenario = sent(&mut app, "/x/sem");
    assert_eq!((scenario.algorithm, scenario.path), (Algorithm::Semaphore(two), path("/x/sem")));
}

#[test]
fn only_clients_of_an_exclusive_lock_can_look_ahead() {
    for (node, algorithm) in [
        ("/x/kazoo/b3a1c2d40f1e4a2b8c3d112233445566__lock__0000000001", Some(Algorithm::ChainAhead)),
        ("/x/shared/host-R-0000000001", None),
    ] {
        let mut app = writing(SIZE);
        app.update(at(NOW, vec![seen(node, 5, ago(5), b"x")]), NOW);
        let lock = node.rsplit_once('/').unwrap().0;
        let scenarios = started(&press(&mut app, &format!(":lock {lock}\nc2 ahead\n")));
        assert_eq!(scenarios.first().map(|scenario| scenario.algorithm), algorithm, "{node}");
        assert_eq!(told(&app).contains("Only the clients of an exclusive lock"), algorithm.is_none(), "{node}");
    }
}

#[test]
fn the_prompt_says_if_clients_will_be_listed_in_a_queue_of_their_own() {
    let guid = "5f0c1d2e-0f1e-4a2b-8c3d-112233445566";
    for (theirs, apart) in [
        (format!("_c_{guid}-lock-"), false),
        ("lock-".to_owned(), true),
        ("_c_b3a1c2d40f1e4a2b8c3d112233445566-lock-".to_owned(), true),
    ] {
        let mut app = writing(SIZE);
        let nodes = [format!("/x/q/{theirs}0000000001"), format!("/x/q/_c_{guid}-lock-0000000002")];
        app.update(at(NOW, nodes.map(|node| seen(&node, 5, ago(5), b"x")).into()), NOW);
        let family = if theirs == "lock-" {
            " textbook-queue"
        } else if apart {
            " go-lock"
        } else {
            ""
        };
        press(&mut app, &format!(":lock /x/q{family}\nc"));
        let asked = prompt_text(&app);
        assert_eq!(asked.contains("a separate queue"), apart, "{theirs}");
        assert_eq!(app.world().open_lock().unwrap().len(), if apart { 1 } else { 2 }, "{theirs}");
    }
}

#[test]
fn clients_compete_for_a_single_node() {
    for (node, algorithm, at_path) in [
        ("/app/mutex", Algorithm::Mutex, "/app/mutex"),
        ("/app/lock", Algorithm::MutexParent, "/app"),
        ("/lock", Algorithm::Mutex, "/lock"),
    ] {
        let mut app = writing(SIZE);
        app.update(at(NOW, vec![seen(node, 5, ago(5), b"x")]), NOW);
        let scenario = sent(&mut app, node);
        assert_eq!((scenario.algorithm, scenario.path), (algorithm, path(at_path)), "{node}");
    }
}

#[test]
fn a_queue_that_clients_cannot_join_says_why() {
    let hive = "LOCK-SHARED-0000000001";
    for (node, why) in [
        ("/x/latch/_c_5f0c1d2e-0f1e-4a2b-8c3d-112233445566-latch-0000000001", "leads"),
        ("/x/election/n_0000000001", "leads"),
        ("/controller", "leads"),
        (&format!("/x/table/{hive}"), "Hive"),
        ("/x/read/read-0000000001", "names"),
        ("/x/odd/something-0000000001", "recipe"),
    ] {
        let mut app = writing(SIZE);
        app.update(at(NOW, vec![seen(node, 5, ago(5), b"x")]), NOW);
        let lock = if node == "/controller" { node } else { node.rsplit_once('/').unwrap().0 };
        assert_eq!(press(&mut app, &format!(":lock {lock}\nc")).effects, []);
        assert!(app.prompt().is_none() && told(&app).contains(why), "{node}: {}", told(&app));
    }
}

#[test]
fn no_clients_start_in_a_queue_that_is_gone_or_unknown() {
    let mut app = writing(SIZE);
    press(&mut app, ":lock /locks/orders\nc");
    let orders = [(7, 7), (8, 9), (9, 12), (12, 44), (30, 45)];
    let mut gone: Vec<_> = orders
        .map(|(number, owner)| path(&format!("/locks/orders/{owner:032x}__lock__{number:010}")))
        .map(|path| Change::Deleted { path, zxid: None })
        .into();
    gone.push(Change::Deleted { path: path("/locks/orders"), zxid: None });
    app.update(at(NOW, gone), NOW);
    assert_eq!(press(&mut app, "\n").effects, []);
    assert!(app.notice().unwrap().sign != crate::tui::page::Sign::Done);

    let mut app = writing(SIZE);
    press(&mut app, ":lock /locks/billing\n");
    app.update(at(NOW, vec![lost()]), NOW);
    assert_eq!(press(&mut app, "c").effects, []);
    assert!(told(&app).contains("connection"), "{}", told(&app));
}

#[test]
fn the_start_command_asks_before_it_joins_the_queue_of_an_application() {
    let mut app = writing(SIZE);
    assert_eq!(press(&mut app, ":lock /locks/billing\n:start 3\n").effects, []);
    let asked = prompt_text(&app);
    assert!(asked.contains("Applications use this lock"), "{asked}");
    let update = press(&mut app, "\n");
    let [Effect::StartFleet { side: FleetSide::Left, scenario }, ..] = update.effects.as_slice() else {
        panic!("{update:?}")
    };
    assert_eq!(scenario.clients, 3);
}

fn prompt_text(app: &App) -> String {
    let asked = app.popup().expect("a question");
    asked.page.lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join(" ")
}
