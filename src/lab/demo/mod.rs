//! The guided tour: what it shows, as data, and the sessions that do what test clients cannot.
//!
//! A [`Script`] is read from `assets/demo.toml`: scenes, each with locks of its own and a few steps, each with a caption and a
//! screen to look at. The screen steps through it (`tui::app`'s tour); fleets of test clients are started as the user's own are,
//! and what needs clients with a fault runs on a [`SceneRunner`]: a client that loses the reply to a create, and two that take
//! two locks in opposite order.
//!
//! On an ensemble that is not the sandbox all of it lies below a [`Namespace`] of its own, which is removed when the tour ends.
//!
//! Architecture invariant: nothing is made outside the namespace, and every session of a scene ends with the scene.

mod namespace;
mod scene;
mod script;

pub use namespace::{Namespace, NamespaceError};
pub use scene::{SceneCommand, SceneRunner};
pub use script::{
    Scene, SceneAction, SceneComparison, SceneFleet, Script, ScriptedClients, Step, TourScreen, TypedKeys,
};
