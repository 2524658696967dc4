//! Access to the metrics, and TLS: the web config file of Prometheus' exporters.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tokio_rustls::TlsAcceptor;

use super::basic_auth::BasicAuth;
use super::tls::{self, TlsFiles};
use lockscope_files::{self as files, FileError, Sensitivity};

/// The maximum size of a config file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 18;

/// The keys of the file, for the error message.
const KNOWN_KEYS: &str =
    "tls_server_config with cert_file, key_file, client_ca_file and client_auth_type, and basic_auth_users";

/// The reason why a file cannot be used. No message shows its content.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The file cannot be read.
    #[error("cannot use the metrics config {path}: {why}; name another one with --metrics-config")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: FileError,
    },
    /// The file is not in the right format.
    #[error("the metrics config {path} is wrong in line {line}: it can hold {KNOWN_KEYS}; correct it")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// The file's settings cannot be used.
    #[error("the metrics config {path} cannot be used: {why}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The reason, and what to change.
        why: String,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WebConfig {
    tls_server_config: Option<TlsServerConfig>,
    basic_auth_users: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TlsServerConfig {
    cert_file: PathBuf,
    key_file: PathBuf,
    client_ca_file: Option<PathBuf>,
    client_auth_type: Option<String>,
}

/// The rules of access to the metrics.
#[derive(Default)]
pub struct Access {
    /// The TLS settings; `None` serves in plain text.
    pub(super) tls: Option<TlsAcceptor>,
    /// The users; `None` admits every client that reaches the address.
    pub(super) users: Option<BasicAuth>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("tls", &self.tls.is_some()).field("users", &self.users).finish()
    }
}

impl Access {
    /// Reads a config file and the certificates that it names. Only the owner may be able to read
    /// the file. Relative paths in it start at its folder. Blocks the thread during disk I/O.
    pub fn load(path: &Path) -> Result<Self, AccessError> {
        let text = files::read_text(path, Sensitivity::Secret, MAX_FILE_BYTES);
        let text = text.map_err(|why| AccessError::Unreadable { path: path.to_owned(), why })?;
        let config: Option<WebConfig> = serde_saphyr::from_str(&text).map_err(|error| AccessError::Malformed {
            path: path.to_owned(),
            line: error.location().map_or(1, |location| location.line().max(1)),
        })?;
        let WebConfig { tls_server_config, basic_auth_users } = config.unwrap_or_default();
        let unusable = |why| AccessError::Unusable { path: path.to_owned(), why };
        let folder = path.parent().unwrap_or(Path::new("."));
        let tls = tls_server_config.map(|config| {
            tls::acceptor(&TlsFiles {
                cert: folder.join(config.cert_file),
                key: folder.join(config.key_file),
                client_ca: config.client_ca_file.map(|file| folder.join(file)),
                client_auth: config.client_auth_type.unwrap_or_default(),
            })
        });
        let users = basic_auth_users.filter(|users| !users.is_empty()).map(BasicAuth::new);
        Ok(Self { tls: tls.transpose().map_err(unusable)?, users: users.transpose().map_err(unusable)? })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const HASH: &str = "$2y$04$wjYO5wSIVmP5xVWiJjvYJOlRRHTxQIj1bbGJwvZQMjTkHnSDJzc4e";

    fn load(text: &str, mode: u32) -> Result<Access, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.yml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        Access::load(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_admits_everybody() {
        for text in ["", "# nothing\n", "basic_auth_users: {}\n"] {
            let access = load(text, 0o600).expect(text);
            assert!(access.tls.is_none() && access.users.is_none(), "{text}");
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let error = load(&format!("basic_auth_users:\n  ann: {HASH}\n"), 0o644).unwrap_err();
        assert!(error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn an_error_names_its_line_and_shows_nothing_of_the_file() {
        for (text, line) in [
            ("basic_auth_users:\n  ann: [secret-word]\n", "line 2"),
            ("\nbasic_auth_user:\n  secret-word: x\n", "line 2"),
            ("basic_auth_users: secret-word\n", "line 1"),
            ("tls_server_config:\n  cert_file: secret-word\n", "line "),
            ("a: {secret-word\n", "line "),
            ("basic_auth_users: &a [secret-word, *a, *a]\n", "line 1"),
        ] {
            let error = load(text, 0o600).unwrap_err();
            assert!(error.contains(line) && !error.contains("secret-word") && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn an_invalid_or_too_costly_hash_is_refused_by_its_users_name() {
        for hash in ["secret-word", "", &HASH.replace("$04$", "$31$")] {
            let error = load(&format!("basic_auth_users:\n  ann: '{hash}'\n"), 0o600).unwrap_err();
            assert!(error.contains("ann") && !error.contains("secret-word"), "{error}");
        }
    }

    #[test]
    fn missing_certificates_and_unverified_client_certificates_are_refused() {
        let tls = "tls_server_config:\n  cert_file: none.pem\n  key_file: none.key\n";
        let error = load(tls, 0o600).unwrap_err();
        assert!(error.contains("none.pem"), "{error}");
        let error = load(&format!("{tls}  client_auth_type: RequireAnyClientCert\n"), 0o600).unwrap_err();
        assert!(error.contains("RequireAndVerifyClientCert"), "{error}");
    }
}
