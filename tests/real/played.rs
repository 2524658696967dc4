//! Servers that the sandbox plays.

use std::net::Ipv4Addr;

use lockscope_sandbox::{Sandbox, SandboxConfig, ServerBehaviour};
use tokio::net::TcpListener;

/// Starts a sandbox that behaves like this server.
pub async fn played(behaviour: ServerBehaviour) -> Sandbox {
    let config = SandboxConfig { behaviour, ..SandboxConfig::default() };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    Sandbox::start(listener, config).expect("the sandbox starts")
}

/// Returns the port of a sandbox.
pub fn port_of(sandbox: &Sandbox) -> u16 {
    let connect = sandbox.connect_string();
    connect.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port")
}
