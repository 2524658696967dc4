//! Tests of the [follower](lockscope_model::follow) against a model server, with the reads that the
//! [scheduler](super::schedule) puts together.

mod created;
mod model;
mod unread;
mod walks;
