//! Tests of the tree: creations, changes, deletions and refusals.

use super::*;

const SEQUENTIAL: TreeMode = TreeMode { ephemeral: false, sequential: true, ttl: false };
const PLAIN: TreeMode = TreeMode { ephemeral: false, sequential: false, ttl: false };

fn make(tree: &mut Tree, path: &str, mode: TreeMode, owner: Owner, zxid: i64) -> Result<Arc<str>, ErrorCode> {
    let wish = Wish { path, data: Some(b"x"), acls: anyone(permission::ALL), mode, owner };
    match tree.create(wish, zxid, zxid * 1000)?.0 {
        TreeChange::Created { path, .. } => Ok(path),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sequence_numbers_count_the_children_that_were_ever_made() {
    let mut tree = Tree::default();
    make(&mut tree, "/q", PLAIN, Owner::Nobody, 1).unwrap();
    assert_eq!(&*make(&mut tree, "/q/n-", SEQUENTIAL, Owner::Nobody, 2).unwrap(), "/q/n-0000000000");
    assert_eq!(&*make(&mut tree, "/q/other", PLAIN, Owner::Nobody, 3).unwrap(), "/q/other");
    tree.delete("/q/n-0000000000", -1, 4).unwrap();
    assert_eq!(&*make(&mut tree, "/q/", SEQUENTIAL, Owner::Nobody, 5).unwrap(), "/q/0000000002");
    let stat = tree.node("/q").unwrap().stat();
    assert_eq!((stat.cversion, stat.num_children, stat.pzxid), (4, 2, 5));
    assert_eq!(i32::midpoint(stat.cversion, stat.num_children), 3, "the next number, as clients reckon it");
}

#[test]
fn at_the_last_sequence_number_the_counter_stalls_and_creates_fail() {
    let mut tree = Tree::default();
    make(&mut tree, "/q", PLAIN, Owner::Nobody, 1).unwrap();
    tree.nodes.get_mut("/q").unwrap().made = i32::MAX - 1;
    assert_eq!(&*make(&mut tree, "/q/n-", SEQUENTIAL, Owner::Nobody, 2).unwrap(), "/q/n-2147483646");
    assert_eq!(&*make(&mut tree, "/q/n-", SEQUENTIAL, Owner::Nobody, 3).unwrap(), "/q/n-2147483647");
    assert_eq!(make(&mut tree, "/q/n-", SEQUENTIAL, Owner::Nobody, 4), Err(ErrorCode::NodeExists));
    assert_eq!(&*make(&mut tree, "/q/m-", SEQUENTIAL, Owner::Nobody, 5).unwrap(), "/q/m-2147483647");
    assert_eq!(tree.node("/q").unwrap().pzxid, 2, "a counter that stays keeps its zxid");
}

#[test]
fn the_sequence_numbers_of_3_5_go_on_below_zero() {
    let mut tree = Tree::new(ServerBehaviour::ZooKeeper35);
    make(&mut tree, "/q", PLAIN, Owner::Nobody, 1).unwrap();
    tree.nodes.get_mut("/q").unwrap().made = i32::MAX;
    assert_eq!(&*make(&mut tree, "/q/n-", SEQUENTIAL, Owner::Nobody, 2).unwrap(), "/q/n-2147483647");
    assert_eq!(&*make(&mut tree, "/q/n-", SEQUENTIAL, Owner::Nobody, 3).unwrap(), "/q/n--2147483648");
    assert_eq!(&*make(&mut tree, "/q/n-", SEQUENTIAL, Owner::Nobody, 4).unwrap(), "/q/n--2147483647");
    assert_eq!(tree.node("/q").unwrap().pzxid, 4);
}

#[test]
fn acls_and_names_count_as_memory_until_they_are_gone() {
    let mut tree = Tree::default();
    let empty = tree.memory();
    let path = format!("/{}", "n".repeat(1000));
    make(&mut tree, &path, PLAIN, Owner::Nobody, 1).unwrap();
    let made = tree.memory();
    assert!(made - empty >= 2 * 1000, "its path, and its name at its parent: {}", made - empty);
    assert!(made - empty <= Tree::cost(&path, Some(b"x"), &anyone(permission::ALL)));
    let users =
        (0..100).map(|n| NodeAcl { permissions: 1, id: Id::new("digest", &format!("{n}:{}", "x".repeat(1000))) });
    let acls: Acls = users.collect();
    let (_, undo) = tree.set_acl(&path, Arc::clone(&acls), -1).unwrap();
    assert!(tree.memory() - made >= 100 * 1000);
    tree.undo(undo);
    assert_eq!(tree.memory(), made);
    tree.set_acl(&path, acls, -1).unwrap();
    tree.delete(&path, -1, 2).unwrap();
    assert_eq!(tree.memory(), empty);
}

#[test]
fn every_change_can_be_undone() {
    let mut tree = Tree::default();
    make(&mut tree, "/q", PLAIN, Owner::Container, 1).unwrap();
    make(&mut tree, "/q/a", PLAIN, Owner::Session(7), 2).unwrap();
    let before = format!("{:?}", sorted(&tree));
    let mut undos = Vec::new();
    undos.push(tree.set_data("/q/a", Some(b"longer"), 0, 3, 3).unwrap().1);
    undos.push(tree.set_acl("/q", anyone(permission::READ), 0).unwrap().1);
    undos.push(tree.delete("/q/a", 1, 3).unwrap().1);
    let wish = Wish { path: "/q/n-", data: None, acls: anyone(1), mode: SEQUENTIAL, owner: Owner::Ttl(5) };
    undos.push(tree.create(wish, 3, 3).unwrap().1);
    undos.push(tree.check("/q", -1).unwrap().1);
    assert_ne!(format!("{:?}", sorted(&tree)), before);
    while let Some(undo) = undos.pop() {
        tree.undo(undo);
    }
    assert_eq!(format!("{:?}", sorted(&tree)), before);
}

fn sorted(tree: &Tree) -> impl std::fmt::Debug {
    let nodes: std::collections::BTreeMap<_, _> = tree.nodes.clone().into_iter().collect();
    (nodes, tree.ephemerals.clone(), tree.passing.clone(), tree.size)
}

#[test]
fn containers_go_after_their_last_child_and_ttl_nodes_after_their_time() {
    let mut tree = Tree::default();
    make(&mut tree, "/c", PLAIN, Owner::Container, 1).unwrap();
    make(&mut tree, "/t", PLAIN, Owner::Ttl(500), 1).unwrap();
    assert_eq!(tree.due(1500), Vec::<Arc<str>>::new(), "the container never had a child, the other has time left");
    make(&mut tree, "/c/a", PLAIN, Owner::Nobody, 2).unwrap();
    assert_eq!(tree.due(1501), ["/t".into()]);
    tree.delete("/c/a", -1, 3).unwrap();
    assert_eq!(tree.due(1501), ["/c".into(), "/t".into()]);
    assert_eq!(tree.node("/c").unwrap().stat().ephemeral_owner, 0);
}

#[test]
fn refusals_have_a_real_servers_order() {
    let mut tree = Tree::default();
    make(&mut tree, "/e", PLAIN, Owner::Session(7), 1).unwrap();
    let mut refused = |path: &str| make(&mut tree, path, PLAIN, Owner::Nobody, 2).unwrap_err();
    assert_eq!(refused("a"), ErrorCode::BadArguments);
    assert_eq!(refused("/none/a"), ErrorCode::NoNode);
    assert_eq!(refused("/none/"), ErrorCode::NoNode);
    assert_eq!(refused("/e/"), ErrorCode::BadArguments);
    assert_eq!(refused("/e/a"), ErrorCode::NoChildrenForEphemerals);
    assert_eq!(refused("/"), ErrorCode::NodeExists);
    assert_eq!(Tree::default().deletable("/zookeeper").unwrap_err(), ErrorCode::BadArguments);
    assert_eq!(tree.delete("/e", 1, 2).unwrap_err(), ErrorCode::BadVersion);
    assert_eq!(tree.delete("/zookeeper", -1, 2).unwrap_err(), ErrorCode::NotEmpty);
}

#[test]
fn a_new_server_has_zookeepers_own_nodes() {
    let tree = Tree::default();
    assert_eq!((tree.nodes(), tree.below("/"), tree.below("/zookeeper")), (4, 3, 2));
    let root = tree.node("/").unwrap().stat();
    assert_eq!((root.cversion, root.num_children), (-1, 1));
}
