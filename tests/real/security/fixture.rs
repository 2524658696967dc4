//! The program's options for identities.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::harness::server::Server;

/// Returns a path as an argument.
pub fn word(path: &Path) -> String {
    path.to_str().expect("text").to_owned()
}

/// Writes an auth file into a folder. Returns the option for it.
pub fn auth_file(folder: &Path, lines: &str) -> [String; 2] {
    let file = folder.join("auth");
    fs::write(&file, lines).expect("written");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("its owner's alone");
    ["--auth-file".to_owned(), word(&file)]
}

/// Returns the server's TLS address by the name in its certificate.
pub fn secure(server: &Server) -> String {
    server.secure_connect_string().replace("127.0.0.1", "localhost")
}

/// Returns the options for a server that requires client certificates.
pub fn certificate_options(server: &Server) -> Vec<String> {
    let certificates = server.certificates();
    let files = [&certificates.authority, &certificates.client, &certificates.client_key].map(|file| word(file));
    ["--tls-ca", "--tls-cert", "--tls-key"]
        .iter()
        .zip(files)
        .flat_map(|(option, file)| [(*option).to_owned(), file])
        .collect()
}

/// Returns a command with these options, as arguments.
pub fn with<'a>(command: &[&'a str], options: &'a [String]) -> Vec<&'a str> {
    command.iter().copied().chain(options.iter().map(String::as_str)).collect()
}

/// Returns the paths of a snapshot's locks.
pub fn paths(shot: &Value) -> Vec<&str> {
    shot["locks"].as_array().expect("locks").iter().filter_map(|lock| lock["path"].as_str()).collect()
}
