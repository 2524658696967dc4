//! The commands in the README and in the documents, as far as they can be tried without a server:
//! the program knows each of their options and values.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{home, lockscope, ran};

/// What a command in a document may begin with: the program is installed, or run from a clone, or
/// stands behind a prompt.
const BEGINNINGS: [&str; 4] = ["lockscope ", "$ lockscope ", "cargo run --release -- ", "kinit operator && lockscope "];

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let documents = fs::read_dir(root.join("assets/docs")).expect("a folder");
    let documents = documents.map(|entry| entry.expect("an entry").path());
    documents.filter(|path| path.is_file()).chain([root.join("README.md")]).collect()
}

/// Returns the lines of the blocks of shell commands in a page.
fn shell_lines(page: &str) -> Vec<&str> {
    let mut language = None;
    let mut lines = Vec::new();
    for line in page.lines() {
        match (line.strip_prefix("```"), language) {
            (Some(begun), None) => language = Some(begun),
            (Some(_), Some(_)) => language = None,
            (None, Some("sh" | "console")) => lines.push(line.trim()),
            (None, _) => {}
        }
    }
    lines
}

/// Returns the arguments of each command of the program in a line, without what comes behind a pipe
/// or goes to a file.
fn commands(line: &str) -> Vec<Vec<String>> {
    let arguments = |command: &str| {
        let rest = BEGINNINGS.iter().find_map(|begin| command.strip_prefix(begin))?;
        let words = shell_words::split(rest).expect("quotes come in pairs");
        Some(words.into_iter().take_while(|word| !["|", ">", "&"].contains(&word.as_str())).collect::<Vec<_>>())
    };
    line.split("; ").filter_map(|command| arguments(command.trim_start())).collect()
}

#[test]
fn the_commands_of_a_line_are_found() {
    let line = "lockscope watch --for 5m | jq .  # one line; each event";
    assert_eq!(commands(line), [["watch", "--for", "5m"]]);
    assert_eq!(commands("lockscope man; lockscope check --on-finding 'page a'").len(), 2);
    assert_eq!(commands("# lockscope has no such command"), Vec::<Vec<String>>::new());
    assert_eq!(shell_lines("```sh\na\n```\nb\n```toml\nc\n```\n```console\n$ d\n```"), ["a", "$ d"]);
}

#[test]
fn the_program_knows_every_command_of_the_documents() {
    let home = home();
    let mut tried = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a text");
        for arguments in shell_lines(&text).into_iter().flat_map(commands) {
            // Help is printed only where all arguments before it are right.
            let mut with_help: Vec<&str> = arguments.iter().map(String::as_str).collect();
            with_help.push("--help");
            let (code, _, stderr) = ran(lockscope(home.path(), &with_help));
            assert_eq!(code, 0, "{}: {arguments:?}: {stderr}", page.display());
            tried += 1;
        }
    }
    assert!(tried > 60, "only {tried} commands were found");
}
