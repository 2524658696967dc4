//! The metrics of `lockscope record` beside a real server, scraped by a real Prometheus.

mod access;
mod alerts;
mod dashboard;
pub mod fixture;
mod scraped;
