//! The numbers of the operations, from ZooKeeper's `ZooDefs.OpCode`.

/// Creates a node. The reply has its path.
pub const CREATE: i32 = 1;
/// Deletes a node.
pub const DELETE: i32 = 2;
/// Reads the stat of a node.
pub const EXISTS: i32 = 3;
/// Reads the data and the stat of a node.
pub const GET_DATA: i32 = 4;
/// Writes the data of a node.
pub const SET_DATA: i32 = 5;
/// Reads the ACL of a node.
pub const GET_ACL: i32 = 6;
/// Writes the ACL of a node.
pub const SET_ACL: i32 = 7;
/// Lists the children of a node.
pub const GET_CHILDREN: i32 = 8;
/// Waits until the server has caught up with the leader.
pub const SYNC: i32 = 9;
/// Sends a heartbeat.
pub const PING: i32 = 11;
/// Lists the children of a node, and reads its stat.
pub const GET_CHILDREN2: i32 = 12;
/// Checks the version of a node, in a [`MULTI`] only.
pub const CHECK: i32 = 13;
/// Carries out several writes as one transaction.
pub const MULTI: i32 = 14;
/// Creates a node. The reply has its path and its stat.
pub const CREATE2: i32 = 15;
/// Changes the members of the ensemble.
pub const RECONFIG: i32 = 16;
/// Checks whether the connection has a watch.
pub const CHECK_WATCHES: i32 = 17;
/// Removes a watch.
pub const REMOVE_WATCHES: i32 = 18;
/// Creates a container, which the server deletes after its last child.
pub const CREATE_CONTAINER: i32 = 19;
/// Deletes a container. Only servers send this.
pub const DELETE_CONTAINER: i32 = 20;
/// Creates a node that the server deletes when it has not changed for a while.
pub const CREATE_TTL: i32 = 21;
/// Carries out several reads in one request.
pub const MULTI_READ: i32 = 22;
/// Adds an identity to the connection.
pub const AUTH: i32 = 100;
/// Sets the watches of a lost connection again.
pub const SET_WATCHES: i32 = 101;
/// Carries one step of a SASL login.
pub const SASL: i32 = 102;
/// Lists the ephemeral nodes of the session.
pub const GET_EPHEMERALS: i32 = 103;
/// Counts the nodes below a node.
pub const GET_ALL_CHILDREN_NUMBER: i32 = 104;
/// Sets the watches of a lost connection again, persistent ones included.
pub const SET_WATCHES2: i32 = 105;
/// Sets a persistent watch.
pub const ADD_WATCH: i32 = 106;
/// Lists the identities of the connection.
pub const WHO_AM_I: i32 = 107;
/// Begins a session. Only servers write this, into their logs.
pub const CREATE_SESSION: i32 = -10;
/// Ends the session.
pub const CLOSE_SESSION: i32 = -11;
/// Marks a failed operation, or the end of the list, in a [`MULTI`].
pub const ERROR: i32 = -1;
