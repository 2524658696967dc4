//! Asks one member through its AdminServer.

use std::time::Duration;

use tokio::time::Instant;

use super::answers::{RoundAnswers, ServerFigures, WantedAnswers, timed};
use crate::zk::admin::{AdminError, AdminTls, AdminUrl, Reply, get_from};
use crate::zk::call::NamedBy;
use crate::zk::four_letter::QuestionLimits;
use lockscope_model::server_view::admin::{self, BadAnswer};
use lockscope_model::server_view::{AskedBy, Ephemerals, Load, ServerMode, Transport};

/// A server being asked through its AdminServer.
struct ByHttp<'a> {
    url: &'a AdminUrl,
    tls: Option<&'a AdminTls<'a>>,
    host: &'a str,
    named_by: NamedBy,
    limits: QuestionLimits,
    load: &'a mut Load,
    answers: RoundAnswers,
}

/// A question with its answer or error.
struct HttpReply {
    result: Result<Reply, AdminError>,
    elapsed: Duration,
}

/// Sends all commands to one AdminServer: first the server's state, then the rest at the same time.
/// Fails when the first is not answered. The cost is counted either way.
pub(super) async fn by_http(
    url: &AdminUrl,
    tls: Option<&AdminTls<'_>>,
    host: &str,
    named_by: NamedBy,
    limits: QuestionLimits,
    wanted: WantedAnswers<'_>,
    load: &mut Load,
) -> Result<RoundAnswers, AdminError> {
    let answers = RoundAnswers::new(AskedBy::Http, if url.is_secure() { Transport::Tls } else { Transport::Plain });
    let mut asking = ByHttp { url, tls, host, named_by, limits, load, answers };
    let asked = asking.ask("server_stats").await;
    asking.answers.server = asking.receive(asked, admin::server_stats)?;
    asking.ask_the_rest(wanted).await;
    Ok(asking.answers)
}

impl AsMut<RoundAnswers> for ByHttp<'_> {
    fn as_mut(&mut self) -> &mut RoundAnswers {
        &mut self.answers
    }
}

impl ByHttp<'_> {
    async fn ask_the_rest(&mut self, wanted: WantedAnswers<'_>) {
        let mode = self.answers.server.mode.as_deref().and_then(ServerMode::named);
        let keeps_sessions = mode.is_some_and(ServerMode::keeps_sessions);
        let when = async |wanted: bool, command| if wanted { Some(self.ask(command).await) } else { None };
        // A count of expired sessions means something only after the list.
        let ends = async {
            let asked = when(keeps_sessions, "dump").await;
            let reply = asked.as_ref().and_then(|asked| asked.result.as_ref().ok());
            let dump = reply.and_then(|reply| admin::dump(&reply.bytes).ok());
            let are_due = dump.is_some_and(|dump| wanted.ends.are_due(&dump.sessions));
            (asked, when(wanted.figures || are_due, "monitor").await)
        };
        let (connections, (sessions, monitor), totals, settings, watched) = tokio::join!(
            self.ask("connections"),
            ends,
            when(wanted.figures, "watch_summary"),
            when(wanted.figures, "configuration"),
            when(wanted.watchers, "watches_by_path")
        );
        self.answers.connections = self.receive_or_note(connections, admin::connections).map(|found| (found, true));
        if let Some(dump) = sessions.and_then(|asked| self.receive_or_note(asked, admin::dump)) {
            let owned = dump.ephemerals.iter().flat_map(|(id, paths)| paths.iter().map(|path| (*id, path.as_str())));
            self.answers.ephemerals = Some(Ephemerals::collect(owned, wanted.chroot, true));
            self.answers.sessions = Some((dump.sessions, true));
        }
        // In an ensemble, the other members list their connections at other times anyway.
        if mode == Some(ServerMode::Standalone) && self.answers.lists_unconnected() {
            let connections = self.ask("connections").await;
            self.answers.connections = self.receive_or_note(connections, admin::connections).map(|found| (found, true));
        }
        match (monitor, totals, settings) {
            (Some(monitor), Some(totals), Some(settings)) => {
                self.answers.figures = Some(timed(self, |asking| asking.take_figures(monitor, totals, settings)));
            }
            (Some(monitor), ..) => {
                let monitor = |asking: &mut Self| asking.receive(monitor, admin::monitor).ok();
                let expired = |asking: &mut Self| monitor(asking).and_then(|monitor| monitor.health.expired_sessions);
                self.answers.expired = Some(timed(self, expired));
            }
            _ => {}
        }
        if let Some(asked) = watched {
            self.answers.watched = Some(timed(self, |asking| asking.receive_or_note(asked, admin::watches_by_path)));
        }
    }

    fn take_figures(&mut self, monitor: HttpReply, totals: HttpReply, settings: HttpReply) -> ServerFigures {
        let monitor = self.receive_or_note(monitor, admin::monitor).unwrap_or_default();
        let totals = self.receive_or_note(totals, admin::watch_summary);
        let limits =
            settings.result.as_ref().ok().and_then(|reply| admin::limits(&reply.bytes).ok()).unwrap_or_default();
        let settings = self.receive(settings, admin::configuration).ok().flatten();
        let health = monitor.health.with_limits(&limits);
        ServerFigures { health, watches: monitor.watches, totals, fired: monitor.fired, settings, sync_settings: None }
    }

    async fn ask(&self, command: &str) -> HttpReply {
        let began = Instant::now();
        let result = get_from(self.url, self.tls, self.host, self.named_by, command, self.limits).await;
        HttpReply { result, elapsed: began.elapsed() }
    }

    /// Counts the cost of a question and parses its answer.
    fn receive<T>(&mut self, asked: HttpReply, read: fn(&[u8]) -> Result<T, BadAnswer>) -> Result<T, AdminError> {
        let bytes = asked.result.as_ref().map_or(0, |reply| reply.bytes.len());
        let took = asked.result.as_ref().map_or(asked.elapsed, |reply| reply.took);
        self.answers.count(self.load, bytes, took);
        read(&asked.result?.bytes).map_err(|bad| AdminError::Bad { url: self.url.at(self.host), bad })
    }

    /// Receives an answer like `receive`, and notes an error as the problem.
    fn receive_or_note<T>(&mut self, asked: HttpReply, read: fn(&[u8]) -> Result<T, BadAnswer>) -> Option<T> {
        self.receive(asked, read).map_err(|error| self.answers.note_problem(format!("AdminServer: {error}"))).ok()
    }
}
