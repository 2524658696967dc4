//! Secrets, from a file that only its owner reads or from the environment. Never from an argument,
//! because every user of the machine can list arguments.

use std::path::{Path, PathBuf};

use lockscope_files::{self as files, FileError, Sensitivity};
use lockscope_live::zk::Auth;

/// The largest auth file that is read, in bytes.
const MAX_AUTH_FILE_BYTES: u64 = 64 * 1024;

/// The name of the environment variable in messages.
const VARIABLE: &str = "the environment variable LOCKSCOPE_AUTH";

/// Why the identities cannot be loaded. No message holds any part of a secret.
#[derive(Debug, thiserror::Error)]
pub(super) enum AuthError {
    #[error("cannot use the auth file {path}: {why}")]
    Unusable { path: PathBuf, why: FileError },
    #[error("line {line} of {source_name} is not `scheme:credentials`, as in `digest:user:password`")]
    Malformed { source_name: String, line: usize },
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum AuthSource {
    Absent,
    File(PathBuf),
    /// The lines of an auth file, given directly.
    Lines(Vec<u8>),
}

impl std::fmt::Debug for AuthSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent => f.write_str("Absent"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Lines(_) => f.write_str("Lines(..)"),
        }
    }
}

impl AuthSource {
    /// Reads the identities, in order.
    pub(super) fn load(&self) -> Result<Vec<Auth>, AuthError> {
        match self {
            Self::Absent => Ok(Vec::new()),
            Self::Lines(lines) => parse(lines, VARIABLE),
            Self::File(path) => parse(&read(path)?, &format!("the auth file {}", path.display())),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, AuthError> {
    files::read(path, Sensitivity::Secret, MAX_AUTH_FILE_BYTES)
        .map_err(|why| AuthError::Unusable { path: path.to_owned(), why })
}

/// Parses one `scheme:credentials` per line. Empty lines and lines that begin with `#` are ignored.
/// Blanks are kept, because a password may begin or end with them.
fn parse(content: &[u8], source_name: &str) -> Result<Vec<Auth>, AuthError> {
    let lines = content.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let meant = lines.enumerate().filter(|(_, line)| {
        let text = line.trim_ascii_start();
        !text.is_empty() && !text.starts_with(b"#")
    });
    meant
        .map(|(at, line)| {
            identity(line).ok_or_else(|| AuthError::Malformed { source_name: source_name.to_owned(), line: at + 1 })
        })
        .collect()
}

fn identity(line: &[u8]) -> Option<Auth> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (scheme, credentials) = (line[..colon].trim_ascii_start(), &line[colon + 1..]);
    let sound = !scheme.is_empty() && scheme.iter().all(u8::is_ascii_graphic) && !credentials.is_empty();
    let scheme = sound.then(|| str::from_utf8(scheme).ok())??;
    Some(Auth { scheme: scheme.to_owned(), credentials: credentials.to_vec() })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn parsed(content: &str) -> Result<Vec<(String, String)>, AuthError> {
        let text = |auth: Auth| (auth.scheme, String::from_utf8(auth.credentials).unwrap());
        parse(content.as_bytes(), "the test").map(|all| all.into_iter().map(text).collect())
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
            assert!(
                message.contains("line 2") && !message.contains("cret:") && !message.contains("secret"),
                "{message}"
            );
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
}
