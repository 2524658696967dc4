//! The table of recipes as test data.

use super::place;
use crate::recipe::LockKind::{
    self, Election, Exclusive as ExclusiveLock, ReadWrite, Semaphore, SingleNode as OneNode,
};
use crate::recipe::Recipe::{self, *};
use crate::recipe::RequestMode::{self, Exclusive, Lease, Read, Write};
use crate::recipe::Role::{self, Lease as LeaseRole, Queue, SingleNode as Single};
use crate::recipe::read;
use crate::znode::ZnodePath;

const U: &str = "b3a1c2d4-0f1e-4a2b-8c3d-112233445566";
const H: &str = "b3a1c2d40f1e4a2b8c3d112233445566";

/// A name and what it means. `{U}` and `{H}` are replaced by ids. The last two are the lock's name
/// and the attempt; `None` if the node's name has none.
type Row = (
    (&'static str, &'static [&'static str]),
    (Recipe, LockKind, RequestMode, Role),
    &'static str,
    Option<i32>,
    (Option<&'static str>, Option<&'static str>),
);

const MIN: i32 = i32::MIN;
const MAX: i32 = i32::MAX;

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Curator
    (("/l/_c_{U}-lock-0000000042", &[]), (CuratorMutex, ExclusiveLock, Exclusive, Queue), "/l", Some(42), (None, Some(U))),
    (("/l/_c_{U}-lock--2147483648", &[]), (CuratorMutex, ExclusiveLock, Exclusive, Queue), "/l", Some(MIN), (None, Some(U))),
    (("/_c_{U}-lock-0000000042", &["/leases"]), (CuratorMutex, ExclusiveLock, Exclusive, Queue), "/", Some(42), (None, Some(U))),
    (("/l/_c_{U}-__READ__0000000007", &[]), (CuratorReadWrite, ReadWrite, Read, Queue), "/l", Some(7), (None, Some(U))),
    (("/l/_c_{U}-__WRIT__-2147483648", &[]), (CuratorReadWrite, ReadWrite, Write, Queue), "/l", Some(MIN), (None, Some(U))),
    (("/l/_c_{U}-latch-0000000000", &[]), (CuratorLatch, Election, Exclusive, Queue), "/l", Some(0), (None, Some(U))),
    (("/s/locks/_c_{U}-lock-0000000003", &["/s/leases"]), (CuratorSemaphore, Semaphore, Lease, Queue), "/s", Some(3), (None, Some(U))),
    (("/s/locks/_c_{U}-lock-0000000003", &["/t/leases"]), (CuratorMutex, ExclusiveLock, Exclusive, Queue), "/s/locks", Some(3), (None, Some(U))),
    (("/locks/_c_{U}-lock-0000000003", &["/leases"]), (CuratorSemaphore, Semaphore, Lease, Queue), "/", Some(3), (None, Some(U))),
    (("/s/leases/_c_{U}-lease-0000000009", &[]), (CuratorSemaphore, Semaphore, Lease, LeaseRole), "/s", Some(9), (None, Some(U))),
    (("/leases/_c_{U}-lease-0000000009", &[]), (CuratorSemaphore, Semaphore, Lease, LeaseRole), "/", Some(9), (None, Some(U))),
    (("/l/_c_{U}-lease-0000000009", &[]), (UnknownQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(9), (None, Some(U))),
    // kazoo
    (("/l/{H}__lock__0000000001", &[]), (KazooLock, ExclusiveLock, Exclusive, Queue), "/l", Some(1), (None, Some(H))),
    (("/l/{H}__lock__-2147483648", &[]), (KazooLock, ExclusiveLock, Exclusive, Queue), "/l", Some(MIN), (None, Some(H))),
    (("/l/{H}__rlock__0000000001", &[]), (KazooReadWrite, ReadWrite, Read, Queue), "/l", Some(1), (None, Some(H))),
    (("/s-__lock__/{H}__lock__0000000001", &[]), (KazooSemaphore, Semaphore, Lease, Queue), "/s", Some(1), (None, Some(H))),
    (("/a/s/{H}", &["/a/s-__lock__"]), (KazooSemaphore, Semaphore, Lease, LeaseRole), "/a/s", None, (None, None)),
    // ZooKeeper's own
    (("/l/x-72057594037927936-0000000005", &[]), (ZookeeperWriteLock, ExclusiveLock, Exclusive, Queue), "/l", Some(5), (None, Some("72057594037927936"))),
    (("/l/x--3458764513820540927-0000000005", &[]), (ZookeeperWriteLock, ExclusiveLock, Exclusive, Queue), "/l", Some(5), (None, Some("-3458764513820540927"))),
    (("/l/x--1--2147483648", &[]), (ZookeeperWriteLock, ExclusiveLock, Exclusive, Queue), "/l", Some(MIN), (None, Some("-1"))),
    (("/l/x-0100a2b3c4d50001-0000000006", &[]), (ZookeeperWriteLock, ExclusiveLock, Exclusive, Queue), "/l", Some(6), (None, Some("0100a2b3c4d50001"))),
    (("/election/n_2147483647", &[]), (ZookeeperElection, Election, Exclusive, Queue), "/election", Some(MAX), (None, None)),
    (("/election/n_-2147483648", &[]), (ZookeeperElection, Election, Exclusive, Queue), "/election", Some(MIN), (None, None)),
    (("/election/{H}-n_0000000001", &[]), (ZookeeperElection, Election, Exclusive, Queue), "/election", Some(1), (None, Some(H))),
    // one recipe each
    (("/l/_c_{H}-lock-0000000008", &[]), (GoLock, ExclusiveLock, Exclusive, Queue), "/l", Some(8), (None, Some(H))),
    (("/l/_c_{U}-orders-0000000002", &[]), (UnknownQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(2), (Some("orders-"), Some(U))),
    (("/l/_c_{U}-bills0000000002", &[]), (UnknownQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(2), (Some("bills"), Some(U))),
    (("/l/_c_{U}-0000000002", &[]), (UnknownQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(2), (None, Some(U))),
    (("/l/my-prefix0000000002", &[]), (UnknownQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(2), (None, None)),
    (("/hive_zookeeper_namespace/db/t/LOCK-SHARED-0000000001", &[]), (Hive, ReadWrite, Read, Queue), "/hive_zookeeper_namespace/db/t", Some(1), (None, None)),
    (("/h/LOCK-SEMI_SHARED-0000000002", &[]), (Hive, ReadWrite, Read, Queue), "/h", Some(2), (None, None)),
    (("/h/LOCK-EXCLUSIVE-0000000003", &[]), (Hive, ReadWrite, Write, Queue), "/h", Some(3), (None, None)),
    (("/o/election/72057594037927936-core_node3-n_0000000004", &[]), (SolrElection, Election, Exclusive, Queue), "/o/election", Some(4), (None, Some("72057594037927936-core_node3"))),
    (("/o/election/-7205759403792793-10.0.0.1:8983_solr-n_0000000004", &[]), (SolrElection, Election, Exclusive, Queue), "/o/election", Some(4), (None, Some("-7205759403792793-10.0.0.1:8983_solr"))),
    (("/hadoop-ha/c1/ActiveStandbyElectorLock", &[]), (HadoopElector, OneNode, Exclusive, Single), "/hadoop-ha/c1/ActiveStandbyElectorLock", None, (None, None)),
    (("/controller", &[]), (KafkaController, OneNode, Exclusive, Single), "/controller", None, (None, None)),
    (("/kafka/controller", &[]), (SingleNode, OneNode, Exclusive, Single), "/kafka/controller", None, (None, None)),
    // elections and service locks of services
    (("/accumulo/i/managers/lock/zlock#{U}#0000000003", &[]), (AccumuloLock, Election, Exclusive, Queue), "/accumulo/i/managers/lock", Some(3), (None, Some(U))),
    (("/accumulo/i/masters/lock/zlock-0000000003", &[]), (AccumuloLock, Election, Exclusive, Queue), "/accumulo/i/masters/lock", Some(3), (None, None)),
    (("/accumulo/i/gc/lock/zlock#{U}#0000000003", &[]), (AccumuloLock, Election, Exclusive, Queue), "/accumulo/i/gc/lock", Some(3), (None, Some(U))),
    (("/e/latch-host:7-0000000003", &[]), (RustLatch, Election, Exclusive, Queue), "/e", Some(3), (None, None)),
    (("/vitess/global/keyspaces/k/locks/0000000003", &[]), (VitessLock, ExclusiveLock, Exclusive, Queue), "/vitess/global/keyspaces/k/locks", Some(3), (None, None)),
    (("/v/keyspaces/k/shards/-80/locks/0000000003", &[]), (VitessLock, ExclusiveLock, Exclusive, Queue), "/v/keyspaces/k/shards/-80/locks", Some(3), (None, None)),
    (("/loadbalance/leader", &[]), (PulsarLeader, OneNode, Exclusive, Single), "/loadbalance/leader", None, (None, None)),
    (("/l/lock-{H}-0000000003", &[]), (AiozkLock, ExclusiveLock, Exclusive, Queue), "/l", Some(3), (None, Some(H))),
    (("/l/read-{H}-0000000003", &[]), (AiozkReadWrite, ReadWrite, Read, Queue), "/l", Some(3), (None, Some(H))),
    (("/l/write-{H}--2147483648", &[]), (AiozkReadWrite, ReadWrite, Write, Queue), "/l", Some(MIN), (None, Some(H))),
    (("/e/candidate-{H}-0000000003", &[]), (AiozkElection, Election, Exclusive, Queue), "/e", Some(3), (None, Some(H))),
    (("/aurora/scheduler/singleton_candidate_0000000001", &[]), (AuroraElection, Election, Exclusive, Queue), "/aurora/scheduler", Some(1), (None, None)),
    (("/ledgers/underreplication/auditorelection/V_0000000009", &[]), (BookkeeperAuditor, Election, Exclusive, Queue), "/ledgers/underreplication/auditorelection", Some(9), (None, None)),
    (("/a/V_0000000009", &[]), (UnknownQueue, ExclusiveLock, Exclusive, Queue), "/a", Some(9), (None, None)),
    (("/ns/job/leader/election/instance", &[]), (ElasticJob, OneNode, Exclusive, Single), "/ns/job/leader/election/instance", None, (None, None)),
    (("/ns/job/leader/election/latch/_c_{U}-latch-0000000000", &[]), (CuratorLatch, Election, Exclusive, Queue), "/ns/job/leader/election/latch", Some(0), (None, Some(U))),
    (("/c1/CONTROLLER/LEADER", &[]), (HelixController, OneNode, Exclusive, Single), "/c1/CONTROLLER/LEADER", None, (None, None)),
    (("/app/shedlock/nightly", &[]), (TimedLock, OneNode, Exclusive, Single), "/app/shedlock/nightly", None, (None, None)),
    (("/marathon/leader/member_0000000009", &[]), (MarathonElection, Election, Exclusive, Queue), "/marathon/leader", Some(9), (None, None)),
    (("/mesos/json.info_0000000001", &[]), (MesosElection, Election, Exclusive, Queue), "/mesos", Some(1), (None, None)),
    (("/mesos/info_0000000001", &[]), (MesosElection, Election, Exclusive, Queue), "/mesos", Some(1), (None, None)),
    (("/_zklocking/job/ex0000000001", &[]), (ZkRubyLock, ReadWrite, Write, Queue), "/_zklocking/job", Some(1), (None, None)),
    (("/_zklocking/job/sh0000000001", &[]), (ZkRubyLock, ReadWrite, Read, Queue), "/_zklocking/job", Some(1), (None, None)),
    (("/_zkelection/db/ballot0000000001", &[]), (ZkRubyElection, Election, Exclusive, Queue), "/_zkelection/db", Some(1), (None, None)),
    // textbooks
    (("/lock", &[]), (SingleNode, OneNode, Exclusive, Single), "/lock", None, (None, None)),
    (("/exclusive_lock/lock", &[]), (SingleNode, OneNode, Exclusive, Single), "/exclusive_lock/lock", None, (None, None)),
    (("/a/report.Mutex", &[]), (SingleNode, OneNode, Exclusive, Single), "/a/report.Mutex", None, (None, None)),
    (("/a/orders-LEADER", &[]), (SingleNode, OneNode, Exclusive, Single), "/a/orders-LEADER", None, (None, None)),
    (("/a/hbase_master", &[]), (SingleNode, OneNode, Exclusive, Single), "/a/hbase_master", None, (None, None)),
    (("/a/Active", &[]), (SingleNode, OneNode, Exclusive, Single), "/a/Active", None, (None, None)),
    (("/l/lock-0000000001", &[]), (TextbookQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(1), (None, None)),
    (("/l/lock--2147483648", &[]), (TextbookQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(MIN), (None, None)),
    (("/l/{U}-lock-0000000001", &[]), (TextbookQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(1), (None, Some(U))),
    (("/l/{H}-lock-0000000001", &[]), (TextbookQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(1), (None, Some(H))),
    (("/l/lock-72057594037927936-0000000001", &[]), (TextbookSessionQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(1), (None, Some("72057594037927936"))),
    (("/l/lock--5-0000000001", &[]), (TextbookSessionQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(1), (None, Some("-5"))),
    (("/l/lock-10000a2b3c40001-0000000001", &[]), (TextbookSessionQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(1), (None, Some("10000a2b3c40001"))),
    (("/l/lock-0xfe-0000000001", &[]), (TextbookSessionQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(1), (None, Some("0xfe"))),
    (("/l/lock-cafe-0000000001", &[]), (UnknownQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(1), (None, None)),
    (("/l/orders_lock_0000000001", &[]), (TextbookNamedQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(1), (Some("orders"), None)),
    (("/l/_lock_0000000001", &[]), (UnknownQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(1), (None, None)),
    (("/l/10.0.0.1-R-0000000001", &[]), (TextbookShared, ReadWrite, Read, Queue), "/l", Some(1), (None, None)),
    (("/l/host-r-0000000001", &[]), (TextbookShared, ReadWrite, Read, Queue), "/l", Some(1), (None, None)),
    (("/l/host-W-0000000002", &[]), (TextbookShared, ReadWrite, Write, Queue), "/l", Some(2), (None, None)),
    (("/l/host-w--2147483648", &[]), (TextbookShared, ReadWrite, Write, Queue), "/l", Some(MIN), (None, None)),
    (("/l/read-0000000001", &[]), (TextbookShared, ReadWrite, Read, Queue), "/l", Some(1), (None, None)),
    (("/l/write-0000000002", &[]), (TextbookShared, ReadWrite, Write, Queue), "/l", Some(2), (None, None)),
    (("/l/{U}-write-0000000002", &[]), (TextbookShared, ReadWrite, Write, Queue), "/l", Some(2), (None, Some(U))),
    // A semaphore whose number of leases is stored nowhere: DistributedLock's for C#, and zk-ruby's.
    (("/pool/semaphore-0000000001", &[]), (UnknownQueue, ExclusiveLock, Exclusive, Queue), "/pool", Some(1), (None, None)),
    (("/_zksemaphore/pool/sem0000000001", &[]), (UnknownQueue, ExclusiveLock, Exclusive, Queue), "/_zksemaphore/pool", Some(1), (None, None)),
    // The lock of zookeeper-async: the first holds, but which node another one watches is not certain.
    (("/l/{U}_0000000001", &[]), (UnknownQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(1), (None, None)),
    (("/l/0000000002", &[]), (UnknownQueue, ExclusiveLock, Exclusive, Queue), "/l", Some(2), (None, None)),
];

#[test]
fn every_row_of_the_table_is_read_as_its_recipe() {
    for ((template, hints), (recipe, kind, mode, role), lock, sequence, (name, attempt)) in ROWS {
        let path = template.replace("{U}", U).replace("{H}", H);
        let place = place(&path, hints).unwrap_or_else(|| panic!("{path} stands nowhere"));
        assert_eq!(
            (place.recipe, place.recipe.kind(), place.mode, place.role),
            (*recipe, *kind, *mode, *role),
            "{path}"
        );
        assert_eq!(place.lock.as_str(), *lock, "{path}");
        assert_eq!(place.sequence.map(|sequence| sequence.0), *sequence, "{path}");
        assert_eq!(place.name.as_deref(), *name, "{path}");
        let child = ZnodePath::new(&path).unwrap();
        assert_eq!(read(child.name()).and_then(|child| child.attempt), *attempt, "{path}");
    }
}

#[test]
fn the_table_has_a_row_for_every_recipe() {
    let is_read = |recipe: &Recipe| !crate::recipe::written(*recipe).patterns.is_empty();
    for recipe in Recipe::ALL.into_iter().filter(is_read) {
        assert!(ROWS.iter().any(|(_, (of_row, ..), ..)| *of_row == recipe), "{recipe:?}");
    }
}

#[test]
fn names_that_only_look_like_locks_are_not_classified() {
    for template in [
        "/",
        "/clickhouse/tables/t/block_numbers/202401/block-0000000001",
        "/clickhouse/tables/t/block_numbers/block-0000000001",
        "/clickhouse/tables/t/replicas/leader_election-0000000001",
        "/overseer/queue/qn-0000000001",
        "/brokers/seqid/0000000001",
        "/accumulo/i/tservers/host:9997/zlock#{U}#0000000000",
        "/accumulo/i/compactors/q1/host:9133/zlock#{U}#0000000000",
        "/accumulo/i/sservers/default/host:9996/zlock#{U}#0000000000",
        "/accumulo/i/managers/assistants/default/host:9999/zlock#{U}#0000000000",
        "/app/lock/zlock#{U}#0000000000",
        "/service/web/member_0000000009",
        "/clickhouse/tables/t/replicas/r/is_active",
        "/a/is-master",
        "/a/is.node.leader",
        "/zookeeper",
        "/zookeeper/config/lock",
        "/zookeeper/quota/lock-0000000001",
        "/brokers/ids/1",
        "/brokers/ids/1700000000001",
        "/live/b3a1c2d40f1e4a2b8c3d110123456789",
        "/live/b3a1c2d4-0f1e-4a2b-8c3d-120123456789",
        "/live/72057594037927936",
        "/hadoop-ha/c1/ActiveBreadCrumb",
        "/a/{H}",
        "/a/{H}__lock__",
        "/a/_c_{U}-lock-",
        "/a/lock-42",
        "/a/locks",
        "/a/leases",
        "/a/block",
        "/a/clock",
        "/a/webmaster",
        "/a/unlock",
        "/a/lock.",
        "/s-__lock__",
    ] {
        let path = template.replace("{U}", U).replace("{H}", H);
        assert_eq!(place(&path, &[]), None, "{path}");
    }
}

#[test]
fn a_known_lock_name_is_classified_even_below_numbered_nodes_and_the_servers() {
    let path = format!("/locks/block_numbers/_c_{U}-lock-0000000001");
    assert_eq!(place(&path, &[]).unwrap().recipe, CuratorMutex);
    assert_eq!(place("/zookeeper/master/lock-0000000001", &[]).unwrap().recipe, TextbookQueue);
    assert_eq!(place("/zookeeper/configs/lock", &[]).unwrap().recipe, SingleNode);
    assert_eq!(place("/zookeepers/lock-0000000001", &[]).unwrap().recipe, TextbookQueue);
    assert_eq!(place("/a/block-0000000001", &[]).unwrap().recipe, UnknownQueue);
}
