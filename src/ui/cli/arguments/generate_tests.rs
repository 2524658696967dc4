//! Tests of `generate`.

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
    let page = String::from_utf8(page().unwrap()).unwrap();
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
    "#);
}
