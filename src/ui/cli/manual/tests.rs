//! Tests of the manual pages.

use super::*;

/// Returns the text of a page as one line of words, without the markup.
fn words(page: &str) -> String {
    let markup = [("\\fB", ""), ("\\fI", ""), ("\\fR", ""), ("\\-", "-"), ("\\*(Aq", "'"), ("\\&", ""), ("\\\\", "\\")];
    let text: Vec<&str> = page.lines().filter(|line| !line.starts_with('.')).collect();
    let plain = markup.iter().fold(text.join(" "), |text, (from, to)| text.replace(from, to));
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The snapshot of the help has the words of each option. The page must have them too.
#[test]
fn the_manual_page_matches_the_definition() {
    let page = String::from_utf8(page("2026-11-29").unwrap()).unwrap();
    let (whole, shown) = (definition(), words(&page));
    let commands = whole.get_subcommands().filter(|command| !command.is_hide_set());
    let mut lacking = Vec::new();
    for command in commands.chain([&whole]) {
        let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
        let options = command.get_arguments().filter(|option| !option.is_hide_set());
        let texts = options.flat_map(|option| {
            let help = option.get_long_help().or(option.get_help()).map(ToString::to_string);
            option.get_long().map(|long| format!("--{long}")).into_iter().chain(help)
        });
        let texts = texts.chain(about).map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        lacking
            .extend(texts.filter(|text| !shown.contains(text)).map(|text| format!("{}: {text}", command.get_name())));
    }
    assert!(lacking.is_empty(), "{lacking:#?}");
    let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
    insta::assert_snapshot!(sections.join("\n"), @r#"
    NAME
    SYNOPSIS
    DESCRIPTION
    OPTIONS
    LOCKS
    SCREEN
    CONNECTION
    SERVERS
    GENERAL
    "LOCKSCOPE SNAPSHOT"
    "LOCKSCOPE FIND"
    "LOCKSCOPE MEMBERS"
    "LOCKSCOPE DOCTOR"
    "LOCKSCOPE TREE"
    "LOCKSCOPE WATCH"
    "LOCKSCOPE CHECK"
    "LOCKSCOPE RECORD"
    "LOCKSCOPE REPLAY"
    "LOCKSCOPE CONTEND"
    "LOCKSCOPE COMPARE"
    "LOCKSCOPE DEMO"
    "LOCKSCOPE DELETE"
    "LOCKSCOPE HISTORY"
    "LOCKSCOPE REPORT"
    "LOCKSCOPE IMPORT"
    "LOCKSCOPE CUT"
    "LOCKSCOPE STORE"
    "LOCKSCOPE STORE CHECK"
    "LOCKSCOPE SANDBOX"
    "LOCKSCOPE CONTEXTS"
    "LOCKSCOPE RECIPES"
    "LOCKSCOPE COMPLETIONS"
    "LOCKSCOPE MAN"
    FILES
    ENVIRONMENT
    "EXIT STATUS"
    VERSION
    "SEE ALSO"
    "#);
}

#[test]
fn the_page_of_a_command_has_its_version_its_date_and_what_is_true_of_it() {
    let whole = definition();
    let page = |name: &str| {
        let command = whole.find_subcommand(name).unwrap();
        let page = String::from_utf8(command_page(command, "2026-11-29").unwrap()).unwrap();
        let title = page.lines().find(|line| line.starts_with(".TH")).unwrap().to_owned();
        let (_, last) = page.split_once(".SH FILES").or_else(|| page.split_once(".SH ENVIRONMENT")).unwrap();
        format!("{title}\n{}", last.replace("\\-", "-").replace(env!("CARGO_PKG_VERSION"), "VERSION"))
    };
    insta::assert_snapshot!(["check", "demo", "cut", "completions"].map(page).join("\n"));
}
