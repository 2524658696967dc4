//! Tests of `auth`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::*;

fn parsed(content: &str) -> Result<Vec<(String, String)>, AuthError> {
    let text = |auth: Auth| (auth.scheme, String::from_utf8(auth.credentials).unwrap());
    parse_identities(content.as_bytes(), "the test").map(|all| all.into_iter().map(text).collect())
}

fn file(content: &[u8], mode: u32) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("auth");
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    (folder, path)
}

#[test]
fn identities_are_read_in_order_and_comments_skipped() {
    let content = "# who we are\n\n  digest:me:se:cret \r\n\t# not this\nsasl:you:#x\n";
    let expected = [("digest", "me:se:cret "), ("sasl", "you:#x")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(parsed(content).unwrap(), expected);
    assert!(parsed("").unwrap().is_empty());
}

#[test]
fn a_malformed_line_is_named_by_its_number_and_never_quoted() {
    for content in ["#\nsecret", "#\nsecret:", "#\n:secret", "#\nse cret:x", "digest:a:b\nsécret:x"] {
        let message = parsed(content).unwrap_err().to_string();
        assert!(message.contains("line 2") && !message.contains("cret:") && !message.contains("secret"), "{message}");
    }
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    for mode in [0o644, 0o640, 0o604, 0o620] {
        let (_folder, path) = file(b"digest:me:secret", mode);
        let message = AuthSource::File(path).load().unwrap_err().to_string();
        assert!(message.contains("chmod 600") && !message.contains("secret"), "{message}");
    }
    let (_folder, path) = file(b"digest:me:secret", 0o600);
    assert_eq!(AuthSource::File(path).load().unwrap().len(), 1);
}

#[test]
fn a_path_that_is_no_regular_file_is_refused_without_reading_it_all() {
    let (folder, path) = file(&vec![b'#'; 70_000], 0o400);
    let refusal = |path| AuthSource::File(path).load().unwrap_err().to_string();
    assert!(refusal(path).contains("larger than 65536 bytes"));
    assert!(refusal("/nowhere".into()).contains("/nowhere: No such file"));
    assert!(refusal(folder.path().to_owned()).contains("it is a directory and not a file"));
}

#[test]
fn nothing_that_is_logged_shows_a_secret() {
    let shown = format!("{:?}", AuthSource::Lines(b"digest:me:secret".to_vec()));
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn a_password_that_goes_over_a_network_in_plain_text_is_named_once_unless_that_is_meant() {
    let tls = TlsFiles { ca: "ca.pem".into(), cert: None, key: None };
    let warning = |connect: &str, line: &str, tls: Option<TlsFiles>, allow: bool| {
        let ensemble = EnsembleOptions { connect: Some(connect.to_owned()), ..EnsembleOptions::default() };
        let options = SharedOptions { ensemble, ..SharedOptions::default() };
        let settings = ResolvedOptions::resolve(options, &Environment::default(), SharedOptions::default()).unwrap();
        let auth = AuthSource::Lines(line.as_bytes().to_vec());
        ResolvedOptions { auth, tls, allow_plain_auth: allow, ..settings }.plain_password()
    };
    let said = warning("localhost,zk1:2181", "digest:me:secret", None, false).unwrap();
    assert!(said.contains("goes to zk1:2181 in plain text") && said.contains("--allow-plain-auth"), "{said}");
    assert!(!said.contains("secret"), "{said}");
    for (connect, line, tls, allow) in [
        ("localhost,127.0.0.1:1,[::1]:1", "digest:me:secret", None, false),
        ("zk1", "sasl:me:secret", None, false),
        ("zk1", "digest:me:secret", Some(tls), false),
        ("tcp+tls://zk1", "digest:me:secret", None, false),
        ("zk1", "digest:me:secret", None, true),
        ("zk1", "", None, false),
    ] {
        assert_eq!(warning(connect, line, tls, allow), None, "{connect} {line}");
    }
}
