//! The page of one node.

use super::{App, Area, NodeRead, Screen, Update};
use crate::tui::keymap::Command;
use crate::tui::page::Page;
use crate::tui::page::node::{self, ReadNode};
use lockscope_base::znode::{Timestamp, ZnodePath};

/// The node whose page was opened last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenNode {
    path: ZnodePath,
    /// The result of reading the node and the time of the result; `None` during the read.
    read: Option<(Timestamp, NodeRead)>,
}

impl OpenNode {
    /// The node at that path, not read yet.
    pub(super) fn new(path: ZnodePath) -> Self {
        Self { path, read: None }
    }

    pub(super) fn path(&self) -> &ZnodePath {
        &self.path
    }
}

impl App {
    pub(super) fn node_read(&mut self, path: &ZnodePath, read: NodeRead) -> Update {
        let now = self.moment();
        // The result of a node that is no longer open is ignored.
        let Some(open) = self.navigation.node.as_mut().filter(|open| open.path == *path) else {
            return Update::default();
        };
        open.read = Some((now, read));
        Update::redraw()
    }

    pub(super) fn node_page(&self, area: Area) -> Page {
        let mut page = self.writer(node::COLUMNS, area);
        if let Some(open) = &self.navigation.node {
            let read = open.read.as_ref().map(|(at, read)| (*at, read.as_ref().map(|read| (**read).as_ref())));
            let again = &self.settings.bindings.name(Command::Go(Screen::Node));
            node::write(&mut page, &ReadNode { path: open.path.as_str(), read, utc: self.settings.utc, again });
        }
        Page::new("Node", node::COLUMNS, page.lines())
    }
}
