//! Tests of the user's own recipes, from definition to reading.

use super::*;
use crate::recipe::tests::path;
use crate::recipe::{Classification, Classifier, Recipe, Role};
use crate::znode::Sequence;

fn definition(name: &str, pattern: &str, kind: LockKind) -> Definition {
    Definition {
        name: name.to_owned(),
        pattern: pattern.to_owned(),
        kind,
        roles: Vec::new(),
        lock: true,
        persistent: false,
        below: None,
        leases: None,
        name_from: None,
    }
}

fn roles(of: &[(&str, NameRole)]) -> Vec<(String, NameRole)> {
    of.iter().map(|(word, role)| ((*word).to_owned(), *role)).collect()
}

const UUID: &str = "8c1f8b2e-3b1a-4e7e-9f00-0123456789ab";
const HEX32: &str = "8c1f8b2e3b1a4e7e9f000123456789ab";

#[test]
fn each_placeholder_matches_only_its_kind_of_text() {
    for (pattern, fits, others) in [
        (
            "zlock#{uuid}#{sequence}",
            vec![format!("zlock#{UUID}#0000000007")],
            vec![
                "zlock#x#0000000007".to_owned(),
                format!("zlock#{HEX32}#0000000007"),
                format!("zlock#{UUID}#7"),
                format!("zlock#{UUID}0000000007"),
                format!("xzlock#{UUID}#0000000007"),
            ],
        ),
        ("a-{hex32}-{sequence}", vec![format!("a-{HEX32}-0000000007")], vec![format!("a-{UUID}-0000000007")]),
        (
            "x{session}-{sequence}",
            vec!["x-72057594037927936-0000000001".into(), "x0x1f-0000000001".into()],
            vec!["xbob-0000000001".into(), "x-0000000001".into()],
        ),
        (
            "job{digits}:{sequence}",
            vec!["job42:0000000001".into()],
            vec!["job:0000000001".into(), "jobx:0000000001".into()],
        ),
        (
            "job-{text}-{sequence}",
            vec!["job-ü-x-0000000001".into()],
            vec!["job--0000000001".into(), "job-0000000001".into()],
        ),
        ("{text}.lck", vec!["a.lck".into()], vec![".lck".into(), "a.lck2".into()]),
        ("{{a}}{sequence}", vec!["{a}0000000001".into()], vec!["a0000000001".into()]),
        ("{text}-{uuid}", vec![format!("x-{UUID}")], vec![format!("-{UUID}"), "x-".into()]),
    ] {
        let parsed = OwnPattern::parse(pattern).unwrap();
        for name in fits {
            assert!(parsed.read(&name, &[]).is_some(), "{pattern} {name}");
        }
        for name in others {
            assert!(parsed.read(&name, &[]).is_none(), "{pattern} {name}");
        }
    }
}

#[test]
fn names_of_any_kind_are_read_without_a_panic() {
    let patterns = ["{uuid}é{text}{sequence}", "{session}-{text}-é{sequence}", "{digits}é{hex32}", "{text}é{digits}x"];
    for pattern in patterns.map(|pattern| OwnPattern::parse(pattern).unwrap()) {
        for name in
            ["", "é", "éééééééééééééééééééééééé", "-", "\u{0}0000000001", "0x-", &"é".repeat(40), &"9".repeat(60)]
        {
            let _ = pattern.read(name, &["é"]);
        }
    }
}

#[test]
fn an_invalid_pattern_is_refused_with_a_reason() {
    for (pattern, part) in [
        ("", "from 1 to 200 bytes"),
        ("a/{sequence}", "no slash"),
        ("a{sequence", "a brace stands alone"),
        ("a}{sequence}", "a brace stands alone"),
        ("a{guid}{sequence}", "no placeholder {guid}: {sequence}, {uuid}"),
        ("{sequence}-a", "at the end"),
        ("{text}-{lock}-{sequence}", "only one {text} or {lock}"),
        ("{digits}{text}", "side by side"),
        ("a{digits}{sequence}", "side by side"),
        ("{text}-{session}-{sequence}", "cannot stand behind"),
        ("{uuid}-{hex32}-{sequence}", "twice"),
        ("{role}-{role}-{sequence}", "twice"),
    ] {
        let error = OwnPattern::parse(pattern).unwrap_err().to_string();
        assert!(error.contains(part), "{pattern}: {error}");
    }
}

#[test]
fn an_invalid_definition_is_refused_with_a_reason() {
    use LockKind::{Election, Exclusive, ReadWrite, Semaphore, SingleNode};
    let leases = |leases, definition| Definition { leases: Some(leases), ..definition };
    let with_roles = |pattern: &str, kind, all: &[(&str, NameRole)]| Definition {
        roles: roles(all),
        ..definition("own", pattern, kind)
    };
    for (wrong, part) in [
        (definition("", "a-{sequence}", Exclusive), "small letters"),
        (definition("My Lock", "a-{sequence}", Exclusive), "small letters"),
        (definition("a-name-that-is-far-too-long", "a-{sequence}", Exclusive), "up to 16"),
        (definition("hive", "a-{sequence}", Exclusive), "has already"),
        (definition("own", "a-{sequence}", SingleNode), "no {sequence}"),
        (definition("own", "a", Election), "single-node"),
        (definition("own", "{text}{sequence}", Exclusive), "any name would fit"),
        (definition("own", "{role}{sequence}", ReadWrite), "go together"),
        (with_roles("a-{sequence}", ReadWrite, &[("r", NameRole::Reader)]), "go together"),
        (with_roles("{role}{sequence}", ReadWrite, &[("l", NameRole::Lease)]), "reader and writer"),
        (with_roles("{role}{sequence}", Semaphore, &[("r", NameRole::Reader)]), "lease and waiter"),
        (with_roles("{role}{sequence}", Exclusive, &[("r", NameRole::Writer)]), "only read-write locks"),
        (definition("own", "a-{lock}-{sequence}", Semaphore), "no meaning"),
        (leases(2, definition("own", "a-{sequence}", Exclusive)), "only a semaphore"),
        (leases(2, Definition { lock: false, ..definition("own", "a-{sequence}", Semaphore) }), "only a semaphore"),
        (
            Definition { name_from: Some(String::new()), ..definition("own", "a-{sequence}", Exclusive) },
            "1 to 200 bytes",
        ),
        (
            Definition { name_from: Some("a".into()), lock: false, ..definition("own", "a-{sequence}", Exclusive) },
            "a lock's owner",
        ),
        (leases(0, definition("own", "a-{sequence}", Semaphore)), "from 1 to 10000"),
        (leases(10_001, definition("own", "a-{sequence}", Semaphore)), "from 1 to 10000"),
        (leases(2, with_roles("{role}{sequence}", Semaphore, &[("l", NameRole::Lease)])), "leave one of the two"),
        (with_roles("{role}{sequence}", ReadWrite, &[("r", NameRole::Reader); 17]), "up to 16"),
        (with_roles("{role}{sequence}", ReadWrite, &[(&"r".repeat(65), NameRole::Reader)]), "up to 64 bytes"),
        (
            Definition {
                below: Some(ZnodePath::new(&format!("/{}", "a".repeat(1000))).unwrap()),
                ..definition("own", "a-{sequence}", Exclusive)
            },
            "up to 1000 bytes",
        ),
    ] {
        let error = Recipe::define(wrong).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

fn classified(own: &[Definition], at: &str) -> Option<Classification> {
    let own: Vec<OwnRecipe> = own.iter().cloned().map(|own| Recipe::define(own).unwrap()).collect();
    Classifier::new([]).with_recipes(&own).classify(&path(at))
}

#[test]
fn an_own_recipe_takes_precedence_below_its_node_only() {
    let own = Definition {
        below: Some(path("/app")),
        roles: roles(&[("sh", NameRole::Reader), ("ex", NameRole::Writer)]),
        ..definition("app-rw", "{role}-{lock}-{sequence}", LockKind::ReadWrite)
    };
    let place = classified(std::slice::from_ref(&own), "/app/q/sh-red-0000000003").unwrap();
    assert_eq!(
        (place.recipe.id(), place.recipe.kind(), place.mode),
        ("app-rw", LockKind::ReadWrite, RequestMode::Read)
    );
    assert_eq!((place.name.as_deref(), place.sequence), (Some("red"), Some(Sequence(3))));
    assert!(place.needs_ephemeral());
    let elsewhere = classified(&[own], "/other/sh-red-0000000003").unwrap();
    assert_eq!(elsewhere.recipe, Recipe::UnknownQueue);
}

#[test]
fn members_of_a_group_are_no_contenders() {
    let members = Definition { lock: false, ..definition("peers", "peer_{sequence}", LockKind::Exclusive) };
    assert_eq!(classified(&[members], "/group/peer_0000000001"), None);
    assert!(classified(&[], "/group/peer_0000000001").is_some());
}

#[test]
fn own_semaphores_and_single_nodes_are_classified() {
    let semaphore = Definition {
        roles: roles(&[("lease", NameRole::Lease), ("wait", NameRole::Waiter)]),
        ..definition("pool", "{role}-{sequence}", LockKind::Semaphore)
    };
    let role = |name: &str| classified(std::slice::from_ref(&semaphore), &format!("/pool/{name}")).unwrap();
    assert_eq!((role("lease-0000000001").role, role("wait-0000000002").role), (Role::Lease, Role::Queue));
    assert_eq!(role("wait-0000000002").lock, path("/pool"));
    let single = classified(&[definition("owner", "OWNER", LockKind::SingleNode)], "/job/OWNER").unwrap();
    assert_eq!((single.recipe.id(), single.role, single.lock), ("owner", Role::SingleNode, path("/job/OWNER")));
}

#[test]
fn a_semaphore_with_a_number_of_leases_has_one_queue() {
    let pool = Definition { leases: Some(2), ..definition("permits", "permit-{sequence}", LockKind::Semaphore) };
    let place = classified(&[pool], "/pool/permit-0000000003").unwrap();
    assert_eq!((place.role, place.mode, place.lock), (Role::Queue, RequestMode::Lease, path("/pool")));
    assert_eq!((place.recipe.leases_in_queue(), place.recipe.has_lease_nodes()), (Some(2), false));
}

#[test]
fn a_definition_without_later_facts_is_recorded_as_in_earlier_formats() {
    let roles = vec![("l".to_owned(), NameRole::Lease), ("w".to_owned(), NameRole::Waiter)];
    let earlier = ("own", "{role}{sequence}", LockKind::Semaphore, &roles, true, false, None::<ZnodePath>);
    let bytes = postcard::to_allocvec(&earlier).unwrap();
    let own = Definition { roles: roles.clone(), ..definition("own", "{role}{sequence}", LockKind::Semaphore) };
    assert_eq!(postcard::from_bytes::<Definition>(&bytes).unwrap(), own);
    assert_eq!(postcard::to_allocvec(&own).unwrap(), bytes);

    let name_from = Some("spec.host".to_owned());
    let pool = Definition { leases: Some(3), name_from, ..definition("own", "a-{sequence}", LockKind::Semaphore) };
    let recorded = postcard::to_allocvec(&pool).unwrap();
    assert_eq!(postcard::from_bytes::<OwnRecipe>(&recorded).unwrap().definition(), &pool);
    let mut damaged = recorded;
    let at = damaged.iter().position(|byte| *byte == b'3').unwrap();
    damaged[at] = b'?';
    assert!(postcard::from_bytes::<OwnRecipe>(&damaged).is_err());
}

#[test]
fn an_own_recipe_survives_serialization() {
    let own = Recipe::define(definition("kept", "kept-{uuid}-{sequence}", LockKind::Election)).unwrap();
    let bytes = postcard::to_allocvec(&(Recipe::Hive, Recipe::Own(own))).unwrap();
    assert_eq!(postcard::from_bytes::<(Recipe, Recipe)>(&bytes).unwrap(), (Recipe::Hive, Recipe::Own(own)));
    let name = format!("kept-{UUID}-0000000001");
    assert_eq!(own.read(&name).unwrap().attempt, Some(UUID));
}
