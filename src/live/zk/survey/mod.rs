//! Asks every member of the ensemble about itself, again and again, and puts the answers together to a [`ServerView`].
//!
//! Each member is asked by a task of its own (`member`), so that one that hangs never delays what the others answer. `by_four_letter` and
//! `by_http` are the two ways of asking, `own_session` keeps a session for what only a client can learn, `members` finds out who the
//! members are, and `pace` says when to ask again.
//!
//! Costs to the ensemble: one session; for each member a round of two to eight short connections and one request on the
//! session, at most once a second, and so seldom that all questions together take less than 2 % of a server's time (`pace`).
//! [`ServerView::asked`] counts it.
//!
//! Architecture invariant: nothing here waits without a bound or grows with time; the newest view replaces one that was not taken.

mod answers;
mod by_four_letter;
mod by_http;
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

/// By which way the servers are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ViewBy {
    /// By four-letter words, and by AdminServer where those don't say everything.
    #[default]
    Auto,
    /// By four-letter words only.
    FourLetter,
    /// By AdminServer only.
    Http,
    /// Not at all.
    Off,
}

/// Which servers to ask, which way, and how often.
#[derive(Clone, Debug)]
pub struct SurveyOptions {
    /// The ensemble.
    pub connection: ConnectOptions,
    /// By four-letter words, AdminServer, or both.
    pub by: ViewBy,
    /// Where each server's AdminServer is.
    pub admin: AdminUrl,
    /// What one question may cost.
    pub limits: QuestionLimits,
    /// A server that answers is asked everything at least this often, even where that takes more of its time than is usual.
    /// At least a second passes between two rounds.
    pub max_interval: Duration,
}

impl SurveyOptions {
    /// With what is usual.
    pub fn new(connection: ConnectOptions) -> Self {
        Self {
            connection,
            by: ViewBy::default(),
            admin: AdminUrl::default(),
            limits: QuestionLimits::default(),
            max_interval: Duration::MAX,
        }
    }
}

/// A running survey. It goes on until it is stopped or dropped, whatever the servers do.
#[derive(Debug)]
pub struct Surveyor {
    views: watch::Receiver<Arc<ServerView>>,
    watchers_wanted: watch::Sender<bool>,
    task: JoinHandle<()>,
    cancel: DropGuard,
}

impl Surveyor {
    /// Starts to ask, in tasks of its own that end when this is stopped or dropped.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn start(options: SurveyOptions) -> Result<Self, BadConnectString> {
        let target = ConnectString::parse(&options.connection.connect, options.connection.tls.is_some())?;
        let (sender, views) = watch::channel(Arc::default());
        let (watchers_wanted, looked) = watch::channel(false);
        let cancel = CancellationToken::new();
        let stopped = cancel.clone();
        let task = tokio::spawn(async move {
            let _ = stopped.run_until_cancelled(run::run(options, target, sender, looked)).await;
        });
        Ok(Self { views, watchers_wanted, task, cancel: cancel.drop_guard() })
    }

    /// Whether to ask who watches what, which is costly, from now on. At the start it is not asked.
    pub fn ask_for_watchers(&self, wanted: bool) {
        self.watchers_wanted.send_replace(wanted);
    }

    /// The next view; the newest, if several came meanwhile. `None` when it ended, which it does by itself only when it is
    /// off. Cancel safe.
    pub async fn next(&mut self) -> Option<Arc<ServerView>> {
        self.views.changed().await.ok()?;
        Some(Arc::clone(&self.views.borrow_and_update()))
    }

    /// Ends it. Its session is closed in the background.
    pub async fn stop(self) {
        let Self { task, cancel, .. } = self;
        drop(cancel);
        // It was cancelled; a panic of its own was reported by the runtime.
        let _ = task.await;
    }
}

/// Asks every member once, all at the same time, and also who watches what if `watchers` is set. Takes at most eight times the limit of
/// a question, and less than one when all servers answer. Cancel safe.
pub async fn survey_once(options: &SurveyOptions, watchers: bool) -> Result<ServerView, BadConnectString> {
    let target = ConnectString::parse(&options.connection.connect, options.connection.tls.is_some())?;
    if options.by == ViewBy::Off {
        return Ok(ServerView::default());
    }
    let own = OwnSession::once(&options.connection, &target, options.limits.within).await;
    let MemberList { members: addresses, incomplete } = find_members(&target, &own.configured).await;
    let asked = addresses.into_iter().map(|address| async {
        let mut member = Member::new(address, options, &target);
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
