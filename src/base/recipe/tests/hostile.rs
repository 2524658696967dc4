//! Tests with names that no library makes, and with generated names of each library.

use proptest::prelude::*;

use super::{classifier, path};
use crate::recipe::{Recipe, read};
use crate::znode::{Sequence, ZnodePath};

/// Generates names from pieces of real names in any order. They reach more edge cases than random
/// characters.
fn shards() -> impl Strategy<Value = String> {
    let shard = prop_oneof![
        Just("_c_".to_owned()),
        Just("b3a1c2d4-0f1e-4a2b-8c3d-112233445566".to_owned()),
        Just("b3a1c2d40f1e4a2b8c3d112233445566".to_owned()),
        "(__lock__|__rlock__|_lock_|lock-|__READ__|LOCK-SHARED-|n_|x-|-R-|read-|lease-|leader|qn-|-|--|\\.|_)",
        "[0-9]{10}",
        "-?[0-9]{1,20}",
        "[a-f0-9]{16}",
        "[é４𝟘\u{202e}\u{1b}\u{fffd}]{1,2}",
    ];
    prop::collection::vec(shard, 0..7).prop_map(|shards| shards.concat())
}

fn sequence() -> impl Strategy<Value = String> {
    // The values of a counter: from 0 on, and from the lowest number once it has wrapped.
    prop_oneof![0..=i32::MAX, Just(i32::MAX), i32::MIN..-2_000_000_000].prop_map(|number| Sequence(number).to_string())
}

/// Generates the part that a library puts before the number. Each ends in one `-` or `_`. After
/// another ending, which only an application can choose, the sign of a wrapped counter looks like a
/// dash of the name.
fn head() -> impl Strategy<Value = (Recipe, String)> {
    let uuid = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
    let hex = "[0-9a-f]{32}";
    let session = || any::<i64>().prop_map(|id| id.to_string());
    let of = |recipe: Recipe| move |head: String| (recipe, head);
    prop_oneof![
        uuid.prop_map(|id| format!("_c_{id}-lock-")).prop_map(of(Recipe::CuratorMutex)),
        (uuid, "READ|WRIT").prop_map(|(id, m)| format!("_c_{id}-__{m}__")).prop_map(of(Recipe::CuratorReadWrite)),
        uuid.prop_map(|id| format!("_c_{id}-latch-")).prop_map(of(Recipe::CuratorLatch)),
        uuid.prop_map(|id| format!("_c_{id}-lease-")).prop_map(of(Recipe::CuratorSemaphore)),
        (uuid, "[a-km-z_.é]{0,9}[a-k]-")
            .prop_map(|(id, name)| format!("_c_{id}-{name}"))
            .prop_map(of(Recipe::UnknownQueue)),
        hex.prop_map(|id| format!("_c_{id}-lock-")).prop_map(of(Recipe::GoLock)),
        hex.prop_map(|id| format!("{id}__lock__")).prop_map(of(Recipe::KazooLock)),
        hex.prop_map(|id| format!("{id}__rlock__")).prop_map(of(Recipe::KazooReadWrite)),
        session().prop_map(|id| format!("x-{id}-")).prop_map(of(Recipe::ZookeeperWriteLock)),
        any::<u64>().prop_map(|id| format!("x-{id:016x}-")).prop_map(of(Recipe::ZookeeperWriteLock)),
        Just("n_".to_owned()).prop_map(of(Recipe::ZookeeperElection)),
        (session(), "[a-z0-9_.:-]{1,20}").prop_map(|(id, n)| format!("{id}-{n}-n_")).prop_map(of(Recipe::SolrElection)),
        "LOCK-(SHARED|SEMI_SHARED|EXCLUSIVE)-".prop_map(of(Recipe::Hive)),
        prop_oneof![uuid, hex].prop_map(|id| format!("{id}-lock-")).prop_map(of(Recipe::TextbookQueue)),
        session().prop_map(|id| format!("lock-{id}-")).prop_map(of(Recipe::TextbookSessionQueue)),
        any::<u64>().prop_map(|id| format!("lock-{id:#x}-")).prop_map(of(Recipe::TextbookSessionQueue)),
        "[a-zé.-]{1,12}_lock_".prop_map(of(Recipe::TextbookNamedQueue)),
        "([a-z0-9.]{1,20}-[RWrw]|read|write)-".prop_map(of(Recipe::TextbookShared)),
        "(job|task|worker[0-9])[-_]".prop_map(of(Recipe::UnknownQueue)),
    ]
}

proptest! {
    #[test]
    fn no_name_brings_the_reader_down(name in prop_oneof![any::<String>(), ".{0,80}", shards()]) {
        let child = read(&name);
        if let Some(child) = &child {
            prop_assert_eq!(child.sequence.is_some(), Sequence::split(&name).is_some());
            prop_assert!(child.lock_name.is_none_or(|part| !part.is_empty() && name.contains(part)));
            prop_assert!(child.attempt.is_none_or(|part| !part.is_empty() && name.contains(part)));
        }
        let parents = [ZnodePath::root(), path("/s/locks"), path("/s/leases"), path("/p"), path("/p-__lock__")];
        let classifier = classifier(&["/s/leases", "/p-__lock__"]);
        for parent in parents {
            if let Some(place) = classifier.classify(&parent.child(&name)) {
                prop_assert!(parent.child(&name).is_within(&place.lock) || place.lock.as_str() == "/p");
            }
        }
    }

    #[test]
    fn a_name_that_a_recipe_makes_is_read_as_that_recipe((recipe, head) in head(), sequence in sequence()) {
        let name = format!("{head}{sequence}");
        let child = read(&name);
        prop_assert_eq!(child.as_ref().map(|child| child.recipe), Some(recipe), "{}", name);
        let number = child.and_then(|child| child.sequence).map(|number| number.to_string());
        prop_assert_eq!(number, Some(sequence), "{}", name);
    }

    #[test]
    fn a_single_node_is_known_by_its_last_word(
        before in "([a-z0-9é]{1,9}[-_.])?",
        word in "(lock|Lock|mutex|MUTEX|leader|leadeR|master|Master|active|ACTIVE|controller|Controller)",
    ) {
        let name = format!("{before}{word}");
        prop_assert_eq!(read(&name).map(|child| child.recipe), Some(Recipe::SingleNode), "{}", name);
    }
}

#[test]
fn a_name_of_a_megabyte_is_read_in_linear_time() {
    // A cost above linear would run for more than a day here.
    for unit in ["-", "0", "a", "lock-", "é", "_c_", "x-1"] {
        let long = unit.repeat((1 << 20) / unit.len());
        let names = [
            (format!("{long}0000000001"), unit != "0"),
            (format!("{long}-n_0000000001"), true),
            (format!("lock-{long}-0000000001"), true),
            (long, false),
        ];
        for (name, queues) in names {
            assert_eq!(read(&name).is_some(), queues, "{} bytes of {unit:?}", name.len());
            let place = classifier(&["/p-__lock__"]).classify(&path("/p").child(&name));
            assert_eq!(place.is_some(), queues, "{} bytes of {unit:?}", name.len());
        }
    }
}
