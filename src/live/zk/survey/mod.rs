//! Asks every member of the ensemble about itself, again and again, and combines the answers into a
//! [`ServerView`].
//!
//! Each member has a task of its own (`member`), so that a hanging member never delays the answers
//! of others. `answers` has the two ways of asking, `own_session` keeps a session for what only a
//! client can learn, `members` finds the members, and `pace` decides when to ask again, and when to
//! ask how many sessions expired because one is gone.
//!
//! Costs to the ensemble: one session; for each member a round of two to nine short connections and
//! one request on the session, at most once a second. Rounds are rare enough that all questions
//! together take less than 2 % of a server's time (`pace`). [`ServerView::asked`] counts the cost.
//!
//! Architecture invariant: nothing here waits without a bound or grows with time; the newest view
//! replaces one that was not taken.

mod answers;
mod interfaces;
mod member;
mod members;
mod own_session;
mod pace;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio::time::{Instant, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::ConnectOptions;
use super::admin::AdminUrl;
use super::four_letter::QuestionLimits;
use super::options::{BadConnectString, ConnectString};
use crate::deadline;
use lockscope_base::time::now;
use lockscope_model::server_view::{Load, MemberView, ServerMode, ServerView};
use member::Member;
use members::{MemberAddress, MemberList, find_members};
use own_session::SurveySession;

pub use interfaces::{EnsembleInterfaces, MemberInterfaces, QuestionResult, ask_interfaces};

pub(super) use members::{client_address, resolve};
pub(super) use own_session::{CONFIG_PATH, above_chroot};

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
            let _ = stopped.run_until_cancelled(run_survey(options, target, sender, looked, before)).await;
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
    survey_once_until(options, watchers, None).await
}

/// Asks every member like [`survey_once`], and ends at a deadline. A member that has not answered
/// everything by then counts as not asked, and says so; the others keep what they answered. Cancel
/// safe.
pub async fn survey_once_until(
    options: &SurveyOptions,
    watchers: bool,
    until: Option<Instant>,
) -> Result<ServerView, BadConnectString> {
    let target = ConnectString::parse(&options.connection.connect, options.connection.tls.is_some())?;
    if options.by == ViewBy::Off {
        return Ok(ServerView::default());
    }
    let own = tokio::select! {
        own = SurveySession::once(&options.connection, &target, options.limits.within) => own,
        () = deadline::until(until) => SurveySession::default(),
    };
    let found = find_members(&target, &own.configured);
    let MemberList { members: addresses, incomplete } = tokio::select! {
        found = found => found,
        () = deadline::until(until) => return Ok(ServerView::default()),
    };
    let asked = addresses.into_iter().map(|address| async {
        let mut member = Member::new(address, options, &target, None);
        let load = tokio::select! {
            biased;
            load = member.ask(&own, watchers) => Some(load),
            () = deadline::until(until) => None,
        };
        let view = member.into_view();
        match load {
            Some(load) => (view, load),
            None => (MemberView { error: Some(NOT_IN_TIME.to_owned()), ..view }, Load::default()),
        }
    });
    let answers = futures::future::join_all(asked).await;
    let mut load = own.load;
    for (_, asked) in &answers {
        load.add(*asked);
    }
    let members = answers.into_iter().map(|(view, _)| view).collect();
    let view = assemble(members, &own, load);
    Ok(ServerView { members_known: view.members_known && !incomplete, ..view })
}

/// What is said of a member that a deadline cut short.
const NOT_IN_TIME: &str = "its answers did not arrive in the time that was allowed for all";

/// The most queued reports: more than any ensemble has members.
const MAX_QUEUED_REPORTS: usize = 32;

/// The longest time until the first view of a survey that follows another one.
const MAX_WAIT_FOR_ALL: Duration = Duration::from_secs(10);

/// The result of one round of one member.
struct RoundReport {
    view: MemberView,
    load: Load,
}

/// The state of a running survey. Its tasks end with it.
struct Survey {
    options: SurveyOptions,
    target: ConnectString,
    own: watch::Receiver<SurveySession>,
    /// The server that our session should be with.
    keeper: watch::Sender<Option<String>>,
    watchers_wanted: watch::Receiver<WatchersWanted>,
    reports: mpsc::Sender<RoundReport>,
    tasks: JoinSet<()>,
    members: Vec<(MemberAddress, MemberView, AbortHandle)>,
    /// Whether the config names further members.
    incomplete: bool,
    load: Load,
    /// The last view of the survey before this one, until the first view.
    before: ServerView,
}

/// Asks until nobody wants views. Dropping the future stops the survey. The first view is sent when
/// the members that answered the survey `before` have answered again, or after
/// [`MAX_WAIT_FOR_ALL`].
async fn run_survey(
    options: SurveyOptions,
    target: ConnectString,
    views: watch::Sender<Arc<ServerView>>,
    watchers_wanted: watch::Receiver<WatchersWanted>,
    before: ServerView,
) {
    if options.by == ViewBy::Off {
        return;
    }
    let (found, own) = watch::channel(SurveySession::default());
    let (keeper, keepers) = watch::channel(None);
    let (reports, mut reported) = mpsc::channel(MAX_QUEUED_REPORTS);
    let mut tasks = JoinSet::new();
    tasks.spawn(SurveySession::keep(options.connection.clone(), target.clone(), keepers, found));
    let mut survey = Survey {
        options,
        target,
        own,
        keeper,
        watchers_wanted,
        reports,
        tasks,
        members: Vec::new(),
        incomplete: false,
        load: Load::default(),
        before,
    };
    survey.update_members().await;
    let mut waits_until = Some(Instant::now() + MAX_WAIT_FOR_ALL);
    loop {
        tokio::select! {
            () = views.closed() => return,
            Some(report) = reported.recv() => survey.add_report(report),
            Ok(()) = survey.own.changed() => survey.update_members().await,
        }
        let view = survey.view();
        if waits_until.is_none_or(|until| Instant::now() >= until || knows_as_much(&view, &survey.before)) {
            (waits_until, survey.before) = (None, ServerView::default());
            views.send_replace(Arc::new(view));
        }
    }
}

impl Survey {
    /// Finds the current members, starts to ask new ones and stops asking those that are gone.
    async fn update_members(&mut self) {
        // Clears the tasks that were aborted last time.
        while self.tasks.try_join_next().is_some() {}
        let configured = self.own.borrow_and_update().configured.clone();
        let MemberList { members: addresses, incomplete } = find_members(&self.target, &configured).await;
        self.incomplete = incomplete;
        self.members.retain(|(address, _, task)| {
            let stays = addresses.contains(address);
            if !stays {
                task.abort();
            }
            stays
        });
        for address in addresses {
            if !self.members.iter().any(|(other, ..)| *other == address) {
                let before = self.before.members.iter().find(|before| before.address == address.label);
                let member = Member::new(address.clone(), &self.options, &self.target, before);
                let view = member.view().clone();
                let asking = keep_asking(member, self.own.clone(), self.watchers_wanted.clone(), self.reports.clone());
                self.members.push((address, view, self.tasks.spawn(asking)));
            }
        }
    }

    fn add_report(&mut self, report: RoundReport) {
        self.load.add(report.load);
        let member = self.members.iter_mut().find(|(address, ..)| address.label == report.view.address);
        if let Some((_, view, _)) = member {
            *view = report.view;
        }
        let keeper = self.keeper();
        self.keeper.send_if_modified(|known| {
            let is_new = *known != keeper;
            *known = keeper;
            is_new
        });
    }

    /// Returns the server that ends sessions, as a connect string. `None` unless there is exactly one
    /// and it is one of several in the connect string: our session, with all its identities, is for
    /// no other server.
    fn keeper(&self) -> Option<String> {
        let keeps = |view: &MemberView| view.mode.is_some_and(ServerMode::keeps_sessions);
        let mut keepers = self.members.iter().filter(|(_, view, _)| keeps(view));
        let (Some((keeper, ..)), None) = (keepers.next(), keepers.next()) else { return None };
        let servers = &self.target.servers;
        let server = servers.iter().find(|server| server.address() == keeper.label).filter(|_| servers.len() > 1)?;
        Some(ConnectString { servers: vec![server.clone()], chroot: None }.to_string())
    }

    fn view(&self) -> ServerView {
        let own = self.own.borrow();
        let mut load = self.load;
        load.add(own.load);
        let view = assemble(self.members.iter().map(|(_, view, _)| view.clone()).collect(), &own, load);
        ServerView { members_known: view.members_known && !self.incomplete, ..view }
    }
}

/// Returns whether a view has the answers of all members that answered before.
fn knows_as_much(view: &ServerView, before: &ServerView) -> bool {
    let answers = |before: &MemberView| {
        view.members.iter().any(|member| member.address == before.address && member.mode.is_some())
    };
    (view.members_known || !before.members_known)
        && (view.every_member_answered() || !before.every_member_answered())
        && before.members.iter().filter(|before| before.mode.is_some()).all(answers)
}

/// Asks one member at its pace until nobody listens.
async fn keep_asking(
    mut member: Member,
    own: watch::Receiver<SurveySession>,
    mut watchers_wanted: watch::Receiver<WatchersWanted>,
    reports: mpsc::Sender<RoundReport>,
) {
    loop {
        let (own, watchers) = (own.borrow().clone(), *watchers_wanted.borrow_and_update());
        let load = member.ask(&own, watchers != WatchersWanted::Never).await;
        if reports.send(RoundReport { view: member.view().clone(), load }).await.is_err() {
            return;
        }
        tokio::select! {
            () = sleep(member.wait()) => {}
            // Someone starts to look at watchers and waits for the answer.
            Ok(_) = watchers_wanted.wait_for(|wanted| *wanted == WatchersWanted::Now && watchers != WatchersWanted::Now) => {}
        }
    }
}

/// Combines the views of the members.
fn assemble(members: Vec<MemberView>, own: &SurveySession, asked: Load) -> ServerView {
    // A standalone server has no config and no other members.
    let alone = matches!(&*members, [member] if member.mode == Some(ServerMode::Standalone));
    let members_known = (alone || !own.configured.servers.is_empty()) && !own.configured.incomplete;
    let own_session_since = own.connecting_since.filter(|_| own.session().is_some());
    let voters = members_known.then(|| own.configured.voters());
    ServerView { at: now(), members, members_known, own_session: own.session(), own_session_since, asked, voters }
}
