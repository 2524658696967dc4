//! The requests of clients, and the parts of replies that only a server writes. The frames are
//! those of [`lockscope_base::wire`].

mod request;
mod word;
mod write;

pub use request::{AuthRequest, Create, Lookup, SetWatches, Write, multi};
pub use word::Word;
pub use write::NodeWriter;
