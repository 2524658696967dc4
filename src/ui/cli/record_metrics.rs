//! The metrics served by `lockscope record`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use tokio::task::block_in_place;

use super::output::note;
use super::record_service::MayPass;
use lockscope_live::exporter::{Access, AccessError, Exporter};
use lockscope_model::metrics::{DEFAULT_MAX_LOCKS, EventCounters};

/// The most locks with series of their own: more series than these few hundred thousand overload
/// Prometheus.
const MAX_METRICS_LOCKS: u64 = 10_000;

/// Where metrics are served, to whom, and of how many locks.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Metrics")]
pub(super) struct MetricsOptions {
    /// Serve metrics for Prometheus at this address: /metrics, and /healthz. A port alone is on
    /// this machine only; 0 chooses one
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
    pub metrics: Option<SocketAddr>,
    /// How many locks have series of their own; the rest have one together
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_LOCKS,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_METRICS_LOCKS))]
    pub metrics_locks: usize,
    /// The users that may ask for metrics, and TLS: a web config file as Prometheus' exporters have
    /// it; only its owner may be able to read it
    #[arg(long, value_name = "FILE", requires = "metrics")]
    pub metrics_config: Option<PathBuf>,
}

impl MetricsOptions {
    /// Starts to serve, if metrics are wanted. Reads the web config file.
    pub(super) async fn start(&self) -> anyhow::Result<Option<Exporter>> {
        match self.metrics {
            Some(address) => {
                let access = self.access()?;
                Ok(Some(Exporter::start(address, access).await.map_err(MayPass::of)?))
            }
            None => Ok(None),
        }
    }

    /// Returns the counters, if metrics are served or `sent`.
    pub(super) fn counters(&self, sent: bool) -> Option<EventCounters> {
        (sent || self.metrics.is_some()).then(|| EventCounters::new(self.metrics_locks))
    }

    /// Reads the web config file again; an invalid one is reported, and the old one stays.
    pub(super) fn reload(&self, exporter: Option<&Exporter>) {
        match (self.access(), exporter) {
            (Ok(access), Some(exporter)) => exporter.set_access(access),
            (Err(error), Some(_)) => note(&format!("metrics are served with the config as it was: {error}")),
            (_, None) => {}
        }
    }

    fn access(&self) -> Result<Access, AccessError> {
        let path = self.metrics_config.as_deref();
        path.map_or_else(|| Ok(Access::default()), |path| block_in_place(|| Access::load(path)))
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    let on_this_machine = port.parse().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let address = on_this_machine.or_else(|_| text.parse());
    address.map_err(|_| "write an address and a port, as in 127.0.0.1:9464 or [::]:9464, or a port alone".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_on_this_machine() {
        for (text, expected) in [
            ("9464", "127.0.0.1:9464"),
            (":9464", "127.0.0.1:9464"),
            ("localhost:0", "127.0.0.1:0"),
            ("0.0.0.0:9464", "0.0.0.0:9464"),
            ("[::1]:9464", "[::1]:9464"),
        ] {
            assert_eq!(address(text).unwrap().to_string(), expected);
        }
        for text in ["", "zk1:9464", "127.0.0.1", "127.0.0.1:70000", "::1:9464x"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
