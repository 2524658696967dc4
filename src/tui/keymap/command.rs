//! What the user can ask for, each as one value.

use crate::tui::screen::Screen;

/// Something that the user can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// To what lies left: the list, then the screen before.
    Left,
    /// To what lies right: inside.
    Right,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first row, and stay with it.
    First,
    /// To the last row, and stay with it.
    Last,
    /// Opens what is selected.
    Open,
    /// Clears the filter, else goes back.
    Back,
    /// To the next pane.
    NextPane,
    /// Shows a screen; again leaves those that only explain.
    Go(Screen),
    /// Opens the lock at a path.
    Lock,
    /// Keeps only rows that contain a text.
    Filter,
    /// Sorts by the next column, or by a named one.
    Sort,
    /// Turns the order around.
    Reverse,
    /// Freezes the screen, or lets it go on.
    Pause,
    /// Times in local time or UTC.
    Times,
    /// Copies what is selected.
    Copy,
    /// Writes what is seen to a file.
    Export,
    /// Opens the plan to delete what is tagged or selected.
    Delete,
    /// Tags a contender.
    Tag,
    /// Starts test clients.
    Start,
    /// Stops them all.
    Stop,
    /// Selects whoever holds the lock.
    Holder,
    /// One test client more.
    Join,
    /// Takes a test client away.
    Leave,
    /// Ends a test client's process, and says nothing to the servers.
    Crash,
    /// Stops a test client's process, or lets it go on.
    Freeze,
    /// Cuts a test client's link.
    Cut,
    /// Makes a test client's link whole again.
    Heal,
    /// Delays what passes a test client's link.
    Delay,
    /// The next step of the tour.
    TourNext,
    /// The step before.
    TourBack,
    /// Lets the tour step on by itself, or not any more.
    TourPlay,
    /// Opens the command line.
    Prompt,
    /// Draws everything anew.
    Redraw,
    /// Stops the program until it is continued.
    Suspend,
    /// Ends the program.
    Quit,
}

impl Command {
    /// Whether it is of use only while test clients run.
    pub fn is_for_fleets(self) -> bool {
        matches!(
            self,
            Self::Stop
                | Self::Holder
                | Self::Join
                | Self::Leave
                | Self::Crash
                | Self::Freeze
                | Self::Cut
                | Self::Heal
                | Self::Delay
        )
    }

    /// Whether it is of use only during the guided tour.
    pub fn is_of_tour(self) -> bool {
        matches!(self, Self::TourNext | Self::TourBack | Self::TourPlay)
    }
}
