//! Tests of what a user can notice, without a terminal.

mod audit;
mod contend;
mod contexts;
mod delete;
mod delete_keys;
mod delete_orphan;
mod ensembles;
mod history;
mod live;
mod locks;
mod mouse;
mod node;
mod noted;
mod own_commands;
mod past_import;
mod property;
mod queue;
mod screens;
mod servers;
mod session;
mod tour;
mod tour_left_alone;
mod tree;
mod typing;

use std::time::Duration;

use super::{App, Bindings, Rows};
use crate::tui::testing::NOW;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::queue::{Change, ConnectionState};

const SIZE: (u16, u16) = (80, 24);

impl App {
    /// Replaces the key bindings.
    pub(in crate::tui) fn rebind(&mut self, bindings: Bindings) {
        self.settings.bindings = bindings;
    }
}

fn later(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

fn lock_paths(app: &App) -> Vec<String> {
    let (world, locks) = (app.world(), app.world().locks());
    let ids = locks.window(0..locks.len());
    ids.filter_map(|id| world.table().lock(id)).map(|lock| lock.path().to_string()).collect()
}

fn selected_lock(app: &App) -> Option<String> {
    let id = app.cursors.locks.selected(app.world().locks())?;
    app.world().table().lock(id).map(|lock| lock.path().to_string())
}

fn selected_contender(app: &App) -> Option<ZnodePath> {
    app.contender_cursor().selected(&app.world().queue_rows())
}

fn number(path: Option<ZnodePath>) -> i32 {
    let path = path.expect("a selected row");
    lockscope_base::znode::Sequence::split(path.name()).expect("a sequence number").1.0
}

fn lost() -> Change {
    Change::Connection(ConnectionState::Lost { reason: "reset by peer".to_owned() })
}
