//! Access to the metrics, and TLS: the web config file of Prometheus' exporters.
//!
//! Users have passwords, by HTTP's basic authentication.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use sha1_smol::Sha1;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use uuid::Uuid;

use lockscope_files as files;
use lockscope_files::{FileError, Sensitivity};

/// The maximum size of a config file, in bytes.
const MAX_CONFIG_BYTES: u64 = 1 << 18;

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
    /// The program is built without the feature `metrics-config`.
    #[error(
        "this lockscope cannot use the metrics config {path}: build it with --features metrics-config, or install a \
         package"
    )]
    NotBuilt {
        /// The file.
        path: PathBuf,
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
pub struct MetricsAccess {
    /// The TLS settings; `None` serves in plain text.
    pub(super) tls: Option<TlsAcceptor>,
    /// The users; `None` admits every client that reaches the address.
    pub(super) users: Option<BasicAuth>,
}

impl fmt::Debug for MetricsAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("tls", &self.tls.is_some()).field("users", &self.users).finish()
    }
}

impl MetricsAccess {
    /// Reads a config file and the certificates that it names. Only the owner may be able to read
    /// the file. Relative paths in it start at its folder. Blocks the thread during disk I/O.
    pub fn load(path: &Path) -> Result<Self, AccessError> {
        let text = files::read_text(path, Sensitivity::Secret, MAX_CONFIG_BYTES);
        let text = text.map_err(|why| AccessError::Unreadable { path: path.to_owned(), why })?;
        let config = parse(&text).map_err(|line| match line {
            Some(line) => AccessError::Malformed { path: path.to_owned(), line },
            None => AccessError::NotBuilt { path: path.to_owned() },
        })?;
        let WebConfig { tls_server_config, basic_auth_users } = config.unwrap_or_default();
        let unusable = |why| AccessError::Unusable { path: path.to_owned(), why };
        let folder = path.parent().unwrap_or(Path::new("."));
        let tls = tls_server_config.map(|config| {
            acceptor(&ServerTlsFiles {
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

/// Reads the text of a config file. Fails with the line of the mistake, or with `None` where the
/// program is built without the parser.
#[cfg(feature = "metrics-config")]
fn parse(text: &str) -> Result<Option<WebConfig>, Option<u64>> {
    serde_saphyr::from_str(text).map_err(|error| Some(error.location().map_or(1, |location| location.line().max(1))))
}

#[cfg(not(feature = "metrics-config"))]
fn parse(_: &str) -> Result<Option<WebConfig>, Option<u64>> {
    Err(None)
}

/// Returns the work factor of a bcrypt hash; `None` if it is none.
#[cfg(feature = "metrics-config")]
fn cost_of(hash: &str) -> Option<u32> {
    hash.parse().ok().map(|parts: bcrypt::HashParts| parts.get_cost())
}

#[cfg(feature = "metrics-config")]
fn is_of(password: &str, hash: &str) -> bool {
    bcrypt::verify(password, hash).unwrap_or(false)
}

// Without the feature no file is read, so that no hash ever arrives here.
#[cfg(not(feature = "metrics-config"))]
fn cost_of(_: &str) -> Option<u32> {
    None
}

#[cfg(not(feature = "metrics-config"))]
fn is_of(_: &str, _: &str) -> bool {
    false
}

/// The maximum work factor. With a higher one, checking a password would take longer than a
/// connection may last.
const MAX_COST: u32 = 16;

/// The maximum length of a header, in bytes.
const MAX_HEADER_BYTES: usize = 1_024;

/// The users with access, and the bcrypt hashes of their passwords.
pub(super) struct BasicAuth {
    hashes: Arc<BTreeMap<String, String>>,
    /// A hash that matches no password. Unknown users are checked against this hash, so that the
    /// response time does not reveal which users exist.
    nobody: String,
    /// Bounds the checks to one at a time, since each costs much CPU time.
    checking: Semaphore,
    /// The accepted passwords by user, as digests with `salt`, so that they are not checked again
    /// at each scrape.
    accepted: Mutex<FxHashMap<String, [u8; 20]>>,
    salt: [u8; 16],
}

impl fmt::Debug for BasicAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BasicAuth").field("users", &self.hashes.len()).finish_non_exhaustive()
    }
}

impl BasicAuth {
    /// Creates the users. Fails with a sentence if a hash is invalid.
    pub fn new(hashes: BTreeMap<String, String>) -> Result<Self, String> {
        let mut cost = 0;
        for (user, hash) in &hashes {
            let of_user = cost_of(hash).ok_or_else(|| {
                format!("the password of the user {user:?} is not a bcrypt hash: make one with htpasswd -nBC 10 USER")
            })?;
            if of_user > MAX_COST {
                return Err(format!(
                    "the hash of the user {user:?} takes too long to check: make one of cost {MAX_COST} or less"
                ));
            }
            cost = cost.max(of_user);
        }
        let nobody = format!("$2b${cost:02}${}", ".".repeat(53));
        Ok(Self {
            hashes: Arc::new(hashes),
            nobody,
            checking: Semaphore::new(1),
            accepted: Mutex::default(),
            salt: *Uuid::new_v4().as_bytes(),
        })
    }

    /// Returns whether the `Authorization` header has a user and that user's password. Cancel safe.
    pub async fn admits(&self, header: Option<&[u8]>) -> bool {
        let Some((user, password)) = header.and_then(credentials) else { return false };
        let digest = self.digest(&user, &password);
        if self.accepted.lock().unwrap_or_else(PoisonError::into_inner).get(&user) == Some(&digest) {
            return true;
        }
        let Ok(_permit) = self.checking.acquire().await else { return false };
        let (is_known, hash) = match self.hashes.get(&user) {
            Some(hash) => (true, hash.clone()),
            None => (false, self.nobody.clone()),
        };
        let check = move || is_of(&password, &hash);
        let admits = tokio::task::spawn_blocking(check).await.unwrap_or(false) && is_known;
        if admits {
            self.accepted.lock().unwrap_or_else(PoisonError::into_inner).insert(user, digest);
        }
        admits
    }

    /// Returns the digest to compare in place of the password. The secret salt keeps an attacker
    /// from guessing it byte by byte.
    fn digest(&self, user: &str, password: &str) -> [u8; 20] {
        let mut digest = Sha1::from(self.salt);
        for part in [user.as_bytes(), &[0], password.as_bytes()] {
            digest.update(part);
        }
        digest.digest().bytes()
    }
}

/// Returns the user and the password in a header.
fn credentials(header: &[u8]) -> Option<(String, String)> {
    let header = std::str::from_utf8(header).ok().filter(|header| header.len() <= MAX_HEADER_BYTES)?;
    let (scheme, encoded) = header.split_once(' ')?;
    let decoded = BASE64_STANDARD.decode(encoded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    let (user, password) =
        String::from_utf8(decoded).ok()?.split_once(':').map(|(user, rest)| (user.to_owned(), rest.to_owned()))?;
    Some((user, password))
}

/// The maximum size of a PEM file, in bytes.
const MAX_PEM_BYTES: u64 = 1 << 20;

/// The modes of client authentication, by their names in Prometheus' exporters.
const NO_CLIENT_CERT: &str = "NoClientCert";

const VERIFY_IF_GIVEN: &str = "VerifyClientCertIfGiven";

const REQUIRE_AND_VERIFY: &str = "RequireAndVerifyClientCert";

/// The PEM files and the mode of client authentication.
struct ServerTlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
    pub client_ca: Option<PathBuf>,
    /// The mode of client authentication; empty means `NoClientCert`.
    pub client_auth: String,
}

/// Reads the files. Fails with a sentence that names the file and shows nothing of a key.
fn acceptor(files: &ServerTlsFiles) -> Result<TlsAcceptor, String> {
    let builder = match (&*files.client_auth, &files.client_ca) {
        ("" | NO_CLIENT_CERT, None) => ServerConfig::builder().with_no_client_auth(),
        ("" | NO_CLIENT_CERT, Some(_)) => {
            return Err(format!(
                "client_ca_file has no effect without client_auth_type: write {REQUIRE_AND_VERIFY} there"
            ));
        }
        (VERIFY_IF_GIVEN | REQUIRE_AND_VERIFY, None) => {
            return Err(
                "client_auth_type needs client_ca_file: the authority that signs the clients' certificates".to_owned()
            );
        }
        (kind @ (VERIFY_IF_GIVEN | REQUIRE_AND_VERIFY), Some(ca)) => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates(ca)?);
            let verifier = WebPkiClientVerifier::builder(Arc::new(roots));
            let verifier = if kind == VERIFY_IF_GIVEN { verifier.allow_unauthenticated() } else { verifier };
            let verifier = verifier.build().map_err(|error| bad(ca, &error.to_string()))?;
            ServerConfig::builder().with_client_cert_verifier(verifier)
        }
        (_, _) => {
            return Err(format!(
                "client_auth_type can be {NO_CLIENT_CERT}, {VERIFY_IF_GIVEN} or {REQUIRE_AND_VERIFY}: a certificate that is not \
                 verified proves nothing"
            ));
        }
    };
    let chain = certificates(&files.cert)?;
    let key = read(&files.key, Sensitivity::Secret)?;
    let key = PrivateKeyDer::from_pem_slice(&key)
        .map_err(|_| bad(&files.key, "it holds no unencrypted private key in PEM form"))?;
    let config = builder
        .with_single_cert(chain, key)
        .map_err(|_| bad(&files.key, "it does not belong to the certificate, or is not supported"))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let pem = read(path, Sensitivity::Public)?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok).collect();
    if found.is_empty() { Err(bad(path, "it holds no certificate in PEM form")) } else { Ok(found) }
}

fn read(path: &Path, guard: Sensitivity) -> Result<Vec<u8>, String> {
    files::read(path, guard, MAX_PEM_BYTES).map_err(|why| bad(path, &why.to_string()))
}

fn bad(path: &Path, why: &str) -> String {
    format!("cannot use {}: {why}", path.display())
}

#[cfg(all(test, feature = "metrics-config"))]
mod tests {
    use std::fs;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const HASH: &str = "$2y$04$wjYO5wSIVmP5xVWiJjvYJOlRRHTxQIj1bbGJwvZQMjTkHnSDJzc4e";

    fn load(text: &str, mode: u32) -> Result<MetricsAccess, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.yml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        MetricsAccess::load(&path).map_err(|error| error.to_string())
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

    fn header(user: &str, password: &str) -> Vec<u8> {
        format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))).into_bytes()
    }

    #[tokio::test]
    async fn only_a_users_own_password_is_accepted_the_first_time_and_later() {
        let hash = bcrypt::hash_with_salt("right:pass", 4, [7; 16]).unwrap();
        let users = BTreeMap::from([("ann".to_owned(), hash.format_for_version(bcrypt::Version::TwoY))]);
        let auth = BasicAuth::new(users).unwrap();
        for _ in 0..2 {
            assert!(auth.admits(Some(&header("ann", "right:pass"))).await);
            assert!(!auth.admits(Some(&header("ann", "right"))).await);
            assert!(!auth.admits(Some(&header("bob", "right:pass"))).await);
            for other in [&b""[..], b"Basic", b"Basic ?", b"Bearer YTpi", b"Basic \xff", b"Basic YQ=="] {
                assert!(!auth.admits(Some(other)).await, "{other:?}");
            }
            assert!(!auth.admits(None).await);
        }
        let nobody: bcrypt::HashParts = auth.nobody.parse().expect("a valid hash");
        assert_eq!(nobody.get_cost(), 4);
    }
}
