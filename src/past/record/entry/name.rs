//! The stored form of a node's name: the part shared by all names of one library, and the random id
//! and number that distinguish them.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The digits of the number that ZooKeeper appends to the name of a sequential node.
const SEQUENCE_DIGITS: usize = 10;

/// The notation of an id in a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum IdFormat {
    /// With hyphens, as Curator writes it.
    Hyphenated,
    /// Without hyphens, as kazoo writes it.
    Simple,
}

impl IdFormat {
    fn write(self, id: Uuid, to: &mut [u8; 36]) -> &str {
        match self {
            Self::Hyphenated => id.hyphenated().encode_lower(to),
            Self::Simple => id.simple().encode_lower(to),
        }
    }

    fn len(self) -> usize {
        match self {
            Self::Hyphenated => 36,
            Self::Simple => 32,
        }
    }

    /// Reads the id at this place of a name, if writing it again gives exactly the same letters.
    fn read(self, name: &str, at: usize) -> Option<Uuid> {
        let text = name.get(at..at + self.len())?;
        let id = Uuid::try_parse(text).ok()?;
        (self.write(id, &mut [0; 36]) == text).then_some(id)
    }
}

/// The common part of names of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct NamePattern {
    before: Box<str>,
    /// The notation of the id between `before` and `after`, if there is one.
    id: Option<IdFormat>,
    /// The text up to the number, if there is one.
    after: Box<str>,
}

impl NamePattern {
    /// Splits a name into its common part, its id, and its number.
    pub fn split(name: &str) -> (Self, Option<Uuid>, Option<i64>) {
        let (name, number) = split_number(name);
        let (before, id, after) = split_id(name);
        let pattern = Self { before: before.into(), id: id.map(|(_, format)| format), after: after.into() };
        (pattern, id.map(|(id, _)| id), number)
    }

    /// Returns whether the names have an id.
    pub fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// Returns the name with this id and number.
    pub fn join(&self, id: Uuid, number: Option<i64>) -> String {
        let mut name = String::from(&*self.before);
        if let Some(format) = self.id {
            name.push_str(format.write(id, &mut [0; 36]));
        }
        name.push_str(&self.after);
        if let Some(number) = number {
            write!(name, "{number:010}").expect("writing to a string");
        }
        name
    }
}

fn split_number(name: &str) -> (&str, Option<i64>) {
    let split = name.len().checked_sub(SEQUENCE_DIGITS).and_then(|at| name.split_at_checked(at));
    match split {
        Some((before, digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => (before, digits.parse().ok()),
        _ => (name, None),
    }
}

fn split_id(name: &str) -> (&str, Option<(Uuid, IdFormat)>, &str) {
    for format in [IdFormat::Hyphenated, IdFormat::Simple] {
        for at in 0..(name.len() + 1).saturating_sub(format.len()) {
            if let Some(id) = format.read(name, at) {
                return (&name[..at], Some((id, format)), &name[at + format.len()..]);
            }
        }
    }
    (name, None, "")
}
