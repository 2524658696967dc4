//! The families with one series for each server.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::DescriptorEncoder;

use super::Scrape;
use super::families::family;
use crate::server_view::Health;

/// Encodes how each server is doing. A server has no series for what it does not report.
pub(super) fn of_servers(scrape: &Scrape, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
    let counts = |value: fn(&Health) -> Option<u64>| {
        let with_value =
            move |(server, health): &'_ (String, Health)| Some(([("server", server.clone())], value(health)?));
        scrape.health.iter().filter_map(with_value)
    };
    let times = |value: fn(&Health) -> Option<Duration>| {
        let with_value = move |(server, health): &'_ (String, Health)| {
            Some(([("server", server.clone())], value(health)?.as_secs_f64()))
        };
        scrape.health.iter().filter_map(with_value)
    };
    family("lockscope_server_latency", "Mean time from a request to its answer, since the server started.")
        .seconds()
        .gauges(encoder, times(|health| health.latency_avg))?;
    family("lockscope_server_write_p99", "99th percentile of the time of a write, over about five minutes.")
        .seconds()
        .gauges(encoder, times(|health| health.write_p99))?;
    family("lockscope_server_fsync_max", "Longest time to write the transaction log to the disk, since it started.")
        .seconds()
        .gauges(encoder, times(|health| health.fsync_max))?;
    family("lockscope_server_outstanding_requests", "Requests that wait in the server.")
        .gauges(encoder, counts(|health| health.outstanding))?;
    family("lockscope_server_synced_followers", "Followers that are in step, at the leader.")
        .gauges(encoder, counts(|health| health.synced_followers))?;
    family("lockscope_server_elections", "Elections of the ensemble's leader that the server took part in.")
        .counters(encoder, counts(|health| health.elections))?;
    family("lockscope_server_digest_mismatches", "Times at which its data differed from the leader's.")
        .counters(encoder, counts(|health| health.digest_mismatches))
}
