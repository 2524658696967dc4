//! The user's own recipes: the names of an application's lock nodes and their meaning.

mod pattern;
mod suggest;

use std::sync::{Mutex, PoisonError};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::terms::{LockKind, RecipeTraits, RequestMode};
use crate::znode::ZnodePath;
use pattern::{Matched, OwnPattern};

pub use pattern::BadPattern;

#[cfg(test)]
mod tests;

/// The maximum number of own recipes. They stay in memory until the program ends.
const MAX_RECIPES: usize = 1000;

/// The longest name of a recipe, in characters: the width of a column.
const MAX_NAME: usize = 16;

/// The most roles of a recipe, and the longest word for one, in bytes.
const MAX_ROLES: usize = 16;

const MAX_ROLE_BYTES: usize = 64;

/// The most leases of a semaphore whose nodes stand in one queue.
const MAX_LEASES: u32 = 10_000;

/// The longest `name_from` of a recipe, in bytes.
const MAX_KEY_BYTES: usize = 200;

/// The longest `below` path of a recipe, in bytes.
const MAX_BELOW_BYTES: usize = 1000;

/// The role that a word in a name gives to its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NameRole {
    /// The node asks to read.
    Reader,
    /// The node asks to write.
    Writer,
    /// The node is a lease of a semaphore.
    Lease,
    /// The node waits for a lease of a semaphore.
    Waiter,
}

impl NameRole {
    /// Returns the name in the config file and in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Writer => "writer",
            Self::Lease => "lease",
            Self::Waiter => "waiter",
        }
    }
}

/// A recipe as the user defines it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "RecordedRecipe", into = "RecordedRecipe")]
pub struct Definition {
    /// The name in JSON and on the screen.
    pub name: String,
    /// The pattern of the nodes' names.
    pub pattern: String,
    /// The kind of the locks.
    pub kind: LockKind,
    /// The words that `{role}` matches, with their roles.
    pub roles: Vec<(String, NameRole)>,
    /// Whether the nodes queue for a lock. Otherwise they are members of a group and no contenders.
    pub lock: bool,
    /// Whether persistent nodes are contenders too.
    pub persistent: bool,
    /// The node below which the recipe applies; everywhere if absent.
    pub below: Option<ZnodePath>,
    /// The number of a semaphore's leases, where its nodes stand in one queue: the first that many
    /// hold. Without it, roles tell the leases from the waiters.
    pub leases: Option<u32>,
    /// The key of the owner's name in a JSON object, which is the data of each node. Dots lead into
    /// inner objects.
    pub name_from: Option<String>,
}

/// The reason why a definition is invalid. Each message is a part of a sentence that says what is
/// allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRecipe {
    /// The pattern is invalid.
    #[error("pattern: {0}")]
    Pattern(#[from] BadPattern),
    /// The name is invalid.
    #[error("name: up to {MAX_NAME} small letters, digits and dashes are allowed")]
    Name,
    /// The name belongs to a built-in recipe.
    #[error("name: {0} is the name of a recipe that lockscope has already; choose another one")]
    Taken(String),
    /// A pattern without a number needs the kind `single-node`.
    #[error("kind: a pattern without {{sequence}} is that of a single node: write kind = \"single-node\"")]
    NotNumbered,
    /// A single node has no number.
    #[error("kind: a single node has no {{sequence}}: leave it out, or write another kind")]
    Numbered,
    /// The pattern would match any name.
    #[error("pattern: any name would fit: add what its names have in common, or `below`")]
    AnyName,
    /// The pattern has `{role}` and the definition has no roles, or the reverse.
    #[error("roles: {{role}} in the pattern and roles go together: write both, or neither")]
    Roles,
    /// There are too many roles, or a role's word is too long.
    #[error("roles: up to {MAX_ROLES} are allowed, with words of up to {MAX_ROLE_BYTES} bytes")]
    TooManyRoles,
    /// The `below` path is too long.
    #[error("below: a path of up to {MAX_BELOW_BYTES} bytes is allowed")]
    LongPath,
    /// This kind of lock does not have such a role.
    #[error("roles: {0}")]
    WrongRole(&'static str),
    /// The number of leases is out of bounds.
    #[error("leases: from 1 to {MAX_LEASES} are allowed")]
    Leases,
    /// Only a semaphore has leases.
    #[error("leases: only a semaphore has leases: write kind = \"semaphore\", or leave them out")]
    LeasesOfOther,
    /// The roles tell who has a lease, or the order does.
    #[error("leases: with roles, the nodes with the role lease are the leases: leave one of the two out")]
    LeasesAndRoles,
    /// The key of the owner's name is invalid, or belongs to no lock.
    #[error("name_from: the key of a lock's owner in its JSON, of 1 to {MAX_KEY_BYTES} bytes, is allowed")]
    NameFrom,
    /// A semaphore or a single node has one queue, so `{lock}` has no meaning.
    #[error("pattern: {{lock}} has no meaning in a semaphore or a single node")]
    LockName,
    /// The program has read too many recipes.
    #[error("name: more than {MAX_RECIPES} recipes were read since the program started: start it again")]
    TooMany,
}

/// One of the user's own recipes. All copies refer to one definition, which lives as long as the
/// program.
#[derive(Clone, Copy, Debug)]
pub struct OwnRecipe(&'static Defined);

#[derive(Debug)]
struct Defined {
    definition: Definition,
    pattern: OwnPattern,
    traits: RecipeTraits,
}

/// All defined recipes. They live as long as the program, like the built-in ones.
static KNOWN: Mutex<Vec<&'static Defined>> = Mutex::new(Vec::new());

impl OwnRecipe {
    /// Validates a definition, whatever its name. Equal definitions give one recipe.
    pub(super) fn define(definition: Definition) -> Result<Self, BadRecipe> {
        let pattern = understand(&definition)?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.iter().find(|known| known.definition == definition) {
            return Ok(Self(known));
        }
        if known.len() >= MAX_RECIPES {
            return Err(BadRecipe::TooMany);
        }
        let name: &'static str = Box::leak(definition.name.clone().into_boxed_str());
        let traits =
            RecipeTraits { id: name, title: name, kind: definition.kind, needs_ephemeral: !definition.persistent };
        let defined: &'static Defined = Box::leak(Box::new(Defined { definition, pattern, traits }));
        known.push(defined);
        Ok(Self(defined))
    }

    /// Returns the recipe of that name that was defined last.
    pub(super) fn named(name: &str) -> Option<Self> {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().rev().find(|known| known.definition.name == name).map(|known| Self(known))
    }

    /// Returns the user's definition.
    pub fn definition(self) -> &'static Definition {
        &self.0.definition
    }

    pub(super) const fn traits(self) -> RecipeTraits {
        self.0.traits
    }

    /// Returns a child's request and the parts of its name, if the name fits this recipe.
    pub(super) fn parts(self, name: &str) -> Option<(RequestMode, Matched<'_>)> {
        let definition = self.definition();
        let words: Vec<&str> = definition.roles.iter().map(|(word, _)| &**word).collect();
        let matched = self.0.pattern.read(name, &words)?;
        let role = matched.role.and_then(|word| definition.roles.iter().find(|(known, _)| known == word));
        let mode = match (role.map(|(_, role)| *role), definition.kind) {
            (Some(NameRole::Reader), _) => RequestMode::Read,
            (Some(NameRole::Writer), _) | (None, LockKind::ReadWrite) => RequestMode::Write,
            (_, LockKind::Semaphore) => RequestMode::Lease,
            _ => RequestMode::Exclusive,
        };
        Some((mode, matched))
    }

    /// Returns whether a node of that name only waits for a lease. [`read`](Self::read) must accept
    /// the name.
    pub(super) fn is_waiter(self, name: &str) -> bool {
        let words: Vec<&str> = self.definition().roles.iter().map(|(word, _)| &**word).collect();
        let word = self.0.pattern.read(name, &words).and_then(|matched| matched.role);
        self.definition().roles.iter().any(|(known, role)| Some(&**known) == word && *role == NameRole::Waiter)
    }

    /// Returns whether the recipe applies at that path.
    pub(super) fn holds_at(self, path: &ZnodePath) -> bool {
        self.definition().below.as_ref().is_none_or(|below| path != below && path.is_within(below))
    }
}

/// Validates a definition and returns its pattern.
fn understand(definition: &Definition) -> Result<OwnPattern, BadRecipe> {
    let Definition { name, kind, roles, .. } = definition;
    let is_name = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_name) {
        return Err(BadRecipe::Name);
    }
    if roles.len() > MAX_ROLES || roles.iter().any(|(word, _)| word.len() > MAX_ROLE_BYTES) {
        return Err(BadRecipe::TooManyRoles);
    }
    if definition.below.as_ref().is_some_and(|below| below.as_str().len() > MAX_BELOW_BYTES) {
        return Err(BadRecipe::LongPath);
    }
    let is_key = |key: &String| definition.lock && !key.is_empty() && key.len() <= MAX_KEY_BYTES;
    if !definition.name_from.as_ref().is_none_or(is_key) {
        return Err(BadRecipe::NameFrom);
    }
    let pattern = OwnPattern::parse(&definition.pattern)?;
    if !pattern.is_particular() && definition.below.is_none() {
        return Err(BadRecipe::AnyName);
    }
    if pattern.has_role() == roles.is_empty() || roles.iter().any(|(word, _)| word.is_empty()) {
        return Err(BadRecipe::Roles);
    }
    if !definition.lock {
        return if definition.leases.is_some() { Err(BadRecipe::LeasesOfOther) } else { Ok(pattern) };
    }
    match (kind, pattern.numbered) {
        (LockKind::SingleNode, true) => return Err(BadRecipe::Numbered),
        (LockKind::SingleNode, false) | (_, true) => {}
        (_, false) => return Err(BadRecipe::NotNumbered),
    }
    if pattern.names_lock() && matches!(kind, LockKind::Semaphore | LockKind::SingleNode) {
        return Err(BadRecipe::LockName);
    }
    understand_leases(definition)?;
    let allowed = |allowed: &[NameRole]| roles.iter().all(|(_, role)| allowed.contains(role));
    match kind {
        LockKind::ReadWrite if !allowed(&[NameRole::Reader, NameRole::Writer]) => {
            Err(BadRecipe::WrongRole("those of a read-write lock are reader and writer"))
        }
        LockKind::Semaphore if !allowed(&[NameRole::Lease, NameRole::Waiter]) => {
            Err(BadRecipe::WrongRole("those of a semaphore are lease and waiter"))
        }
        LockKind::Exclusive | LockKind::Election | LockKind::SingleNode if !roles.is_empty() => {
            Err(BadRecipe::WrongRole("only read-write locks and semaphores have roles"))
        }
        _ => Ok(pattern),
    }
}

/// Validates the number of leases.
fn understand_leases(definition: &Definition) -> Result<(), BadRecipe> {
    let Some(leases) = definition.leases else { return Ok(()) };
    if definition.kind != LockKind::Semaphore {
        return Err(BadRecipe::LeasesOfOther);
    }
    if !definition.roles.is_empty() {
        return Err(BadRecipe::LeasesAndRoles);
    }
    if (1..=MAX_LEASES).contains(&leases) { Ok(()) } else { Err(BadRecipe::Leases) }
}

impl PartialEq for OwnRecipe {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for OwnRecipe {}

impl PartialOrd for OwnRecipe {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OwnRecipe {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.definition().cmp(other.definition())
    }
}

impl std::hash::Hash for OwnRecipe {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.definition().hash(state);
    }
}

impl Serialize for OwnRecipe {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.definition().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OwnRecipe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::define(Definition::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// A definition with the fields that it had in format 2.
///
/// What later formats add stands behind the roles. A recording gives fields by their position, so
/// one with more of them could not be told from one of an earlier format.
#[derive(Serialize, Deserialize)]
struct RecordedRecipe {
    name: String,
    pattern: String,
    kind: LockKind,
    roles: Vec<(String, RecordedRole)>,
    lock: bool,
    persistent: bool,
    below: Option<ZnodePath>,
}

/// The role of a word, or a fact that format 8 added, with the word as its value. The order is that of
/// recordings.
#[derive(Serialize, Deserialize)]
enum RecordedRole {
    Reader,
    Writer,
    Lease,
    Waiter,
    /// The number of leases.
    Leases,
    /// The key of the owner's name.
    NameFrom,
}

impl From<NameRole> for RecordedRole {
    fn from(role: NameRole) -> Self {
        match role {
            NameRole::Reader => Self::Reader,
            NameRole::Writer => Self::Writer,
            NameRole::Lease => Self::Lease,
            NameRole::Waiter => Self::Waiter,
        }
    }
}

impl From<Definition> for RecordedRecipe {
    fn from(definition: Definition) -> Self {
        let Definition { name, pattern, kind, roles, lock, persistent, below, leases, name_from } = definition;
        let roles = roles.into_iter().map(|(word, role)| (word, role.into()));
        let leases = leases.map(|leases| (leases.to_string(), RecordedRole::Leases));
        let name_from = name_from.map(|key| (key, RecordedRole::NameFrom));
        Self { name, pattern, kind, roles: roles.chain(leases).chain(name_from).collect(), lock, persistent, below }
    }
}

impl From<RecordedRecipe> for Definition {
    fn from(recorded: RecordedRecipe) -> Self {
        let RecordedRecipe { name, pattern, kind, roles: all, lock, persistent, below } = recorded;
        let (mut roles, mut leases, mut name_from) = (Vec::new(), None, None);
        for (word, role) in all {
            match role {
                RecordedRole::Reader => roles.push((word, NameRole::Reader)),
                RecordedRole::Writer => roles.push((word, NameRole::Writer)),
                RecordedRole::Lease => roles.push((word, NameRole::Lease)),
                RecordedRole::Waiter => roles.push((word, NameRole::Waiter)),
                // A damaged number becomes 0, which no definition allows.
                RecordedRole::Leases => leases = Some(word.parse().unwrap_or(0)),
                RecordedRole::NameFrom => name_from = Some(word),
            }
        }
        Self { name, pattern, kind, roles, lock, persistent, below, leases, name_from }
    }
}
