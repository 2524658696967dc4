//! What talks to a ZooKeeper ensemble: follows its locks, asks its servers, deletes nodes, and serves metrics of it.
//!
//! - [`zk`]: sessions, identities, TLS, and what the servers say about themselves.
//! - [`observe`]: keeps a [`LockTable`](lockscope_model::queue::LockTable) true to the ensemble.
//! - [`admin`]: plans a deletion, guards it, carries it out and writes it down.
//! - [`examine`]: reads what is true of a node right before it is deleted.
//! - [`exporter`]: serves metrics over HTTP.
//! - [`deadline`]: waits that may have no end.

pub mod admin;
pub mod deadline;
pub mod exporter;
pub mod observe;
pub mod zk;
