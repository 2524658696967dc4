//! Random histories of elections in which nothing is wrong: candidates are restarted one after the
//! other, by a request, by closing the session or by a crash. Other lockscopes come and go on their
//! host. None of the findings about absences may be raised.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::Code;
use super::testing::{DiagnosisFixture, latch};
use lockscope_base::znode::ZnodePath;

/// How many candidates there are.
const CANDIDATES: usize = 3;

/// How a candidate goes.
#[derive(Clone, Copy, Debug)]
enum Going {
    /// It deletes its node and goes on with its session.
    Resigns,
    /// It ends its session.
    Closes,
    /// It crashes: its session expires.
    Crashes,
    /// It crashes and queues with a new session before the old one expires.
    QueuesFirst,
}

/// A candidate goes, and comes back after some seconds.
#[derive(Clone, Copy, Debug)]
struct Restart {
    candidate: usize,
    going: Going,
    away: u32,
    then: u32,
    /// Whether another console connects from the host meanwhile.
    console: bool,
}

fn restart() -> impl Strategy<Value = Restart> {
    let going = prop_oneof![Just(Going::Resigns), Just(Going::Closes), Just(Going::Crashes), Just(Going::QueuesFirst)];
    let all = (0..CANDIDATES, going, 1..40_u32, 90..150_u32, any::<bool>());
    all.prop_map(|(candidate, going, away, then, console)| Restart { candidate, going, away, then, console })
}

struct Election {
    world: DiagnosisFixture,
    candidates: Vec<(i64, ZnodePath)>,
    sessions: i64,
}

impl Election {
    fn start() -> Self {
        let mut election = Self { world: DiagnosisFixture::new(), candidates: Vec::new(), sessions: 0 };
        for candidate in 0..CANDIDATES {
            let joined = election.join(candidate);
            election.candidates.push(joined);
        }
        election.world.pass(40);
        election
    }

    /// Lets a candidate queue with a new session, from the host that all of them share.
    fn join(&mut self, candidate: usize) -> (i64, ZnodePath) {
        self.sessions += 1;
        let (session, now) = (self.sessions, self.world.now);
        let client = self.world.client(session);
        (client.address, client.established) = (format!("10.0.0.1:{}", 4000 + session), now);
        let number = u32::try_from(session).expect("few");
        let node = self.world.create_named(&latch("/e", number), session, &format!("worker-{candidate}"));
        (session, node)
    }

    /// Lets another console connect from the host of the candidates.
    fn look_on(&mut self) {
        self.sessions += 1;
        let now = self.world.now;
        let client = self.world.client(self.sessions);
        (client.address, client.established, client.timeout_ms) = ("10.0.0.1:3999".to_owned(), now, 30_739);
    }

    fn play(&mut self, Restart { candidate, going, away, then, console }: Restart) {
        let (session, node) = self.candidates[candidate].clone();
        if matches!(going, Going::QueuesFirst) {
            self.candidates[candidate] = self.join(candidate);
        }
        match going {
            Going::Resigns | Going::Closes => {
                let client = self.world.client(session);
                client.cxid += 1;
                if matches!(going, Going::Closes) {
                    (client.connected, client.listed) = (false, false);
                }
                self.world.delete(&node);
            }
            Going::Crashes | Going::QueuesFirst => self.world.let_expire(session, &[&node]),
        }
        if console {
            self.look_on();
        }
        self.world.pass(away);
        if !matches!(going, Going::QueuesFirst) {
            self.candidates[candidate] = self.join(candidate);
        }
        self.world.pass(then);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../../tests/regressions/sound_elections.txt"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn restarts_one_after_the_other_raise_no_finding_about_an_absence(restarts in prop::collection::vec(restart(), 1..12)) {
        let mut election = Election::start();
        let wrong = [Code::NobodyLeads, Code::TwoLeaders, Code::StaleOwner, Code::Flapping, Code::ParticipantMissing];
        for restart in restarts {
            election.play(restart);
            for code in wrong {
                prop_assert!(election.world.found(code).is_none(), "{:?}", election.world.found(code));
            }
        }
    }
}
