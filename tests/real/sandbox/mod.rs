//! The sandbox beside a real server: the same requests must get the same replies and events, field by field, but for times
//! and ids.

mod access;
mod multi;
mod pair;
mod random;
mod requests;
mod sessions;
mod side;
mod watches;
