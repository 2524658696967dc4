//! The page of one node as it is: how it is opened and read.

use super::{App, Area, Effect, NodeRead, Screen, Update};
use crate::tui::keymap::Command;
use crate::tui::page::Page;
use crate::tui::page::node::{self, ReadNode};
use lockscope_base::znode::{Timestamp, ZnodePath};

/// The node whose page was opened last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenNode {
    path: ZnodePath,
    /// What was read and when that was known; `None` while it is being read.
    read: Option<(Timestamp, NodeRead)>,
}

impl OpenNode {
    pub(super) fn path(&self) -> &ZnodePath {
        &self.path
    }
}

impl App {
    /// Opens the page of a node and reads it: the one whose path was typed, else that of the selected row. On the page itself the
    /// node is read again.
    pub(super) fn open_node_of_row(&mut self, typed: Option<&str>) -> Update {
        let of_row = || match (&self.navigation.node, self.navigation.screen) {
            (Some(open), Screen::Node) => Some(open.path.clone()),
            (_, screen) => screen.list().and_then(|list| list.node(self)),
        };
        let found = match typed {
            Some(text) => ZnodePath::new(text).map_err(|error| error.to_string()),
            None => of_row().ok_or_else(|| "This row has no node.".to_owned()),
        };
        match found {
            Ok(path) => {
                let left = self.place();
                self.navigation.node = Some(OpenNode { path: path.clone(), read: None });
                self.go_from(left, Screen::Node);
                Update::effect(Effect::ReadNode(path))
            }
            Err(why) => {
                self.show_failure(why);
                Update::redraw()
            }
        }
    }

    pub(super) fn node_read(&mut self, path: &ZnodePath, read: NodeRead) -> Update {
        let now = self.moment();
        // Of another node, which was open before.
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
