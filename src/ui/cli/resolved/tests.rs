//! Tests of precedence: the command line, the environment, the config file, the default.

use bytesize::ByteSize;

use super::*;
use crate::cli::options::{ChangeOptions, DisplayOptions, FormatOptions, OutputOptions, PastOptions, WhichLocks};

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
            format: FormatOptions { format: Some(if yes { Format::Json } else { Format::Table }), json: false },
            timeout: Some(Duration::from_secs(text.len() as u64)),
        },
        ensemble: EnsembleOptions {
            context: Some(text.into()),
            all_contexts: Some(true),
            connect: Some(text.into()),
            session_timeout: Some(Duration::from_secs(text.len() as u64)),
            auth_file: Some(text.into()),
            notes_file: Some(text.into()),
            allow_plain_auth: Some(yes),
            tls_ca: Some(text.into()),
            tls_cert: Some(text.into()),
            tls_key: Some(text.into()),
            kerberos: Some(yes),
            kerberos_server: Some(format!("{text}/_HOST").parse().unwrap()),
            kerberos_principal: Some(text.into()),
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
fn an_empty_variable_sets_nothing_and_an_invalid_one_is_refused() {
    let empty = Environment::read(|_| Some(OsString::new())).unwrap();
    assert!(empty == Environment { has_utf8: false, ..Environment::default() });

    let broken = Environment::read(|name| (name == "ZOOKEEPER_CONNECT").then(|| OsString::from_vec(vec![0xff])));
    assert!(matches!(broken, Err(OptionsError::NotText("ZOOKEEPER_CONNECT"))));

    let memory = |size: &str| Environment::read(|name| (name == READ_MEMORY).then(|| size.into()));
    assert_eq!(memory("2GiB").unwrap().read_memory, Some(2 << 30));
    assert_eq!(memory("much").map(drop).unwrap_err(), OptionsError::ReadMemory("much".to_owned()));
}

#[test]
fn only_ascii_is_drawn_without_a_utf8_locale_unless_an_option_says_otherwise() {
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
