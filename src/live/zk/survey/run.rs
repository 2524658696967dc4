//! Runs a survey: one task for each member, and a view combined from their reports.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep};

use super::member::Member;
use super::members::{MemberAddress, MemberList, find_members};
use super::own_session::OwnSession;
use super::{SurveyOptions, ViewBy, WatchersWanted};
use crate::zk::connect_string::ConnectString;
use lockscope_base::time::now;
use lockscope_model::server_view::{Load, MemberView, ServerMode, ServerView};

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
    own: watch::Receiver<OwnSession>,
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
pub(super) async fn run(
    options: SurveyOptions,
    target: ConnectString,
    views: watch::Sender<Arc<ServerView>>,
    watchers_wanted: watch::Receiver<WatchersWanted>,
    before: ServerView,
) {
    if options.by == ViewBy::Off {
        return;
    }
    let (found, own) = watch::channel(OwnSession::default());
    let (keeper, keepers) = watch::channel(None);
    let (reports, mut reported) = mpsc::channel(MAX_QUEUED_REPORTS);
    let mut tasks = JoinSet::new();
    tasks.spawn(OwnSession::keep(options.connection.clone(), target.clone(), keepers, found));
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
    own: watch::Receiver<OwnSession>,
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
pub(super) fn assemble(members: Vec<MemberView>, own: &OwnSession, asked: Load) -> ServerView {
    // A standalone server has no config and no other members.
    let alone = matches!(&*members, [member] if member.mode == Some(ServerMode::Standalone));
    let members_known = (alone || !own.configured.servers.is_empty()) && !own.configured.incomplete;
    let own_session_since = own.connecting_since.filter(|_| own.session().is_some());
    let voters = members_known.then(|| own.configured.voters());
    ServerView { at: now(), members, members_known, own_session: own.session(), own_session_since, asked, voters }
}
