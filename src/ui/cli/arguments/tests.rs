//! The order and the place of options on the command line.

use std::path::Path;

use clap::Arg;

use super::*;
use crate::cli::config;
use crate::cli::options::Override;
use crate::cli::resolved::{Environment, ResolvedOptions};

/// Returns an option with a value that it takes and that is not its default.
fn value(option: &Arg) -> String {
    if !option.get_action().takes_values() {
        return format!("--{}", option.get_long().expect("a long name"));
    }
    let named = option.get_possible_values().last().map(|value| value.get_name().to_owned());
    let value = match option.get_value_names().and_then(|names| names.first()).map(AsRef::<str>::as_ref) {
        Some("DURATION") => "7s".to_owned(),
        Some("SIZE") => "7MiB".to_owned(),
        Some("PATH") => "/some/where".to_owned(),
        Some("PRINCIPAL") => "some/where".to_owned(),
        Some("URL") => "http://HOST:7/x".to_owned(),
        Some("BOOL") => "true".to_owned(),
        _ => named.unwrap_or_else(|| "some".to_owned()),
    };
    format!("--{}={value}", option.get_long().expect("a long name"))
}

/// Returns what the command line sets of the shared options.
fn shared(words: &[&str]) -> SharedOptions {
    let arguments = Arguments::from_words([&["lockscope"], words].concat()).unwrap();
    let (before, command) = arguments.split();
    match command.unwrap() {
        CliCommand::Snapshot(options) => options.read.shared(),
        CliCommand::Members(options) => options.read.shared(),
        CliCommand::Doctor(options) => options.shared(),
        CliCommand::Find(options) => options.read.shared(),
        CliCommand::Tree(options) => options.shared(),
        CliCommand::Watch(options) => options.read.shared(),
        CliCommand::Check(options) => options.read.shared(),
        CliCommand::Record(command) => command.shared(),
        CliCommand::Replay(command) => command.shared(),
        CliCommand::Store { command: StoreCommand::Check(options) } => options.shared(),
        CliCommand::Contend(options) => options.run.shared(),
        CliCommand::Compare(options) => options.shared(),
        CliCommand::Demo(options) => options.shared(),
        CliCommand::Delete(options) => options.shared(),
        CliCommand::History(options) => options.shared(),
        CliCommand::Report(command) => command.shared(),
        CliCommand::Import(command) => command.shared(),
        CliCommand::Cut(command) => command.shared(),
        CliCommand::Contexts(options) => options.shared(),
        CliCommand::Recipes(options) => options.file.shared(),
        other => panic!("{other:?} takes none of them"),
    }
    .merge(before)
}

#[test]
fn an_option_before_the_command_is_taken_or_refused_as_behind_it() {
    let definition = Arguments::command();
    let (mut taken, mut refused) = (0, 0);
    let options = || {
        definition.get_arguments().filter(|option| !["help", "version", "color"].contains(&option.get_id().as_str()))
    };
    for command in definition.get_subcommands() {
        let name = command.get_name();
        let command = command.get_subcommands().next().unwrap_or(command);
        let needed = match name {
            "contend" => &["--path", "/a"][..],
            "delete" | "find" | "tree" => &["/a"],
            "report" => &["--store", "a.db", "-o", "a.html"],
            "cut" => &["--store", "a.db", "-o", "b.db"],
            "import" => &["version-2", "--store", "a.db"],
            "history" | "record" => &["--store", "a.db"],
            "replay" => &["a.db"],
            "completions" => &["zsh"],
            "store" => &["check", "a.db"],
            _ => &[],
        };
        for option in options() {
            let given = value(option);
            let before = [&[given.as_str(), name], needed].concat();
            let behind = [&[name], needed, &[given.as_str()]].concat();
            let same_name = |own: &&Arg| own.get_long() == option.get_long() && own.get_id() != option.get_id();
            if command.get_arguments().find(same_name).is_some() {
                // Before the command the option would mean something else than behind it.
                assert!(Arguments::from_words([&["lockscope"], &before[..]].concat()).is_err(), "{before:?}");
            } else if !command.get_arguments().any(|own| own.get_id() == option.get_id()) {
                for words in [&before, &behind] {
                    let error = Arguments::from_words([&["lockscope"], &words[..]].concat()).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::UnknownArgument, "{words:?}");
                    let long = option.get_long().unwrap();
                    assert!(error.to_string().contains(&format!("unexpected argument '--{long}' found")), "{error}");
                }
                refused += 1;
            } else if name != "sandbox" {
                assert_eq!(shared(&before), shared(&behind), "{given} {name}");
                assert_ne!(shared(&behind), shared(&[&[name], needed].concat()), "{given} sets nothing of {name}");
                taken += 1;
            }
        }
    }
    assert!(taken > 80 && refused > 60, "{taken} {refused}");
}

#[test]
fn the_command_line_overrides_the_environment_which_overrides_the_config_file_in_every_group() {
    let file = "root = ['/file']\nascii = false\naudit-log = '/file'\ntimeout = '1s'\nconnect = 'file'";
    let file = || config::parse(file, Path::new("/etc/config.toml")).options;
    let environment = Environment::read(|name| (name == "ZOOKEEPER_CONNECT").then(|| "environment".into())).unwrap();
    let settings = |words: &[&str], environment: &Environment| {
        let settings = ResolvedOptions::resolve(shared(words), environment, file()).unwrap();
        let root = settings.roots[0].to_string();
        (root, settings.ascii, settings.audit_log, settings.timeout.as_secs(), settings.connect)
    };
    let audit_log = |path: &str| Some(PathBuf::from(path));
    let silent = Environment::default();
    let of_file = ("/file".to_owned(), false, audit_log("/file"), 1, "file".to_owned());
    assert_eq!(settings(&["check"], &silent), of_file);
    let (root, ascii, log, timeout, _) = of_file.clone();
    assert_eq!(settings(&["check"], &environment), (root, ascii, log, timeout, "environment".to_owned()));
    let given = ["check", "--root=/option", "--timeout=9s", "--connect=option"];
    let (_, ascii, log, ..) = of_file.clone();
    assert_eq!(settings(&given, &environment), ("/option".to_owned(), ascii, log, 9, "option".to_owned()));
    let (root, _, _, timeout, connect) = of_file;
    let given = ["demo", "--ascii", "--audit-log=/option"];
    assert_eq!(settings(&given, &silent), (root, true, audit_log("/option"), timeout, connect));
}

#[test]
fn an_option_behind_the_command_overrides_the_same_one_before_it() {
    let options = shared(&["--connect", "a", "--utc", "--root", "/a", "snapshot", "--utc=false", "--root", "/b"]);
    assert_eq!((options.ensemble.connect.as_deref(), options.ensemble.utc), (Some("a"), Some(false)));
    assert_eq!(
        options.locks.root.map(|roots| roots.iter().map(ToString::to_string).collect()),
        Some(vec!["/b".to_owned()])
    );
}
