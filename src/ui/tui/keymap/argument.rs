//! Arguments of commands on the command line.

/// The argument of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The argument as Help shows it: in brackets when it is optional.
    pub shown: &'static str,
    pub kind: ArgumentKind,
}

/// The completions that are offered while the argument is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Free text, without completions.
    Text,
    /// A time, or the word for the beginning of the past.
    Moment,
    /// Columns of the list, each optionally preceded by `-`.
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
