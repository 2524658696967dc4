//! How the follower reacts to events.

use super::{Follower, NodeEvent, NodeRead};
use lockscope_base::znode::{ZnodePath, Zxid};

impl Follower {
    /// Takes an event, with its zxid where the server gives one.
    pub fn event(&mut self, event: NodeEvent, path: &ZnodePath, zxid: Option<Zxid>) {
        self.pending.disturb(path);
        match event {
            NodeEvent::Created => self.created(path),
            NodeEvent::Deleted => self.deleted(path, zxid),
            NodeEvent::DataChanged if self.data_matter(path) => self.pending.refresh(NodeRead::Node(path.clone())),
            NodeEvent::DataChanged => {}
            NodeEvent::ChildrenChanged => self.pending.refresh(NodeRead::List(path.clone())),
        }
        self.finish_walk();
    }

    fn created(&mut self, path: &ZnodePath) {
        self.pending.outdate(path);
        self.note_hint(path, None);
        let place = self.classifier.classify(path);
        if let Some(place) = &place {
            self.contender_created(path, place);
        }
        if place.is_some() || self.holds_maximum(path) {
            self.pending.want(NodeRead::Node(path.clone()));
        }
        if self.is_root(path) {
            // The root was reported as missing; the listing reports that it exists.
            self.pending.want(NodeRead::List(path.clone()));
        }
    }

    /// Returns whether the data of a node are worth a read.
    fn data_matter(&self, path: &ZnodePath) -> bool {
        self.classifier.classify(path).is_some() || self.holds_maximum(path)
    }
}
