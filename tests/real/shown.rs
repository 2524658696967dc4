//! Queues of real libraries are shown as the libraries see them: recipe, holders, order.

use std::collections::BTreeMap;
use std::time::Duration;

use lockscope_base::znode::SessionId;
use lockscope_model::queue::{ContenderState, LockQueue};
use tokio::time::{Instant, timeout};

use crate::harness::foreign::Foreign;
use crate::harness::zk;
use crate::observe::fixture::{ObserverFixture, path};

/// How long the table and the library may disagree.
const DEADLINE: Duration = Duration::from_secs(60);

/// How long changes are taken in before the library is asked again.
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(500);

/// A lock of a library, and its contenders in order, each with a session of its own.
struct Case {
    contenders: &'static [&'static str],
    path: &'static str,
    /// The text after the path: a semaphore's number of leases.
    leases: &'static str,
    recipe: &'static str,
}

impl Case {
    const fn new(contenders: &'static [&'static str], path: &'static str, recipe: &'static str) -> Self {
        Self { contenders, path, leases: "", recipe }
    }

    const fn with_leases(mut self, leases: &'static str) -> Self {
        self.leases = leases;
        self
    }

    fn id(&self, number: usize) -> String {
        format!("{}-{number}", self.path.trim_start_matches('/'))
    }
}

/// Returns a lock in the table: each contender's session, whether it holds, and its node's name and
/// data.
fn shown(lock: &LockQueue) -> Vec<(Option<SessionId>, bool, String, String)> {
    let rows = lock.rows(0..lock.len());
    rows.map(|row| {
        let data = String::from_utf8_lossy(row.contender.data.bytes()).into_owned();
        (row.contender.session(), row.state == ContenderState::Holds, row.contender.node.to_string(), data)
    })
    .collect()
}

struct QueueFixture<'a> {
    foreign: &'a mut Foreign,
    watched: &'a mut ObserverFixture,
    sessions: BTreeMap<String, SessionId>,
}

impl QueueFixture<'_> {
    /// Lets all contend, one after the other.
    async fn contend(&mut self, case: &Case) {
        for (number, recipe) in case.contenders.iter().enumerate() {
            let id = case.id(number);
            let session = self.foreign.connect(&id).await;
            self.sessions.insert(id.clone(), session);
            self.foreign.start(&id, &id, recipe, &format!("{} {}", case.path, case.leases)).await;
            if number == 0 {
                self.foreign.held(&id).await;
            }
            self.await_contenders(case, number + 1).await;
        }
    }

    async fn await_contenders(&mut self, case: &Case, count: usize) {
        let at = path(case.path);
        self.watched
            .until(&format!("{count} contenders of {}", case.recipe), |watched| {
                let lock = watched.table.find(&at, None).and_then(|id| watched.table.lock(id));
                watched.table.is_live()
                    && lock.is_some_and(|lock| {
                        lock.len() == count && lock.rows(0..count).all(|row| row.contender.is_read())
                    })
            })
            .await;
    }

    /// Waits until a contender is shown as its own library sees it. Either may be ahead for a
    /// moment.
    async fn agrees(&mut self, case: &Case, id: &str) {
        let (session, at) = (self.sessions.get(id).copied(), path(case.path));
        let holds = |watched: &ObserverFixture| {
            let lock = watched.table.find(&at, None).and_then(|lock| watched.table.lock(lock))?;
            let row = lock.rows(0..lock.len()).find(|row| row.contender.session() == session)?;
            Some(row.state == ContenderState::Holds)
        };
        let end = Instant::now() + DEADLINE;
        loop {
            let library = Some(self.foreign.holds(id).await);
            let what = format!("{id} as its own library says, {library:?}");
            let agreed = self.watched.until(&what, |watched| holds(watched) == library);
            if timeout(BETWEEN_QUESTIONS, agreed).await.is_ok() {
                return;
            }
            assert!(Instant::now() < end, "{what}; shown is {:?}", shown(self.lock(case)));
        }
    }

    fn lock(&self, case: &Case) -> &LockQueue {
        let id = self.watched.table.find(&path(case.path), None).expect("the lock");
        self.watched.table.lock(id).expect("the lock")
    }

    /// Compares each contender with its own library's view.
    async fn compare(&mut self, case: &Case, gone: usize) {
        for number in gone..case.contenders.len() {
            self.agrees(case, &case.id(number)).await;
        }
        let said = shown(self.lock(case));
        assert_eq!(self.lock(case).recipe().id(), case.recipe);
        assert_eq!(said.len(), case.contenders.len() - gone, "{}: {said:?}", case.recipe);
        let order = self.foreign.order(&case.id(gone)).await;
        let by_node: Vec<_> = said.iter().map(|(.., node, _)| node.clone()).collect();
        let by_data: Vec<_> = said.iter().map(|(.., data)| data.clone()).collect();
        let is_semaphore = case.recipe.ends_with("semaphore");
        assert!(is_semaphore || order == by_node || order == by_data, "{}: {order:?} is not {said:?}", case.recipe);
    }
}

async fn shows(mut foreign: Foreign, at: &str, cases: &[Case]) {
    let mut watched = ObserverFixture::start(at);
    let client = zk::connect(at).await;
    for case in cases {
        zk::make(&client, [case.path.to_owned()]).await;
        let mut fixture = QueueFixture { foreign: &mut foreign, watched: &mut watched, sessions: BTreeMap::new() };
        fixture.contend(case).await;
        fixture.compare(case, 0).await;
        fixture.foreign.release(&case.id(0)).await;
        fixture.await_contenders(case, case.contenders.len() - 1).await;
        fixture.compare(case, 1).await;
    }
    watched.observer.stop().await;
    foreign.quit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_of_curator_and_the_java_write_lock_are_shown_as_these_see_them() {
    let cases = [
        Case::new(&["mutex"; 4], "/mutex", "curator-mutex"),
        Case::new(&["read", "read", "write", "read", "write"], "/shared", "curator-read-write"),
        Case::new(&["write", "read", "read", "write"], "/written", "curator-read-write"),
        Case::new(&["semaphore"; 5], "/semaphore", "curator-semaphore").with_leases("2"),
        Case::new(&["semaphore-mutex"; 3], "/semaphore-mutex", "curator-semaphore"),
        Case::new(&["latch"; 3], "/latch", "curator-latch"),
        Case::new(&["selector"; 3], "/selector", "curator-mutex"),
        Case::new(&["write-lock"; 4], "/write-lock", "zookeeper-write-lock"),
    ];
    let at = zk::own_root("shown-java").await;
    shows(Foreign::java(&at), &at, &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_of_kazoo_are_shown_as_it_sees_them() {
    let cases = [
        Case::new(&["lock"; 4], "/lock", "kazoo-lock"),
        Case::new(&["read", "read", "write"], "/shared", "kazoo-read-write"),
        Case::new(&["semaphore"; 5], "/semaphore", "kazoo-semaphore").with_leases("2"),
        Case::new(&["election"; 3], "/election", "kazoo-lock"),
    ];
    let at = zk::own_root("shown-kazoo").await;
    shows(Foreign::kazoo(&at), &at, &cases).await;
}
