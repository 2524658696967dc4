//! The operations' numbers, as ZooKeeper's `ZooDefs.OpCode` has them.

/// Makes a node; the answer has its path.
pub const CREATE: i32 = 1;
/// Deletes a node.
pub const DELETE: i32 = 2;
/// The stat of a node, if it is there.
pub const EXISTS: i32 = 3;
/// The data of a node, and its stat.
pub const GET_DATA: i32 = 4;
/// Changes the data of a node.
pub const SET_DATA: i32 = 5;
/// Who may do what with a node.
pub const GET_ACL: i32 = 6;
/// Changes who may do what with a node.
pub const SET_ACL: i32 = 7;
/// The names of the children of a node.
pub const GET_CHILDREN: i32 = 8;
/// Answered when the server has all that was committed before.
pub const SYNC: i32 = 9;
/// A heartbeat.
pub const PING: i32 = 11;
/// The names of the children, and the stat of the node.
pub const GET_CHILDREN2: i32 = 12;
/// In a multi: the node has that version.
pub const CHECK: i32 = 13;
/// Several changes as one.
pub const MULTI: i32 = 14;
/// Makes a node; the answer has its stat too.
pub const CREATE2: i32 = 15;
/// Changes the members of the ensemble.
pub const RECONFIG: i32 = 16;
/// Whether the connection has a watch.
pub const CHECK_WATCHES: i32 = 17;
/// Takes a watch away.
pub const REMOVE_WATCHES: i32 = 18;
/// Makes a node that goes when its last child has gone.
pub const CREATE_CONTAINER: i32 = 19;
/// Of servers only: deletes such a node.
pub const DELETE_CONTAINER: i32 = 20;
/// Makes a node that goes when it has not changed for a time.
pub const CREATE_TTL: i32 = 21;
/// Several reads in one.
pub const MULTI_READ: i32 = 22;
/// Adds an identity to the connection.
pub const AUTH: i32 = 100;
/// Leaves the watches again that were on a lost connection.
pub const SET_WATCHES: i32 = 101;
/// A step of a login.
pub const SASL: i32 = 102;
/// The ephemeral nodes of the session.
pub const GET_EPHEMERALS: i32 = 103;
/// How many nodes are below a node.
pub const GET_ALL_CHILDREN_NUMBER: i32 = 104;
/// The same, with persistent watches.
pub const SET_WATCHES2: i32 = 105;
/// Leaves a persistent watch.
pub const ADD_WATCH: i32 = 106;
/// The identities of the connection.
pub const WHO_AM_I: i32 = 107;
/// Ends the session.
pub const CLOSE_SESSION: i32 = -11;
/// In a multi: that operation failed, or the list ends.
pub const ERROR: i32 = -1;
