//! The troubles that can meet a deletion, at each of its requests and replies.

use lockscope_live::admin::RecreationGuard;

use crate::harness::relay::Place;

/// How a node is guarded, or what else is done to it.
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

    /// Returns the number of requests.
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

/// What the relay does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The relay stalls at this place.
    Stop(Place),
    /// The relay loses the request or reply at this place and cuts the connection.
    Drop(Place),
    /// The relay stalls before this request; when it resumes, it loses the reply.
    StopAndDrop(usize),
    /// The relay stalls before this request; when it resumes, it loses the reply to the next
    /// request, which may already be on its way.
    StopAndDropNext(usize),
    /// The relay stalls at this place until the outcome is known.
    Hold(Place),
    /// The relay delays everything, and others act once it has seen this many requests.
    Delay(usize),
}

/// What happens to the node meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    Nothing,
    /// The owner goes.
    Leaves,
    /// Another owner creates the node anew and writes to it `writes` times, in the end the same
    /// data or other data.
    Node {
        writes: usize,
        equal: bool,
    },
    /// The parent is deleted and created anew too, with the same numbers; parent and node are
    /// written to this often.
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
