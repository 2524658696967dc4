//! The note on stderr about sessions that are shorter than a member continues without its leader.

use super::program::{Ended, lockscope, run};
use crate::harness::ensemble::Ensemble;
use crate::harness::server::Server;

/// Runs a short test of two clients with this session timeout.
async fn contend(command: &str, connect: &str, session_timeout: &str) -> Ended {
    let clients = ["--path", "/lock", "--clients", "2", "--rounds", "2", "--format", "json"];
    let arguments = [&[command, "--connect", connect, "--session-timeout", session_timeout], &clients[..]].concat();
    run(lockscope(&arguments)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_an_ensemble_short_sessions_are_noted_on_stderr_and_long_ones_are_not() {
    let ensemble = Ensemble::with(&["syncLimit=10"]);
    let connect = ensemble.connect_string();
    for command in ["contend", "compare"] {
        let Ended { code, out, stderr } = contend(command, &connect, "1s").await;
        assert_eq!(code, Some(0), "{stderr}");
        assert_eq!(
            stderr,
            "lockscope: Sessions of 1s are shorter than 2.625s: a member that loses its leader keeps its clients for up to 2s \
             (syncLimit × tickTime), so two clients may hold at once meanwhile; use --session-timeout 3s or longer.\n"
        );
        assert_eq!(out.matches('\n').count(), 1, "one line of JSON: {out}");
    }
    contend("contend", &connect, "4s").await.json();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_standalone_server_short_sessions_are_not_noted() {
    let server = Server::start();
    contend("contend", &server.connect_string(), "1s").await.json();
}
