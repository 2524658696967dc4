//! Tests of `themes`.

use std::fs;

use super::*;

#[test]
fn a_file_beside_the_config_file_is_a_theme_and_comes_before_a_built_in_one() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    assert_eq!(find_theme("dark", Some(&config)).unwrap(), ThemeName::Dark.palette());
    fs::create_dir(folder.path().join("themes")).unwrap();
    fs::write(folder.path().join("themes/dark.toml"), ThemeName::Light.text()).unwrap();
    assert_eq!(find_theme("dark", Some(&config)).unwrap(), ThemeName::Light.palette());
    fs::write(folder.path().join("themes/bad.toml"), "text = 'red'\n\nbody = 'red'").unwrap();
    let said = find_theme("bad", Some(&config)).unwrap_err().to_string();
    assert!(said.contains("themes/bad.toml is wrong in line 3") && said.contains("`body`"), "{said}");
}

#[test]
fn an_unknown_theme_is_refused_with_the_known_names() {
    for name in ["pink", "", "../config", "a/b"] {
        let said = find_theme(name, Some(Path::new("/nowhere/config.toml"))).unwrap_err().to_string();
        assert!(said.contains("colour-blind") && said.contains("/nowhere/themes"), "{said}");
    }
}
