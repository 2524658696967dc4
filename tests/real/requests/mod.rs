//! What a client sees when a connection breaks, with a real server. The cases are those of the
//! table in `lockscope-requests`; a simulated client passes them too.

mod cases;
mod real;

use tokio::time::timeout;

use self::real::RealServers;
use crate::harness::wait::PATIENCE;

macro_rules! tests {
    ($($group:ident::$case:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            timeout(PATIENCE, cases::$group::$case::<RealServers>()).await.expect("it ends in time");
        }
    )*};
}

cases::for_each_case!(tests);
