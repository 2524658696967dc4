//! Tests of what a command runs, and of what it never runs.

use super::*;

fn command(run: &[&str], shell: bool) -> Result<OwnCommand, String> {
    let words: Vec<String> = run.iter().map(|word| (*word).to_owned()).collect();
    Ok(OwnCommand {
        name: "jstack".to_owned(),
        key: Key::Ctrl('j'),
        screens: vec![Screen::Locks],
        run: OwnProgram::read(&words, shell)?,
        confirm: false,
        output: CommandOutput::Pane,
        timeout: Duration::from_secs(30),
        names_client: false,
    })
}

fn values() -> OwnValues {
    OwnValues {
        path: Some("/a/;$(touch x)".to_owned()),
        session: Some("0x1".to_owned()),
        client: Some("10.0.0.7:40312".to_owned()),
        client_host: Some("10.0.0.7".to_owned()),
        name: Some("pod/a".to_owned()),
        of: None,
        context: None,
    }
}

#[test]
fn a_value_stays_inside_its_argument() {
    let command = command(&["p", "--", "{path}", "a{session}-{client_host}{{}}-{client}"], false).unwrap();
    let prepared = command.prepare(&values()).unwrap();
    assert_eq!(prepared.program, "p");
    assert_eq!(prepared.arguments, ["--", "/a/;$(touch x)", "a0x1-10.0.0.7{}-10.0.0.7:40312"]);
    assert_eq!(prepared.shown(), "p -- '/a/;$(touch x)' a0x1-10.0.0.7{}-10.0.0.7:40312");
    assert_eq!(quoted("it's"), r"'it'\''s'");
    assert_eq!(quoted(""), "''");
}

#[test]
fn a_value_is_never_an_option_and_never_has_a_control_character() {
    let command = command(&["ssh", "--", "{client_host}", "x{path}"], false).unwrap();
    for (host, path, why) in [
        (Some("-oProxyCommand=x"), Some("/a"), "begins with a dash"),
        (Some("h"), Some("/a\u{1b}[2J"), "control character U+001B"),
        (Some("h\0"), Some("/a"), "control character U+0000"),
        (Some("h\n"), Some("/a"), "control character U+000A"),
        (None, Some("/a"), "{client_host} is not known here: the servers do not report it."),
        (Some(""), Some("/a"), "not known here"),
        (Some("h"), None, "{path} is not known here"),
    ] {
        let text = |value: Option<&str>| value.map(str::to_owned);
        let refused = command.prepare(&OwnValues { client_host: text(host), path: text(path), ..values() });
        let refused = refused.unwrap_err();
        assert!(refused.starts_with("`jstack` was not run: ") && refused.contains(why), "{refused}");
    }
    let long = OwnValues { path: Some("/".repeat(MAX_VALUE_BYTES + 1)), ..values() };
    assert!(command.prepare(&long).unwrap_err().contains("longer than 4096 bytes"));
    let dash = OwnValues { path: Some("-x".to_owned()), ..values() };
    assert_eq!(command.prepare(&dash).unwrap().arguments[2], "x-x", "after text it is no option");
}

#[test]
fn a_shell_has_values_in_its_environment_only() {
    let command = command(&["dig -x \"$LOCKSCOPE_CLIENT_HOST\" > ${path}"], true).unwrap();
    let prepared = command.prepare(&values()).unwrap();
    assert_eq!((&*prepared.program, &*prepared.arguments[0]), ("sh", "-c"));
    assert_eq!(prepared.arguments[1], "dig -x \"$LOCKSCOPE_CLIENT_HOST\" > ${path}");
    let of = |name| prepared.variables.iter().find(|(variable, _)| *variable == name).unwrap().1.as_deref();
    assert_eq!(of("LOCKSCOPE_PATH"), Some("/a/;$(touch x)"));
    assert_eq!(of("LOCKSCOPE_CONTEXT"), None, "an inherited one is removed");
    assert!(prepared.shown().starts_with("LOCKSCOPE_PATH='/a/;$(touch x)' LOCKSCOPE_SESSION=0x1 "));
    let dash = OwnValues { client_host: Some("-f".to_owned()), ..values() };
    assert!(command.prepare(&dash).unwrap_err().contains("begins with a dash"));
    let unknown = OwnValues { client_host: None, ..values() };
    assert!(command.prepare(&unknown).unwrap_err().contains("not known here"));
}

#[test]
fn wrong_programs_are_refused() {
    for (run, shell, why) in [
        (&[][..], false, "name a program"),
        (&[" "][..], false, "name a program"),
        (&["{path}"][..], false, "the program cannot be a value"),
        (&["a{session}"][..], false, "the program cannot be a value"),
        (&["a", "{host}"][..], false, "{client_host}"),
        (&["a", "{print $1}"][..], false, "stand for braces"),
        (&["a", "}"][..], false, "stand for braces"),
        (&["a\0"][..], false, "NUL"),
        (&["a", "b"][..], true, "one text"),
        (&["ls {path}"][..], true, "write \"$LOCKSCOPE_PATH\""),
        (&["a"; 101][..], false, "at most 100 words"),
    ] {
        let refused = command(run, shell).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn a_command_is_on_the_screens_that_know_its_values() {
    let on = |run: &[&str], screen| command(run, false).unwrap().run.is_on(screen);
    assert!(on(&["a", "{path}"], Screen::Node) && !on(&["a", "{path}"], Screen::Sessions));
    assert!(on(&["a", "{session}"], Screen::Waits) && !on(&["a", "{session}{path}"], Screen::Waits));
    assert!(on(&["a"], Screen::Help) && on(&["a", "{context}"], Screen::Ensembles));
    let shell = command(&["echo $LOCKSCOPE_SESSION"], true).unwrap();
    assert!(!shell.run.is_on(Screen::Help));
}

#[test]
fn a_host_has_neither_port_nor_brackets() {
    assert_eq!(["10.0.0.7:1", "[::1]:40312", "host"].map(host_of), ["10.0.0.7", "::1", "host"]);
}
