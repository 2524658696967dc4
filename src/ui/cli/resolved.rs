//! The settings of a command, from its options, the environment, the config file and the defaults,
//! in this order.
//!
//! Two settings are files of their own. Secrets come from a file that only its owner reads, or from
//! the environment; never from an argument, because every user of the machine can list arguments. A
//! theme is found by its name: a built-in one, or a file in the folder `themes` beside the config
//! file.
//!
//! The settings also know whether a server was named. Where none was and there is no session, an
//! error says how to name one.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;

use super::config::Config;
use super::options::{DEFAULT_CONNECT, EnsembleOptions, Format, Override, SharedOptions};
use crate::tui::app::Settings;
use crate::tui::{BadTheme, Bindings, OwnCommand, Palette, PastPlace, ScreensChosen, ThemeName, TuiOptions};
use lockscope_base::recipe::OwnRecipe;
use lockscope_base::znode::ZnodePath;
use lockscope_files as files;
use lockscope_files::{FileError, Sensitivity};
use lockscope_lab::contend::ContendError;
use lockscope_live::admin::notebook::{Notebook, NotesFollower, PlannedMutes};
use lockscope_live::admin::{ProductionMark, audit, notebook};
use lockscope_live::observe::{MAX_BACKLOG, ObserveOptions};
use lockscope_live::zk;
use lockscope_live::zk::admin::AdminUrl;
use lockscope_live::zk::survey::{SurveyOptions, ViewBy};
use lockscope_live::zk::{Auth, BadConnectString, ConnectError, ConnectOptions, KerberosLogin, SessionRole, TlsFiles};
use lockscope_model::diagnose::Thresholds;
use lockscope_model::queue::{Expectation, NamedAddress};
use lockscope_model::report::ReportedEnsemble;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod no_server_tests;

#[cfg(test)]
mod auth_tests;

#[cfg(test)]
mod themes_tests;

pub const SESSION_TIMEOUT: Duration = Duration::from_secs(30);

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15);

/// Longer than any command runs.
const ENDLESS: Duration = Duration::from_secs(366 * 24 * 3600);

/// Why the settings contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum OptionsError {
    #[error(transparent)]
    Connect(#[from] BadConnectString),
    #[error("a certificate and its key go together: give both --tls-cert and --tls-key, or neither")]
    HalfCertificate,
    /// TLS without an authority would trust any server.
    #[error("--tls-cert also needs the certificate authorities of the servers: name their PEM file with --tls-ca")]
    NoAuthority,
    #[error("the environment variable {0} is not valid UTF-8: set it again, or unset it")]
    NotText(&'static str),
    #[error("{READ_MEMORY}={0} is no size: write a number and its unit, as in 2GiB, or unset it")]
    ReadMemory(String),
}

const READ_MEMORY: &str = "LOCKSCOPE_READ_MEMORY";

/// The settings of the environment; an empty variable sets nothing.
#[derive(Clone, PartialEq)]
pub(super) struct Environment {
    /// The settings that are also options.
    pub options: SharedOptions,
    /// The lines of an auth file, given directly.
    pub auth_lines: Option<Vec<u8>>,
    /// The filter of the log file.
    pub log_filter: Option<String>,
    /// The most memory for reading a recording, in bytes.
    pub read_memory: Option<u64>,
    /// Whether the locale uses UTF-8.
    pub has_utf8: bool,
}

impl Default for Environment {
    /// Returns an environment that sets nothing, on a terminal that shows all characters.
    fn default() -> Self {
        Self {
            options: SharedOptions::default(),
            auth_lines: None,
            log_filter: None,
            read_memory: None,
            has_utf8: true,
        }
    }
}

fn read_memory(text: &str) -> Result<u64, OptionsError> {
    text.parse::<ByteSize>().map(|size| size.as_u64()).map_err(|_| OptionsError::ReadMemory(text.to_owned()))
}

impl Environment {
    /// Reads the environment through a lookup function.
    pub(super) fn read(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, OptionsError> {
        let filled = |name| variable(name).filter(|value| !value.is_empty());
        let text = |name| filled(name).map(OsString::into_string).transpose().map_err(|_| OptionsError::NotText(name));
        let ensemble = EnsembleOptions {
            context: text("LOCKSCOPE_CONTEXT")?,
            connect: text("ZOOKEEPER_CONNECT")?,
            auth_file: filled("LOCKSCOPE_AUTH_FILE").map(PathBuf::from),
            ..EnsembleOptions::default()
        };
        // The C library chooses the locale of characters in this order; without any, it is ASCII.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(filled).unwrap_or_default();
        let locale = locale.to_string_lossy().to_lowercase();
        Ok(Self {
            options: SharedOptions { ensemble, ..SharedOptions::default() },
            auth_lines: filled("LOCKSCOPE_AUTH").map(OsString::into_vec),
            log_filter: text("LOCKSCOPE_LOG")?,
            read_memory: text(READ_MEMORY)?.map(|text| read_memory(&text)).transpose()?,
            has_utf8: ["utf-8", "utf8"].iter().any(|name| locale.contains(name)),
        })
    }
}

/// Every option with its value, as a command uses it.
#[expect(clippy::struct_excessive_bools, reason = "the switches are independent of each other")]
#[derive(Clone, Debug)]
pub(super) struct ResolvedOptions {
    pub connect: String,
    /// `None` stands for [`SESSION_TIMEOUT`], and for a shorter one of test clients.
    pub session_timeout: Option<Duration>,
    pub auth: AuthSource,
    /// Whether a password may go over a network in plain text without a warning.
    pub allow_plain_auth: bool,
    pub tls: Option<TlsFiles>,
    pub kerberos: Option<KerberosLogin>,
    pub roots: Vec<ZnodePath>,
    /// Nodes that are single-node locks although their names do not show it.
    pub locks: Vec<ZnodePath>,
    /// The user's own recipes.
    pub recipes: Vec<OwnRecipe>,
    /// What the user expects of elections.
    pub expected: Vec<Expectation>,
    /// The names that the user gives to clients.
    pub clients: Vec<NamedAddress>,
    pub thresholds: Thresholds,
    pub server_view: ViewBy,
    pub admin_url: AdminUrl,
    pub log_file: Option<PathBuf>,
    pub log_filter: Option<String>,
    pub utc: bool,
    pub ascii: bool,
    /// The name of the theme; [`palette`](Self::palette) has its styles.
    pub theme: String,
    pub palette: Palette,
    /// The key bindings that differ from the defaults.
    pub bindings: Bindings,
    /// The initial columns, order and filter of the lists.
    pub screens: ScreensChosen,
    /// The user's own commands.
    pub commands: Vec<OwnCommand>,
    pub mouse: bool,
    /// Whether the screen may change the ensemble.
    pub write: bool,
    /// `None` when there is no place for the log.
    pub audit_log: Option<PathBuf>,
    /// The file with notes about findings; `None` when there is no place for it.
    pub notes_file: Option<PathBuf>,
    /// What the config file mutes.
    pub planned_mutes: Option<Arc<dyn PlannedMutes>>,
    /// Where the screen keeps its past.
    pub past: PastPlace,
    pub format: Format,
    /// How long to wait for an answer of the ensemble.
    pub timeout: Duration,
    /// Whether the timeout was given explicitly; the command then also waits for a server that is
    /// not there yet.
    pub timeout_is_given: bool,
    /// Whether the servers were given explicitly.
    pub connect_is_given: bool,
    /// The context of the config file that is in force.
    pub context: Option<String>,
    /// The context that marks this ensemble as production, as far as the names of the servers tell.
    pub production: Option<ProductionMark>,
    /// Whether the command works on several contexts, so that its output names them.
    pub is_one_of_several: bool,
}

impl ResolvedOptions {
    /// Returns the ensemble, without identities in its connect string.
    pub(super) fn ensemble_name(&self) -> String {
        ReportedEnsemble::new(&self.connect, None).connect().to_owned()
    }

    /// Returns the context, where the output names it because it is one of several.
    pub(super) fn label(&self) -> Option<&str> {
        self.context.as_deref().filter(|_| self.is_one_of_several)
    }

    /// Returns what precedes a sentence on standard error: the context, where it is one of several.
    pub(super) fn prefix(&self) -> String {
        self.label().map(|label| format!("{label}: ")).unwrap_or_default()
    }

    /// Returns these settings for a command that follows ensembles for long: it waits for servers
    /// that are not there yet.
    pub(super) fn waiting_endlessly(self) -> Self {
        Self { timeout: ENDLESS, timeout_is_given: true, ..self }
    }

    /// Merges the options with the environment and the config file, in this order, and fills in the
    /// defaults.
    pub(super) fn resolve(
        options: SharedOptions,
        environment: &Environment,
        file: SharedOptions,
    ) -> Result<Self, OptionsError> {
        // The lines in the environment precede a file name there, but not an option.
        let auth_lines = environment.auth_lines.clone().filter(|_| options.ensemble.auth_file.is_none());
        let SharedOptions { locks, display, changes, past, output, ensemble } =
            options.merge(environment.options.clone()).merge(file);
        let auth = match (auth_lines, ensemble.auth_file) {
            (Some(lines), _) => AuthSource::Lines(lines),
            (None, Some(file)) => AuthSource::File(file),
            (None, None) => AuthSource::Absent,
        };
        let connect_is_given = ensemble.connect.is_some();
        let connect = ensemble.connect.unwrap_or_else(|| DEFAULT_CONNECT.to_owned());
        // Refused now rather than by a screen that has just been opened.
        zk::servers(&connect)?;
        let thresholds = Thresholds::default();
        // A principal in the options implies a login by Kerberos.
        let is_named = ensemble.kerberos_server.is_some() || ensemble.kerberos_principal.is_some();
        let (server, principal) = (ensemble.kerberos_server.unwrap_or_default(), ensemble.kerberos_principal);
        let kerberos = ensemble.kerberos.unwrap_or(is_named).then_some(KerberosLogin { server, principal });
        Ok(Self {
            connect,
            session_timeout: ensemble.session_timeout,
            auth,
            allow_plain_auth: ensemble.allow_plain_auth.unwrap_or(false),
            tls: tls(ensemble.tls_ca, ensemble.tls_cert, ensemble.tls_key)?,
            kerberos,
            roots: once_each(locks.root.filter(|roots| !roots.is_empty()).unwrap_or_else(|| vec![ZnodePath::root()])),
            locks: once_each(locks.lock.unwrap_or_default()),
            thresholds: Thresholds { stuck_after: locks.stuck_after.unwrap_or(thresholds.stuck_after), ..thresholds },
            server_view: ensemble.server_view.unwrap_or_default(),
            admin_url: ensemble.admin_url.unwrap_or_default(),
            log_file: ensemble.log_file,
            log_filter: environment.log_filter.clone(),
            utc: ensemble.utc.unwrap_or(false),
            ascii: display.ascii.unwrap_or(!environment.has_utf8),
            theme: display.theme.unwrap_or_else(|| ThemeName::default().id().to_owned()),
            palette: ThemeName::default().palette(),
            bindings: Bindings::default(),
            screens: ScreensChosen::default(),
            commands: Vec::new(),
            mouse: display.mouse.unwrap_or(false),
            write: changes.write.unwrap_or(false),
            audit_log: changes.audit_log.or_else(audit::usual_path),
            notes_file: ensemble.notes_file.or_else(notebook::usual_path),
            planned_mutes: None,
            past: past.place(),
            format: output.format.resolve(),
            timeout: output.timeout.unwrap_or(DEFAULT_TIMEOUT),
            timeout_is_given: output.timeout.is_some(),
            connect_is_given,
            context: ensemble.context,
            production: None,
            is_one_of_several: false,
            recipes: Vec::new(),
            expected: Vec::new(),
            clients: Vec::new(),
        })
    }

    /// Adds the settings that only the config file has.
    pub(super) fn with_config(self, config: &Config) -> Self {
        let production = config.production_of(self.context.as_deref(), &self.connect).map(ProductionMark::certain);
        let (bindings, screens) = (config.bindings.clone(), config.screens.clone());
        let thresholds = Thresholds { flapping: config.flapping, ..self.thresholds };
        let (recipes, expected) = (config.recipes.clone(), config.expected.clone());
        let (commands, clients) = (config.commands.clone(), config.clients.clone());
        let planned_mutes = config.planned_mutes(self.context.as_deref());
        Self { recipes, expected, clients, thresholds, bindings, screens, commands, planned_mutes, production, ..self }
    }

    /// Returns a follower of what is muted in the ensemble.
    pub(super) fn notes(&self) -> NotesFollower {
        let notebook = self.notes_file.clone().map(Notebook::at);
        NotesFollower::new(notebook, self.planned_mutes.clone(), &self.ensemble_name())
    }

    /// Returns the names of the changed options that take effect only when the screen is restarted.
    ///
    /// It names every field, so that the compiler asks about a new one. Those that are not compared
    /// take effect at once, are not for the screen, or follow from other options.
    pub(super) fn changed_for_later(&self, before: &Self) -> Vec<&'static str> {
        let Self {
            connect,
            session_timeout,
            auth,
            tls,
            kerberos,
            roots,
            locks,
            recipes,
            expected,
            clients,
            thresholds,
            server_view,
            admin_url,
            log_file,
            utc,
            mouse,
            write,
            audit_log,
            notes_file,
            past,
            planned_mutes: _,
            ascii: _,
            theme: _,
            palette: _,
            bindings: _,
            screens: _,
            commands: _,
            log_filter: _,
            format: _,
            timeout: _,
            timeout_is_given: _,
            allow_plain_auth: _,
            connect_is_given: _,
            context: _,
            production: _,
            is_one_of_several: _,
        } = self;
        let changed = [
            ("connect", *connect != before.connect),
            ("session-timeout", *session_timeout != before.session_timeout),
            ("auth-file", *auth != before.auth),
            ("tls-ca, tls-cert, tls-key", *tls != before.tls),
            ("kerberos, kerberos-server, kerberos-principal", *kerberos != before.kerberos),
            ("root", *roots != before.roots),
            ("lock", *locks != before.locks),
            ("recipe", *recipes != before.recipes),
            ("expect", *expected != before.expected),
            ("client", *clients != before.clients),
            ("flapping", thresholds.flapping != before.thresholds.flapping),
            ("stuck-after", thresholds.stuck_after != before.thresholds.stuck_after),
            ("server-view", *server_view != before.server_view),
            ("admin-url", *admin_url != before.admin_url),
            ("log-file", *log_file != before.log_file),
            ("utc", *utc != before.utc),
            ("mouse", *mouse != before.mouse),
            ("write", *write != before.write),
            ("audit-log", *audit_log != before.audit_log),
            ("notes-file", *notes_file != before.notes_file),
            ("store, past-memory", *past != before.past),
        ];
        changed.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
    }

    /// Returns a server to which a password goes over a network in plain text.
    pub(super) fn plain_password_to(&self) -> Option<String> {
        let server = zk::plain_servers(&self.connect, self.tls.is_some()).into_iter().next()?;
        // Whoever cannot load the identities says so.
        let has_password = self.auth.load().is_ok_and(|auth| auth.iter().any(|auth| auth.scheme == "digest"));
        has_password.then_some(server)
    }

    /// Returns a warning if a password goes over a network in plain text, unless that is allowed.
    pub(super) fn plain_password(&self) -> Option<String> {
        let server = if self.allow_plain_auth { None } else { self.plain_password_to() }?;
        Some(format!(
            "the password of a digest identity goes to {server} in plain text: use TLS (--tls-ca), or give --allow-plain-auth if \
             nobody can listen on the way"
        ))
    }

    /// Returns the connection's options; reads the auth file.
    pub(super) fn connect_options(&self) -> Result<ConnectOptions, AuthError> {
        Ok(ConnectOptions {
            connect: self.connect.clone(),
            session_timeout: self.session_timeout.unwrap_or(SESSION_TIMEOUT),
            role: SessionRole::Console,
            auth: self.auth.load()?,
            tls: self.tls.clone(),
            kerberos: self.kerberos.clone(),
        })
    }

    /// Returns the observer's options; reads the auth file.
    pub(super) fn observe_options(&self) -> Result<ObserveOptions, AuthError> {
        Ok(ObserveOptions {
            connection: self.connect_options()?,
            roots: self.roots.clone(),
            named: self.locks.clone(),
            recipes: self.recipes.clone(),
            expected: self.expected.clone(),
            clients: self.clients.clone(),
            max_backlog: MAX_BACKLOG,
        })
    }

    /// Returns the survey's options; reads the auth file.
    pub(super) fn survey_options(&self) -> Result<SurveyOptions, AuthError> {
        let options = SurveyOptions::new(self.connect_options()?);
        Ok(SurveyOptions { by: self.server_view, admin: self.admin_url.clone(), ..options })
    }

    /// Returns the screen's options.
    pub(super) fn tui_options(&self, observe: ObserveOptions, survey: SurveyOptions) -> TuiOptions {
        let settings = Settings {
            connect: observe.connection.connect.clone(),
            connect_is_default: !self.connect_is_given,
            context: self.context.clone(),
            production: self.production.clone(),
            contexts: Vec::new(),
            roots: observe.roots.clone(),
            named: observe.named.clone(),
            recipes: observe.recipes.clone(),
            expected: observe.expected.clone(),
            clients: observe.clients.clone(),
            write: self.write,
            audit_log: self.audit_log.clone(),
            utc: self.utc,
            ascii: self.ascii,
            asks_servers: survey.by != ViewBy::Off,
            thresholds: self.thresholds,
            bindings: self.bindings.clone(),
            screens: self.screens.clone(),
            commands: self.commands.clone(),
        };
        let (theme, past) = (self.palette, self.past.clone());
        TuiOptions {
            settings,
            observe,
            survey,
            theme,
            mouse: self.mouse,
            notice: None,
            past,
            tour: None,
            guard: None,
            notes: self.notes(),
        }
    }
}

fn tls(ca: Option<PathBuf>, cert: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<TlsFiles>, OptionsError> {
    if cert.is_some() != key.is_some() {
        return Err(OptionsError::HalfCertificate);
    }
    match ca {
        Some(ca) => Ok(Some(TlsFiles { ca, cert, key })),
        None if cert.is_some() => Err(OptionsError::NoAuthority),
        None => Ok(None),
    }
}

/// Returns the distinct values, in order.
pub fn once_each<T: Clone + Ord>(mut values: Vec<T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    values.retain(|value| seen.insert(value.clone()));
    values
}

const NAME_A_SERVER: &str =
    "; no server was named: name one with --connect or ZOOKEEPER_CONNECT, or try `lockscope demo`, which needs none";

impl ResolvedOptions {
    /// Returns the advice when the servers of these options give no session; empty when servers
    /// were named.
    pub(super) fn how_to_name_servers(&self) -> &'static str {
        if self.connect_is_given { "" } else { NAME_A_SERVER }
    }

    /// Adds the advice to the error of a command, if the error is a missing session.
    pub(super) fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let of_connecting = error.downcast_ref::<ConnectError>();
        let of_clients = || match error.downcast_ref::<ContendError>()? {
            ContendError::Connect(error) => Some(&**error),
            _ => None,
        };
        let found = of_connecting.or_else(of_clients);
        let is_away = matches!(found, Some(ConnectError::Unreachable(_) | ConnectError::TooLate { .. }));
        if is_away { anyhow::anyhow!("{error}{}", self.how_to_name_servers()) } else { error }
    }
}

/// The largest auth file that is read, in bytes.
const MAX_AUTH_FILE_BYTES: u64 = 64 * 1024;

/// The name of the environment variable in messages.
const AUTH_VARIABLE: &str = "the environment variable LOCKSCOPE_AUTH";

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
    fn load(&self) -> Result<Vec<Auth>, AuthError> {
        match self {
            Self::Absent => Ok(Vec::new()),
            Self::Lines(lines) => parse_identities(lines, AUTH_VARIABLE),
            Self::File(path) => parse_identities(&read_auth_file(path)?, &format!("the auth file {}", path.display())),
        }
    }
}

fn read_auth_file(path: &Path) -> Result<Vec<u8>, AuthError> {
    files::read(path, Sensitivity::Secret, MAX_AUTH_FILE_BYTES)
        .map_err(|why| AuthError::Unusable { path: path.to_owned(), why })
}

/// Parses one `scheme:credentials` per line. Empty lines and lines that begin with `#` are ignored.
/// Blanks are kept, because a password may begin or end with them.
fn parse_identities(content: &[u8], source_name: &str) -> Result<Vec<Auth>, AuthError> {
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

/// The largest theme file, in bytes.
const MAX_THEME_BYTES: u64 = 1 << 16;

/// Why a theme cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    #[error("there is no theme {name:?}: {built_in} are built in, and others are files like {place}")]
    Absent { name: String, built_in: String, place: PathBuf },
    #[error("cannot use the theme {path}: {why}")]
    Unusable { path: PathBuf, why: FileError },
    #[error("the theme {path} is wrong in line {line}: {problem}")]
    Wrong { path: PathBuf, line: usize, problem: String },
}

/// Returns the theme of that name. A file precedes a built-in theme of the same name; `config` is
/// the path of the config file.
pub fn find_theme(name: &str, config: Option<&Path>) -> Result<Palette, ThemeError> {
    let folder = config.and_then(Path::parent).unwrap_or_else(|| Path::new("")).join("themes");
    let path = folder.join(format!("{name}.toml"));
    // A name that leads to another folder is not accepted.
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "-_".contains(letter));
    let text = match is_name.then(|| files::read_text(&path, Sensitivity::Steering, MAX_THEME_BYTES)) {
        Some(Ok(text)) => text,
        Some(Err(why)) if !why.is_absent() => return Err(ThemeError::Unusable { path, why }),
        _ => {
            let built_in = ThemeName::ALL.map(ThemeName::id).join(", ");
            let known = ThemeName::named(name).map(ThemeName::palette);
            return known.ok_or_else(|| ThemeError::Absent { name: name.to_owned(), built_in, place: path });
        }
    };
    Palette::read(&text).map_err(|BadTheme { at, problem }| {
        let line = text.bytes().take(at.start).filter(|byte| *byte == b'\n').count() + 1;
        ThemeError::Wrong { path, line, problem }
    })
}
