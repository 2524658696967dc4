//! Talks to a ZooKeeper ensemble: follows its locks, asks its servers, deletes nodes. Serves
//! metrics, and sends spans to a collector.
//!
//! - [`zk`]: sessions, identities, TLS, and what the servers report about themselves.
//! - [`observe`]: keeps a [`LockTable`](lockscope_model::queue::LockTable) in step with the
//!   ensemble.
//! - [`admin`]: plans, guards, executes and logs a deletion.
//! - [`exporter`]: serves metrics over HTTP.
//! - [`otlp`]: sends spans and metrics to an OpenTelemetry collector.
//! - [`deadline`]: sleeps until an optional deadline.

pub mod admin;
pub mod deadline;
pub mod exporter;
pub mod observe;
pub mod otlp;
pub mod zk;

#[cfg(test)]
use lockscope_fixtures::testing;
