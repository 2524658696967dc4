//! Feeds the hand-over step by step, without a table, and compares its outputs.

mod transitions;

use super::{GoneContender, Handover, HandoverInput, HandoverOutput, InOrder, NodeGone, NodesBefore};
use crate::queue::compact::OrderKey;
use crate::queue::event::SessionAtEnd;
use crate::queue::hold::Hold;
use crate::queue::{Contender, ContenderId, LockEvent, WatchEvents};
use lockscope_base::recipe::{Classification, Recipe, RequestMode, Role};
use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};

/// An input. Contenders are named by their sessions.
#[expect(clippy::large_enum_variant, reason = "a test has only a few of them")]
enum Step {
    Announced {
        lease: i64,
        head: Option<i64>,
    },
    Read(Contender),
    LeaseGone(i64),
    Unreadable(i64),
    Listed,
    /// A node is gone from a live table whose server has recursive watches.
    Gone(Contender, NodesBefore),
    GoneAs(Contender, LockEvent),
    /// As `GoneContender`, where leases are found by listing them.
    GoneFromListing(Contender),
    /// As `GoneContender`, found by a complete reading or after a cut.
    GoneMeanwhile(Contender),
    /// As `GoneContender`, while nothing is reported.
    GoneAtFirst(Contender),
    UnreadQueueNodeGone,
    ReadingBegins,
    Found(Contender),
    ReadingEnds(Vec<Contender>),
    OrderChanges,
    OrderChanged {
        before_last: Option<Contender>,
        last: Contender,
        head: Contender,
    },
    LockGone,
}

fn contender(role: Role, session: i64, czxid: i64) -> Contender {
    let name = if role == Role::Lease { "lease" } else { "queue" };
    let lock = ZnodePath::root();
    let (recipe, mode) = (Recipe::CuratorSemaphore, RequestMode::Lease);
    let place = Classification { lock, name: None, recipe, role, mode, sequence: None };
    let stat = ZnodeStat::of_new(Zxid(czxid), Timestamp(0), Some(SessionId(session)));
    Contender::new(&format!("{name}-{session}"), &place, Node { stat, data: NodeData::default() }, 0)
}

/// Returns the queue node of a session.
fn queue(session: i64) -> Contender {
    contender(Role::Queue, session, 100 + session)
}

/// Returns the lease of a session.
fn lease(session: i64) -> Contender {
    contender(Role::Lease, session, 200 + session)
}

/// Returns the lease of a session, bound to its queue node.
fn bound(session: i64) -> Contender {
    let mut lease = lease(session);
    lease.came_from(queue(session).as_queued());
    lease
}

fn named(mut contender: Contender, node: &str) -> Contender {
    contender.node = node.into();
    contender
}

fn holding(mut lease: Contender) -> Contender {
    lease.hold = Hold::Acquired(Timestamp(0));
    lease
}

fn slot(contender: &Contender) -> usize {
    usize::try_from(contender.czxid.0).expect("a small number")
}

fn key(contender: &Contender) -> OrderKey {
    let czxid = contender.czxid.0;
    OrderKey { ordinal: 0, czxid, slot: u32::try_from(czxid).expect("a small number") }
}

fn name(slot: usize) -> String {
    if slot >= 200 { format!("lease-{}", slot - 200) } else { format!("queue-{}", slot - 100) }
}

fn node_gone(contender: Contender, stood: NodesBefore, event: LockEvent) -> NodeGone {
    let slot = slot(&contender);
    let gone = Box::new(GoneContender {
        contender,
        event,
        at_end: SessionAtEnd::Lived,
        deleter: None,
        cost: WatchEvents::default(),
    });
    NodeGone { gone, slot, stood, live: true, reporting: true, lists: false }
}

fn apply_step(handover: &mut Handover, step: Step) -> Vec<HandoverOutput> {
    let at_head = |contender| node_gone(contender, NodesBefore::Head, LockEvent::Left);
    match step {
        Step::Announced { lease, head } => {
            let head: Option<ContenderId> = head.map(|session| queue(session).id());
            handover.handle(HandoverInput::LeaseAnnounced { node: &format!("lease-{lease}"), head })
        }
        Step::Read(lease) => handover.handle(HandoverInput::LeaseRead(&lease)),
        Step::LeaseGone(lease) => handover.handle(HandoverInput::LeaseGone { node: &format!("lease-{lease}") }),
        Step::Unreadable(lease) => handover.handle(HandoverInput::LeaseUnreadable { node: &format!("lease-{lease}") }),
        Step::Listed => handover.handle(HandoverInput::LeasesListed),
        Step::Gone(contender, stood) => {
            let event = if contender.holds() { LockEvent::Released } else { LockEvent::Left };
            handover.handle(HandoverInput::NodeGone(node_gone(contender, stood, event)))
        }
        Step::GoneAs(contender, event) => {
            handover.handle(HandoverInput::NodeGone(node_gone(contender, NodesBefore::Head, event)))
        }
        Step::GoneFromListing(contender) => {
            handover.handle(HandoverInput::NodeGone(NodeGone { lists: true, ..at_head(contender) }))
        }
        Step::GoneMeanwhile(contender) => {
            handover.handle(HandoverInput::NodeGone(NodeGone { live: false, ..at_head(contender) }))
        }
        Step::GoneAtFirst(contender) => {
            handover.handle(HandoverInput::NodeGone(NodeGone { live: false, reporting: false, ..at_head(contender) }))
        }
        Step::UnreadQueueNodeGone => handover.handle(HandoverInput::UnreadQueueNodeGone),
        Step::ReadingBegins => handover.handle(HandoverInput::ReadingBegins),
        Step::Found(lease) => handover.handle(HandoverInput::LeaseFound { slot: slot(&lease), lease: &lease }),
        Step::ReadingEnds(leases) => {
            let leases: Vec<_> = leases.iter().map(|lease| (slot(lease), lease)).collect();
            handover.handle(HandoverInput::ReadingEnds { leases: &leases })
        }
        Step::OrderChanges => handover.handle(HandoverInput::OrderChanges),
        Step::OrderChanged { before_last, last, head } => {
            let in_order = |contender| InOrder { key: key(contender), contender };
            let before_last = before_last.as_ref().map(in_order);
            handover.handle(HandoverInput::OrderChanged { before_last, last: in_order(&last), head: in_order(&head) })
        }
        Step::LockGone => handover.handle(HandoverInput::LockGone),
    }
}

fn say(output: &HandoverOutput) -> String {
    match output {
        HandoverOutput::Report(gone) => format!("{} {}", gone.event.id(), gone.contender.node),
        HandoverOutput::ReportHeld { lease, owner } => format!("held {} by {lease}", owner.contender.node),
        HandoverOutput::LeaseIsOf(owner) => format!("is of {}", owner.id.node),
        HandoverOutput::FoundLeaseIsOf { slot, owner } => format!("{} is of {}", name(*slot), owner.id.node),
        HandoverOutput::FoundLeaseIsNew { slot } => format!("{} is new", name(*slot)),
        HandoverOutput::Unbind { lease } => format!("unbind {}", name(*lease)),
        HandoverOutput::Bind { lease, head } => format!("bind {} to {}", name(*lease), name(*head)),
        HandoverOutput::Hide(key) => format!("hide {}", name(key.slot as usize)),
        HandoverOutput::Show(key) => format!("show {}", name(key.slot as usize)),
    }
}

/// Takes the steps from the beginning, compares the outputs of each, and returns the machine.
#[track_caller]
fn after<const N: usize>(steps: [(Step, &[&str]); N]) -> Handover {
    let mut handover = Handover::default();
    for (number, (step, expected)) in steps.into_iter().enumerate() {
        let said: Vec<String> = apply_step(&mut handover, step).iter().map(say).collect();
        assert_eq!(said, expected, "of step {number}");
    }
    handover
}

/// Does the same as [`after`], and checks that no contender is left between the queue and a lease.
#[track_caller]
fn whole<const N: usize>(steps: [(Step, &[&str]); N]) {
    let handover = after(steps);
    assert!(handover.is_idle(), "{handover:?}");
}
