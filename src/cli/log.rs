//! The log of lockscope's own work: to a file, never to the screen.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;

use super::CliError;

/// Appends to the file from now on what the filter lets through. A filter that cannot be read counts as `info`, and is
/// complained of in the log itself.
pub(super) fn start(path: &Path, filter: Option<&str>) -> Result<(), CliError> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| CliError::Log { path: path.to_owned(), error })?;
    let wanted = filter.unwrap_or("info");
    let (filter, mistake) = match EnvFilter::try_new(wanted) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new("info"), Some(error)),
    };
    let subscriber =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Mutex::new(file)).finish();
    // A second call in one process (a test) keeps the first log.
    let _ = tracing::subscriber::set_global_default(subscriber);
    if let Some(error) = mistake {
        tracing::warn!(%error, "LOCKSCOPE_LOG is no filter; logging at info");
    }
    Ok(())
}
