//! Tests of the names, row by row, and of their neighbours.

mod hostile;
mod neighbours;
mod rows;

use super::{Classification, Classifier, LockKind, Recipe, read};
use crate::znode::ZnodePath;

pub(super) fn path(text: &str) -> ZnodePath {
    ZnodePath::new(text).expect("a path")
}

fn classifier(hints: &[&str]) -> Classifier {
    let mut classifier = Classifier::default();
    for hint in hints {
        assert!(classifier.add_hint(&path(hint)), "{hint} is a hint");
    }
    classifier
}

fn place(text: &str, hints: &[&str]) -> Option<Classification> {
    classifier(hints).classify(&path(text))
}

#[test]
fn every_recipe_keeps_its_documented_id_and_has_a_title_that_fits() {
    let documented = "curator-mutex curator-read-write curator-semaphore curator-latch kazoo-lock kazoo-read-write \
        kazoo-semaphore zookeeper-write-lock zookeeper-election go-lock rust-lock hive solr-election hadoop-elector \
        kafka-controller textbook-queue textbook-session-queue textbook-named-queue textbook-shared single-node \
        unknown-queue accumulo-lock aiozk-lock aiozk-read-write aiozk-election aurora-election bookkeeper-auditor \
        elastic-job helix-controller marathon-election mesos-election zk-ruby-lock zk-ruby-election pulsar-leader \
        rust-latch vitess-lock timed-lock";
    let ids: Vec<_> = Recipe::ALL.iter().map(|recipe| recipe.id()).collect();
    assert_eq!(ids, documented.split_whitespace().collect::<Vec<_>>());
    for recipe in Recipe::ALL {
        assert!((1..=16).contains(&recipe.title().len()) && recipe.title().is_ascii(), "{}", recipe.title());
        assert_eq!(serde_json::to_value(recipe).unwrap(), recipe.id());
        assert!(
            !recipe.needs_ephemeral()
                || matches!(recipe.kind(), LockKind::SingleNode | LockKind::Exclusive | LockKind::Election),
            "{recipe:?}"
        );
    }
    let titles: std::collections::BTreeSet<_> = Recipe::ALL.iter().map(|recipe| recipe.title()).collect();
    assert_eq!(titles.len(), Recipe::ALL.len(), "no two recipes look the same on the screen");
}

#[test]
fn only_kazoo_readers_and_writers_share_a_queue() {
    for recipe in Recipe::ALL {
        let family = if recipe == Recipe::KazooReadWrite { Recipe::KazooLock } else { recipe };
        assert_eq!(recipe.family(), family);
    }
    let id = "b3a1c2d40f1e4a2b8c3d112233445566";
    let writer = place(&format!("/l/{id}__lock__0000000001"), &[]).unwrap();
    let reader = place(&format!("/l/{id}__rlock__0000000002"), &[]).unwrap();
    assert_eq!((writer.family(), &writer.lock, &writer.name), (reader.family(), &reader.lock, &reader.name));
}

#[test]
fn only_ambiguous_names_need_an_ephemeral_node() {
    for name in ["lock", "job.leader", "ActiveStandbyElectorLock", "anything-0000000001"] {
        assert!(place(&format!("/p/{name}"), &[]).unwrap().needs_ephemeral(), "{name}");
    }
    for name in ["lock-0000000001", "LOCK-SHARED-0000000001", "n_0000000001"] {
        assert!(!place(&format!("/p/{name}"), &[]).unwrap().needs_ephemeral(), "{name}");
    }
    assert!(read("lock").is_some_and(|name| name.recipe.needs_ephemeral()));
}
