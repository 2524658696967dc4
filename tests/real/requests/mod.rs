//! What a client sees when a connection breaks, with real servers. The cases are those of the table
//! in `lockscope-requests`; a simulated client passes them too.

mod cases;
mod client;
mod ensemble;
mod real;

use tokio::time::timeout;

use self::ensemble::RealEnsemble;
use self::real::RealServers;
use crate::harness::wait::PATIENCE;

macro_rules! tests {
    ($servers:ident: $($group:ident::$case:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            timeout(PATIENCE, cases::$group::$case::<$servers>()).await.expect("it ends in time");
        }
    )*};
}

cases::for_each_case!(tests, RealServers);
cases::for_each_case_of_moving_sessions!(tests, RealEnsemble);
