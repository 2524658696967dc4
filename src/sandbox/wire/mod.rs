//! What clients ask for, and what of the answers only a server writes. The frames are [`lockscope_base::wire`]'s.

mod request;
mod word;
mod write;

pub use request::{AuthRequest, Create, Lookup, SetWatches, Write, multi};
pub use word::Word;
pub use write::NodeWriter;
