//! One member: how and when to ask it, and what is known about it.

use std::time::Duration;

use tokio::time::Instant;

use super::answers::{RoundAnswers, TimedAnswer, WantedAnswers, by_four_letter, by_http};
use super::members::MemberAddress;
use super::own_session::SurveySession;
use super::pace::{CLIENTS, ENDS, EndsPace, FIGURES, MIN_INTERVAL, Pace, WATCHERS};
use super::{SurveyOptions, ViewBy};
use crate::zk::admin::AdminTls;
use crate::zk::four_letter::AskError;
use crate::zk::options::ConnectString;
use crate::zk::stream;
use crate::zk::stream::NamedBy;
use lockscope_base::time::now;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::server_view::{
    Absence, AbsenceReason, AskedBy, ClockAnchor, ExpiryClock, FirstListed, Keyed, Listing, Load, MemberExtras,
    MemberProgress, MemberView, Provenance, ServerClock, ServerMode, SessionTiming, WatchedPath, WireSecurity,
};

/// How long an AdminServer is left alone after it gave no answer.
const ADMIN_SERVER_RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// The longest pause between two questions to a server that has no leader, and nothing to do.
const MAX_LEADERLESS_PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Member {
    address: MemberAddress,
    options: SurveyOptions,
    chroot: Option<ZnodePath>,
    /// The transport of our session with the ensemble.
    session: WireSecurity,
    view: MemberView,
    clock: ServerClock,
    first_listed: FirstListed,
    clients: Pace,
    figures: Pace,
    watchers: Pace,
    ends: EndsPace,
    /// The problems of the figures and of the watchers when they were last asked.
    problems: [Option<String>; 2],
    /// The time from the end of the last round to the next.
    wait: Duration,
    /// The way that was last answered.
    answered_by: AskedBy,
    /// When the AdminServer did not answer, and why.
    http_failed: Option<(Instant, String)>,
}

impl Member {
    /// Creates a member that was not asked yet by this survey. `before` is what an earlier one knew.
    pub fn new(
        address: MemberAddress,
        options: &SurveyOptions,
        target: &ConnectString,
        before: Option<&MemberView>,
    ) -> Self {
        let (answered_at, rounds_out) = before.map_or((None, None), |before| (before.answered_at, before.rounds_out));
        let view = MemberView { answered_at, rounds_out, ..MemberView::unasked(address.label.clone()) };
        let options = options.clone();
        let pace = |share| Pace::new(share, options.min_interval.max(MIN_INTERVAL), options.max_interval);
        let [clients, figures, watchers, ends] = [CLIENTS, FIGURES, WATCHERS, ENDS].map(pace);
        Self {
            address,
            options,
            chroot: target.chroot.clone(),
            session: target.transport(),
            view,
            clock: ServerClock::default(),
            first_listed: FirstListed::default(),
            clients,
            figures,
            watchers,
            ends: EndsPace::new(ends),
            problems: [None, None],
            wait: Duration::ZERO,
            answered_by: AskedBy::None,
            http_failed: None,
        }
    }

    pub fn view(&self) -> &MemberView {
        &self.view
    }

    pub fn into_view(self) -> MemberView {
        self.view
    }

    /// Returns how long to wait after the last round.
    pub fn wait(&self) -> Duration {
        self.wait
    }

    /// Asks for the connections and sessions; also for the counters and for the watchers if wanted,
    /// where their pace allows it. Takes at most eight times the time limit of a question.
    pub async fn ask(&mut self, own: &SurveySession, watchers: bool) -> Load {
        let mut load = Load::default();
        let anchor = own.touch(&mut load, self.keeps_session(own)).await;
        let asked_at = now();
        let (chroot, former) = (self.chroot.clone(), self.view.sessions.clone());
        let wanted = WantedAnswers {
            chroot: chroot.as_ref(),
            figures: self.figures.is_due(),
            watchers: watchers && self.watchers.is_due(),
            ends: self.ends.wanted(former.as_ref()),
        };
        match self.by_any_way(wanted, &mut load).await {
            Ok(mut answers) => {
                let answered_at = now();
                self.wait = self.clients.answered(answers.cost);
                if let Some((connections, _)) = &mut answers.connections {
                    self.clock.learn(connections, answered_at);
                    self.clock.place(connections, answered_at);
                    self.first_listed.place(connections, answered_at);
                }
                if let Some((sessions, _)) = &mut answers.sessions {
                    self.clock.date(sessions, anchor, answered_at);
                }
                let expiry_clock = self.expiry_clock(&answers, anchor, answered_at);
                self.store_answers(answers, asked_at, watchers);
                self.ends.listed(former.as_ref(), self.view.sessions.as_ref());
                self.view.timing.clock = expiry_clock;
                self.view.answered_at = Some(answered_at);
                self.view.rounds_out = Some(rounds_out(&self.view, self.view.mode == Some(ServerMode::ReadOnly)));
            }
            Err(RoundFailure { sentence, absence, gone }) => {
                self.wait = self.clients.failed();
                if absence == AbsenceReason::Leaderless {
                    // It may serve again at any moment, which ends an outage.
                    self.wait = self.wait.min(MAX_LEADERLESS_PAUSE);
                }
                self.clock.forget();
                self.first_listed.forget();
                let MemberView { answered_at, timing: SessionTiming { settings, .. }, .. } = self.view;
                let leaderless = absence == AbsenceReason::Leaderless;
                let is_expected = answered_at.is_some() || self.address.named_by == NamedBy::User;
                let rounds_out = Some(rounds_out(&self.view, leaderless || gone && is_expected));
                let unasked = MemberView::unasked(self.address.label.clone());
                self.view = MemberView {
                    error: Some(sentence),
                    extras: MemberExtras {
                        progress: leaderless.then_some(MemberProgress { asked_at, zxid: None }),
                        absence: Some(Absence { asked_at, why: absence }),
                        ..MemberExtras::default()
                    },
                    answered_at,
                    timing: SessionTiming { clock: None, settings },
                    rounds_out,
                    ..unasked
                };
            }
        }
        load
    }

    /// Returns whether this server ends sessions and holds ours, as far as it is known.
    fn keeps_session(&self, own: &SurveySession) -> bool {
        let view = &self.view;
        let is_here = || own.session().is_some_and(|own| !view.connections_of(own).is_empty());
        view.mode == Some(ServerMode::Standalone) || view.mode == Some(ServerMode::Leader) && is_here()
    }

    /// Returns the clock by which the server wrote the expiry times of sessions.
    fn expiry_clock(
        &mut self,
        answers: &RoundAnswers,
        anchor: Option<ClockAnchor>,
        at: Timestamp,
    ) -> Option<ExpiryClock> {
        let ((connections, _), (sessions, _)) = (answers.connections.as_ref()?, answers.sessions.as_ref()?);
        let settings =
            answers.figures.as_ref().and_then(|figures| figures.found.settings).or(self.view.timing.settings);
        self.clock.of_expiries(connections, sessions, settings, anchor, at)
    }

    /// Stores the answers. Parts that were not asked this time stay, except watchers that nobody
    /// looks at.
    fn store_answers(&mut self, answers: RoundAnswers, at: Timestamp, watchers: bool) {
        let view = &mut self.view;
        self.answered_by = answers.asked_by;
        view.asked_by = answers.asked_by;
        view.provenance = Provenance::of(answers.transport, self.session);
        view.mode = answers.server.mode.as_deref().and_then(ServerMode::named);
        view.version = answers.server.version;
        let zxid = answers.server.zxid.filter(|_| view.mode != Some(ServerMode::ReadOnly));
        let says = zxid.is_some() || view.mode == Some(ServerMode::ReadOnly);
        view.extras.absence = None;
        view.extras.progress = says.then_some(MemberProgress { asked_at: at, zxid });
        view.connections = listing(answers.connections, at);
        view.sessions = listing(answers.sessions, at);
        view.ephemerals = answers.ephemerals;
        view.extras.expired_sessions = None;
        if let Some(TimedAnswer { found, took, problem }) = answers.figures {
            self.figures.answered(took);
            self.problems[0] = problem;
            (view.watch_count, view.watch_totals, view.fired) = (found.watches, found.totals, found.fired);
            view.extras.set_figures(&found.health, found.sync_settings);
            view.health = Some(found.health);
            view.timing.settings = found.settings.or(view.timing.settings);
            view.counted_at = Some(at);
        }
        if let Some(TimedAnswer { found, took, .. }) = answers.expired {
            self.ends.answered(took);
            view.extras.expired_sessions = found;
        }
        if let Some(TimedAnswer { found, took, problem }) = answers.watched {
            self.watchers.answered(took);
            self.problems[1] = problem;
            let chroot = self.chroot.as_ref();
            let within = |paths: Vec<_>| paths.into_iter().filter_map(|watched| below(chroot, watched)).collect();
            view.watched = found.map(|(paths, whole)| Listing::new(within(paths), whole, at));
        } else if !watchers {
            view.watched = None;
            self.problems[1] = None;
        }
        view.error = answers.problem.or_else(|| self.problems.iter().flatten().next().cloned());
    }

    async fn by_any_way(&mut self, wanted: WantedAnswers<'_>, load: &mut Load) -> Result<RoundAnswers, RoundFailure> {
        match self.options.by {
            ViewBy::FourLetter | ViewBy::Off => self.four_letter(wanted, load).await,
            ViewBy::Http => self.http(wanted, load).await,
            ViewBy::Auto => {
                if self.answered_by == AskedBy::Http
                    && let Ok(answers) = self.http(wanted, load).await
                {
                    return Ok(answers);
                }
                self.four_letter_else_http(wanted, load).await
            }
        }
    }

    /// Asks by four-letter words, and by AdminServer when those are incomplete. When AdminServer
    /// does not answer, that is reported too.
    async fn four_letter_else_http(
        &mut self,
        wanted: WantedAnswers<'_>,
        load: &mut Load,
    ) -> Result<RoundAnswers, RoundFailure> {
        let mut words = self.four_letter(wanted, load).await;
        // Keeper has no AdminServer.
        if words.as_mut().is_ok_and(|answers| answers.are_of_keeper() || answers.problems().next().is_none()) {
            return words;
        }
        let tried = self.http_failed.as_ref().filter(|(at, _)| at.elapsed() < ADMIN_SERVER_RETRY_INTERVAL);
        let http = match tried {
            Some((_, error)) => error.clone(),
            None => match self.http(wanted, load).await {
                Ok(answers) => return Ok(answers),
                Err(failure) => failure.sentence,
            },
        };
        if tried.is_none() {
            self.http_failed = Some((Instant::now(), http.clone()));
        }
        match words {
            Ok(mut answers) => {
                answers
                    .problems()
                    .for_each(|problem| *problem = format!("{problem}; AdminServer does not answer either: {http}"));
                Ok(answers)
            }
            Err(failure) if failure.absence != AbsenceReason::NotAsked => Err(failure),
            Err(failure) => {
                let sentence = format!("{}; AdminServer does not answer either: {http}", failure.sentence);
                Err(RoundFailure { sentence, ..failure })
            }
        }
    }

    async fn four_letter(&self, wanted: WantedAnswers<'_>, load: &mut Load) -> Result<RoundAnswers, RoundFailure> {
        let Some(address) = &self.address.four_letter else {
            return Err(RoundFailure::here(self.address.why_no_four_letter()));
        };
        // TLS is used only with servers of a connect string that came with TLS files.
        let tls = match self.options.connection.tls.as_ref().filter(|_| self.address.tls) {
            Some(files) => {
                Some(stream::tls_connector(files).await.map_err(|error| RoundFailure::here(error.to_string()))?)
            }
            None => None,
        };
        let answers =
            by_four_letter(tls.as_ref(), address, self.address.named_by, self.options.limits, wanted, load).await;
        answers.map_err(|error| {
            let absence = match error {
                AskError::NotServing { .. } => AbsenceReason::Leaderless,
                AskError::Refused { .. } => AbsenceReason::Refused,
                AskError::Silent { .. } => AbsenceReason::Silent,
                _ => AbsenceReason::NotAsked,
            };
            let gone = error.is_silence();
            RoundFailure { sentence: error.to_string(), absence, gone }
        })
    }

    async fn http(&self, wanted: WantedAnswers<'_>, load: &mut Load) -> Result<RoundAnswers, RoundFailure> {
        let Some(host) = &self.address.admin_host else {
            return Err(RoundFailure::here(self.address.why_no_http()));
        };
        let files = self.options.connection.tls.as_ref().filter(|_| self.options.admin.is_secure());
        let connector = match files {
            Some(files) => {
                Some(stream::tls_connector(files).await.map_err(|error| RoundFailure::here(error.to_string()))?)
            }
            None => None,
        };
        let has_certificate = files.is_some_and(|files| files.cert.is_some());
        let tls = connector.as_ref().map(|connector| AdminTls { connector, has_certificate });
        by_http(&self.options.admin, tls.as_ref(), host, self.address.named_by, self.options.limits, wanted, load)
            .await
            .map_err(|error| {
                // An AdminServer that never answered may be off.
                let gone = self.view.answered_at.is_some() && error.is_silence();
                RoundFailure { gone, ..RoundFailure::here(error.to_string()) }
            })
    }
}

/// Why a round of questions failed.
#[derive(Debug)]
struct RoundFailure {
    sentence: String,
    /// What it tells of the server itself, and not only of its four-letter words.
    absence: AbsenceReason,
    /// Whether nothing came from the server.
    gone: bool,
}

impl RoundFailure {
    fn here(sentence: String) -> Self {
        Self { sentence, absence: AbsenceReason::NotAsked, gone: false }
    }
}

/// Counts another round in which a member is out of service, or none.
fn rounds_out(before: &MemberView, is_out: bool) -> u32 {
    if is_out { before.rounds_out.unwrap_or_default().saturating_add(1) } else { 0 }
}

fn listing<T: Keyed>(found: Option<(Vec<T>, bool)>, at: Timestamp) -> Option<Listing<T>> {
    found.map(|(items, whole)| Listing::new(items, whole, at))
}

/// Returns the watched path relative to the chroot; `None` when it lies outside.
fn below(chroot: Option<&ZnodePath>, watched: WatchedPath) -> Option<WatchedPath> {
    let Some(chroot) = chroot else { return Some(watched) };
    if !watched.path.is_within(chroot) {
        return None;
    }
    let rest = &watched.path.as_str()[chroot.as_str().len()..];
    let path = if rest.is_empty() { ZnodePath::root() } else { ZnodePath::new(rest).ok()? };
    Some(WatchedPath { path, ..watched })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn paths_are_those_that_the_session_sees() {
        let watched = |path| WatchedPath { path: testing::path(path), sessions: std::iter::empty().collect() };
        let chroot = testing::path("/prod");
        let seen = |path| below(Some(&chroot), watched(path)).map(|watched| watched.path.to_string());
        assert_eq!(seen("/prod/a").as_deref(), Some("/a"));
        assert_eq!(seen("/prod").as_deref(), Some("/"));
        assert_eq!(seen("/production/a"), None);
    }
}
