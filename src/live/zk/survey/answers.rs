//! Asks one member in one round, by four-letter words or through its AdminServer, and holds the
//! answers.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_rustls::TlsConnector;

use super::pace::EndsWanted;
use crate::zk::admin::{AdminError, AdminReply, AdminTls, AdminUrl, get_from};
use crate::zk::four_letter::{AskError, FourLetterAnswer, FourLetterWord, QuestionLimits, Taker, ask_over};
use crate::zk::stream::NamedBy;
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::server_view::admin::BadAnswer;
use lockscope_model::server_view::four_letter::{Srvr, WatchedPathsReader};
use lockscope_model::server_view::{
    AskedBy, Connection, Ephemerals, Health, ListedSession, Load, ServerMode, ServerSettings, Software, SyncSettings,
    WatchEventTotals, WatchTotals, WatchedPath, WireSecurity, admin, four_letter,
};

/// The optional questions of a round.
#[derive(Clone, Copy, Debug)]
pub struct WantedAnswers<'a> {
    /// The path that stands for `/`; paths in answers are absolute.
    pub(super) chroot: Option<&'a ZnodePath>,
    /// Ask for the number of watches and of sent events.
    pub(super) figures: bool,
    /// Ask which sessions watch which paths.
    pub(super) watchers: bool,
    /// When to ask how many sessions the server expired.
    pub(super) ends: EndsWanted<'a>,
}

/// A list, and whether it is complete.
type ListAndWhole<T> = (Vec<T>, bool);

#[derive(Debug)]
pub struct RoundAnswers {
    pub(super) asked_by: AskedBy,
    pub(super) transport: WireSecurity,
    pub(super) server: Srvr,
    pub(super) connections: Option<ListAndWhole<Connection>>,
    pub(super) sessions: Option<ListAndWhole<ListedSession>>,
    pub(super) ephemerals: Option<Ephemerals>,
    /// How many sessions the server expired, asked after it had listed the sessions.
    pub(super) expired: Option<TimedAnswer<Option<u64>>>,
    /// `None` when the question was not asked.
    pub(super) figures: Option<TimedAnswer<SurveyFigures>>,
    pub(super) watched: Option<TimedAnswer<Option<ListAndWhole<WatchedPath>>>>,
    /// The first problem found, with what to change; it concerns the questions without a pace of
    /// their own.
    pub(super) problem: Option<String>,
    /// How long the server was busy with the questions without a pace of their own.
    pub(super) cost: Duration,
}

impl RoundAnswers {
    fn new(asked_by: AskedBy, transport: WireSecurity) -> Self {
        Self {
            asked_by,
            transport,
            server: Srvr::default(),
            connections: None,
            sessions: None,
            ephemerals: None,
            expired: None,
            figures: None,
            watched: None,
            problem: None,
            cost: Duration::ZERO,
        }
    }

    /// Returns whether the server lists sessions without a connection. When the sessions were
    /// listed after the connections, some of them may be new, and the connections must be listed
    /// again.
    fn lists_unconnected(&self) -> bool {
        let (Some((connections, _)), Some((sessions, _))) = (&self.connections, &self.sessions) else { return false };
        let connected: HashSet<SessionId> = connections.iter().map(|connection| connection.session).collect();
        sessions.iter().any(|session| !connected.contains(&session.id))
    }

    /// Returns whether the server calls itself `ClickHouse` Keeper.
    pub fn are_of_keeper(&self) -> bool {
        Software::of_version(self.server.version.as_deref()) == Software::Keeper
    }

    fn note_problem(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }

    /// Counts the cost of one question.
    fn count(&mut self, load: &mut Load, bytes: usize, took: Duration) {
        load.count(bytes, took);
        self.cost += took;
    }

    /// Returns the problems of all groups of questions.
    pub fn problems(&mut self) -> impl Iterator<Item = &mut String> {
        let figures = self.figures.as_mut().and_then(|timed| timed.problem.as_mut());
        let watched = self.watched.as_mut().and_then(|timed| timed.problem.as_mut());
        self.problem.as_mut().into_iter().chain(figures).chain(watched)
    }
}

/// Returns the answer that `take` reads to questions that have a pace of their own. Their cost and
/// their problems are counted apart.
fn timed<A: AsMut<RoundAnswers>, T>(asking: &mut A, take: impl FnOnce(&mut A) -> T) -> TimedAnswer<T> {
    let answers = asking.as_mut();
    let (cost, problem) = (std::mem::take(&mut answers.cost), answers.problem.take());
    let found = take(asking);
    let answers = asking.as_mut();
    let took = std::mem::replace(&mut answers.cost, cost);
    TimedAnswer { found, took, problem: std::mem::replace(&mut answers.problem, problem) }
}

/// The answer to questions with a pace of their own, or its absence.
#[derive(Debug)]
pub struct TimedAnswer<T> {
    pub(super) found: T,
    /// How long the server was busy with it, successful or not.
    pub(super) took: Duration,
    /// The problem and what to change.
    pub(super) problem: Option<String>,
}

/// The counters and settings of a server.
#[derive(Clone, Debug, Default)]
pub struct SurveyFigures {
    pub(super) health: Health,
    pub(super) watches: Option<u64>,
    pub(super) totals: Option<WatchTotals>,
    pub(super) fired: Option<WatchEventTotals>,
    /// The server's settings; `None` also when the server may not tell, which is no problem of the
    /// other answers.
    pub(super) settings: Option<ServerSettings>,
    pub(super) sync_settings: Option<SyncSettings>,
}

/// The most listings from a server that counts more connections than it lists.
const MAX_CONNECTION_LISTINGS: u32 = 3;

/// A server being asked by words.
struct ByFourLetter<'a> {
    tls: Option<&'a TlsConnector>,
    address: &'a str,
    named_by: NamedBy,
    limits: QuestionLimits,
    load: &'a mut Load,
    answers: RoundAnswers,
    /// The addresses of the listed connections without a session, from the last list.
    without_session: HashSet<String>,
}

/// A word with its answer or error.
struct WordReply {
    word: FourLetterWord,
    result: Result<FourLetterAnswer, AskError>,
    elapsed: Duration,
}

/// Asks one server all words: first its state, then its connections, then the rest at the same
/// time. Fails when the first word is not answered. The cost is counted either way.
pub async fn by_four_letter(
    tls: Option<&TlsConnector>,
    address: &str,
    named_by: NamedBy,
    limits: QuestionLimits,
    wanted: WantedAnswers<'_>,
    load: &mut Load,
) -> Result<RoundAnswers, AskError> {
    let answers =
        RoundAnswers::new(AskedBy::Words, if tls.is_some() { WireSecurity::Tls } else { WireSecurity::Plain });
    let mut asking = ByFourLetter { tls, address, named_by, limits, load, answers, without_session: HashSet::new() };
    let asked = asking.ask(FourLetterWord::Srvr).await;
    asking.answers.server = four_letter::srvr(&asking.receive(asked)?.text);
    if asking.answers.server.version.is_none() {
        return Err(AskError::Foreign { address: address.to_owned(), word: FourLetterWord::Srvr });
    }
    // Boxed, because the concurrent questions make a large future.
    Box::pin(asking.ask_the_rest(wanted)).await;
    Ok(asking.answers)
}

impl AsMut<RoundAnswers> for ByFourLetter<'_> {
    fn as_mut(&mut self) -> &mut RoundAnswers {
        &mut self.answers
    }
}

impl ByFourLetter<'_> {
    async fn ask_the_rest(&mut self, wanted: WantedAnswers<'_>) {
        let mode = self.answers.server.mode.as_deref().and_then(ServerMode::named);
        let keeps_sessions = mode.is_some_and(ServerMode::keeps_sessions);
        // Asked alone, so that the connection of another word cannot stand in for one that is
        // missing from the list.
        let counted = self.answers.server.connections;
        self.list_connections(counted, false).await;
        let when = async |wanted: bool, word| if wanted { Some(self.ask(word).await) } else { None };
        // A count of expired sessions means something only after the list.
        let ends = async {
            let asked = when(keeps_sessions, FourLetterWord::Dump).await;
            let answer = asked.as_ref().and_then(|asked| asked.result.as_ref().ok());
            let sessions = answer.and_then(|answer| four_letter::dump(&answer.text));
            let are_due = sessions.as_ref().is_some_and(|(sessions, _)| wanted.ends.are_due(sessions));
            (asked, sessions, when(wanted.figures || are_due, FourLetterWord::Mntr).await)
        };
        let ((asked, sessions, monitor), totals, settings, watched) = tokio::join!(
            ends,
            when(wanted.figures, FourLetterWord::Wchs),
            when(wanted.figures, FourLetterWord::Conf),
            async { if wanted.watchers { Some(self.ask_watched().await) } else { None } }
        );
        if let Some(Ok(answer)) = asked.map(|asked| self.receive_or_note(asked)) {
            self.answers.sessions = sessions.map(|(found, whole)| (found, whole && !answer.cut));
            let owned = four_letter::ephemerals(&answer.text);
            self.answers.ephemerals = Some(Ephemerals::collect(owned, wanted.chroot, !answer.cut));
        }
        // In an ensemble, the other members list their connections at other times anyway.
        if mode == Some(ServerMode::Standalone) && self.answers.lists_unconnected() {
            self.answers.connections = None;
            let counted = self.count_connections().await;
            self.list_connections(counted, true).await;
        }
        match (monitor, totals, settings) {
            (Some(monitor), Some(totals), Some(settings)) => {
                self.answers.figures = Some(timed(self, |asking| asking.take_figures(monitor, totals, settings)));
            }
            (Some(monitor), ..) => {
                let expired = |answer: FourLetterAnswer| four_letter::mntr(&answer.text).health.expired_sessions;
                self.answers.expired = Some(timed(self, |asking| asking.receive(monitor).ok().and_then(expired)));
            }
            _ => {}
        }
        if let Some((asked, listed)) = watched {
            self.answers.watched = Some(timed(self, |asking| asking.take_watched(asked, listed)));
        }
    }

    fn take_figures(&mut self, monitor: WordReply, totals: WordReply, settings: WordReply) -> SurveyFigures {
        let monitor = self.receive_or_note(monitor).map(|answer| four_letter::mntr(&answer.text)).unwrap_or_default();
        let totals = self.receive_or_note(totals).ok().and_then(|answer| four_letter::wchs(&answer.text));
        let settings = self.receive(settings).ok();
        let sync_settings = settings.as_ref().and_then(|answer| SyncSettings::from_conf(&answer.text));
        let limits = settings.as_ref().map(|answer| four_letter::limits(&answer.text)).unwrap_or_default();
        let settings = settings.and_then(|answer| four_letter::conf(&answer.text));
        let health = monitor.health.with_limits(&limits);
        SurveyFigures { health, watches: monitor.watches, totals, fired: monitor.fired, settings, sync_settings }
    }

    fn take_watched(&mut self, asked: WordReply, listed: WatchedPathsReader) -> Option<(Vec<WatchedPath>, bool)> {
        let answer = self.receive_or_note(asked).ok()?;
        let (found, whole) = listed.end();
        Some((found, whole && !answer.cut))
    }

    /// Lists the connections of the asked port, and compares them with `counted`, the connections
    /// of all ports.
    ///
    /// Connections come and go between the two answers, above all those of other consoles' words.
    /// When the count exceeds the list, the server is asked again before the list is considered
    /// incomplete.
    ///
    /// A connection that appears between the two answers hides one of another port. `surely`
    /// excludes that: it accepts connections without a session only if they are our own or were in
    /// the last list too, and it counts again after the list.
    async fn list_connections(&mut self, mut counted: Option<u64>, surely: bool) {
        let mut looks = 1;
        let (found, whole, all) = loop {
            let connections = self.ask(FourLetterWord::Cons).await;
            let Ok(answer) = self.receive_or_note(connections) else { return };
            let found = four_letter::cons(&answer.text);
            let before = std::mem::replace(&mut self.without_session, found.without_session.iter().cloned().collect());
            let stay = found.without_session.iter().filter(|client| before.contains(*client)).count();
            let without_session = if surely { stay + 1 } else { found.without_session.len() };
            let listed = (found.with_session.len() + without_session) as u64;
            let lists_all = |counted: Option<u64>| counted.is_some_and(|counted| counted <= listed);
            let mut all = lists_all(counted);
            if all && surely {
                counted = self.count_connections().await;
                all = lists_all(counted);
            }
            let whole = found.whole && !answer.cut;
            if all || counted.is_none() || !whole || looks == MAX_CONNECTION_LISTINGS {
                break (found, whole, all);
            }
            looks += 1;
            // The pause is random, to fall out of step with another client that asks.
            sleep(Duration::from_millis(fastrand::u64(20..=120))).await;
            counted = self.count_connections().await;
        };
        if found.whole && !all && self.answers.server.connections.is_some() {
            self.answers.note_problem(format!(
                "{} has connections on another port, which it does not list here: ask AdminServer (--server-view http)",
                self.address
            ));
        }
        self.answers.connections = Some((found.with_session, whole && all));
    }

    /// Reads how many connections the server has now, on all its ports.
    async fn count_connections(&mut self) -> Option<u64> {
        let what = self.ask(FourLetterWord::Srvr).await;
        four_letter::srvr(&self.receive(what).ok()?.text).connections
    }

    async fn ask(&self, word: FourLetterWord) -> WordReply {
        self.ask_into(word, None).await
    }

    /// Asks which sessions watch which paths. A large answer is parsed while it arrives.
    async fn ask_watched(&self) -> (WordReply, WatchedPathsReader) {
        let mut listed = WatchedPathsReader::default();
        let reply = self.ask_into(FourLetterWord::Wchp, Some(&mut |part| listed.push(part))).await;
        (reply, listed)
    }

    async fn ask_into(&self, word: FourLetterWord, taker: Option<Taker<'_>>) -> WordReply {
        let began = Instant::now();
        let result = ask_over(self.tls, self.address, self.named_by, word, self.limits, taker).await;
        WordReply { word, result, elapsed: began.elapsed() }
    }

    /// Counts the cost of a question and returns its answer.
    fn receive(&mut self, asked: WordReply) -> Result<FourLetterAnswer, AskError> {
        let bytes = asked.result.as_ref().map_or(0, |answer| answer.bytes);
        let took = asked.result.as_ref().map_or(asked.elapsed, |answer| answer.took);
        self.answers.count(self.load, bytes, took);
        asked.result
    }

    /// Receives an answer like `receive`, and notes an error as the problem.
    fn receive_or_note(&mut self, asked: WordReply) -> Result<FourLetterAnswer, ()> {
        let word = asked.word;
        match self.receive(asked) {
            Ok(answer) => {
                if answer.cut {
                    self.answers.note_problem(format!(
                        "{} answered {} only in part: the whole answer takes longer than {} or more than {} bytes",
                        self.address,
                        word.as_str(),
                        humantime::format_duration(self.limits.within),
                        self.limits.bytes
                    ));
                }
                Ok(answer)
            }
            Err(AskError::Closed { address }) if self.answers.are_of_keeper() => {
                self.answers.note_problem(AskError::NotAllowedByKeeper { address, word }.to_string());
                Err(())
            }
            Err(error) => {
                self.answers.note_problem(error.to_string());
                Err(())
            }
        }
    }
}

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
    result: Result<AdminReply, AdminError>,
    elapsed: Duration,
}

/// Sends all commands to one AdminServer: first the server's state, then the rest at the same time.
/// Fails when the first is not answered. The cost is counted either way.
pub async fn by_http(
    url: &AdminUrl,
    tls: Option<&AdminTls<'_>>,
    host: &str,
    named_by: NamedBy,
    limits: QuestionLimits,
    wanted: WantedAnswers<'_>,
    load: &mut Load,
) -> Result<RoundAnswers, AdminError> {
    let answers =
        RoundAnswers::new(AskedBy::Http, if url.is_secure() { WireSecurity::Tls } else { WireSecurity::Plain });
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

    fn take_figures(&mut self, monitor: HttpReply, totals: HttpReply, settings: HttpReply) -> SurveyFigures {
        let monitor = self.receive_or_note(monitor, admin::monitor).unwrap_or_default();
        let totals = self.receive_or_note(totals, admin::watch_summary);
        let limits =
            settings.result.as_ref().ok().and_then(|reply| admin::limits(&reply.bytes).ok()).unwrap_or_default();
        let settings = self.receive(settings, admin::configuration).ok().flatten();
        let health = monitor.health.with_limits(&limits);
        SurveyFigures { health, watches: monitor.watches, totals, fired: monitor.fired, settings, sync_settings: None }
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
