//! What the first look proves: how long locks are held, who is silent, and what `check` says of both.

mod check;
mod histories;
mod silent;
