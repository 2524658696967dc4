//! A real ensemble, in which a second client takes over the session of the client under test.

use std::sync::Arc;

use lockscope_requests::Requests;
use zookeeper_client::Client;

use super::cases::{Member, MovingSession};
use crate::harness::ensemble::Ensemble;
use crate::harness::zk;

/// An ensemble of a test.
#[derive(Debug)]
pub struct RealEnsemble {
    ensemble: Ensemble,
    client: Arc<Client>,
    member: Member,
    taken_over: Option<Client>,
}

impl RealEnsemble {
    fn address(ensemble: &Ensemble, member: Member) -> String {
        ensemble.address(match member {
            Member::Leader => ensemble.leader(),
            Member::Follower => ensemble.follower(),
        })
    }
}

impl MovingSession for RealEnsemble {
    async fn start(member: Member) -> Self {
        let ensemble = Ensemble::start();
        let client = Arc::new(zk::connect(&Self::address(&ensemble, member)).await);
        Self { ensemble, client, member, taken_over: None }
    }

    fn client(&self) -> Arc<dyn Requests> {
        self.client.clone()
    }

    async fn take_over(&mut self) {
        let target = match self.member {
            Member::Leader => Member::Follower,
            Member::Follower => Member::Leader,
        };
        let connector = Client::connector().with_session(self.client.session().clone()).with_detached();
        let connected = connector.connect(&Self::address(&self.ensemble, target)).await;
        self.taken_over = Some(connected.expect("the session is taken over"));
    }
}
