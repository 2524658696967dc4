//! A certificate authority, and certificates that it signed for a server and a client, made by
//! `openssl`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The PEM files in a server's folder.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The authority that signed the others.
    pub authority: PathBuf,
    /// A client's certificate.
    pub client: PathBuf,
    /// The key of the client's certificate.
    pub client_key: PathBuf,
    /// An authority that signed none of the others.
    pub stranger: PathBuf,
}

impl Certificates {
    /// The server's key and certificate in one file.
    pub const SERVER: &str = "server.pem";
    /// The authority's certificate.
    pub const AUTHORITY: &str = "ca.pem";

    /// Creates the files in a folder.
    pub fn make(folder: &Path) -> Self {
        authority(folder, "ca");
        authority(folder, "stranger");
        for (name, usage) in [("server", "serverAuth"), ("client", "clientAuth")] {
            signed(folder, name, usage, "ca");
        }
        let key = fs::read_to_string(folder.join("server.key")).expect("openssl wrote it");
        let certificate = fs::read_to_string(folder.join("server.crt")).expect("openssl wrote it");
        fs::write(folder.join(Self::SERVER), key + &certificate).expect("the folder is writable");
        Self {
            authority: folder.join(Self::AUTHORITY),
            client: folder.join("client.crt"),
            client_key: folder.join("client.key"),
            stranger: folder.join("stranger.pem"),
        }
    }
}

/// Creates a client's certificate and key, signed by an authority that no server here knows.
pub fn foreign_client(folder: &Path) -> [PathBuf; 2] {
    signed(folder, "foreign", "clientAuth", "stranger");
    ["foreign.crt", "foreign.key"].map(|file| folder.join(file))
}

/// Replaces the server's certificate with one by the same authority for these days (`YYYYMMDD`) and
/// names.
pub fn replace_server(folder: &Path, from: &str, until: &str, names: &str) {
    let certificate = signed_for(folder, "server", "serverAuth", [from, until], names);
    let key = fs::read_to_string(folder.join("server.key")).expect("openssl wrote it");
    fs::write(folder.join(Certificates::SERVER), key + &certificate).expect("the folder is writable");
}

/// Replaces the client's certificate with one by the same authority for these days (`YYYYMMDD`).
pub fn replace_client(folder: &Path, from: &str, until: &str) {
    let certificate = signed_for(folder, "client", "clientAuth", [from, until], "DNS:localhost");
    fs::write(folder.join("client.crt"), certificate).expect("the folder is writable");
}

/// Returns a certificate in PEM form that the authority signed for an existing request.
fn signed_for(folder: &Path, name: &str, usage: &str, days: [&str; 2], names: &str) -> String {
    let config = "[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\n\
                  unique_subject=no\npolicy=p\n[p]\ncommonName=supplied\n";
    fs::write(folder.join("ca.cnf"), config).expect("the folder is writable");
    fs::write(folder.join("index.txt"), "").expect("the folder is writable");
    let extensions = format!("subjectAltName={names}\nextendedKeyUsage={usage}\n");
    fs::write(folder.join("other.ext"), extensions).expect("the folder is writable");
    let [from, until] = days.map(|day| format!("{day}000000Z"));
    let request = format!("{name}.csr");
    let sign = ["ca", "-batch", "-notext", "-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key"];
    let out = ["-in", &request, "-out", "other.crt", "-extfile", "other.ext"];
    openssl(folder, &[&sign[..], &out[..], &["-startdate", &from, "-enddate", &until]].concat(), false);
    fs::read_to_string(folder.join("other.crt")).expect("openssl wrote it")
}

fn authority(folder: &Path, name: &str) {
    let subject = format!("/CN=lockscope test {name}");
    let (key, out) = (format!("{name}.key"), format!("{name}.pem"));
    openssl(folder, &["req", "-x509", "-subj", &subject, "-days", "2", "-keyout", &key, "-out", &out], true);
}

fn signed(folder: &Path, name: &str, usage: &str, authority: &str) {
    let (key, request, certificate) = (format!("{name}.key"), format!("{name}.csr"), format!("{name}.crt"));
    let subject = format!("/CN={name}");
    openssl(folder, &["req", "-subj", &subject, "-keyout", &key, "-out", &request], true);
    let extensions = format!("{name}.ext");
    let text = format!("subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage={usage}\n");
    fs::write(folder.join(&extensions), text).expect("the folder is writable");
    let [ca, ca_key] = ["pem", "key"].map(|kind| format!("{authority}.{kind}"));
    let sign = ["x509", "-req", "-in", &request, "-CA", &ca, "-CAkey", &ca_key, "-CAcreateserial"];
    let out = ["-days", "2", "-extfile", &extensions, "-out", &certificate];
    openssl(folder, &[&sign[..], &out[..]].concat(), false);
}

fn openssl(folder: &Path, arguments: &[&str], new_key: bool) {
    let key: &[&str] =
        if new_key { &["-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"] } else { &[] };
    let run = Command::new("openssl").current_dir(folder).args(arguments).args(key).output().expect("openssl starts");
    assert!(run.status.success(), "openssl {arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
}
