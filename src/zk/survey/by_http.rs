use std::time::Duration;

use tokio::time::Instant;

use super::member::{Told, Watched};
use crate::server_view::admin::{self, BadAnswer};
use crate::server_view::{AskedBy, Load, Mode};
use crate::zk::admin::{AdminError, AdminUrl, Reply, get};
use crate::zk::words::Limits;

/// One server, while its AdminServer is asked.
struct ByHttp<'a> {
    url: &'a AdminUrl,
    host: &'a str,
    limits: Limits,
    load: &'a mut Load,
    told: Told,
}

/// A question that was answered or not.
struct Asked {
    result: Result<Reply, AdminError>,
    elapsed: Duration,
}

/// Asks one AdminServer all commands; first what the server is, then the rest at the same time. An error when not even that is
/// told; what it cost is counted either way.
pub(super) async fn by_http(
    url: &AdminUrl,
    host: &str,
    limits: Limits,
    watchers: bool,
    load: &mut Load,
) -> Result<Told, AdminError> {
    let told = Told { asked_by: AskedBy::Http, ..Told::default() };
    let mut asking = ByHttp { url, host, limits, load, told };
    let asked = asking.ask("monitor").await;
    asking.told.monitor = asking.take(asked, admin::monitor)?;
    asking.the_rest(watchers).await;
    Ok(asking.told)
}

impl ByHttp<'_> {
    async fn the_rest(&mut self, watchers: bool) {
        let mode = self.told.monitor.state.as_deref().and_then(Mode::named);
        let keeps_sessions = mode.is_some_and(Mode::keeps_sessions);
        let when = async |wanted: bool, command| if wanted { Some(self.ask(command).await) } else { None };
        let (connections, totals, dump, watched) = tokio::join!(
            self.ask("connections"),
            self.ask("watch_summary"),
            when(keeps_sessions, "dump"),
            when(watchers, "watches_by_path")
        );
        self.told.connections = self.take_or_complain(connections, admin::connections).map(|found| (found, true));
        self.told.watch_totals = self.take_or_complain(totals, admin::watch_summary);
        self.told.sessions =
            dump.and_then(|asked| self.take_or_complain(asked, admin::dump)).map(|found| (found, true));
        if let Some(asked) = watched {
            let took = asked.result.as_ref().map_or(asked.elapsed, |reply| reply.took);
            let cost = self.told.cost;
            let found = self.take_or_complain(asked, admin::watches_by_path);
            self.told.watched = Some(Watched { found, took });
            // The dear question has a pace of its own.
            self.told.cost = cost;
        }
    }

    async fn ask(&self, command: &str) -> Asked {
        let began = Instant::now();
        let result = get(self.url, self.host, command, self.limits).await;
        Asked { result, elapsed: began.elapsed() }
    }

    /// Counts what a question cost, and reads its answer.
    fn take<T>(&mut self, asked: Asked, read: fn(&[u8]) -> Result<T, BadAnswer>) -> Result<T, AdminError> {
        let bytes = asked.result.as_ref().map_or(0, |reply| reply.bytes.len());
        let took = asked.result.as_ref().map_or(asked.elapsed, |reply| reply.took);
        self.load.count(bytes, took);
        self.told.cost += took;
        read(&asked.result?.bytes).map_err(|bad| AdminError::Bad { url: self.url.at(self.host), bad })
    }

    /// As `take`, and keeps what is wrong.
    fn take_or_complain<T>(&mut self, asked: Asked, read: fn(&[u8]) -> Result<T, BadAnswer>) -> Option<T> {
        self.take(asked, read).map_err(|error| self.told.complain(format!("AdminServer: {error}"))).ok()
    }
}
