//! What can happen to a deletion, at each of its requests and replies.

use lockscope_live::admin::RecreationGuard;

use crate::harness::relay::Place;

/// How a node is made sure of, or what else is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    UniqueName,
    ByParent,
    ByNode,
    SingleNode,
    EmptyParent,
    Revocation,
}

impl Subject {
    pub const ALL: [Self; 6] =
        [Self::UniqueName, Self::ByParent, Self::ByNode, Self::SingleNode, Self::EmptyParent, Self::Revocation];

    /// How many requests it takes.
    pub fn requests(self) -> usize {
        match self {
            Self::UniqueName => 2,
            Self::Revocation => 3,
            Self::ByNode | Self::SingleNode | Self::EmptyParent => 5,
            Self::ByParent => 6,
        }
    }

    pub fn is_guarded_by(self, guard: RecreationGuard) -> bool {
        match self {
            Self::UniqueName | Self::Revocation => guard == RecreationGuard::UniqueName,
            Self::ByParent => matches!(guard, RecreationGuard::Parent { .. }),
            Self::ByNode | Self::SingleNode | Self::EmptyParent => matches!(guard, RecreationGuard::OwnNode { .. }),
        }
    }
}

/// What the proxy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It stops at that place.
    Stop(Place),
    /// It drops the request, or the reply, at that place, and the connection with it.
    Drop(Place),
    /// It stops before that request; when it lets it through, it drops its reply.
    StopAndDrop(usize),
    /// It stops before that request; when it lets it through, it drops the reply to the next one, which may be on its way already.
    StopAndDropNext(usize),
    /// It stops at that place until the verdict is given.
    Hold(Place),
    /// It delays everything, and others act once it has seen so many requests.
    Delay(usize),
}

/// What becomes of the node meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    Nothing,
    /// Its owner goes.
    Leaves,
    /// Another owner comes after it, and writes so often, at the end the same data or others.
    Node {
        writes: usize,
        equal: bool,
    },
    /// The parent goes too and is made again, with the same numbers; it and the node are written to so often.
    Parent {
        writes: usize,
        equal: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub subject: Subject,
    pub trouble: Trouble,
    pub meanwhile: Meanwhile,
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for subject in Subject::ALL {
        let places = (1..=subject.requests()).flat_map(|n| [Place::BeforeRequest(n), Place::AfterRequest(n)]);
        let holds = places.clone().map(Trouble::Hold).flat_map(|trouble| {
            let few = [Meanwhile::Nothing, Meanwhile::Leaves, Meanwhile::Node { writes: 0, equal: false }];
            few.map(|meanwhile| Case { subject, trouble, meanwhile })
        });
        cases.extend(holds);
        let troubles = places.flat_map(|place| [Trouble::Stop(place), Trouble::Drop(place)]);
        let more = [Trouble::StopAndDrop, Trouble::StopAndDropNext, Trouble::Delay];
        let more = (1..=subject.requests()).flat_map(|n| more.map(|trouble| trouble(n)));
        for trouble in troubles.chain(more) {
            cases.extend(meanwhiles(subject).into_iter().map(|meanwhile| Case { subject, trouble, meanwhile }));
        }
    }
    cases
}

fn meanwhiles(subject: Subject) -> Vec<Meanwhile> {
    let mut all = vec![Meanwhile::Nothing, Meanwhile::Leaves];
    for (writes, equal) in (0..=3).flat_map(|writes| [(writes, false), (writes, true)]) {
        all.push(Meanwhile::Node { writes, equal });
        if subject != Subject::EmptyParent {
            all.push(Meanwhile::Parent { writes, equal });
        }
    }
    all
}
