//! Tests of classification by neighbours.

use super::{classifier, path, place};
use crate::recipe::{Classifier, Recipe, RequestMode, Role};

const H: &str = "b3a1c2d40f1e4a2b8c3d112233445566";

#[test]
fn a_hint_changes_the_places_below_the_parents_that_it_regroups() {
    let waiter = path("/s/locks/_c_b3a1c2d4-0f1e-4a2b-8c3d-112233445566-lock-0000000001");
    let mut classifier = Classifier::default();
    assert_eq!(classifier.classify(&waiter).unwrap().lock, path("/s/locks"));

    assert!(classifier.add_hint(&path("/s/leases")));
    assert!(!classifier.add_hint(&path("/s/leases")), "it was known");
    assert_eq!(classifier.classify(&waiter).unwrap().lock, path("/s"));
    assert_eq!(classifier.hints().collect::<Vec<_>>(), [&path("/s/leases")]);
    assert_eq!(Classifier::regrouped_by(&path("/s/leases")), [path("/s/locks"), path("/s/leases")]);

    assert!(classifier.forget(&path("/s/leases")));
    assert!(!classifier.forget(&path("/s/leases")), "it was forgotten");
    assert_eq!(classifier.classify(&waiter).unwrap().lock, path("/s/locks"));
}

#[test]
fn a_kazoo_semaphore_is_one_lock_of_its_leases_and_its_queue() {
    let classifier = classifier(&["/pool-__lock__"]);
    let lease = classifier.classify(&path(&format!("/pool/{H}"))).unwrap();
    let waiter = classifier.classify(&path(&format!("/pool-__lock__/{H}__lock__0000000003"))).unwrap();
    assert_eq!((lease.role, waiter.role), (Role::Lease, Role::Queue));
    assert_eq!((lease.mode, waiter.mode), (RequestMode::Lease, RequestMode::Lease));
    assert_eq!((lease.recipe, lease.lock), (waiter.recipe, waiter.lock));
    assert_eq!(Classifier::regrouped_by(&path("/pool-__lock__")), [path("/pool"), path("/pool-__lock__")]);
}

#[test]
fn a_kazoo_lease_whose_id_ends_in_digits_is_still_a_lease() {
    let id = "b3a1c2d40f1e4a2b8c3d110123456789";
    let lease = place(&format!("/pool/{id}"), &["/pool-__lock__"]).unwrap();
    assert_eq!((lease.recipe, lease.sequence), (Recipe::KazooSemaphore, None));
}

#[test]
fn only_leases_and_kazoo_queues_are_hints() {
    for hint in ["/leases", "/a/leases", "/a-__lock__", "/a/b-__lock__"] {
        assert!(Classifier::is_hint(&path(hint)), "{hint}");
        assert_eq!(Classifier::regrouped_by(&path(hint)).len(), 2, "{hint}");
    }
    for other in ["/", "/a", "/a/locks", "/-__lock__", "/a/-__lock__", "/a/leases/b", "/releases", "/a__lock__"] {
        assert!(!Classifier::is_hint(&path(other)), "{other}");
        assert!(!Classifier::default().add_hint(&path(other)), "{other}");
        assert_eq!(Classifier::regrouped_by(&path(other)), [], "{other}");
    }
    assert_eq!(Classifier::regrouped_by(&path("/leases")), [path("/locks"), path("/leases")]);
}

#[test]
fn a_node_that_the_user_names_is_always_a_single_node() {
    let classifier = Classifier::new([path("/jobs/nightly"), path("/controller"), path("/jobs/lock-0000000001")]);
    for (named, recipe) in [
        ("/jobs/nightly", Recipe::SingleNode),
        ("/controller", Recipe::KafkaController),
        ("/jobs/lock-0000000001", Recipe::SingleNode),
    ] {
        let place = classifier.classify(&path(named)).unwrap();
        assert!(classifier.is_named(&path(named)));
        assert_eq!((place.recipe, place.role, place.lock), (recipe, Role::SingleNode, path(named)));
        assert_eq!((place.name, place.sequence), (None, None));
    }
    assert!(!classifier.is_named(&path("/jobs")));
    assert_eq!(classifier.classify(&path("/jobs/hourly")), None);
}

#[test]
fn queues_of_other_recipes_below_a_semaphore_stay_separate() {
    let hints = ["/s/leases", "/p-__lock__"];
    for (text, recipe) in [
        (format!("/s/locks/{H}__lock__0000000001"), Recipe::KazooLock),
        (format!("/s/locks/_c_{H}-lock-0000000001"), Recipe::GoLock),
        ("/s/leases/lock-0000000001".to_owned(), Recipe::TextbookQueue),
        (format!("/p/{H}__lock__0000000001"), Recipe::KazooLock),
        (format!("/p-__lock__/{H}__rlock__0000000001"), Recipe::KazooReadWrite),
    ] {
        let node = path(&text);
        let place = place(&text, &hints).unwrap();
        assert_eq!((place.recipe, Some(place.lock)), (recipe, node.parent()), "{text}");
    }
}
