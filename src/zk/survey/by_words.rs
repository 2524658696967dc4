use std::time::Duration;

use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::member::{Told, Watched};
use crate::server_view::{AskedBy, Load, Mode, Monitor, words};
use crate::zk::words::{Answer, AskError, Limits, Word, ask_over};

/// One server, while it is asked by words.
struct ByWords<'a> {
    tls: Option<&'a TlsConnector>,
    address: &'a str,
    limits: Limits,
    load: &'a mut Load,
    told: Told,
}

/// A question that was answered or not.
struct Asked {
    word: Word,
    result: Result<Answer, AskError>,
    elapsed: Duration,
}

/// Asks one server all words; first what it is, then the rest at the same time. An error when not even that is told; what it
/// cost is counted either way.
pub(super) async fn by_words(
    tls: Option<&TlsConnector>,
    address: &str,
    limits: Limits,
    watchers: bool,
    load: &mut Load,
) -> Result<Told, AskError> {
    let told = Told { asked_by: AskedBy::Words, ..Told::default() };
    let mut asking = ByWords { tls, address, limits, load, told };
    asking.what_it_is().await?;
    asking.the_rest(watchers).await;
    Ok(asking.told)
}

impl ByWords<'_> {
    async fn what_it_is(&mut self) -> Result<(), AskError> {
        let asked = self.ask(Word::Mntr).await;
        let monitor = match self.take(asked) {
            Ok(answer) => words::mntr(&answer.text),
            Err(refused @ AskError::NotAllowed { .. }) => {
                self.told.complain(refused.to_string());
                let asked = self.ask(Word::Srvr).await;
                let srvr = words::srvr(&self.take(asked)?.text);
                Monitor { version: srvr.version, state: srvr.mode, connections: srvr.connections, ..Monitor::default() }
            }
            Err(error) => return Err(error),
        };
        if monitor.version.is_none() && monitor.state.is_none() {
            return Err(AskError::Foreign { address: self.address.to_owned(), word: Word::Mntr });
        }
        self.told.monitor = monitor;
        Ok(())
    }

    async fn the_rest(&mut self, watchers: bool) {
        let mode = self.told.monitor.state.as_deref().and_then(Mode::named);
        let keeps_sessions = mode.is_some_and(Mode::keeps_sessions);
        let when = async |wanted: bool, word| if wanted { Some(self.ask(word).await) } else { None };
        let (connections, totals, sessions, watched) = tokio::join!(
            self.ask(Word::Cons),
            self.ask(Word::Wchs),
            when(keeps_sessions, Word::Dump),
            when(watchers, Word::Wchp)
        );
        self.take_connections(connections);
        if let Ok(answer) = self.take_or_complain(totals) {
            self.told.watch_totals = words::wchs(&answer.text);
        }
        if let Some(Ok(answer)) = sessions.map(|asked| self.take_or_complain(asked)) {
            self.told.sessions = words::dump(&answer.text).map(|(found, whole)| (found, whole && !answer.cut));
        }
        if let Some(asked) = watched {
            self.take_watched(asked);
        }
    }

    fn take_connections(&mut self, asked: Asked) {
        let Ok(answer) = self.take_or_complain(asked) else { return };
        let found = words::cons(&answer.text);
        // The server lists only the connections of the port on which it is asked, but counts those of all its ports.
        let listed = found.with_session.len() as u64 + found.without_session;
        let all = self.told.monitor.connections.is_some_and(|counted| counted <= listed);
        if found.whole && !all && self.told.monitor.connections.is_some() {
            self.told.complain(format!(
                "{} has connections on another port, which it does not tell here: let its AdminServer be asked",
                self.address
            ));
        }
        self.told.connections = Some((found.with_session, found.whole && !answer.cut && all));
    }

    fn take_watched(&mut self, asked: Asked) {
        let elapsed = asked.elapsed;
        let cost = self.told.cost;
        self.told.watched = Some(match self.take_or_complain(asked) {
            Ok(answer) => {
                let (found, whole) = words::wchp(&answer.text);
                Watched { found: Some((found, whole && !answer.cut)), took: answer.took }
            }
            // Asked in vain, which may have cost the server as much.
            Err(()) => Watched { found: None, took: elapsed },
        });
        // The dear question has a pace of its own.
        self.told.cost = cost;
    }

    async fn ask(&self, word: Word) -> Asked {
        let began = Instant::now();
        let result = ask_over(self.tls, self.address, word, self.limits).await;
        Asked { word, result, elapsed: began.elapsed() }
    }

    /// Counts what a question cost, and gives its answer.
    fn take(&mut self, asked: Asked) -> Result<Answer, AskError> {
        let bytes = asked.result.as_ref().map_or(0, |answer| answer.text.len());
        let took = asked.result.as_ref().map_or(asked.elapsed, |answer| answer.took);
        self.load.count(bytes, took);
        self.told.cost += took;
        asked.result
    }

    /// As `take`, and keeps what is wrong.
    fn take_or_complain(&mut self, asked: Asked) -> Result<Answer, ()> {
        let word = asked.word;
        match self.take(asked) {
            Ok(answer) => {
                if answer.cut {
                    self.told.complain(format!(
                        "{} answered {} only in part, since that takes more than {} or {} bytes: it is overloaded or very large",
                        self.address,
                        word.as_str(),
                        humantime::format_duration(self.limits.within),
                        self.limits.bytes
                    ));
                }
                Ok(answer)
            }
            Err(error) => {
                self.told.complain(error.to_string());
                Err(())
            }
        }
    }
}
