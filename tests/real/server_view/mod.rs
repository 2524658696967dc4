//! The servers' reports about themselves are read, and nothing is claimed without a report.

pub mod ensemble;
mod hostile_config;
mod standalone;
mod watch_events;

use std::sync::Arc;

use lockscope_live::zk::survey::{SurveyOptions, Surveyor, ViewBy, survey_once};
use lockscope_model::server_view::ServerView;

use crate::harness::wait::PATIENCE;
use crate::observe::fixture::connection;

/// Returns options that ask by the given means.
fn options(connect: &str, by: ViewBy) -> SurveyOptions {
    SurveyOptions { by, ..SurveyOptions::new(connection(connect)) }
}

/// Asks once, including for the watches of each session.
async fn once(options: &SurveyOptions) -> ServerView {
    survey_once(options, true).await.expect("a connect string")
}

/// Waits for a view that satisfies a condition.
async fn until(surveyor: &mut Surveyor, what: &str, wish: impl Fn(&ServerView) -> bool) -> Arc<ServerView> {
    let mut last = Arc::default();
    let waiting = async {
        loop {
            last = surveyor.next().await.expect("it goes on");
            if wish(&last) {
                return Arc::clone(&last);
            }
        }
    };
    let found = tokio::time::timeout(PATIENCE, waiting).await;
    found.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}
