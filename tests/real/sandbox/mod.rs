//! The sandbox: compared with a real server, where the same requests must get the same replies and
//! events, field by field except for times and ids; with clients of other languages; and with
//! hostile input.

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
