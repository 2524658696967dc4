//! Where a text occurs in the locks of an ensemble, as JSON and as lines.

use std::io;
use std::io::Write;
use std::sync::Arc;

use serde::Serialize;

use super::contender::ClientFacts;
use crate::diagnose::TableAt;
use crate::queue::{ContenderRow, LockQueue};
use lockscope_base::znode::escaped;

/// What contains a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FoundIn {
    /// The path or the name of a lock.
    Lock,
    /// The name of a node.
    Node,
    /// A session's id.
    Session,
    /// A client's name.
    Name,
    /// A client's address.
    Address,
    /// The data of a node.
    Data,
}

/// A lock or a contender in which a text occurs.
#[derive(Serialize)]
pub struct FoundFacts {
    /// The ensemble, where there are several.
    context: Option<Arc<str>>,
    lock: String,
    name: Option<Arc<str>>,
    /// `null` where the lock itself contains the text.
    node: Option<Arc<str>>,
    session: Option<String>,
    state: Option<&'static str>,
    #[serde(flatten)]
    client: ClientFacts,
    field: FoundIn,
}

/// Returns the locks and the contenders in which a text occurs, upper or lower case, at most `most`:
/// each once, with the first of its fields that contains it. Linear in the number of contenders.
pub fn find_text(table_at: TableAt<'_>, text: &str, most: usize) -> Vec<FoundFacts> {
    let text = text.to_lowercase();
    let contains = |value: &str| value.to_lowercase().contains(&text);
    let mut found = Vec::new();
    for lock in table_at.table().locks() {
        let name = lock.lock_name();
        if contains(name.path.as_str()) || name.name.as_deref().is_some_and(contains) {
            found.push(facts(table_at, lock, None, FoundIn::Lock));
        }
        for row in lock.rows(0..lock.len()) {
            let field = field_with(table_at, &row, contains);
            found.extend(field.map(|field| facts(table_at, lock, Some(&row), field)));
            if found.len() >= most {
                found.truncate(most);
                return found;
            }
        }
    }
    found
}

fn field_with(table_at: TableAt<'_>, row: &ContenderRow<'_>, contains: impl Fn(&str) -> bool) -> Option<FoundIn> {
    let contender = row.contender;
    let client = table_at.table().clients().identity_of(contender);
    let is_in_data = || std::str::from_utf8(contender.data.bytes()).is_ok_and(&contains);
    if contains(&contender.node) {
        Some(FoundIn::Node)
    } else if contender.session().is_some_and(|session| contains(&session.to_string())) {
        Some(FoundIn::Session)
    } else if client.name.as_deref().is_some_and(&contains) {
        Some(FoundIn::Name)
    } else if client.address.as_deref().is_some_and(&contains) {
        Some(FoundIn::Address)
    } else {
        is_in_data().then_some(FoundIn::Data)
    }
}

fn facts(table_at: TableAt<'_>, lock: &LockQueue, row: Option<&ContenderRow<'_>>, field: FoundIn) -> FoundFacts {
    let name = lock.lock_name();
    let contender = row.map(|row| row.contender);
    FoundFacts {
        context: None,
        lock: name.path.to_string(),
        name: name.name,
        node: contender.map(|contender| Arc::clone(&contender.node)),
        session: contender.and_then(|contender| Some(contender.session()?.to_string())),
        state: row.map(|row| row.state.id()),
        client: contender.map(|of| (&table_at.table().clients().identity_of(of)).into()).unwrap_or_default(),
        field,
    }
}

impl FoundFacts {
    /// Sets the ensemble.
    #[must_use]
    pub fn in_context(self, context: Option<Arc<str>>) -> Self {
        Self { context, ..self }
    }

    /// Writes a line for people: where it is, and who that is.
    pub fn write_line(&self, out: &mut impl Write) -> io::Result<()> {
        let context = self.context.as_deref().map(|context| format!("{}  ", escaped(context))).unwrap_or_default();
        let queue = self.name.as_deref().map(|name| format!(" [{}]", escaped(name))).unwrap_or_default();
        write!(out, "{context}{}{queue}", escaped(&self.lock))?;
        if let (Some(node), Some(state)) = (&self.node, self.state) {
            write!(out, "  {state}  {}", escaped(node))?;
        }
        let client = [self.client.telling(), self.session.as_deref()];
        client.into_iter().flatten().try_for_each(|part| write!(out, "  {}", escaped(part)))?;
        writeln!(out)
    }
}
