//! Random restarts of the members of an ensemble whose clients are all alive. Clients connect to
//! another member within two seconds. No finding about their liveness may be raised.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::finding::Evidence;
use super::testing::{DiagnosisFixture, curator, latch};
use super::{Code, OwnerState, TableAt};
use crate::queue::Change;
use crate::server_view::{
    Connection, Expiry, ExpiryClock, FirstListed, ListedSession, Listing, MemberView, ServerMode, ServerSettings,
    ServerView, SessionTiming,
};
use lockscope_base::znode::{SessionId, Timestamp};

const MEMBERS: usize = 3;

/// How many clients there are: a holder and a waiter of a lock, and two candidates of an election.
const CLIENTS: usize = 4;

/// The time between two steps of the world.
const STEP: Duration = Duration::from_millis(100);

/// The session timeout. Clients send a heartbeat in each third of it.
const TIMEOUT: Duration = Duration::from_secs(6);

/// A member goes and comes back.
#[derive(Clone, Debug)]
struct Restart {
    member: usize,
    /// How many steps the member is away.
    away: u32,
    /// How many steps the others elect for, if it led.
    elects: u32,
    then: u32,
    /// After how many steps each client connects again.
    delays: [u32; CLIENTS],
}

fn restart() -> impl Strategy<Value = Restart> {
    (0..MEMBERS, 10..50_u32, 2..20_u32, 40..120_u32, prop::array::uniform4(0..20_u32))
        .prop_map(|(member, away, elects, then, delays)| Restart { member, away, elects, then, delays })
}

/// One server, and the last answers it gave.
#[derive(Clone, Debug)]
struct Member {
    serves: bool,
    view: MemberView,
    first_listed: FirstListed,
    /// The steps until it is asked again.
    asked_in: u32,
}

/// A client, which has a session for the whole time.
#[derive(Clone, Debug)]
struct Client {
    /// The member, since when, and when the client was last answered there.
    connection: Option<(usize, Timestamp, Option<Timestamp>)>,
    /// The steps until it connects to a member that serves.
    connects_in: u32,
}

struct World {
    fixture: DiagnosisFixture,
    members: Vec<Member>,
    clients: Vec<Client>,
    leader: usize,
    steps: u32,
    /// The findings about the liveness of clients that were ever raised.
    raised: Vec<String>,
}

impl World {
    fn start() -> Self {
        let mut fixture = DiagnosisFixture::new();
        for (number, session) in (1..).zip([1, 2]) {
            fixture.create(&curator("/l", number), session);
        }
        for (number, session) in (3..).zip([3, 4]) {
            fixture.create_named(&latch("/e", number), session, &format!("worker-{session}"));
        }
        let member = |number: usize| Member {
            serves: true,
            view: MemberView::unasked(format!("zk{number}:2181")),
            first_listed: FirstListed::default(),
            asked_in: u32::try_from(number).expect("few") * 3,
        };
        let client = |number: usize| {
            let made = Timestamp(fixture.now.0 - 60_000);
            Client { connection: Some((number % MEMBERS, made, Some(fixture.now))), connects_in: 0 }
        };
        let clients = (0..CLIENTS).map(client).collect();
        Self { fixture, members: (1..=MEMBERS).map(member).collect(), clients, leader: 0, steps: 0, raised: Vec::new() }
    }

    fn step(&mut self) {
        self.steps += 1;
        self.fixture.now = self.fixture.now.plus(STEP);
        self.connect_clients();
        let mut is_changed = false;
        for number in 0..MEMBERS {
            let member = &mut self.members[number];
            if member.asked_in > 0 {
                member.asked_in -= 1;
            } else {
                // Each member has a pace of its own.
                member.asked_in = 10 + u32::try_from(number).expect("few");
                self.ask(number);
                is_changed = true;
            }
        }
        let now = self.fixture.now;
        if is_changed {
            let members = self.members.iter().map(|member| member.view.clone()).collect();
            let view = ServerView { at: now, members, members_known: true, ..ServerView::default() };
            self.fixture.apply(Change::Surveyed { view: Arc::new(view) });
        }
        if is_changed || self.steps.is_multiple_of(10) {
            let raised = self.fixture.diagnosis.examine(&self.fixture.table, now).raised;
            let of_liveness = raised.iter().filter(|finding| finding.code.traits().evidence == Evidence::Liveness);
            self.raised.extend(of_liveness.map(|finding| format!("{}: {}", finding.code, finding.summary)));
        }
    }

    fn connect_clients(&mut self) {
        let now = self.fixture.now;
        for (number, client) in self.clients.iter_mut().enumerate() {
            if let Some((_, made, heard)) = &mut client.connection {
                if now.since(heard.unwrap_or(*made)) >= TIMEOUT / 3 {
                    *heard = Some(now);
                }
                continue;
            }
            let mut others = (0..MEMBERS).map(|other| (number + other) % MEMBERS);
            let Some(member) = others.find(|member| self.members[*member].serves) else { continue };
            if client.connects_in > 0 {
                client.connects_in -= 1;
            } else {
                client.connection = Some((member, now, None));
            }
        }
    }

    fn ask(&mut self, number: usize) {
        let now = self.fixture.now;
        let member = &mut self.members[number];
        let address = member.view.address.clone();
        if !member.serves {
            member.first_listed.forget();
            member.view = MemberView { error: Some("it is away".to_owned()), ..MemberView::unasked(address) };
            return;
        }
        let here = self.clients.iter().enumerate().filter_map(|(client, state)| {
            let (at, made, heard) = state.connection?;
            (at == number).then(|| connection(client, made, heard))
        });
        // A console is connected too, and is answered.
        let console = connection(CLIENTS + number, Timestamp(1), Some(now));
        let mut connections: Vec<Connection> = here.chain([console]).collect();
        member.first_listed.place(&mut connections, now);
        let leads = number == self.leader;
        let sessions = (0..CLIENTS).map(|client| ListedSession {
            id: session(client),
            expiry: Expiry::Monotonic { millis: now.plus(TIMEOUT).0 },
            expires_at: Some(now.plus(TIMEOUT)),
        });
        member.view = MemberView {
            mode: Some(if leads { ServerMode::Leader } else { ServerMode::Follower }),
            answered_at: Some(now),
            timing: SessionTiming {
                clock: Some(ExpiryClock::same_as_ours()),
                settings: ServerSettings::new(Duration::from_secs(2), Duration::from_secs(4)),
            },
            connections: Some(Listing::new(connections, true, now)),
            sessions: leads.then(|| Listing::new(sessions.collect(), true, now)),
            ..MemberView::unasked(address)
        };
    }

    /// Stops members, and their clients with them.
    fn stop(&mut self, members: &[usize], delays: &[u32; CLIENTS]) {
        for member in members {
            self.members[*member].serves = false;
        }
        for (client, delay) in self.clients.iter_mut().zip(delays) {
            if client.connection.is_some_and(|(member, ..)| members.contains(&member)) {
                (client.connection, client.connects_in) = (None, *delay);
            }
        }
    }

    fn play(&mut self, Restart { member, away, elects, then, delays }: &Restart) {
        let others: Vec<usize> = (0..MEMBERS).filter(|other| other != member).collect();
        self.stop(&[*member], delays);
        let mut left = *away;
        if *member == self.leader {
            // Without a leader, the others serve nobody.
            self.stop(&others, delays);
            let elects = (*elects).min(left);
            (0..elects).for_each(|_| self.step());
            left -= elects;
            self.leader = others[0];
            for other in others {
                self.members[other].serves = true;
            }
        }
        (0..left).for_each(|_| self.step());
        self.members[*member].serves = true;
        (0..*then).for_each(|_| self.step());
    }

    fn owner(&self) -> OwnerState {
        let holder = self.fixture.lock("/l").first_holder().expect("the lock has a holder");
        TableAt::new(&self.fixture.table, self.fixture.now).owner_of(holder).0
    }
}

fn session(client: usize) -> SessionId {
    SessionId(i64::try_from(client).expect("few") + 1)
}

fn connection(client: usize, made: Timestamp, heard: Option<Timestamp>) -> Connection {
    Connection {
        session: session(client),
        client: format!("10.0.0.{client}:4000"),
        timeout_ms: u64::try_from(TIMEOUT.as_millis()).ok(),
        established: Some(made),
        last_operation: heard.map(|_| "PING".to_owned()),
        last_cxid: heard.map(|_| 0),
        last_zxid: None,
        last_response: heard.map(|heard| heard.0),
        last_heard: heard,
        received: 1,
        sent: 1,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../../tests/regressions/sound_restarts.txt"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn restarts_of_members_raise_no_finding_about_a_client(restarts in prop::collection::vec(restart(), 1..8)) {
        let mut world = World::start();
        (0..40).for_each(|_| world.step());
        for restart in restarts {
            world.play(&restart);
            prop_assert!(world.raised.is_empty(), "{:?} in {restart:?}", world.raised);
        }
        prop_assert_eq!(world.owner(), OwnerState::Live);
    }
}

#[test]
fn a_client_that_never_connects_again_is_found_after_a_restart() {
    let mut world = World::start();
    (0..40).for_each(|_| world.step());
    let gone = Restart { member: 0, away: 20, elects: 5, then: 60, delays: [1_000, 0, 0, 0] };
    world.play(&gone);
    assert!(world.fixture.found(Code::ExpiringHolder).is_some(), "{:?}", world.raised);
    assert_eq!(world.owner(), OwnerState::Expiring);
}
