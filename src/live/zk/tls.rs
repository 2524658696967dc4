//! TLS to the servers: reads the files, and explains defects of certificates.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{AlertDescription, CertificateError, ClientConfig, Error, RootCertStore};

use super::fault::ServerFault;
use super::{ConnectError, TlsFiles};
use lockscope_files::{self as files, FileError, Sensitivity};

/// The largest file that is read, in bytes: a bundle of all public authorities has a fifth of this
/// size.
const MAX_FILE_SIZE: u64 = 1 << 20;

/// The most names of a certificate that an error shows.
const MAX_PRESENTED: usize = 5;

/// Reads the PEM files. Servers must present a certificate for their host that is signed by the
/// authority. Errors about a key show none of its content.
pub(super) async fn connector(files: &TlsFiles) -> Result<TlsConnector, ConnectError> {
    let mut roots = RootCertStore::empty();
    let authorities = read(&files.ca, Sensitivity::Public).await?;
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(authorities.as_bytes()).filter_map(Result::ok));
    if roots.is_empty() {
        return Err(bad(&files.ca, "it holds no certificate of an authority in PEM form"));
    }
    let roots = Arc::new(roots);
    let config = ClientConfig::builder().with_root_certificates(Arc::clone(&roots));
    let config = match (&files.cert, &files.key) {
        (None, None) => config.with_no_client_auth(),
        (Some(_), None) => {
            return Err(ConnectError::BadTls("a client certificate needs its key: give --tls-key too".to_owned()));
        }
        (None, Some(_)) => {
            return Err(ConnectError::BadTls("a client key needs its certificate: give --tls-cert too".to_owned()));
        }
        (Some(cert_file), Some(key_file)) => {
            let (chain, key) = identity(cert_file, key_file).await?;
            if let Some(why) = out_of_date(&chain, roots) {
                return Err(bad(cert_file, &why));
            }
            config
                .with_client_auth_cert(chain, key)
                .map_err(|_| bad(key_file, "it does not belong to the certificate, or is not supported"))?
        }
    };
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn identity(
    cert_file: &Path,
    key_file: &Path,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), ConnectError> {
    let (cert, key) = (read(cert_file, Sensitivity::Public).await?, read(key_file, Sensitivity::Secret).await?);
    let chain: Vec<_> = CertificateDer::pem_slice_iter(cert.as_bytes()).filter_map(Result::ok).collect();
    if chain.is_empty() {
        return Err(bad(cert_file, "it holds no certificate in PEM form"));
    }
    if key.contains("ENCRYPTED PRIVATE KEY") || key.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(bad(key_file, "its key is encrypted; write it unencrypted to a file that only you can read"));
    }
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
        .map_err(|_| bad(key_file, "it holds no private key in PEM form"))?;
    Ok((chain, key))
}

/// Returns why our own certificate is not valid now; `None` when it is valid or the check is
/// impossible.
///
/// The signer does not matter here: the servers may trust authorities that we do not know. The
/// verifier checks the dates before it looks for a signer.
fn out_of_date(chain: &[CertificateDer<'_>], authorities: Arc<RootCertStore>) -> Option<String> {
    let (own, others) = chain.split_first()?;
    let verifier = WebPkiClientVerifier::builder(authorities).build().ok()?;
    match verifier.verify_client_cert(own, others, UnixTime::now()).err()? {
        Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. }) => Some(format!(
            "our own certificate expired at {}: have it renewed, and check this machine's clock",
            minute(not_after)
        )),
        Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. }) => {
            Some(format!("our own certificate is valid from {} only: check this machine's clock", minute(not_before)))
        }
        _ => None,
    }
}

fn minute(time: UnixTime) -> String {
    let time = i64::try_from(time.as_secs()).ok().and_then(|seconds| chrono::DateTime::from_timestamp(seconds, 0));
    time.map_or_else(|| "an unknown time".to_owned(), |time| time.format("%Y-%m-%d %H:%M UTC").to_string())
}

/// Returns what an error of a TLS connection says about the server; `None` when the error does not
/// concern TLS.
pub(super) fn fault_of(error: &io::Error, has_certificate: bool) -> Option<ServerFault> {
    Some(match error.get_ref()?.downcast_ref::<Error>()? {
        Error::InvalidCertificate(why) => certificate_fault(why),
        Error::AlertReceived(alert) => alert_fault(*alert, has_certificate),
        // The bytes are not TLS.
        Error::InvalidMessage(_) => ServerFault::WantsPlain,
        other => ServerFault::Handshake(other.to_string()),
    })
}

fn certificate_fault(why: &CertificateError) -> ServerFault {
    match why {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => ServerFault::UnknownIssuer,
        CertificateError::ExpiredContext { not_after, .. } => ServerFault::Expired(minute(*not_after)),
        CertificateError::NotValidYetContext { not_before, .. } => ServerFault::NotYetValid(minute(*not_before)),
        CertificateError::NotValidForNameContext { presented, .. } if !presented.is_empty() => ServerFault::WrongName(
            presented.iter().take(MAX_PRESENTED).map(|shown| name(shown)).collect::<Vec<_>>().join(", "),
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            ServerFault::WrongName("other names".to_owned())
        }
        other => ServerFault::Handshake(other.to_string()),
    }
}

/// Extracts a name from the output of rustls (`DnsName("zk1")`).
fn name(shown: &str) -> &str {
    shown.split('"').nth(1).unwrap_or(shown)
}

fn alert_fault(alert: AlertDescription, has_certificate: bool) -> ServerFault {
    use AlertDescription as Alert;
    match alert {
        Alert::CertificateRequired => ServerFault::WantsCertificate,
        Alert::BadCertificate
        | Alert::CertificateUnknown
        | Alert::CertificateExpired
        | Alert::CertificateRevoked
        | Alert::UnsupportedCertificate
        | Alert::UnknownCA
        | Alert::AccessDenied => {
            if has_certificate {
                ServerFault::RefusesCertificate(format!("{alert:?}"))
            } else {
                ServerFault::WantsCertificate
            }
        }
        other => ServerFault::Handshake(format!("the server's alert was {other:?}")),
    }
}

async fn read(path: &Path, guard: Sensitivity) -> Result<String, ConnectError> {
    let file = path.to_owned();
    let text = tokio::task::spawn_blocking(move || files::read_text(&file, guard, MAX_FILE_SIZE)).await;
    text.map_err(|error| bad(path, &error.to_string()))?.map_err(|why| match &why {
        FileError::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            bad(path, "it is not a text file, so not in PEM form")
        }
        _ => bad(path, &why.to_string()),
    })
}

fn bad(path: &Path, why: &str) -> ConnectError {
    ConnectError::BadTlsFile { path: path.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refusal(files: TlsFiles) -> ConnectError {
        connector(&files).await.err().expect("unusable files")
    }

    #[tokio::test]
    async fn a_file_that_is_missing_or_holds_something_else_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let missing = dir.path().join("missing.pem");
        let error = refusal(TlsFiles { ca: missing, cert: None, key: None }).await;
        assert!(error.to_string().contains("missing.pem"), "{error}");
        assert!(error.is_permanent());

        let text = dir.path().join("text.pem");
        std::fs::write(&text, "hello").expect("written");
        let error = refusal(TlsFiles { ca: text, cert: None, key: None }).await;
        assert!(error.to_string().contains("no certificate of an authority"), "{error}");
    }
}
