//! The screens and their panes, by name. What each shows is in one table, `app::screens`.

/// A part of a screen that can have the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// The list, or the text of a screen without a list.
    List,
    Details,
    Findings,
    Events,
}

/// What fills the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Screen {
    Locks,
    Queue,
    Sessions,
    Session,
    Waits,
    Contend,
    Timeline,
    Audit,
    Node,
    History,
    Comparison,
    Servers,
    Unreadable,
    Help,
}
