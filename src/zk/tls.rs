use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use zookeeper_client::TlsOptions;

use super::{ConnectError, TlsFiles};

/// Reads the PEM files. What is wrong with a key is said without showing any of it.
pub(super) async fn load(files: &TlsFiles) -> Result<TlsOptions, ConnectError> {
    let ca = read(&files.ca).await?;
    let options = TlsOptions::new()
        .with_pem_ca(&ca)
        .map_err(|_| bad(&files.ca, "it holds no certificate of an authority in PEM form"))?;
    match (&files.cert, &files.key) {
        (None, None) => Ok(options),
        (Some(_), None) => {
            Err(ConnectError::BadTls("a client certificate needs its key: give --tls-key too".to_owned()))
        }
        (None, Some(_)) => {
            Err(ConnectError::BadTls("a client key needs its certificate: give --tls-cert too".to_owned()))
        }
        (Some(cert_file), Some(key_file)) => {
            let (cert, key) = (read(cert_file).await?, read(key_file).await?);
            if !cert.contains("-----BEGIN CERTIFICATE-----") {
                return Err(bad(cert_file, "it holds no certificate in PEM form"));
            }
            if key.contains("ENCRYPTED PRIVATE KEY") || key.contains("Proc-Type: 4,ENCRYPTED") {
                return Err(bad(
                    key_file,
                    "its key is encrypted; write it unencrypted to a file that only you can read",
                ));
            }
            options.with_pem_identity(&cert, &key).map_err(|_| bad(key_file, "it holds no private key in PEM form"))
        }
    }
}

/// The same files for a connection that is no session: servers are to name their host in a certificate by the authority.
pub(super) async fn connector(files: &TlsFiles) -> Result<TlsConnector, ConnectError> {
    // Says what is wrong with the files.
    load(files).await?;
    let mut roots = RootCertStore::empty();
    let authorities = read(&files.ca).await?;
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(authorities.as_bytes()).filter_map(Result::ok));
    let config = ClientConfig::builder().with_root_certificates(roots);
    let (Some(cert_file), Some(key_file)) = (&files.cert, &files.key) else {
        return Ok(TlsConnector::from(Arc::new(config.with_no_client_auth())));
    };
    let (cert, key) = (read(cert_file).await?, read(key_file).await?);
    let chain = CertificateDer::pem_slice_iter(cert.as_bytes()).filter_map(Result::ok).collect();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
        .map_err(|_| bad(key_file, "it holds no private key in PEM form"))?;
    let config = config
        .with_client_auth_cert(chain, key)
        .map_err(|_| bad(key_file, "it does not belong to the certificate, or is not supported"))?;
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn read(path: &Path) -> Result<String, ConnectError> {
    tokio::fs::read_to_string(path).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => bad(path, "it is no text file, and so not in PEM form"),
        _ => bad(path, &error.to_string()),
    })
}

fn bad(path: &Path, why: &str) -> ConnectError {
    ConnectError::BadTlsFile { path: path.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refusal(files: TlsFiles) -> ConnectError {
        load(&files).await.expect_err("unusable files")
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
