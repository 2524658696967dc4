//! Tests of config files as people write them, right and wrong.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::cli::options::FormatOptions;
use crate::cli::resolved::{Environment, ResolvedOptions, SESSION_TIMEOUT};
use lockscope_base::recipe::{Classifier, Recipe, RequestMode, written};
use lockscope_base::znode::ZnodePath;

fn parsed(text: &str) -> Config {
    parse(text, Path::new("/etc/lockscope/config.toml"))
}

#[test]
fn relative_paths_start_at_the_folder_of_the_file() {
    let options = parsed("auth-file = 'auth'\ntls-ca = '/ca.pem'\nlog-file = '../log'").options;
    assert_eq!(options.ensemble.auth_file, Some("/etc/lockscope/auth".into()));
    assert_eq!(options.ensemble.tls_ca, Some("/ca.pem".into()));
    assert_eq!(options.ensemble.log_file, Some("/etc/lockscope/../log".into()));
    let context = parsed("[context.a]\nauth-file = 'auth'").contexts.remove("a").unwrap();
    assert_eq!(context.options.ensemble.auth_file, Some("/etc/lockscope/auth".into()));
}

/// Invalid entries: the wrong line, a part of the sentence, and whether the program still starts
/// without a context.
const INVALID: [(&str, usize, &str, bool); 98] = [
    ("connect = 'a'\ncolour = 1", 2, "no option \"colour\"", true),
    ("thema = 'mono'", 1, "perhaps theme is meant", true),
    ("conect = 'zk1'", 1, "perhaps connect is meant", false),
    ("connections = 'zk1'", 1, "perhaps connect is meant", false),
    ("rot = ['/a']", 1, "perhaps root is meant", false),
    ("auth_file = 'auth'", 1, "perhaps auth-file is meant", false),
    ("tls-certificate = 'x'", 1, "perhaps tls-cert is meant", false),
    ("connect = 5", 1, "connect: invalid type: integer `5`, expected a string", false),
    ("connect = ''", 1, "connect", false),
    ("utc = true\nconnect = 'zk1:port'", 2, "zk1:port", false),
    ("connect = 'zk1/a,zk2/a'", 1, "chroot", false),
    ("connect = zk1:2181", 1, "", false),
    ("\n\nroot = ['locks']", 3, "slash", false),
    ("root = '/locks'", 1, "sequence", false),
    ("root = [\n '/a',\n 'b',\n]", 1, "slash", false),
    ("lock = [5]", 1, "expected a", false),
    ("lock = ['/a/']", 1, "/a/", false),
    ("stuck-after = 'soon'", 1, "number and its unit", true),
    ("stuck-after = 60", 1, "expected a string", true),
    ("session-timeout = 'soon'", 1, "number and its unit", true),
    ("session-timeout = '1ms'", 1, "between 100ms and 1h", true),
    ("timeout = 5", 1, "string", true),
    ("theme = ['pink']", 1, "string", true),
    ("theme = true", 1, "string", true),
    ("format = 'xml'", 1, "table, json", true),
    ("utc = true\nmouse = yes", 2, "", true),
    ("mouse = 'yes'", 1, "expected a boolean", true),
    ("ascii = 1", 1, "expected a boolean", true),
    ("write = 'no'", 1, "expected a boolean", true),
    ("past-memory = '1MiB'", 1, "at least 4MiB", true),
    ("past-memory = 64", 1, "string", true),
    ("store = 5", 1, "string", true),
    ("log-file = ['a']", 1, "string", true),
    ("audit-log = 5", 1, "string", false),
    ("auth-file = true", 1, "string", false),
    ("tls-ca = 5", 1, "string", false),
    ("tls-key = ['a']", 1, "string", false),
    ("server-view = 'word'", 1, "auto, words, http, off", false),
    ("admin-url = 'there'", 1, "admin-url", false),
    ("config = 'other.toml'", 1, "no option \"config\"", true),
    ("utc = true\nutc = false", 2, "duplicate", true),
    ("utc = true\nnonsense", 2, "", false),
    ("utc = true\n[context", 2, "", false),
    ("context = 'a'", 1, "write [context.NAME]", true),
    ("[context]\na = 5", 2, "write [context.a]", true),
    ("[context.'my zk']\nconnect = 'a'", 1, "no name for a context", true),
    ("recipe = 5", 1, "write [[recipe]]", true),
    ("recipe = ['a']", 1, "a recipe is a table", true),
    ("utc = true\n[[recipe]]\nname = 'a'\nkind = 'latch'", 2, "a recipe needs a pattern", true),
    ("[[recipe]]\npattern = 'a{sequence}'\nkind = 'latch'", 1, "a recipe needs a name", true),
    ("[[recipe]]\nname = 'a'\npattern = 'a{sequence}'", 1, "a recipe needs a kind", true),
    ("[[recipe]]\nname = 'a'\npatern = 'a{sequence}'\nkind = 'latch'", 3, "perhaps pattern is meant", true),
    ("[[recipe]]\nname = 'a'\npattern = 'a{guid}'\nkind = 'latch'", 3, "{uuid}, {hex32}", true),
    ("[[recipe]]\nname = 'a'\npattern = 'a{sequence}'\nkind = 'mutex'", 4, "exclusive", true),
    ("[[recipe]]\nname = 'hive'\npattern = 'a{sequence}'\nkind = 'latch'", 2, "has already", true),
    ("[[recipe]]\nname = 'A b'\npattern = 'a{sequence}'\nkind = 'latch'", 2, "small letters", true),
    ("[[recipe]]\nname = 'a'\npattern = 'a'\nkind = 'latch'", 4, "single-node", true),
    (
        "[[recipe]]\nname = 'a'\npattern = '{role}{sequence}'\nkind = 'read-write'\nroles = { a = 'boss' }",
        5,
        "reader",
        true,
    ),
    (
        "[[recipe]]\nname = 'a'\npattern = '{role}{sequence}'\nkind = 'semaphore'\nroles = { a = 'reader' }",
        5,
        "lease",
        true,
    ),
    ("[[recipe]]\nname = 'a'\npattern = 'a{sequence}'\nkind = 'latch'\nleases = 2", 5, "only a semaphore", true),
    ("[[recipe]]\nname = 'a'\npattern = 'a{sequence}'\nkind = 'latch'\nname_from = ''", 5, "1 to 200 bytes", true),
    ("[[recipe]]\nname = 'a'\npattern = 'a{sequence}'\nkind = 'semaphore'\nleases = 0", 5, "from 1 to 10000", true),
    ("[[recipe]]\nname = 'a'\npattern = 'a{sequence}'\nkind = 'latch'\nbelow = 'app'", 5, "slash", true),
    ("[[recipe]]\nname = 'a'\npattern = 'a{sequence}'\nkind = 'latch'\nlock = 'no'", 5, "boolean", true),
    ("[context.a]\nconnect = 5", 2, "the context a cannot be used", true),
    ("[context.a]\nutc = true\nproduction = 'yes'", 3, "true or false", true),
    ("expect = 1", 1, "write [[expect]]", true),
    ("[[expect]]\ncandidates = 3", 1, "needs a path", true),
    ("[[expect]]\npath = 'app'", 2, "slash", true),
    ("[[expect]]\npath = '/app'\ncandidate = 3", 3, "perhaps candidates is meant", true),
    ("[[expect]]\npath = '/app'\ncandidates = -3", 3, "candidates", true),
    ("[[expect]]\npath = '/app'\nleader-within = 'soon'", 3, "number and its unit", true),
    ("[[expect]]\npath = '/app'\nheld-at-most = 10", 3, "held-at-most", true),
    ("flapping = 6", 1, "write [flapping]", true),
    ("[flapping]\nchanges = 0", 2, "changes", true),
    ("[flapping]\nwithin = '2d'", 1, "a day at most", true),
    ("keys = 1", 1, "write [keys]", true),
    ("[keys]\nsrot = 'o'", 2, "perhaps sort is meant", true),
    ("[keys]\nfrobnicate = 'o'", 2, "Help lists them all", true),
    ("[keys]\nsort = 1", 2, "a key or a list of keys", true),
    ("[keys]\nsort = ['o', 1]", 2, "a key or a list of keys", true),
    ("[keys]\nsort = 'hyper-x'", 2, "`hyper-x` cannot be bound", true),
    ("[keys]\nsort = 'ctrl-c'", 2, "cannot be bound", true),
    ("[keys]\npause = 'f8'\nsort = 'o'", 3, "`o` means `session` in Locks already", true),
    ("screen = 'locks'", 1, "write [screen.locks]", true),
    ("screen.locks = 1", 1, "write [screen.locks]", true),
    ("[screen.lock]\nsort = 'held'", 1, "there is no list `lock`: there are ensembles, locks, queue", true),
    ("[screen.help]", 1, "there is no list `help`", true),
    ("[screen.locks]\ncolumns = ['lock', 'colour']", 2, "has no column `colour`: it has lock, recipe", true),
    ("[screen.locks]\ncolumns = []", 2, "needs a column", true),
    ("[screen.locks]\ncolumns = 'lock'\nsort = 'x'", 3, "cannot be sorted by `x`", true),
    ("[screen.locks]\ncolumns = 7", 2, "takes a list of names", true),
    ("[screen.waits]\ncolumns = ['lock']", 2, "has no columns", true),
    ("[screen.queue]\nsort = 'age'", 2, "has one order only", true),
    ("[screen.locks]\nsort = ['held']", 2, "sort takes a text", true),
    ("[screen.locks]\nfilter = '/[/'", 2, "is not a pattern yet", true),
    ("[screen.locks]\nfilter = 1", 2, "filter takes a text", true),
    ("[screen.locks]\nwidth = 1", 2, "a list has no `width`", true),
];

#[test]
fn each_invalid_entry_gives_one_sentence_with_its_file_and_line_and_says_what_is_allowed() {
    for (text, line, part, starts) in INVALID {
        let config = parsed(text);
        assert_eq!(config.mistakes.len(), 1, "{text}: {:?}", config.mistakes);
        let message = config.mistakes[0].to_string();
        let begin = format!("the config file /etc/lockscope/config.toml is wrong in line {line}: ");
        assert!(message.starts_with(&begin), "{message}");
        assert!(message.contains(part) && !message.contains('\n') && !message.contains("  "), "{message}");
        assert_eq!(config.options_in(None).is_ok(), starts, "{message}");
    }
}

#[test]
fn all_mistakes_are_reported_and_valid_entries_count() {
    let is_section = |text: &str| ["context", "keys", "screen"].iter().any(|section| text.starts_with(section));
    let is_line = |text: &str| !text.contains('[') && !text.contains('\n') && !is_section(text);
    let harmless = INVALID.iter().filter(|(text, .., starts)| *starts && is_line(text));
    let mut lines: Vec<&str> = harmless.map(|(text, ..)| *text).collect();
    // A duplicate key is a mistake of its own.
    let key = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    lines.dedup_by_key(|line| key(line));
    let text = format!("connect = 'zk7'\n{}\nutc = true\nmouse = nope\n[context.a]\nroot = ['/a']", lines.join("\n"));
    let config = parsed(&text);
    assert_eq!(config.mistakes.len(), lines.len() + 1, "{:#?}", config.mistakes);
    let options = config.options_in(Some("a")).unwrap();
    assert_eq!((options.ensemble.connect.as_deref(), options.ensemble.utc), (Some("zk7"), Some(true)));
    assert!(options.locks.root.is_some() && options.display.mouse.is_none());
}

#[test]
fn a_line_that_opens_a_multiline_value_is_never_left_out_alone() {
    for text in ["theme = '''\nconnect = 'a'", "theme = [ 'a'\nconnect = 'a'", "theme = {\nconnect = 'a'"] {
        assert!(parsed(text).options_in(None).is_err(), "{text}");
    }
    // In a context the same key is as important as at the top.
    assert!(parsed("[context.a]\nconnect = b").options_in(None).is_err());
    assert!(parsed("[context.a]\nmouse = b").options_in(Some("a")).is_ok());
}

#[test]
fn a_context_overrides_the_top_of_the_file_and_a_wrong_one_cannot_be_used() {
    let config =
        parsed("connect = 'top'\nutc = true\n[context.a]\nconnect = 'a'\n[context.b]\nconnect = 5\nutc = false");
    let connect = |context| config.options_in(context).map(|options| options.ensemble.connect);
    assert_eq!(connect(None).unwrap().as_deref(), Some("top"));
    assert_eq!(connect(Some("a")).unwrap().as_deref(), Some("a"));
    assert_eq!(config.options_in(Some("a")).unwrap().ensemble.utc, Some(true));
    assert!(connect(Some("b")).unwrap_err().to_string().contains("line 6: connect"));
    let unknown = connect(Some("c")).unwrap_err().to_string();
    assert!(unknown.contains("no context \"c\"") && unknown.contains("it has a, b"), "{unknown}");
    assert!(parsed("").options_in(Some("c")).unwrap_err().to_string().contains("it has none"));
}

#[test]
fn a_production_ensemble_is_recognized_by_any_of_its_servers() {
    let config = parsed(
        "[context.prod]\nproduction = true\nconnect = 'zk1,zk2:2182/app'\n[context.test]\nconnect = 'zk9'\n\
         [context.odd]\nproduction = 'yes'\nconnect = 'zk5'",
    );
    for (context, connect, production) in [
        (Some("prod"), "zk1,zk2:2182/app", Some("prod")),
        (Some("prod"), "elsewhere", Some("prod")),
        (None, "zk2:2182/app", Some("prod")),
        (None, "zk1:2181", Some("prod")),
        (Some("test"), "zk1/app/locks", Some("prod")),
        (Some("test"), "zk9", None),
        (None, "zk1/application", None),
        (None, "zk2/app", None),
        (None, "zk5", Some("odd")),
    ] {
        assert_eq!(config.production_of(context, connect), production, "{context:?} {connect}");
    }
}

#[test]
fn a_named_file_must_exist_and_the_usual_one_need_not() {
    let absent = Path::new("/nowhere/config.toml");
    let nothing = Config { path: Some(absent.to_owned()), ..Config::default() };
    assert_eq!(load(None, Some(absent)).unwrap(), nothing);
    assert_eq!(load(None, None).unwrap(), Config::default());
    let message = load(Some(absent), None).unwrap_err().to_string();
    assert!(message.contains("/nowhere/config.toml") && message.contains("--config"), "{message}");
}

#[test]
fn keys_columns_order_and_filter_of_each_list_are_read() {
    let text = "[keys]\nquit = ['q', 'f10']\n[screen.locks]\ncolumns = ['lock', 'held']\nsort = 'held -lock'\nfilter = '!test'";
    let config = parsed(text);
    assert_eq!(config.mistakes, []);
    assert_ne!(config.bindings, Bindings::default());
    let locks = config.screens.of(ScreensChosen::screen("locks").unwrap()).unwrap();
    assert_eq!(locks.columns.as_deref(), Some(&["lock".to_owned(), "held".to_owned()][..]));
    assert_eq!((locks.sort.as_deref(), locks.filter.as_deref()), (Some("held -lock"), Some("!test")));
}

#[test]
fn the_documented_example_holds_every_option_at_its_default() {
    let example = include_str!("../../../../assets/config.toml");
    assert_eq!(parsed(example), Config { is_there: true, ..Config::default() }, "as it comes, it changes nothing");
    let top = example.split("# ---- Contexts").next().unwrap();
    let lines = top.lines().filter_map(|line| line.strip_prefix("#")).filter(|line| !line.starts_with(' '));
    let lines: Vec<&str> = lines.collect();
    let mut listed: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
    let mut keys = super::entries::keys();
    listed.sort_unstable();
    keys.sort_unstable();
    assert_eq!(listed, keys);
    let config = parsed(&lines.join("\n"));
    assert_eq!(config.mistakes, []);
    let mut options = config.options;
    assert_eq!(options.ensemble.session_timeout, Some(SESSION_TIMEOUT));
    let ensemble = &mut options.ensemble;
    // Its default differs for test clients.
    ensemble.session_timeout = None;
    // These have no default, or one that depends on the user.
    for file in [
        &mut options.past.store,
        &mut ensemble.auth_file,
        &mut ensemble.tls_ca,
        &mut ensemble.tls_cert,
        &mut ensemble.tls_key,
        &mut ensemble.log_file,
        &mut ensemble.notes_file,
        &mut options.changes.audit_log,
    ] {
        *file = None;
    }
    options.output.format = FormatOptions::default();
    options.ensemble.kerberos_principal = None;
    let settings = |file| {
        let settings = ResolvedOptions::resolve(SharedOptions::default(), &Environment::default(), file).unwrap();
        // Whether a value was given is no option.
        format!("{:?}", ResolvedOptions { connect_is_given: false, timeout_is_given: false, ..settings })
    };
    assert_eq!(settings(options), settings(SharedOptions::default()));
}

#[test]
fn planned_mutes_and_names_of_clients_are_read_and_wrong_ones_do_nothing() {
    let times = "from = '2026-12-01T22:00:00Z'\nuntil = '2026-12-02T02:00:00+01:00'\n";
    let mute =
        format!("[[mute]]\npath = '/app/*'\nfindings = ['stuck']\ncontext = 'prod'\n{times}reason = 'release 42'\n");
    let config = parsed(&format!("{mute}[[client]]\naddress = '10.0.3.*'\nname = 'billing'\n"));
    assert_eq!(config.mistakes, []);
    assert_eq!((config.mutes.len(), config.clients.len()), (1, 1));
    let read = &config.mutes[0];
    assert_eq!((read.context.as_deref(), &*read.mute.note), (Some("prod"), "release 42"));
    assert_eq!(read.mute.until.map(|until| until.since(read.mute.since)), Some(Duration::from_secs(3 * 3_600)));
    for (from, to, why) in [
        ("'/app/*'", "'app'", "path"),
        ("['stuck']", "['sticky']", "there is no kind of finding \"sticky\""),
        ("'2026-12-01T22:00:00Z'", "'22:00'", "write a time as in"),
        ("2026-12-02T02", "2026-12-01T02", "it is not after from"),
        ("reason", "because", "a mute has no \"because\""),
    ] {
        let config = parsed(&mute.replace(from, to));
        assert_eq!(config.mutes, [], "{to}");
        assert!(config.mistakes[0].to_string().contains(why), "{:?}", config.mistakes);
    }
    let config = parsed("[[client]]\naddress = '10.0.3.17'\nname = ' '\n");
    assert!(
        config.clients.is_empty() && config.mistakes[0].to_string().contains("it is empty"),
        "{:?}",
        config.mistakes
    );
}

#[test]
fn the_documented_contexts_are_valid() {
    let example = include_str!("../../../../assets/config.toml");
    let contexts = example.split("# ---- ").find(|part| part.starts_with("Contexts")).unwrap();
    let lines = contexts.lines().filter_map(|line| line.strip_prefix("#")).filter(|line| !line.starts_with(' '));
    let config = parsed(&lines.collect::<Vec<_>>().join("\n"));
    assert_eq!(config.mistakes, []);
    assert!(config.contexts["prod"].production && !config.contexts["test"].production);
}

#[test]
fn each_documented_recipe_reads_the_names_of_its_library() {
    let example = include_str!("../../../../assets/config.toml");
    let recipes = example.split("# ---- ").find(|part| part.starts_with("Recipes")).unwrap();
    let lines = recipes.lines().filter_map(|line| line.strip_prefix("#")).filter(|line| !line.starts_with(' '));
    let config = parsed(&lines.collect::<Vec<_>>().join("\n"));
    assert_eq!(config.mistakes, []);
    let classifier = Classifier::new([]).with_recipes(&config.recipes);
    for (path, read) in [
        ("/mesos/log_replicas/0000000004", None),
        (
            "/clickhouse/tables/01/hits/leader_election/leader_election-0000000001",
            Some(("clickhouse", RequestMode::Exclusive)),
        ),
        ("/hbase/table-lock/orders/read-0000000004", Some(("hbase", RequestMode::Read))),
        ("/hbase/table-lock/orders/write-0000000005", Some(("hbase", RequestMode::Write))),
        ("/pool/semaphore-0000000005", Some(("permits", RequestMode::Lease))),
    ] {
        let place = classifier.classify(&ZnodePath::new(path).unwrap());
        assert_eq!(place.map(|place| (place.recipe.id(), place.mode)), read, "{path}");
    }
}

#[test]
fn printed_recipes_are_valid_in_a_config_file_except_for_their_names() {
    let mut read = 0;
    for recipe in Recipe::ALL.into_iter().map(written) {
        // Any name would fit the others without their parents.
        let is_open = |pattern: &&&str| pattern.starts_with("{text}") || **pattern == "{sequence}";
        for pattern in recipe.patterns.iter().filter(|pattern| !is_open(pattern)) {
            // Leases of a kazoo semaphore have no number, and are recognized by their siblings.
            if *pattern == "{hex32}" {
                continue;
            }
            let roles: Vec<String> =
                recipe.roles.iter().map(|(word, role)| format!("'{word}' = '{}'", role.id())).collect();
            let roles =
                if pattern.contains("{role}") { format!("roles = {{ {} }}", roles.join(", ")) } else { String::new() };
            let kind = recipe.kind.id();
            let config = parsed(&format!("[[recipe]]\nname = 'own'\npattern = '{pattern}'\nkind = '{kind}'\n{roles}"));
            assert_eq!(config.mistakes, [], "{recipe:?}");
            read += config.recipes.len();
        }
    }
    assert!(read > 25, "{read}");
}

#[test]
fn at_a_second_reading_wrong_entries_keep_their_values() {
    let path = Path::new("/etc/lockscope/config.toml");
    let read = |text: &str, earlier: &Config| parse_over(text, path, earlier);
    let first = read("utc = true\ntheme = 'mono'\n[context.a]\nconnect = 'zk1'\nmouse = true", &Config::default());
    assert_eq!(first.mistakes, []);
    let second = read("utc = 'no'\ntheme = pink\n[context.a]\nconnect = 5\nmouse = yes", &first);
    assert_eq!(second.mistakes.len(), 4, "{:?}", second.mistakes);
    assert_eq!((&second.options, &second.contexts), (&first.options, &first.contexts));
    // The value is kept for any number of wrong readings; entries that the owner removed are gone.
    let third = read("utc = 'no'\n[context.a]\nconnect = 5", &second);
    assert_eq!((third.options.ensemble.utc, &third.options.display.theme), (Some(true), &None));
    assert_eq!(third.kept_options_in(Some("a")).unwrap().ensemble.connect.as_deref(), Some("zk1"));
    let unreadable = read("[context", &third);
    assert_eq!((&unreadable.options, unreadable.mistakes.len()), (&third.options, 1));
}

#[test]
fn expectations_of_elections_are_read_in_order() {
    let config = parsed(
        "[[expect]]\npath = '/druid/*/leader'\ncandidates = 3\nleader-within = '30s'\n[[expect]]\npath = '/b'\nheld-at-most = '10m'\n[flapping]\nchanges = 3",
    );
    assert_eq!(config.mistakes, []);
    let paths: Vec<&str> = config.expected.iter().map(|expected| expected.path.as_str()).collect();
    assert_eq!(paths, ["/druid/*/leader", "/b"]);
    let first = &config.expected[0];
    assert_eq!((first.candidates, first.leader_within), (Some(3), Some(std::time::Duration::from_secs(30))));
    let second = &config.expected[1];
    assert_eq!((second.held_at_most, second.is_of_elections()), (Some(std::time::Duration::from_secs(600)), false));
    assert_eq!((config.flapping.changes, config.flapping.within.as_secs()), (3, 600));
}

#[test]
fn a_suggested_recipe_can_be_read_and_reads_its_nodes() {
    let parent = ZnodePath::new("/apps/my \"tickets\"").unwrap();
    let names = ["t\\{1}-0000000001", "t\\{1}-0000000002"];
    let suggested = Classifier::default().suggested(&parent, names.into_iter()).unwrap();
    let lines = lockscope_base::recipe::Definition { persistent: true, ..suggested }.in_config().unwrap();
    let config = parsed(&lines.join("\n"));
    let classifier = Classifier::default().with_recipes(&config.recipes);
    let read = classifier.classify(&parent.child(names[1])).unwrap();
    assert_eq!((read.recipe, read.needs_ephemeral()), (Recipe::Own(config.recipes[0]), false));
}
