//! The paths that all programs use.

/// The path of the lock.
pub const LOCK: &str = "/lock";

/// The path of the second lock of a program that takes two.
pub const SECOND_LOCK: &str = "/lock2";

/// The node that a holder writes its fencing token to.
pub const RESOURCE: &str = "/resource";
