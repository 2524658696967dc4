//! TLS for the clients of the exporter.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use lockscope_files::{self as files, Sensitivity};

/// The maximum size of a PEM file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The modes of client authentication, by their names in Prometheus' exporters.
const NO_CLIENT_CERT: &str = "NoClientCert";
const VERIFY_IF_GIVEN: &str = "VerifyClientCertIfGiven";
const REQUIRE_AND_VERIFY: &str = "RequireAndVerifyClientCert";

/// The PEM files and the mode of client authentication.
pub(super) struct TlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
    pub client_ca: Option<PathBuf>,
    /// The mode of client authentication; empty means `NoClientCert`.
    pub client_auth: String,
}

/// Reads the files. Fails with a sentence that names the file and shows nothing of a key.
pub(super) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, String> {
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
    files::read(path, guard, MAX_FILE_BYTES).map_err(|why| bad(path, &why.to_string()))
}

fn bad(path: &Path, why: &str) -> String {
    format!("cannot use {}: {why}", path.display())
}
