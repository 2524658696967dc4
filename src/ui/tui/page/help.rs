//! The keys, and the words of the screens that need an explanation.

use super::{Columns, Line, Tone, Writer};
use lockscope_model::text::{Charset, Keep, fit, width};

/// The columns of Help. The labels are keys and words.
pub const COLUMNS: Columns = Columns { signs: false, label: 17, label_tone: Tone::Ask };
/// Columns of a command's name.
const NAME_WIDTH: usize = 18;
/// Minimum columns of the page at which the names show.
const MIN_WIDTH_WITH_NAMES: usize = 58;

/// A command as listed in Help.
#[derive(Clone, Debug)]
pub struct CommandHelp {
    /// The keys, as shown.
    pub keys: String,
    /// The name with its argument, such as `:filter TEXT`.
    pub name: String,
    pub help: String,
}

/// The words of the screens that need an explanation.
const WORDS: &[(&str, &str)] = &[
    ("at least", "Before a time: the lock was held at least this long"),
    ("at most", "Before a time: the lock was held at most this long"),
    ("unknown", "Not everything is read yet: the holder is not known"),
    ("silent", "Not heard from for half its timeout: it may expire soon"),
    ("waits for", "Its predecessor: the node directly ahead of it"),
    ("expiring", "Its session has no connection: the node goes with it"),
    ("ghost", "Its session is gone, and its node is still there"),
    ("gone", "Released by its client, or deleted by another: ZooKeeper does not say which"),
    ("live 2/3", "How many of the servers report everything ({servers})"),
    ("herd-style", "Watch events when every waiter watches the lock parent"),
    ("chain-style", "Watch events when each waiter watches its predecessor"),
    ("[WHO]", "A test client: its number, or holder; else the selected one"),
    ("frozen", "A test client that is stopped and notices nothing"),
    ("mouse", "With --mouse: press to select, press again to open"),
];

/// Writes all of Help: commands below their headings, then words. `fill` puts keys in place of the
/// names of commands in braces.
pub fn write<'a>(
    page: &mut Writer,
    groups: impl IntoIterator<Item = (&'a str, Vec<CommandHelp>)>,
    fill: impl Fn(&str) -> String,
) {
    for (title, commands) in groups {
        page.sentence(title, Tone::Strong);
        for CommandHelp { keys, name, help } in commands {
            if page.text_columns() < MIN_WIDTH_WITH_NAMES {
                page.fact(&format!("  {keys}"), &help, Tone::Text);
                continue;
            }
            let name = format!("{name:<NAME_WIDTH$}");
            let help = fit(&help, page.text_columns().saturating_sub(width(&name)), Keep::Start, page.charset());
            let rest = Some((help, Tone::Text));
            page.push(Line { sign: None, label: Some(format!("  {keys}")), text: name, tone: Tone::Dim, rest });
        }
        page.blank();
    }
    page.sentence("Words", Tone::Strong);
    let [at_least, at_most] = match page.charset() {
        Charset::Unicode => ["≥", "≤"],
        Charset::Ascii => [">=", "<="],
    };
    for (word, meaning) in WORDS {
        let word = match *word {
            "at least" => at_least,
            "at most" => at_most,
            word => word,
        };
        page.fact(&format!("  {word}"), &fill(meaning), Tone::Text);
    }
}
