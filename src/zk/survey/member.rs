use std::time::Duration;

use tokio::time::Instant;

use super::by_http::by_http;
use super::by_words::by_words;
use super::own::{Own, now};
use super::pace::Pace;
use super::roster::Seat;
use super::{SurveyOptions, ViewBy};
use crate::server_view::{
    AskedBy, Connection, Keyed, Listing, Load, MemberView, Mode, Monitor, ServerClock, Session, WatchTotals,
    WatchedPath,
};
use crate::zk::tls;
use crate::zk::words::AskError;
use crate::znode::{Timestamp, ZnodePath};

/// How long an AdminServer that did not answer is left alone.
const HTTP_AGAIN: Duration = Duration::from_secs(30);

/// What one round brought.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) asked_by: AskedBy,
    pub(super) monitor: Monitor,
    pub(super) connections: Option<(Vec<Connection>, bool)>,
    pub(super) sessions: Option<(Vec<Session>, bool)>,
    pub(super) watch_totals: Option<WatchTotals>,
    /// When it was asked for.
    pub(super) watched: Option<Watched>,
    /// What is wrong and what to change: the first thing that was found.
    pub(super) problem: Option<String>,
    /// How long the server was busy with the cheap questions.
    pub(super) cost: Duration,
}

impl Told {
    pub(super) fn complain(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }
}

/// The answer to the dear question, and how long it took.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) found: Option<(Vec<WatchedPath>, bool)>,
    pub(super) took: Duration,
}

/// A member of the ensemble and what is known of it.
#[derive(Debug)]
pub(super) struct Member {
    seat: Seat,
    options: SurveyOptions,
    chroot: Option<ZnodePath>,
    view: MemberView,
    clock: ServerClock,
    pace: Pace,
    /// When to ask next, counted from the end of the last round.
    wait: Duration,
    /// The way that told something last.
    way: AskedBy,
    /// Not before then an AdminServer that did not answer.
    http_from: Instant,
    /// Not before then the dear question.
    dear_from: Instant,
}

impl Member {
    pub(super) fn new(seat: Seat, options: &SurveyOptions, chroot: Option<ZnodePath>) -> Self {
        let view = MemberView::unasked(seat.address.clone());
        let (options, now) = (options.clone(), Instant::now());
        Self {
            seat,
            options,
            chroot,
            view,
            clock: ServerClock::default(),
            pace: Pace::default(),
            wait: Duration::ZERO,
            way: AskedBy::None,
            http_from: now,
            dear_from: now,
        }
    }

    pub(super) fn view(&self) -> &MemberView {
        &self.view
    }

    pub(super) fn into_view(self) -> MemberView {
        self.view
    }

    /// How long to wait after the last round.
    pub(super) fn wait(&self) -> Duration {
        self.wait
    }

    /// Asks it all, and who watches what if that is wanted and not too early. Takes at most four times the limit of a question.
    pub(super) async fn ask(&mut self, own: &Own, watchers: bool) -> Load {
        let mut load = Load::default();
        let anchor = own.touch(&mut load).await;
        let asked_at = now();
        let dear = watchers && Instant::now() >= self.dear_from;
        match self.by_any_way(dear, &mut load).await {
            Ok(mut told) => {
                self.wait = self.pace.answered(told.cost);
                if let Some(watched) = &told.watched {
                    self.dear_from = Instant::now() + Pace::dear(watched.took);
                }
                let answered_at = now();
                if let Some((connections, _)) = &mut told.connections {
                    self.clock.learn(connections, answered_at);
                    self.clock.place(connections, answered_at);
                }
                if let Some((sessions, _)) = &mut told.sessions {
                    self.clock.date(sessions, anchor);
                }
                self.take(told, asked_at, answered_at, watchers);
            }
            Err(problem) => {
                self.wait = self.pace.failed();
                self.clock = ServerClock::default();
                let answered_at = self.view.answered_at;
                let unasked = MemberView::unasked(self.seat.address.clone());
                self.view = MemberView { error: Some(problem), answered_at, ..unasked };
            }
        }
        load
    }

    fn take(&mut self, told: Told, asked_at: Timestamp, answered_at: Timestamp, watchers: bool) {
        let Told { asked_by, monitor, connections, sessions, watch_totals, watched, problem, .. } = told;
        let before = self.view.watched.take().filter(|_| watchers);
        let chroot = self.chroot.as_ref();
        let watched = watched.map_or(before, |watched| {
            watched.found.map(|(paths, whole)| {
                let within = paths.into_iter().filter_map(|watched| below(chroot, watched)).collect();
                Listing::new(within, whole, asked_at)
            })
        });
        self.way = asked_by;
        self.view = MemberView {
            address: self.seat.address.clone(),
            mode: monitor.state.as_deref().and_then(Mode::named),
            version: monitor.version,
            asked_by,
            error: problem,
            answered_at: Some(answered_at),
            connections: listing(connections, asked_at),
            sessions: listing(sessions, asked_at),
            watched,
            watch_totals,
            watch_count: monitor.watches,
            fired: monitor.fired,
        };
    }

    async fn by_any_way(&mut self, dear: bool, load: &mut Load) -> Result<Told, String> {
        match self.options.by {
            ViewBy::Words | ViewBy::Off => self.words(dear, load).await,
            ViewBy::Http => self.http(dear, load).await,
            ViewBy::Auto if self.way == AskedBy::Http => match self.http(dear, load).await {
                Ok(told) => Ok(told),
                Err(_) => self.words(dear, load).await,
            },
            ViewBy::Auto => self.words_else_http(dear, load).await,
        }
    }

    async fn words_else_http(&mut self, dear: bool, load: &mut Load) -> Result<Told, String> {
        let words = self.words(dear, load).await;
        let complete = words.as_ref().is_ok_and(|told| told.problem.is_none());
        // Who does not answer by words for being away or busy does not answer by HTTP either.
        if complete || Instant::now() < self.http_from || words.as_ref().is_err_and(|_| self.seat.words.is_some()) {
            return words;
        }
        match self.http(dear, load).await {
            Ok(told) => Ok(told),
            Err(http) => {
                self.http_from = Instant::now() + HTTP_AGAIN;
                match words {
                    Ok(mut told) => {
                        told.problem =
                            told.problem.map(|problem| format!("{problem}, or let AdminServer answer: {http}"));
                        Ok(told)
                    }
                    Err(problem) => Err(format!("{problem}, or let AdminServer answer: {http}")),
                }
            }
        }
    }

    async fn words(&self, dear: bool, load: &mut Load) -> Result<Told, String> {
        let Some(address) = &self.seat.words else { return Err(self.seat.why_no_words()) };
        // Only the servers of a connect string that was given the files are spoken to over TLS.
        let tls = match self.options.connection.tls.as_ref().filter(|_| self.seat.tls) {
            Some(files) => Some(tls::connector(files).await.map_err(|error| error.to_string())?),
            None => None,
        };
        by_words(tls.as_ref(), address, self.options.limits, dear, load)
            .await
            .map_err(|error: AskError| error.to_string())
    }

    async fn http(&self, dear: bool, load: &mut Load) -> Result<Told, String> {
        let Some(host) = &self.seat.http else { return Err(self.seat.why_no_http()) };
        by_http(&self.options.admin, host, self.options.limits, dear, load).await.map_err(|error| error.to_string())
    }
}

fn listing<T: Keyed>(found: Option<(Vec<T>, bool)>, at: Timestamp) -> Option<Listing<T>> {
    found.map(|(items, whole)| Listing::new(items, whole, at))
}

/// The watched path as it is called below the chroot; `None` when it lies elsewhere.
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

    #[test]
    fn paths_are_told_as_the_session_sees_them() {
        let watched = |path| WatchedPath { path: ZnodePath::new(path).expect("a path"), sessions: Vec::new() };
        let chroot = ZnodePath::new("/prod").expect("a path");
        let seen = |path| below(Some(&chroot), watched(path)).map(|watched| watched.path.to_string());
        assert_eq!(seen("/prod/a").as_deref(), Some("/a"));
        assert_eq!(seen("/prod").as_deref(), Some("/"));
        assert_eq!(seen("/production/a"), None);
    }
}
