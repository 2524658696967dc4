//! What a first look proves: how long locks are held, which clients are silent, and what `check`
//! says about both.

mod check;
mod histories;
mod silent;
