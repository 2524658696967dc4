//! What the user can ask for, each as one value.

use crate::tui::screen::Screen;

/// Something that the user can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    Up,
    Down,
    /// To what lies left: the list, then the screen before.
    Left,
    /// To what lies right: inside.
    Right,
    PageUp,
    PageDown,
    HalfPageUp,
    HalfPageDown,
    /// To the first row, and stay with it.
    First,
    /// To the last row, and stay with it.
    Last,
    Open,
    /// Clears the filter, else goes back.
    Back,
    NextPane,
    /// Shows a screen; again leaves those that only explain.
    Go(Screen),
    Lock,
    Filter,
    /// To the next row or line that matches what was searched for.
    NextMatch,
    PreviousMatch,
    Sort,
    /// Chooses by what rows are sorted that are equal.
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
    /// Shows the queue as a picture, or as a list.
    Picture,
    /// Draws the picture for those who sit far away.
    Large,
    Slower,
    Faster,
    StopOrGo,
    /// Lets one client go on, on both sides.
    PlayStep,
    TourNext,
    TourBack,
    TourNextScene,
    TourPreviousScene,
    /// To the scene with that number.
    TourScene,
    TourPlay,
    /// To the next event of a recording.
    NextEvent,
    PreviousEvent,
    NextMinute,
    PreviousMinute,
    NextFinding,
    PreviousFinding,
    PlayFaster,
    PlaySlower,
    /// To a moment of a recording.
    GoToTime,
    /// From the past to what is live.
    ReturnToLive,
    /// To another ensemble.
    Context,
    Prompt,
    Redraw,
    Suspend,
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
        ) || self.is_of_slow_motion()
    }

    /// Whether it says how fast test clients go.
    pub fn is_of_slow_motion(self) -> bool {
        matches!(self, Self::Slower | Self::Faster | Self::StopOrGo | Self::PlayStep)
    }

    /// Whether the tour's own key comes first where both have the same.
    pub fn yields_to_tour(self) -> bool {
        self == Self::StopOrGo
    }

    /// Whether it is of use only while a recording is shown.
    pub fn is_of_replay(self) -> bool {
        self.travels() || matches!(self, Self::PlayFaster | Self::PlaySlower | Self::ReturnToLive)
    }

    /// Whether it says how fast a recording plays: its keys mean something else where none is shown.
    pub fn is_of_playing(self) -> bool {
        matches!(self, Self::PlayFaster | Self::PlaySlower)
    }

    /// Whether it leads to another moment of a recording.
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

    /// Whether it is of use only during the guided tour.
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
