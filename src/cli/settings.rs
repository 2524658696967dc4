//! What is to be done, from all that says so: option, environment, config file, default, in this order.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use super::arguments::{Format, HeadlessOptions, Options, ScreenOptions, ServerViewBy};
use super::auth::{AuthError, AuthSource};
use crate::diagnose::Thresholds;
use crate::observe::ObserveOptions;
use crate::tui::ThemeName;
use crate::zk::admin::AdminUrl;
use crate::zk::survey::SurveyOptions;
use crate::zk::{self, BadConnectString, ConnectOptions, TlsFiles};
use crate::znode::ZnodePath;

const CONNECT: &str = "localhost:2181";
pub(super) const SESSION_TIMEOUT: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(15);

/// Why the settings do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The connect string is malformed, wherever it comes from.
    #[error(transparent)]
    Connect(#[from] BadConnectString),
    /// A certificate proves nothing without its key.
    #[error("a certificate and its key go together: give both --tls-cert and --tls-key, or neither")]
    HalfCertificate,
    /// TLS without an authority would trust anybody.
    #[error("a TLS certificate is given but no authority to check the servers by: name its PEM file with --tls-ca")]
    NoAuthority,
    /// The environment holds something that is no text.
    #[error("the environment variable {0} is not valid UTF-8: set it anew, or unset it")]
    NoText(&'static str),
}

/// What one place says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layer {
    pub options: Options,
    pub screen: ScreenOptions,
    pub headless: HeadlessOptions,
}

impl Layer {
    /// This, and where it says nothing, what stands below it.
    pub(super) fn over(self, below: Layer) -> Layer {
        let (options, screen, headless) = (self.options, self.screen, self.headless);
        Layer {
            options: options.over(below.options),
            screen: screen.over(below.screen),
            headless: HeadlessOptions {
                format: headless.format.or(below.headless.format),
                timeout: headless.timeout.or(below.headless.timeout),
            },
        }
    }
}

impl ScreenOptions {
    pub(super) fn over(self, below: ScreenOptions) -> ScreenOptions {
        ScreenOptions {
            ascii: self.ascii.or(below.ascii),
            theme: self.theme.or(below.theme),
            mouse: self.mouse.or(below.mouse),
            write: self.write.or(below.write),
            audit_log: self.audit_log.or(below.audit_log),
        }
    }
}

impl Options {
    pub(super) fn over(self, below: Options) -> Options {
        Options {
            connect: self.connect.or(below.connect),
            session_timeout: self.session_timeout.or(below.session_timeout),
            auth_file: self.auth_file.or(below.auth_file),
            tls_ca: self.tls_ca.or(below.tls_ca),
            tls_cert: self.tls_cert.or(below.tls_cert),
            tls_key: self.tls_key.or(below.tls_key),
            root: self.root.or(below.root),
            lock: self.lock.or(below.lock),
            stuck_after: self.stuck_after.or(below.stuck_after),
            server_view: self.server_view.or(below.server_view),
            admin_url: self.admin_url.or(below.admin_url),
            config: self.config.or(below.config),
            log_file: self.log_file.or(below.log_file),
            utc: self.utc.or(below.utc),
        }
    }
}

/// What the environment says; an empty variable says nothing.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Environment {
    pub connect: Option<String>,
    pub auth: Option<Vec<u8>>,
    pub auth_file: Option<PathBuf>,
    pub log_filter: Option<String>,
}

impl Environment {
    /// Reads the environment by a function that knows it.
    pub(super) fn read(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, SettingsError> {
        let filled = |name| variable(name).filter(|value| !value.is_empty());
        let text = |name| filled(name).map(OsString::into_string).transpose().map_err(|_| SettingsError::NoText(name));
        Ok(Self {
            connect: text("ZOOKEEPER_CONNECT")?,
            auth: filled("LOCKSCOPE_AUTH").map(OsString::into_vec),
            auth_file: filled("LOCKSCOPE_AUTH_FILE").map(PathBuf::from),
            log_filter: text("LOCKSCOPE_LOG")?,
        })
    }
}

/// Everything settled.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, and any mixture of them is good")]
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub connect: String,
    /// `None`: what is usual for who asks.
    pub session_timeout: Option<Duration>,
    pub auth: AuthSource,
    pub tls: Option<TlsFiles>,
    pub roots: Vec<ZnodePath>,
    pub locks: Vec<ZnodePath>,
    pub thresholds: Thresholds,
    pub server_view: ServerViewBy,
    pub admin_url: AdminUrl,
    pub log_file: Option<PathBuf>,
    pub log_filter: Option<String>,
    pub utc: bool,
    pub ascii: bool,
    pub theme: ThemeName,
    pub mouse: bool,
    /// Whether the screen may change the ensemble.
    pub write: bool,
    /// `None`: where it usually is.
    pub audit_log: Option<PathBuf>,
    /// `None`: by what the output is.
    pub format: Option<Format>,
    pub timeout: Duration,
}

impl Settings {
    /// Settles what the options say, laid over the config file, which stands below the environment.
    pub(super) fn resolve(spoken: Layer, environment: &Environment, file: Layer) -> Result<Self, SettingsError> {
        // A secret has three sources, so its order is settled by itself.
        let auth = AuthSource::choose(
            spoken.options.auth_file.clone(),
            environment.auth.clone(),
            environment.auth_file.clone(),
            file.options.auth_file.clone(),
        );
        let from_environment = Layer {
            options: Options { connect: environment.connect.clone(), ..Options::default() },
            ..Layer::default()
        };
        let Layer { options, screen, headless } = spoken.over(from_environment).over(file);
        let connect = options.connect.unwrap_or_else(|| CONNECT.to_owned());
        // Said now, not by a screen that has just been opened.
        zk::servers(&connect)?;
        Ok(Self {
            connect,
            session_timeout: options.session_timeout,
            auth,
            tls: tls(options.tls_ca, options.tls_cert, options.tls_key)?,
            roots: once_each(options.root.unwrap_or_default(), Some(ZnodePath::root())),
            locks: once_each(options.lock.unwrap_or_default(), None),
            thresholds: thresholds(options.stuck_after),
            server_view: options.server_view.unwrap_or_default(),
            admin_url: options.admin_url.unwrap_or_default(),
            log_file: options.log_file,
            log_filter: environment.log_filter.clone(),
            utc: options.utc.unwrap_or(false),
            ascii: screen.ascii.unwrap_or(false),
            theme: screen.theme.unwrap_or_default(),
            mouse: screen.mouse.unwrap_or(false),
            write: screen.write.unwrap_or(false),
            audit_log: screen.audit_log,
            format: headless.format,
            timeout: headless.timeout.unwrap_or(TIMEOUT),
        })
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
        Ok(ObserveOptions { connection: self.connect_options()?, roots: self.roots.clone(), named: self.locks.clone() })
    }

    /// How to ask the servers about themselves; reads the auth file.
    pub(super) fn survey_options(&self) -> Result<SurveyOptions, AuthError> {
        let options = SurveyOptions::new(self.connect_options()?);
        Ok(SurveyOptions { by: self.server_view.into(), admin: self.admin_url.clone(), ..options })
    }
}

fn thresholds(stuck_after: Option<Duration>) -> Thresholds {
    let usual = Thresholds::default();
    Thresholds { stuck_after: stuck_after.unwrap_or(usual.stuck_after), ..usual }
}

fn tls(ca: Option<PathBuf>, cert: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<TlsFiles>, SettingsError> {
    if cert.is_some() != key.is_some() {
        return Err(SettingsError::HalfCertificate);
    }
    match ca {
        Some(ca) => Ok(Some(TlsFiles { ca, cert, key })),
        None if cert.is_some() => Err(SettingsError::NoAuthority),
        None => Ok(None),
    }
}

/// The paths without repetitions, in their order; `otherwise` when there are none.
fn once_each(paths: Vec<ZnodePath>, otherwise: Option<ZnodePath>) -> Vec<ZnodePath> {
    let mut once: Vec<ZnodePath> = Vec::with_capacity(paths.len().max(1));
    for path in paths {
        if !once.contains(&path) {
            once.push(path);
        }
    }
    if once.is_empty() { otherwise.into_iter().collect() } else { once }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(set: impl FnOnce(&mut Layer)) -> Layer {
        let mut layer = Layer::default();
        set(&mut layer);
        layer
    }

    fn paths(texts: &[&str]) -> Vec<ZnodePath> {
        texts.iter().map(|text| ZnodePath::new(text).unwrap()).collect()
    }

    #[test]
    fn an_option_beats_the_environment_which_beats_the_config_file_which_beats_the_default() {
        let option = layer(|l| l.options.connect = Some("option".into()));
        let environment = Environment { connect: Some("environment".into()), ..Environment::default() };
        let file = layer(|l| l.options.connect = Some("file".into()));
        let (nothing, silent) = (Layer::default(), Environment::default());
        for (option, environment, file, expected) in [
            (&option, &environment, &file, "option"),
            (&option, &silent, &file, "option"),
            (&nothing, &environment, &file, "environment"),
            (&nothing, &silent, &file, "file"),
            (&nothing, &silent, &nothing, "localhost:2181"),
        ] {
            let settings = Settings::resolve(option.clone(), environment, file.clone()).unwrap();
            assert_eq!(settings.connect, expected);
        }
    }

    #[test]
    fn every_option_can_be_set_in_the_config_file_and_changed_by_an_option() {
        let all = |text: &str, yes: bool| Layer {
            options: Options {
                connect: Some(text.into()),
                session_timeout: Some(Duration::from_secs(text.len() as u64)),
                auth_file: Some(text.into()),
                tls_ca: Some(text.into()),
                tls_cert: Some(text.into()),
                tls_key: Some(text.into()),
                root: Some(paths(&[&format!("/{text}")])),
                lock: Some(paths(&[&format!("/{text}/lock")])),
                stuck_after: Some(Duration::from_secs(text.len() as u64)),
                server_view: Some(if yes { ServerViewBy::Words } else { ServerViewBy::Http }),
                admin_url: Some(format!("http://HOST:1/{text}").parse().unwrap()),
                config: None,
                log_file: Some(text.into()),
                utc: Some(yes),
            },
            screen: ScreenOptions {
                ascii: Some(yes),
                theme: Some(if yes { ThemeName::Mono } else { ThemeName::Contrast }),
                mouse: Some(yes),
                write: Some(yes),
                audit_log: Some(text.into()),
            },
            headless: HeadlessOptions {
                format: Some(if yes { Format::Json } else { Format::Table }),
                timeout: Some(Duration::from_secs(text.len() as u64)),
            },
        };
        let resolved =
            |spoken, file| format!("{:?}", Settings::resolve(spoken, &Environment::default(), file).unwrap());
        let (option, file) = (all("option", false), all("file", true));
        assert_eq!(resolved(option.clone(), file.clone()), resolved(option.clone(), Layer::default()));
        assert_eq!(resolved(Layer::default(), file.clone()), resolved(file.clone(), Layer::default()));
    }

    #[test]
    fn the_secret_is_taken_from_the_option_then_the_environment_then_the_config_file() {
        let option = layer(|l| l.options.auth_file = Some("/option".into()));
        let file = layer(|l| l.options.auth_file = Some("/config".into()));
        let itself = Environment { auth: Some(b"digest:a:b".to_vec()), ..Environment::default() };
        let named = Environment { auth_file: Some("/environment".into()), ..Environment::default() };
        let both = Environment { auth: itself.auth.clone(), ..named.clone() };
        let (nothing, silent) = (Layer::default(), Environment::default());
        for (spoken, environment, file, expected) in [
            (&option, &both, &file, AuthSource::File("/option".into())),
            (&nothing, &both, &file, AuthSource::Lines(b"digest:a:b".to_vec())),
            (&nothing, &itself, &file, AuthSource::Lines(b"digest:a:b".to_vec())),
            (&nothing, &named, &file, AuthSource::File("/environment".into())),
            (&nothing, &silent, &file, AuthSource::File("/config".into())),
            (&nothing, &silent, &nothing, AuthSource::Nobody),
        ] {
            let settings = Settings::resolve(spoken.clone(), environment, file.clone()).unwrap();
            assert_eq!(settings.auth, expected);
        }
    }

    #[test]
    fn the_default_root_is_the_chroot_and_a_root_given_twice_counts_once() {
        let roots =
            |root| Settings::resolve(layer(|l| l.options.root = root), &Environment::default(), Layer::default());
        assert_eq!(roots(None).unwrap().roots, paths(&["/"]));
        assert_eq!(roots(Some(vec![])).unwrap().roots, paths(&["/"]));
        assert_eq!(roots(Some(paths(&["/b", "/a", "/b"]))).unwrap().roots, paths(&["/b", "/a"]));
    }

    #[test]
    fn a_malformed_connect_string_is_refused_before_anything_starts() {
        let wrong = layer(|l| l.options.connect = Some("zk1:port".into()));
        let refused = Settings::resolve(wrong, &Environment::default(), Layer::default()).unwrap_err();
        assert!(refused.to_string().contains("zk1:port"), "{refused}");
    }

    #[test]
    fn half_of_a_tls_identity_is_refused_with_what_is_missing() {
        let (ca, cert, key) = (Some("ca".into()), Some("cert".into()), Some("key".into()));
        assert_eq!(tls(ca.clone(), cert.clone(), None).unwrap_err(), SettingsError::HalfCertificate);
        assert_eq!(tls(None, cert.clone(), key.clone()).unwrap_err(), SettingsError::NoAuthority);
        assert!(tls(ca.clone(), None, None).unwrap().is_some_and(|tls| tls.cert.is_none()));
        assert!(tls(ca, cert, key).unwrap().is_some_and(|tls| tls.key.is_some()));
        assert!(tls(None, None, None).unwrap().is_none());
    }

    #[test]
    fn an_empty_variable_says_nothing_and_one_that_is_no_text_is_refused() {
        let empty = Environment::read(|_| Some(OsString::new())).unwrap();
        assert!(empty == Environment::default());
        let broken = Environment::read(|name| (name == "ZOOKEEPER_CONNECT").then(|| OsString::from_vec(vec![0xff])));
        assert!(matches!(broken, Err(SettingsError::NoText("ZOOKEEPER_CONNECT"))));
    }
}
