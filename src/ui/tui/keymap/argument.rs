//! What a command takes on the command line.

/// What the command line may give a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// As Help writes it: in brackets when it may be left out.
    pub shown: &'static str,
    pub kind: ArgumentKind,
}

/// What can be offered for an argument while it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Nothing: it is free text.
    Text,
    /// A time, or the word for where the past begins.
    Moment,
    /// Columns of the list, each perhaps with a `-` before it.
    Columns,
    /// The path of a lock.
    Lock,
    /// The path of any node.
    Node,
    Session,
    /// A test client.
    Client,
    /// A scene of the tour.
    Scene,
    /// A context of the config file.
    Context,
}
