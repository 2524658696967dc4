//! The warning that the clients' sessions may expire while a member has no leader.

use std::time::Duration;

use tokio::time::timeout;

use super::super::output::note;
use lockscope_lab::contend::{FleetOptions, Scenario};
use lockscope_live::zk::four_letter::Word;
use lockscope_live::zk::{self, ConnectOptions, Dialer, SessionRole, close_session};
use lockscope_model::server_view::SyncSettings;
use lockscope_model::text::human::exact_seconds;

/// The longest wait for the information that the warning needs. A server that hangs is given up
/// earlier.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Warns on stderr when the clients' sessions are too short for the ensemble's settings. Prints
/// nothing when the servers do not report the settings or are not asked.
pub(super) async fn note_short_sessions(fleet: &FleetOptions, scenario: &Scenario, max_wait: Duration) {
    let sentence = timeout(max_wait.min(MAX_WAIT), find_short_sessions(fleet, scenario.session_timeout)).await;
    if let Ok(Some(sentence)) = sentence {
        note(&sentence);
    }
}

async fn find_short_sessions(fleet: &FleetOptions, asked: Duration) -> Option<String> {
    if !fleet.asks_servers {
        return None;
    }
    let dialer = Dialer::new(&fleet.connection).await.ok()?;
    let answers = dialer.ask_each(Word::Conf).await;
    let settings = answers.into_iter().filter_map(|(_, answer)| SyncSettings::from_conf(&answer.ok()?.text));
    let settings = settings.max_by_key(|settings| settings.safe_session_timeout())?;
    // The servers bound the timeout, so only a session shows the real value.
    let (session_timeout, role) = (asked, SessionRole::Client);
    let options = ConnectOptions { session_timeout, role, ..fleet.connection.clone() };
    let session = zk::connect(&options).await.ok()?;
    let negotiated = session.session_timeout();
    close_session(session).await;
    sentence(settings, asked, negotiated)
}

/// Returns the warning for sessions with the `negotiated` timeout, when `asked` was requested;
/// `None` when they are long enough.
fn sentence(settings: SyncSettings, asked: Duration, negotiated: Duration) -> Option<String> {
    let safe = settings.safe_session_timeout();
    if negotiated >= safe {
        return None;
    }
    let enough = format!("{}s", safe.as_millis().div_ceil(1000));
    let remedy = if asked < safe {
        format!("use --session-timeout {enough} or longer")
    } else {
        format!("the servers allow no longer ones: set their maxSessionTimeout to {enough} or longer")
    };
    Some(format!(
        "Sessions of {} are shorter than {}: a member that loses its leader keeps its clients for up to {} (syncLimit × \
         tickTime), so two clients may hold at once meanwhile; {remedy}.",
        exact_seconds(negotiated),
        exact_seconds(safe),
        exact_seconds(settings.keeps_clients_for()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE_FILE: SyncSettings = SyncSettings { tick_ms: 2000, sync_limit: 5 };

    #[test]
    fn short_sessions_are_named_with_their_bound_and_what_to_do() {
        let six = Duration::from_secs(6);
        assert_eq!(
            sentence(SAMPLE_FILE, six, six).expect("too short"),
            "Sessions of 6s are shorter than 13.75s: a member that loses its leader keeps its clients for up to 10s \
             (syncLimit × tickTime), so two clients may hold at once meanwhile; use --session-timeout 14s or longer."
        );
        let bounded = sentence(SAMPLE_FILE, Duration::from_secs(20), six).expect("too short");
        assert!(bounded.ends_with("set their maxSessionTimeout to 14s or longer."), "{bounded}");
    }

    #[test]
    fn sessions_that_are_long_enough_are_not_mentioned() {
        let safe = SAMPLE_FILE.safe_session_timeout();
        assert_eq!(sentence(SAMPLE_FILE, safe, safe), None);
        assert_eq!(sentence(SAMPLE_FILE, Duration::from_secs(1), safe), None, "the servers lengthen them");
        let default = lockscope_lab::contend::DEFAULT_SESSION_TIMEOUT;
        assert_eq!(sentence(SAMPLE_FILE, default, default), None);
    }
}
