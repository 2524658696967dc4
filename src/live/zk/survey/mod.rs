//! Asks every member of the ensemble about itself, again and again, and combines the answers into a
//! [`ServerView`].
//!
//! Each member has a task of its own (`member`), so that a hanging member never delays the answers
//! of others. `by_four_letter` and `by_http` are the two ways of asking, `own_session` keeps a
//! session for what only a client can learn, `members` finds the members, and `pace` decides when
//! to ask again. `ends` asks how many sessions expired when one is gone.
//!
//! Costs to the ensemble: one session; for each member a round of two to nine short connections
//! and one request on the session, at most once a second. Rounds are rare enough that all questions
//! together take less than 2 % of a server's time (`pace`). [`ServerView::asked`] counts the cost.
//!
//! Architecture invariant: nothing here waits without a bound or grows with time; the newest view
//! replaces one that was not taken.

mod answers;
mod by_four_letter;
mod by_http;
mod ends;
mod member;
mod members;
mod own_session;
mod pace;
mod run;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::member::Member;
use self::members::{MemberList, find_members};
use self::own_session::OwnSession;
use super::ConnectOptions;
use super::admin::AdminUrl;
use super::connect_string::{BadConnectString, ConnectString};
use super::four_letter::QuestionLimits;
use lockscope_model::server_view::ServerView;

/// The way to ask the servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ViewBy {
    /// Four-letter words, plus AdminServer when those are incomplete.
    #[default]
    Auto,
    /// Four-letter words only.
    FourLetter,
    /// AdminServer only.
    Http,
    /// Servers are not asked.
    Off,
}

/// The servers to ask, the way of asking, and how often.
#[derive(Clone, Debug)]
pub struct SurveyOptions {
    /// The ensemble.
    pub connection: ConnectOptions,
    /// Four-letter words, AdminServer, or both.
    pub by: ViewBy,
    /// The address of each server's AdminServer.
    pub admin: AdminUrl,
    /// The limits of one question.
    pub limits: QuestionLimits,
    /// The shortest interval between questions to an answering server; a second, where it is
    /// shorter.
    pub min_interval: Duration,
    /// The longest interval between questions to an answering server, even where asking takes more
    /// of its time than the budget allows. Two rounds are at least one second apart.
    pub max_interval: Duration,
}

impl SurveyOptions {
    /// Creates options with the defaults.
    pub fn new(connection: ConnectOptions) -> Self {
        Self {
            connection,
            by: ViewBy::default(),
            admin: AdminUrl::default(),
            limits: QuestionLimits::default(),
            min_interval: Duration::ZERO,
            max_interval: Duration::MAX,
        }
    }
}

/// When to ask the servers which sessions watch which paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchersWanted {
    /// They are not asked.
    #[default]
    Never,
    /// At the question's own pace, which takes a 600th of a server's time.
    AtPace,
    /// At that pace, and now, with all other questions: somebody begins to look at watches.
    Now,
}

/// A running survey. It continues until it is stopped or dropped, whatever the servers do.
#[derive(Debug)]
pub struct Surveyor {
    views: watch::Receiver<Arc<ServerView>>,
    watchers_wanted: watch::Sender<WatchersWanted>,
    task: JoinHandle<()>,
    cancel: DropGuard,
}

impl Surveyor {
    /// Starts to ask, in tasks that end when the surveyor is stopped or dropped.
    ///
    /// # Panics
    ///
    /// Panics outside of a Tokio runtime.
    pub fn start(options: SurveyOptions) -> Result<Self, BadConnectString> {
        Self::start_after(options, &ServerView::default())
    }

    /// Starts as [`start`](Self::start) does, after another survey of the ensemble. The first view is
    /// returned once all members that answered that one have answered again, or after ten seconds: a
    /// view without them would tell of clients that are gone. Members that did not serve go on so.
    ///
    /// # Panics
    ///
    /// Panics outside of a Tokio runtime.
    pub fn start_after(options: SurveyOptions, before: &ServerView) -> Result<Self, BadConnectString> {
        let before = before.clone();
        let target = ConnectString::parse(&options.connection.connect, options.connection.tls.is_some())?;
        let (sender, views) = watch::channel(Arc::default());
        let (watchers_wanted, looked) = watch::channel(WatchersWanted::Never);
        let cancel = CancellationToken::new();
        let stopped = cancel.clone();
        let task = tokio::spawn(async move {
            let _ = stopped.run_until_cancelled(run::run(options, target, sender, looked, before)).await;
        });
        Ok(Self { views, watchers_wanted, task, cancel: cancel.drop_guard() })
    }

    /// Sets when to ask which sessions watch which paths, which is expensive. Initially never.
    pub fn ask_for_watchers(&self, wanted: WatchersWanted) {
        self.watchers_wanted.send_replace(wanted);
    }

    /// Waits for the next view; the newest, if several arrived meanwhile. Returns `None` when the
    /// survey has ended, which happens by itself only with [`ViewBy::Off`]. Cancel safe.
    pub async fn next(&mut self) -> Option<Arc<ServerView>> {
        self.views.changed().await.ok()?;
        Some(Arc::clone(&self.views.borrow_and_update()))
    }

    /// Ends the survey. Its session is closed in the background.
    pub async fn stop(self) {
        let Self { task, cancel, .. } = self;
        drop(cancel);
        // The task was cancelled; the runtime reports its panics.
        let _ = task.await;
    }
}

/// Asks every member once, all at the same time, and for its watchers if `watchers` is set. Takes
/// at most eight times the time limit of a question, and less than one when all servers answer.
/// Cancel safe.
pub async fn survey_once(options: &SurveyOptions, watchers: bool) -> Result<ServerView, BadConnectString> {
    let target = ConnectString::parse(&options.connection.connect, options.connection.tls.is_some())?;
    if options.by == ViewBy::Off {
        return Ok(ServerView::default());
    }
    let own = OwnSession::once(&options.connection, &target, options.limits.within).await;
    let MemberList { members: addresses, incomplete } = find_members(&target, &own.configured).await;
    let asked = addresses.into_iter().map(|address| async {
        let mut member = Member::new(address, options, &target, None);
        let load = member.ask(&own, watchers).await;
        (member.into_view(), load)
    });
    let answers = futures::future::join_all(asked).await;
    let mut load = own.load;
    for (_, asked) in &answers {
        load.add(*asked);
    }
    let members = answers.into_iter().map(|(view, _)| view).collect();
    let view = run::assemble(members, &own, load);
    Ok(ServerView { members_known: view.members_known && !incomplete, ..view })
}
