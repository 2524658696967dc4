//! The commands of the user, one value each.

use crate::tui::screen::Screen;

/// A command of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    Up,
    Down,
    /// Goes left: to the list, then to the previous screen.
    Left,
    /// Goes right: into the selected row.
    Right,
    PageUp,
    PageDown,
    HalfPageUp,
    HalfPageDown,
    /// Goes to the first row and stays with it.
    First,
    /// Goes to the last row and stays with it.
    Last,
    Open,
    /// Clears the filter, if there is one, else goes back.
    Back,
    NextPane,
    /// Shows a screen. A second press leaves a screen that only explains.
    Go(Screen),
    Lock,
    Filter,
    /// Goes to the next row or line that matches the search.
    NextMatch,
    PreviousMatch,
    Sort,
    /// Chooses the second column to sort by.
    ThenBy,
    Reverse,
    Pause,
    Times,
    Copy,
    Export,
    Delete,
    /// In the plan of a deletion: from deleting to asking the owner to release, and back.
    AskOwner,
    Tag,
    Start,
    Stop,
    Holder,
    Join,
    Leave,
    Crash,
    Freeze,
    Cut,
    Heal,
    Delay,
    /// Shows the queue as a picture or as a list.
    Picture,
    /// Draws the picture for viewers at a distance.
    Large,
    Slower,
    Faster,
    StopOrGo,
    /// Lets one client of each fleet take a step.
    PlayStep,
    TourNext,
    TourBack,
    TourNextScene,
    TourPreviousScene,
    /// Goes to the scene with a number.
    TourScene,
    TourPlay,
    /// Goes to the next event of a recording.
    NextEvent,
    PreviousEvent,
    NextMinute,
    PreviousMinute,
    NextFinding,
    PreviousFinding,
    PlayFaster,
    PlaySlower,
    /// Goes to a time in a recording.
    GoToTime,
    /// Takes the past in from transaction logs.
    Import,
    /// Returns from the past to the live state.
    ReturnToLive,
    /// Goes to another ensemble.
    Context,
    Prompt,
    Redraw,
    Suspend,
    Quit,
}

impl Command {
    /// Returns whether the command is useful only while test clients run.
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
        ) || self.is_of_slow_motion()
    }

    /// Returns whether the command controls the speed of test clients.
    pub fn is_of_slow_motion(self) -> bool {
        matches!(self, Self::Slower | Self::Faster | Self::StopOrGo | Self::PlayStep)
    }

    /// Returns whether a tour command with the same key takes precedence.
    pub fn yields_to_tour(self) -> bool {
        self == Self::StopOrGo
    }

    /// Returns whether the command is useful only in a recording.
    pub fn is_of_replay(self) -> bool {
        self.travels() || matches!(self, Self::PlayFaster | Self::PlaySlower | Self::ReturnToLive)
    }

    /// Returns whether the command controls how fast a recording plays: outside of a recording its
    /// keys mean something else.
    pub fn is_of_playing(self) -> bool {
        matches!(self, Self::PlayFaster | Self::PlaySlower)
    }

    /// Returns whether the command goes to another time in a recording.
    pub fn travels(self) -> bool {
        matches!(
            self,
            Self::NextEvent
                | Self::PreviousEvent
                | Self::NextMinute
                | Self::PreviousMinute
                | Self::NextFinding
                | Self::PreviousFinding
                | Self::GoToTime
        )
    }

    /// Whether it only answers the plan of a deletion.
    pub fn is_of_plan(self) -> bool {
        self == Self::AskOwner
    }

    /// Whether it changes the ensemble, or what test clients do.
    pub fn changes_ensemble(self) -> bool {
        matches!(self, Self::Delete | Self::Tag | Self::Start) || self.is_for_fleets()
    }

    /// Returns whether the command is useful only during the tour.
    pub fn is_of_tour(self) -> bool {
        matches!(
            self,
            Self::TourNext
                | Self::TourBack
                | Self::TourNextScene
                | Self::TourPreviousScene
                | Self::TourScene
                | Self::TourPlay
        )
    }
}
