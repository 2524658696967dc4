//! The screens and their panes, by name. One table, `app::screens`, says what each shows.

/// A part of a screen that can have the focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// The list, or the text of a screen without a list.
    List,
    Details,
    Findings,
    Events,
}

/// A screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Screen {
    Ensembles,
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
    Output,
    Help,
}
