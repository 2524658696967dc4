//! The session of the survey: it reads the ensemble's config and learns the servers' time.

use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep, timeout};
use zookeeper_client::{Client, Error};

use crate::zk::options::ConnectString;
use crate::zk::{ConnectOptions, connect, ended};
use lockscope_base::time::{Backoff, now};
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_model::server_view::{ClockAnchor, EnsembleConfig, Load};

/// The node of the ensemble's own config, since 3.5.
pub const CONFIG_PATH: &str = "/zookeeper/config";

/// How often the config is read again: members change by hand.
const CONFIG_READ_INTERVAL: Duration = Duration::from_secs(30);

/// The time limit of a request on our session.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(500);

/// The first and the longest pause before a new attempt to get a session.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// After this time without a request, the leader may not learn at once of a new one: followers
/// report requests with their pings.
const FRESH_AT_LEADER_FOR: Duration = Duration::from_secs(3);

/// How long a server that ends sessions may be unknown, or silent to us, before our session is with
/// any server.
const KEEPER_PATIENCE: Duration = Duration::from_secs(5);

/// How long a follower takes to report active sessions to the leader, with a tick of two seconds.
const FOLLOWER_REPORT_DELAY: Duration = Duration::from_millis(1_200);

/// Our own session and what it found out.
#[derive(Clone, Debug, Default)]
pub struct SurveySession {
    client: Option<Client>,
    /// When the attempt to get the session began, by the local clock.
    pub(super) connecting_since: Option<Timestamp>,
    touched: std::sync::Arc<Mutex<Option<Instant>>>,
    /// The servers in the ensemble's own config; empty when it could not be read or the server is
    /// standalone.
    pub(super) configured: EnsembleConfig,
    /// The cost of reading it.
    pub(super) load: Load,
}

impl SurveySession {
    /// Tries for `within` to get a session and reads the config with it.
    pub async fn once(options: &ConnectOptions, target: &ConnectString, within: Duration) -> Self {
        let mut own = Self { connecting_since: Some(now()), ..Self::default() };
        if let Ok(Ok(client)) = timeout(within, connect(&above_chroot(options, target))).await {
            own.adopt(client).await;
        }
        own
    }

    /// Keeps a session and reports its findings until nobody listens. Dropping the future stops it.
    ///
    /// The session is with the server that ends sessions, as soon as `keeper` names it: only there do
    /// the times of expiries follow from our own requests to within milliseconds. It is with any
    /// server while that one is unknown or takes no clients.
    pub async fn keep(
        options: ConnectOptions,
        target: ConnectString,
        mut keeper: watch::Receiver<Option<String>>,
        found: watch::Sender<Self>,
    ) {
        let options = above_chroot(&options, &target);
        let (mut own, mut backoff) = (Self::default(), Backoff::new(RETRY_PAUSES.0, RETRY_PAUSES.1));
        let mut refusing = None;
        while !found.is_closed() {
            own.connecting_since = Some(now());
            let place = keeper.borrow_and_update().clone().filter(|keeper| refusing.as_ref() != Some(keeper));
            match connect_to(&options, place.as_deref()).await {
                Ok(client) => {
                    own.adopt(client.clone()).await;
                    found.send_replace(own.clone());
                    backoff.reset();
                    let moves = tokio::select! {
                        () = own.stay(&client, &found) => false,
                        () = should_move(place.as_ref(), refusing.as_ref(), &mut keeper) => true,
                    };
                    own.client = None;
                    found.send_replace(own.clone());
                    if moves {
                        continue;
                    }
                }
                Err(error) => {
                    tracing::info!(error, place, "no session for the survey");
                    if place.is_some() {
                        refusing = place;
                        continue;
                    }
                }
            }
            sleep(backoff.next_pause()).await;
        }
    }

    /// Reads the config at intervals while the session lasts.
    async fn stay(&mut self, client: &Client, found: &watch::Sender<Self>) {
        let mut over = std::pin::pin!(ended(client.state_watcher()));
        loop {
            tokio::select! {
                _ = &mut over => return,
                () = found.closed() => return,
                () = sleep(CONFIG_READ_INTERVAL) => {}
            }
            if self.read_config(client).await {
                found.send_replace(self.clone());
            }
        }
    }

    async fn adopt(&mut self, client: Client) {
        self.read_config(&client).await;
        *self.touched.lock().await = Some(Instant::now());
        self.client = Some(client);
    }

    /// Reads the config and returns whether it changed. A config that cannot be read now counts as
    /// unchanged.
    async fn read_config(&mut self, client: &Client) -> bool {
        let began = Instant::now();
        let read = timeout(REQUEST_TIMEOUT, client.get_data(CONFIG_PATH)).await;
        let configured = match &read {
            Ok(Ok((data, _))) => EnsembleConfig::read(data),
            // The config is forbidden to us, or the server is older than 3.5.
            Ok(Err(Error::NoAuth | Error::NoNode)) => EnsembleConfig::default(),
            _ => self.configured.clone(),
        };
        let bytes = read.ok().and_then(Result::ok).map_or(0, |(data, _)| data.len());
        self.load.count(bytes, began.elapsed());
        let changed = configured != self.configured;
        self.configured = configured;
        changed
    }

    /// Returns the id of our session; `None` while there is none.
    pub fn session(&self) -> Option<SessionId> {
        self.client.as_ref().map(|client| SessionId(client.session_id().0))
    }

    /// Sends a request on our session, so that its expiry and its last response show the servers'
    /// time. Returns `None` without a session or an answer.
    ///
    /// After three seconds without a request it waits 1.2 s until the leader knows of this request.
    /// A server that ends sessions and holds ours (`knows_at_once`) knows at once: the wait would only
    /// make the time less certain.
    pub async fn touch(&self, load: &mut Load, knows_at_once: bool) -> Option<ClockAnchor> {
        let client = self.client.as_ref()?;
        let (asked, began) = (now(), Instant::now());
        let answer = timeout(REQUEST_TIMEOUT, client.check_stat("/")).await;
        load.count(0, began.elapsed());
        answer.ok()?.ok()?;
        let heard = now();
        let before = self.touched.lock().await.replace(Instant::now());
        if !knows_at_once && before.is_none_or(|before| before.elapsed() > FRESH_AT_LEADER_FOR) {
            sleep(FOLLOWER_REPORT_DELAY).await;
        }
        let session = SessionId(client.session_id().0);
        Some(ClockAnchor {
            session,
            timeout: client.session_timeout(),
            connecting_since: self.connecting_since?,
            asked,
            heard,
        })
    }
}

/// Opens a session with one server, or with any.
async fn connect_to(options: &ConnectOptions, place: Option<&str>) -> Result<Client, String> {
    let Some(place) = place else { return connect(options).await.map_err(|error| error.to_string()) };
    let options = ConnectOptions { connect: place.to_owned(), ..options.clone() };
    match timeout(KEEPER_PATIENCE, connect(&options)).await {
        Ok(connected) => connected.map_err(|error| error.to_string()),
        Err(_) => Err(format!("{place} took no session in time")),
    }
}

/// Waits until the session at `place` should be elsewhere: another server ends the sessions, or
/// the one that did has been unknown for [`KEEPER_PATIENCE`].
async fn should_move(place: Option<&String>, refusing: Option<&String>, keeper: &mut watch::Receiver<Option<String>>) {
    loop {
        let known = keeper.borrow_and_update().clone();
        let patience = match &known {
            Some(_) if known.as_ref() != place && known.as_ref() != refusing => return,
            None if place.is_some() => KEEPER_PATIENCE,
            _ => Duration::MAX,
        };
        match timeout(patience, keeper.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return std::future::pending().await,
            Err(_) => return,
        }
    }
}

/// Returns the options for the same ensemble without the chroot.
pub fn above_chroot(options: &ConnectOptions, target: &ConnectString) -> ConnectOptions {
    let whole = ConnectString { servers: target.servers.clone(), chroot: None };
    ConnectOptions { connect: whole.to_string(), ..options.clone() }
}
