//! What a command is to do, from its options, the environment, the config file and the defaults, in this order.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use super::auth::{AuthError, AuthSource};
use super::config::Config;
use super::merge::Merge;
use super::options::{EnsembleOptions, Format, SharedOptions};
use crate::admin::audit;
use crate::diagnose::Thresholds;
use crate::observe::{MAX_BACKLOG, ObserveOptions};
use crate::recipe::OwnRecipe;
use crate::report::Ensemble;
use crate::tui::{Bindings, Palette, PastPlace, ScreensChosen, ThemeName, TuiOptions};
use crate::zk::admin::AdminUrl;
use crate::zk::survey::{SurveyOptions, ViewBy};
use crate::zk::{self, BadConnectString, ConnectOptions, TlsFiles};
use crate::znode::ZnodePath;

pub(super) const DEFAULT_CONNECT: &str = "localhost:2181";
pub(super) const SESSION_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15);

/// Why the settings do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum OptionsError {
    #[error(transparent)]
    Connect(#[from] BadConnectString),
    #[error("a certificate and its key go together: give both --tls-cert and --tls-key, or neither")]
    HalfCertificate,
    /// TLS without an authority would trust anybody.
    #[error("a TLS certificate is given but no authority to check the servers by: name its PEM file with --tls-ca")]
    NoAuthority,
    #[error("the environment variable {0} is not valid UTF-8: set it again, or unset it")]
    NotText(&'static str),
}

/// What the environment sets; an empty variable sets nothing.
#[derive(Clone, PartialEq)]
pub(super) struct Environment {
    /// What there are options for, too.
    pub options: SharedOptions,
    /// The lines of an auth file themselves.
    pub auth_lines: Option<Vec<u8>>,
    /// Which events go into the log file.
    pub log_filter: Option<String>,
    /// Whether the locale's characters are those of UTF-8.
    pub has_utf8: bool,
}

impl Default for Environment {
    /// One that sets nothing, on a terminal that shows all characters.
    fn default() -> Self {
        Self { options: SharedOptions::default(), auth_lines: None, log_filter: None, has_utf8: true }
    }
}

impl Environment {
    /// Reads the environment by a function that knows it.
    pub(super) fn read(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, OptionsError> {
        let filled = |name| variable(name).filter(|value| !value.is_empty());
        let text = |name| filled(name).map(OsString::into_string).transpose().map_err(|_| OptionsError::NotText(name));
        let ensemble = EnsembleOptions {
            context: text("LOCKSCOPE_CONTEXT")?,
            connect: text("ZOOKEEPER_CONNECT")?,
            auth_file: filled("LOCKSCOPE_AUTH_FILE").map(PathBuf::from),
            ..EnsembleOptions::default()
        };
        // As the C library chooses the locale of characters; without any it is that of ASCII.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(filled).unwrap_or_default();
        let locale = locale.to_string_lossy().to_lowercase();
        Ok(Self {
            options: SharedOptions { ensemble, ..SharedOptions::default() },
            auth_lines: filled("LOCKSCOPE_AUTH").map(OsString::into_vec),
            log_filter: text("LOCKSCOPE_LOG")?,
            has_utf8: ["utf-8", "utf8"].iter().any(|name| locale.contains(name)),
        })
    }
}

/// Every option with its value, as a command uses it.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, and any mixture of them is good")]
#[derive(Clone, Debug)]
pub(super) struct ResolvedOptions {
    pub connect: String,
    /// `None`: [`SESSION_TIMEOUT`], and a shorter one for test clients.
    pub session_timeout: Option<Duration>,
    pub auth: AuthSource,
    pub tls: Option<TlsFiles>,
    pub roots: Vec<ZnodePath>,
    /// Nodes that are single-node locks although their names do not show it.
    pub locks: Vec<ZnodePath>,
    /// The recipes of the user's own.
    pub recipes: Vec<OwnRecipe>,
    pub thresholds: Thresholds,
    pub server_view: ViewBy,
    pub admin_url: AdminUrl,
    pub log_file: Option<PathBuf>,
    pub log_filter: Option<String>,
    pub utc: bool,
    pub ascii: bool,
    /// The name of the theme; its styles are [`palette`](Self::palette).
    pub theme: String,
    pub palette: Palette,
    /// The keys that are not the usual ones.
    pub bindings: Bindings,
    /// How the lists look at first.
    pub screens: ScreensChosen,
    pub mouse: bool,
    /// Whether the screen may change the ensemble.
    pub write: bool,
    /// `None`: there is no place for it.
    pub audit_log: Option<PathBuf>,
    /// Where the screen keeps the past.
    pub past: PastPlace,
    pub format: Format,
    /// How long to wait for an answer of the ensemble.
    pub timeout: Duration,
    /// Whether somebody said how long to wait, so that it is waited for a server that is not there yet.
    pub timeout_is_given: bool,
    /// Whether somebody named the servers.
    pub connect_is_given: bool,
    /// The context of the config file that is in force.
    pub context: Option<String>,
    /// The context that marks this ensemble as one that people depend on.
    pub production: Option<String>,
}

impl ResolvedOptions {
    /// The ensemble, without what its name may hold of identities.
    pub(super) fn ensemble_name(&self) -> String {
        Ensemble::new(&self.connect, None).connect().to_owned()
    }

    /// Puts the options over the environment and that over the config file, and fills in the defaults.
    pub(super) fn resolve(
        options: SharedOptions,
        environment: &Environment,
        file: SharedOptions,
    ) -> Result<Self, OptionsError> {
        // The lines in the environment come before the name of a file, but not before an option.
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
        // Refused now, not by a screen that has just been opened.
        zk::servers(&connect)?;
        let thresholds = Thresholds::default();
        Ok(Self {
            connect,
            session_timeout: ensemble.session_timeout,
            auth,
            tls: tls(ensemble.tls_ca, ensemble.tls_cert, ensemble.tls_key)?,
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
            mouse: display.mouse.unwrap_or(false),
            write: changes.write.unwrap_or(false),
            audit_log: changes.audit_log.or_else(audit::usual_path),
            past: past.place(),
            format: output.format.unwrap_or_else(Format::of_stdout),
            timeout: output.timeout.unwrap_or(DEFAULT_TIMEOUT),
            timeout_is_given: output.timeout.is_some(),
            connect_is_given,
            context: ensemble.context,
            production: None,
            recipes: Vec::new(),
        })
    }

    /// The same with what only the config file says.
    pub(super) fn with_config(self, config: &Config) -> Self {
        let production = config.production_of(self.context.as_deref(), &self.connect).map(str::to_owned);
        let (bindings, screens) = (config.bindings.clone(), config.screens.clone());
        Self { production, recipes: config.recipes.clone(), bindings, screens, ..self }
    }

    /// The names of the options that are not as before and that count only when the screen starts anew.
    pub(super) fn changed_for_later(&self, before: &Self) -> Vec<&'static str> {
        let changed = [
            ("connect", self.connect != before.connect),
            ("session-timeout", self.session_timeout != before.session_timeout),
            ("auth-file", self.auth != before.auth),
            ("tls-ca, tls-cert, tls-key", self.tls != before.tls),
            ("root", self.roots != before.roots),
            ("lock", self.locks != before.locks),
            ("recipe", self.recipes != before.recipes),
            ("keys", self.bindings != before.bindings),
            ("screen", self.screens != before.screens),
            ("stuck-after", self.thresholds != before.thresholds),
            ("server-view", self.server_view != before.server_view),
            ("admin-url", self.admin_url != before.admin_url),
            ("log-file", self.log_file != before.log_file),
            ("utc", self.utc != before.utc),
            ("mouse", self.mouse != before.mouse),
            ("write", self.write != before.write),
            ("audit-log", self.audit_log != before.audit_log),
            ("store, past-memory", self.past != before.past),
        ];
        changed.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
    }

    /// How to reach the ensemble; reads the auth file.
    pub(super) fn connect_options(&self) -> Result<ConnectOptions, AuthError> {
        Ok(ConnectOptions {
            connect: self.connect.clone(),
            session_timeout: self.session_timeout.unwrap_or(SESSION_TIMEOUT),
            auth: self.auth.load()?,
            tls: self.tls.clone(),
        })
    }

    /// What the observer needs; reads the auth file.
    pub(super) fn observe_options(&self) -> Result<ObserveOptions, AuthError> {
        Ok(ObserveOptions {
            connection: self.connect_options()?,
            roots: self.roots.clone(),
            named: self.locks.clone(),
            recipes: self.recipes.clone(),
            max_backlog: MAX_BACKLOG,
        })
    }

    /// How to ask the servers about themselves; reads the auth file.
    pub(super) fn survey_options(&self) -> Result<SurveyOptions, AuthError> {
        let options = SurveyOptions::new(self.connect_options()?);
        Ok(SurveyOptions { by: self.server_view, admin: self.admin_url.clone(), ..options })
    }

    /// How to open the screen on what these options name.
    pub(super) fn tui_options(&self, observe: ObserveOptions, survey: SurveyOptions) -> TuiOptions {
        TuiOptions {
            observe,
            survey,
            thresholds: self.thresholds,
            ascii: self.ascii,
            theme: self.palette,
            mouse: self.mouse,
            utc: self.utc,
            write: self.write,
            audit_log: self.audit_log.clone(),
            connect_is_given: self.connect_is_given,
            context: self.context.clone(),
            production: self.production.clone(),
            contexts: Vec::new(),
            notice: None,
            past: self.past.clone(),
            tour: None,
            bindings: self.bindings.clone(),
            screens: self.screens.clone(),
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

/// The values without repetitions, in their order.
pub(super) fn once_each<T: Clone + Ord>(mut values: Vec<T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    values.retain(|value| seen.insert(value.clone()));
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytesize::ByteSize;

    use crate::cli::options::{ChangeOptions, DisplayOptions, OutputOptions, WhichLocks};
    use crate::cli::past_options::PastOptions;

    fn options(set: impl FnOnce(&mut SharedOptions)) -> SharedOptions {
        let mut options = SharedOptions::default();
        set(&mut options);
        options
    }

    fn environment(set: impl FnOnce(&mut Environment)) -> Environment {
        let mut environment = Environment::default();
        set(&mut environment);
        environment
    }

    fn paths(texts: &[&str]) -> Vec<ZnodePath> {
        texts.iter().map(|text| ZnodePath::new(text).unwrap()).collect()
    }

    #[test]
    fn an_option_beats_the_environment_which_beats_the_config_file_which_beats_the_default() {
        let option = options(|set| set.ensemble.connect = Some("option".into()));
        let environment = environment(|set| set.options.ensemble.connect = Some("environment".into()));
        let file = options(|set| set.ensemble.connect = Some("file".into()));
        let (nothing, silent) = (SharedOptions::default(), Environment::default());
        for (option, environment, file, expected) in [
            (&option, &environment, &file, "option"),
            (&option, &silent, &file, "option"),
            (&nothing, &environment, &file, "environment"),
            (&nothing, &silent, &file, "file"),
            (&nothing, &silent, &nothing, "localhost:2181"),
        ] {
            let settings = ResolvedOptions::resolve(option.clone(), environment, file.clone()).unwrap();
            assert_eq!(settings.connect, expected);
        }
    }

    #[test]
    fn every_option_can_be_set_in_the_config_file_and_changed_by_an_option() {
        let all = |text: &str, yes: bool| SharedOptions {
            locks: WhichLocks {
                root: Some(paths(&[&format!("/{text}")])),
                lock: Some(paths(&[&format!("/{text}/lock")])),
                stuck_after: Some(Duration::from_secs(text.len() as u64)),
            },
            display: DisplayOptions { ascii: Some(yes), theme: Some(text.into()), mouse: Some(yes) },
            changes: ChangeOptions { write: Some(yes), audit_log: Some(text.into()) },
            past: PastOptions { past_memory: Some(ByteSize::mib(4)), store: Some(text.into()) },
            output: OutputOptions {
                format: Some(if yes { Format::Json } else { Format::Table }),
                timeout: Some(Duration::from_secs(text.len() as u64)),
            },
            ensemble: EnsembleOptions {
                context: Some(text.into()),
                connect: Some(text.into()),
                session_timeout: Some(Duration::from_secs(text.len() as u64)),
                auth_file: Some(text.into()),
                tls_ca: Some(text.into()),
                tls_cert: Some(text.into()),
                tls_key: Some(text.into()),
                server_view: Some(if yes { ViewBy::FourLetter } else { ViewBy::Http }),
                admin_url: Some(format!("http://HOST:1/{text}").parse().unwrap()),
                config: None,
                log_file: Some(text.into()),
                utc: Some(yes),
            },
        };
        let resolved =
            |options, file| format!("{:?}", ResolvedOptions::resolve(options, &Environment::default(), file).unwrap());
        let (option, file) = (all("option", false), all("file", true));
        let nothing = SharedOptions::default();
        assert_eq!(resolved(option.clone(), file.clone()), resolved(option, nothing.clone()));
        assert_eq!(resolved(nothing.clone(), file.clone()), resolved(file, nothing));
    }

    #[test]
    fn the_secret_is_taken_from_the_option_then_the_environment_then_the_config_file() {
        let option = options(|set| set.ensemble.auth_file = Some("/option".into()));
        let file = options(|set| set.ensemble.auth_file = Some("/config".into()));
        let itself = environment(|set| set.auth_lines = Some(b"digest:a:b".to_vec()));
        let named = environment(|set| set.options.ensemble.auth_file = Some("/environment".into()));
        let both = Environment { auth_lines: itself.auth_lines.clone(), ..named.clone() };
        let (nothing, silent) = (SharedOptions::default(), Environment::default());
        for (option, environment, file, expected) in [
            (&option, &both, &file, AuthSource::File("/option".into())),
            (&nothing, &both, &file, AuthSource::Lines(b"digest:a:b".to_vec())),
            (&nothing, &itself, &file, AuthSource::Lines(b"digest:a:b".to_vec())),
            (&nothing, &named, &file, AuthSource::File("/environment".into())),
            (&nothing, &silent, &file, AuthSource::File("/config".into())),
            (&nothing, &silent, &nothing, AuthSource::Absent),
        ] {
            let settings = ResolvedOptions::resolve(option.clone(), environment, file.clone()).unwrap();
            assert_eq!(settings.auth, expected);
        }
    }

    #[test]
    fn the_default_root_is_the_chroot_and_a_root_given_twice_counts_once() {
        let roots = |root| {
            ResolvedOptions::resolve(
                options(|set| set.locks.root = root),
                &Environment::default(),
                SharedOptions::default(),
            )
        };
        assert_eq!(roots(None).unwrap().roots, paths(&["/"]));
        assert_eq!(roots(Some(vec![])).unwrap().roots, paths(&["/"]));
        assert_eq!(roots(Some(paths(&["/b", "/a", "/b"]))).unwrap().roots, paths(&["/b", "/a"]));
    }

    #[test]
    fn a_malformed_connect_string_is_refused_before_anything_starts() {
        let wrong = options(|set| set.ensemble.connect = Some("zk1:port".into()));
        let refused = ResolvedOptions::resolve(wrong, &Environment::default(), SharedOptions::default()).unwrap_err();
        assert!(refused.to_string().contains("zk1:port"), "{refused}");
    }

    #[test]
    fn half_of_a_tls_identity_is_refused_with_what_is_missing() {
        let (ca, cert, key) = (Some("ca".into()), Some("cert".into()), Some("key".into()));
        assert_eq!(tls(ca.clone(), cert.clone(), None).unwrap_err(), OptionsError::HalfCertificate);
        assert_eq!(tls(None, cert.clone(), key.clone()).unwrap_err(), OptionsError::NoAuthority);
        assert!(tls(ca.clone(), None, None).unwrap().is_some_and(|tls| tls.cert.is_none()));
        assert!(tls(ca, cert, key).unwrap().is_some_and(|tls| tls.key.is_some()));
        assert!(tls(None, None, None).unwrap().is_none());
    }

    #[test]
    fn an_empty_variable_says_nothing_and_one_that_is_no_text_is_refused() {
        let empty = Environment::read(|_| Some(OsString::new())).unwrap();
        assert!(empty == Environment { has_utf8: false, ..Environment::default() });
        let broken = Environment::read(|name| (name == "ZOOKEEPER_CONNECT").then(|| OsString::from_vec(vec![0xff])));
        assert!(matches!(broken, Err(OptionsError::NotText("ZOOKEEPER_CONNECT"))));
    }

    #[test]
    fn only_ascii_is_drawn_where_the_locale_has_no_other_characters_unless_it_is_said() {
        let ascii = |variables: &[(&str, &str)], said: Option<bool>| {
            let of = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            let environment = Environment::read(of).unwrap();
            let options = options(|set| set.display.ascii = said);
            ResolvedOptions::resolve(options, &environment, SharedOptions::default()).unwrap().ascii
        };
        for locale in ["en_US.UTF-8", "C.utf8", "de_DE.UTF-8@euro"] {
            assert!(!ascii(&[("LANG", locale)], None), "{locale}");
        }
        for locale in ["C", "POSIX", "de_DE.ISO-8859-1", "de_DE", ""] {
            assert!(ascii(&[("LANG", locale)], None), "{locale}");
            assert!(!ascii(&[("LANG", locale)], Some(false)), "{locale}");
        }
        assert!(ascii(&[], None), "the locale of no variable is C");
        assert!(ascii(&[("LANG", "C.UTF-8"), ("LC_CTYPE", "C")], None));
        assert!(!ascii(&[("LANG", "C"), ("LC_CTYPE", "C.UTF-8")], None));
        assert!(ascii(&[("LANG", "C.UTF-8"), ("LC_CTYPE", "C.UTF-8"), ("LC_ALL", "C")], None));
    }
}
