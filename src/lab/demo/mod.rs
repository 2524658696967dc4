//! The guided tour: its script as data, and the sessions that do what test clients cannot.
//!
//! A [`Script`] is read from `assets/demo.toml`. It has scenes with their own locks, and each scene
//! has steps with a caption and a screen. The screen steps through it (`tui::app`'s tour). Fleets
//! of test clients start like the user's own. A [`SceneRunner`] runs clients with a fault: one that
//! loses the reply to a create, and two that take two locks in opposite order.
//!
//! On an ensemble other than the sandbox, everything is below a [`Namespace`], which is removed
//! when the tour ends.
//!
//! Architecture invariant: nothing is created outside the namespace, and every session of a scene
//! ends with the scene.

mod namespace;
mod scene;
mod script;

pub use namespace::{Namespace, NamespaceError};
pub use scene::{SceneCommand, SceneRunner};
pub use script::{
    PresenterInput, Scene, SceneAction, SceneComparison, SceneFleet, Script, ScriptedClients, Step, StepInput,
    TourScreen,
};
