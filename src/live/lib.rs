//! Talks to a ZooKeeper ensemble: follows its locks, asks its servers, deletes nodes. Serves
//! metrics, and sends spans to a collector.
//!
//! - [`zk`]: sessions, identities, TLS, and what the servers report about themselves.
//! - [`observe`]: keeps a [`LockTable`](lockscope_model::queue::LockTable) in step with the
//!   ensemble.
//! - [`admin`]: plans, guards, executes and logs a deletion.
//! - [`exporter`]: serves metrics over HTTP.
//! - [`otlp`]: sends spans and metrics to an OpenTelemetry collector.
//! - [`own_process`]: what this process uses of the machine.
//! - [`deadline`]: sleeps until an optional deadline.

pub mod admin;
pub mod deadline;
pub mod exporter;
pub mod observe;
pub mod otlp;
pub mod own_process;
pub mod zk;

/// The features of this crate, by which the programs differ, and whether this build has them.
pub const FEATURES: [(&str, bool); 3] = [
    ("gssapi", cfg!(feature = "gssapi")),
    ("metrics-config", cfg!(feature = "metrics-config")),
    ("otlp", cfg!(feature = "otlp")),
];

#[cfg(test)]
use lockscope_model::testing;
