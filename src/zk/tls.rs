use std::path::Path;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
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

/// The same files for those who open connections themselves; refused with the same words.
pub(super) async fn client_config(files: &TlsFiles) -> Result<ClientConfig, ConnectError> {
    load(files).await?;
    let together =
        || ConnectError::BadTls("the certificate and the key do not belong together, or are not supported".to_owned());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates(&files.ca).await?);
    let config = ClientConfig::builder().with_root_certificates(roots);
    let (Some(cert), Some(key)) = (&files.cert, &files.key) else { return Ok(config.with_no_client_auth()) };
    let pem = read(key).await?;
    let private =
        PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| bad(key, "it holds no private key in PEM form"))?;
    config.with_client_auth_cert(certificates(cert).await?, private).map_err(|_| together())
}

async fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    let pem = read(path).await?;
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| bad(path, "it holds no certificate in PEM form"))
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
