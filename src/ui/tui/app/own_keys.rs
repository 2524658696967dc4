//! Key bindings from the config file: which are accepted, and why others are refused.

use super::commands::nearest_name;
use super::screens::SCREENS;
use crate::tui::keymap::key::Key;
use crate::tui::keymap::{Bindings, CommandEntry, FixedKey, commands};

/// The keys that the config file gives to a command.
#[derive(Clone, Debug)]
pub struct WantedKeys<P> {
    /// Where the config file says so. Returned with a refusal.
    pub place: P,
    /// The name of the command.
    pub command: String,
    /// The names of the keys, such as `x`, `ctrl-d`, `space` or `f5`.
    pub keys: Vec<String>,
}

impl Bindings {
    /// Binds the wanted keys, unless a key would then mean two things on one screen. A refused
    /// command keeps its keys from `earlier`. Returns the bindings, and the place and reason of
    /// each refusal.
    pub fn read<P>(wanted: Vec<WantedKeys<P>>, earlier: &Self) -> (Self, Vec<(P, String)>) {
        let (mut bindings, mut refused, mut taken) = (Self::default(), Vec::new(), Vec::new());
        let mut kept = Vec::new();
        for WantedKeys { place, command, keys } in wanted {
            match understood(&command, &keys) {
                Ok((entry, keys)) => {
                    bindings.bind(entry.command, keys);
                    taken.push((place, entry));
                }
                Err(why) => {
                    refused.push((place, why));
                    kept.push(command);
                }
            }
        }
        // All keys are bound before the check, so that two commands may swap their keys. Of two
        // commands that clash, the later one is refused.
        while let Some(at) = (0..taken.len()).rev().find(|at| bindings.clash(taken[*at].1).is_some()) {
            let (place, entry) = taken.remove(at);
            if let Some(why) = bindings.clash(entry) {
                refused.push((place, why));
            }
            bindings.unbind(entry.command);
            kept.push(entry.name.to_owned());
        }
        for command in kept {
            bindings.keep(&command, earlier);
        }
        (bindings, refused)
    }

    /// Binds the keys that a command had in `earlier`, unless they mean something else now.
    pub fn keep(&mut self, command: &str, earlier: &Self) {
        let Some(entry) = commands().find(|entry| entry.name == command) else { return };
        let Some(keys) = earlier.chosen(entry.command) else { return };
        self.bind(entry.command, keys.to_vec());
        if self.clash(entry).is_some() {
            self.unbind(entry.command);
        }
    }

    /// Why a key cannot be bound to a command that answers a plan; `None` when it can.
    fn answers_already(&self, entry: &CommandEntry) -> Option<String> {
        let answers = [FixedKey::Yes, FixedKey::Enter, FixedKey::Leave];
        let taken = self.keys(entry).iter().find(|key| answers.iter().any(|answer| answer.is(**key)))?;
        Some(format!("`{}` is another answer already, so it cannot be `{}`", taken.name(), entry.name))
    }

    /// Why a command cannot have its keys; `None` when it can.
    fn clash(&self, entry: &CommandEntry) -> Option<String> {
        if entry.command.is_of_plan() {
            return self.answers_already(entry);
        }
        let own = |screen: &super::screens::ScreenEntry, of: &CommandEntry| screen.commands.contains(&of.command);
        SCREENS.iter().filter(|screen| screen.screen.has(entry.command)).find_map(|screen| {
            let mut others = commands().filter(|other| {
                other.command != entry.command
                    && screen.screen.has(other.command)
                    && own(screen, other) == own(screen, entry)
                    && other.command.is_of_tour() == entry.command.is_of_tour()
                    && other.command.is_of_playing() == entry.command.is_of_playing()
            });
            let keys = self.keys(entry);
            let (other, key) =
                others.find_map(|other| Some((other, self.keys(other).iter().find(|key| keys.contains(key))?)))?;
            let (label, title) = (key.name(), screen.title);
            Some(format!("`{label}` means `{}` in {title} already, so it cannot be `{}`", other.name, entry.name))
        })
    }
}

fn understood(command: &str, keys: &[String]) -> Result<(&'static CommandEntry, Vec<Key>), String> {
    let entry = commands().find(|entry| entry.name == command).ok_or_else(|| match nearest_name(command) {
        Some(meant) => format!("there is no command `{command}`; perhaps {meant} is meant"),
        None => format!("there is no command `{command}`; Help lists them all"),
    })?;
    Ok((entry, keys.iter().map(|name| bindable(name)).collect::<Result<_, _>>()?))
}

/// Returns the key of this name, if it can be bound. The error is a part of a sentence.
pub(super) fn bindable(name: &str) -> Result<Key, String> {
    let key = Key::read(name).filter(|key| !FixedKey::Interrupt.is(*key));
    key.ok_or_else(|| format!("`{name}` cannot be bound: choose a letter, ctrl-d, space, tab, f5 or page-down"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::keymap::Command;

    fn read(wanted: &[(&str, &[&str])]) -> (Bindings, Vec<(usize, String)>) {
        let wanted = wanted.iter().enumerate().map(|(place, (command, keys))| WantedKeys {
            place,
            command: (*command).to_owned(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        });
        Bindings::read(wanted.collect(), &Bindings::default())
    }

    fn keys(bindings: &Bindings, command: Command) -> &[Key] {
        bindings.keys(commands().find(|entry| entry.command == command).unwrap())
    }

    #[test]
    fn two_commands_may_swap_their_keys() {
        let (bindings, refused) = read(&[("sort", &["S"]), ("then-by", &["s"]), ("quit", &["q", "f10"])]);
        assert_eq!(refused, []);
        assert_eq!(keys(&bindings, Command::Sort), [Key::Char('S')]);
        assert_eq!(keys(&bindings, Command::Quit), [Key::Char('q'), Key::F(10)]);
    }

    #[test]
    fn a_key_that_is_taken_is_refused_and_the_default_stays() {
        let (bindings, refused) = read(&[("sort", &["o"]), ("pause", &["z"])]);
        assert_eq!(refused.len(), 1);
        assert_eq!(refused[0].0, 0);
        assert_eq!(refused[0].1, "`o` means `session` in Locks already, so it cannot be `sort`");
        assert_eq!(keys(&bindings, Command::Sort), [Key::Char('s')]);
        assert_eq!(
            keys(&bindings, Command::Pause),
            [Key::Char('z')],
            "freeze has it only on Contend, where it comes first"
        );
    }

    #[test]
    fn unknown_commands_and_keys_are_named() {
        for (command, key, part) in [
            ("srot", "s", "perhaps sort is meant"),
            ("frobnicate", "s", "Help lists them all"),
            ("sort", "hyper-x", "`hyper-x` cannot be bound"),
            ("sort", "", "cannot be bound"),
            ("sort", "ctrl-c", "cannot be bound"),
            ("ask-owner", "y", "`y` is another answer already"),
            ("ask-owner", "esc", "`Esc` is another answer already"),
        ] {
            let (bindings, refused) = read(&[(command, &[key])]);
            assert_eq!(bindings, Bindings::default());
            assert!(refused[0].1.contains(part), "{refused:?}");
        }
    }

    #[test]
    fn a_refused_command_keeps_its_earlier_keys() {
        let (earlier, _) = read(&[("sort", &["f8"]), ("pause", &["f9"])]);
        let wanted = [("sort", "o"), ("pause", "hyper-x"), ("then-by", "f8")];
        let wanted = wanted.iter().enumerate().map(|(place, (command, key))| WantedKeys {
            place,
            command: (*command).to_owned(),
            keys: vec![(*key).to_owned()],
        });
        let (bindings, refused) = Bindings::read(wanted.collect(), &earlier);
        assert_eq!(refused.len(), 2);
        assert_eq!(keys(&bindings, Command::Pause), [Key::F(9)]);
        assert_eq!(keys(&bindings, Command::ThenBy), [Key::F(8)]);
        assert_eq!(keys(&bindings, Command::Sort), [Key::Char('s')], "its key of before means something else now");
    }
}
