//! Finds themes by name: a built-in one, or a file in the folder `themes` beside the config file.

use std::path::{Path, PathBuf};

use crate::tui::{BadTheme, Palette, ThemeName};
use lockscope_files::{self as files, FileError, Sensitivity};

/// The largest theme file, in bytes.
const MAX_THEME_BYTES: u64 = 1 << 16;

/// Why a theme cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ThemeError {
    #[error("there is no theme {name:?}: {built_in} are built in, and others are files like {place}")]
    Absent { name: String, built_in: String, place: PathBuf },
    #[error("cannot use the theme {path}: {why}")]
    Unusable { path: PathBuf, why: FileError },
    #[error("the theme {path} is wrong in line {line}: {problem}")]
    Wrong { path: PathBuf, line: usize, problem: String },
}

/// Returns the theme of that name. A file precedes a built-in theme of the same name; `config` is
/// the path of the config file.
pub(super) fn find(name: &str, config: Option<&Path>) -> Result<Palette, ThemeError> {
    let folder = config.and_then(Path::parent).unwrap_or_else(|| Path::new("")).join("themes");
    let path = folder.join(format!("{name}.toml"));
    // A name that leads to another folder is not accepted.
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "-_".contains(letter));
    let text = match is_name.then(|| files::read_text(&path, Sensitivity::Steering, MAX_THEME_BYTES)) {
        Some(Ok(text)) => text,
        Some(Err(why)) if !why.is_absent() => return Err(ThemeError::Unusable { path, why }),
        _ => {
            let built_in = ThemeName::ALL.map(ThemeName::id).join(", ");
            let known = ThemeName::named(name).map(ThemeName::palette);
            return known.ok_or_else(|| ThemeError::Absent { name: name.to_owned(), built_in, place: path });
        }
    };
    Palette::read(&text).map_err(|BadTheme { at, problem }| {
        let line = text.bytes().take(at.start).filter(|byte| *byte == b'\n').count() + 1;
        ThemeError::Wrong { path, line, problem }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_beside_the_config_file_is_a_theme_and_comes_before_a_built_in_one() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config.toml");
        assert_eq!(find("dark", Some(&config)).unwrap(), ThemeName::Dark.palette());
        fs::create_dir(folder.path().join("themes")).unwrap();
        fs::write(folder.path().join("themes/dark.toml"), ThemeName::Light.text()).unwrap();
        assert_eq!(find("dark", Some(&config)).unwrap(), ThemeName::Light.palette());
        fs::write(folder.path().join("themes/bad.toml"), "text = 'red'\n\nbody = 'red'").unwrap();
        let said = find("bad", Some(&config)).unwrap_err().to_string();
        assert!(said.contains("themes/bad.toml is wrong in line 3") && said.contains("`body`"), "{said}");
    }

    #[test]
    fn an_unknown_theme_is_refused_with_the_known_names() {
        for name in ["pink", "", "../config", "a/b"] {
            let said = find(name, Some(Path::new("/nowhere/config.toml"))).unwrap_err().to_string();
            assert!(said.contains("colour-blind") && said.contains("/nowhere/themes"), "{said}");
        }
    }
}
