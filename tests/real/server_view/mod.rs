//! What the servers say about themselves is read, and what they do not say is not claimed.

mod ensemble;
mod hostile_config;
mod standalone;
mod watch_events;

use std::sync::Arc;

use lockscope_live::zk::survey::{SurveyOptions, Surveyor, ViewBy, survey_once};
use lockscope_model::server_view::ServerView;

use crate::harness::wait::PATIENCE;
use crate::observe::fixture::connection;

/// Asks by that way.
fn options(connect: &str, by: ViewBy) -> SurveyOptions {
    SurveyOptions { by, ..SurveyOptions::new(connection(connect)) }
}

/// Asks once, also who watches what.
async fn once(options: &SurveyOptions) -> ServerView {
    survey_once(options, true).await.expect("a connect string")
}

/// Waits for a view as wished.
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
