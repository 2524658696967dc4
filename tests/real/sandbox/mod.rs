//! The sandbox: beside a real server, where the same requests must get the same replies and events, field by field but for
//! times and ids; under clients of other languages; and under what nobody should send.

mod access;
mod foreign;
mod hostile;
mod multi;
mod pair;
mod program;
mod random;
mod requests;
mod sessions;
mod side;
mod speed;
mod watches;
mod words;
