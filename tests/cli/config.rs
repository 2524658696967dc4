//! Settings from the config file and the environment.

use std::fs;

use super::{UNUSED_ADDRESS, home, lockscope, ran, refused};

#[test]
fn keys_of_the_config_file_for_other_commands_are_ignored() {
    let home = home();
    let file = home.path().join("my.toml");
    fs::write(&file, "root = ['/a']\nwrite = true\ntheme = 'mono'\ntimeout = '300ms'\nstuck-after = '1s'").unwrap();
    let file = file.to_str().unwrap();
    for command in [&["contend", "--path", "/a"][..], &["compare"], &["delete", "/a", "--yes"], &["check"]] {
        let arguments = [command, &["--connect", UNUSED_ADDRESS, "--config", file]].concat();
        assert!(refused(lockscope(home.path(), &arguments)).contains(UNUSED_ADDRESS), "{command:?}");
    }
}

#[test]
fn the_environment_and_the_config_file_name_the_servers() {
    let home = home();
    let folder = home.path().join(".config/lockscope");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), "connect = '127.0.0.1:2'\ntimeout = '300ms'").unwrap();
    assert!(refused(lockscope(home.path(), &["snapshot"])).contains("127.0.0.1:2"));
    let mut command = lockscope(home.path(), &["snapshot"]);
    command.env("ZOOKEEPER_CONNECT", "127.0.0.1:3");
    assert!(refused(command).contains("127.0.0.1:3"));
    let mut command = lockscope(home.path(), &["--connect", "127.0.0.1:4", "snapshot"]);
    command.env("ZOOKEEPER_CONNECT", "127.0.0.1:3");
    assert!(refused(command).contains("127.0.0.1:4"));
    let elsewhere = home.path().join("elsewhere");
    fs::rename(home.path().join(".config"), &elsewhere).unwrap();
    let mut command = lockscope(home.path(), &["snapshot"]);
    command.env("XDG_CONFIG_HOME", &elsewhere);
    assert!(refused(command).contains("127.0.0.1:2"));
}

#[test]
fn a_wrong_config_file_is_named_with_the_line() {
    let home = home();
    let file = home.path().join("my.toml");
    fs::write(&file, "connect = 'a'\nconect = 'b'").unwrap();
    let stderr = refused(lockscope(home.path(), &["snapshot", "--config", file.to_str().unwrap()]));
    assert!(stderr.contains("my.toml") && stderr.contains("line 2") && stderr.contains("conect"), "{stderr}");
    let stderr = refused(lockscope(home.path(), &["snapshot", "--config", "/nowhere.toml"]));
    assert!(stderr.contains("/nowhere.toml"), "{stderr}");
}

#[test]
fn the_config_file_is_checked_without_doing_anything_else() {
    let home = home();
    let file = home.path().join("my.toml");
    let check = |text: &str| {
        fs::write(&file, text).unwrap();
        ran(lockscope(home.path(), &["--config", file.to_str().unwrap(), "--config-check"]))
    };
    let (code, out, stderr) = check("utc = true");
    assert!(code == 0 && out.contains("is right") && stderr.is_empty(), "{code} {out} {stderr}");
    let (code, out, stderr) = check("utc = 'yes'\ncolour = 1\n[[recipe]]\nname = 'a'\n");
    assert!(code == 2 && out.is_empty(), "{code} {out}");
    for part in ["line 1: utc", "line 2: there is no option", "line 3: a recipe needs a pattern", "3 mistakes"] {
        assert!(stderr.contains(part), "{stderr}");
    }
    let (code, out, _) = ran(lockscope(home.path(), &["--config-check"]));
    assert!(code == 0 && out.contains("no config file"), "{out}");
}

#[test]
fn several_contexts_are_for_commands_that_read_and_each_has_servers_of_its_own() {
    let home = home();
    let file = home.path().join("my.toml");
    fs::write(&file, format!("timeout = '300ms'\nconnect = '{UNUSED_ADDRESS}'\n[context.a]\n[context.b]\n")).unwrap();
    let file = file.to_str().unwrap();
    let refusal = |arguments: &[&str]| refused(lockscope(home.path(), &[arguments, &["--config", file]].concat()));
    for command in [&["delete", "/a", "--yes"][..], &["contend", "--path", "/a"], &["compare"], &["members"]] {
        for chosen in [&["--context", "a,b"][..], &["--all-contexts"]] {
            let stderr = refusal(&[command, chosen].concat());
            assert!(stderr.contains("name one context"), "{command:?} {stderr}");
        }
    }
    for (arguments, part) in [
        (&["snapshot", "--context", "a,,b"][..], "a name is missing"),
        (&["check", "--context", "a,x"], "no context \"x\""),
        (&["watch", "--context", "a,b", "--connect", UNUSED_ADDRESS], "leave out --connect"),
        (&["snapshot", "--context", "a", "--all-contexts"], "cannot be used with"),
    ] {
        let stderr = refusal(arguments);
        assert!(stderr.contains(part), "{arguments:?} {stderr}");
    }
    let in_environment = |arguments: &[&str]| {
        let mut command = lockscope(home.path(), &[arguments, &["--config", file]].concat());
        command.env("LOCKSCOPE_CONTEXT", "a,b");
        command
    };
    assert!(refused(in_environment(&["delete", "/a", "--yes"])).contains("name one context"));
    let stderr = refused(lockscope(home.path(), &["history", "--store", "/nowhere.db"]));
    let mut command = lockscope(home.path(), &["history", "--store", "/nowhere.db"]);
    command.env("LOCKSCOPE_CONTEXT", "a,b");
    assert_eq!(refused(command), stderr, "a recording needs no context");
}

#[test]
fn contexts_and_recipes_are_listed_and_a_name_is_read() {
    let home = home();
    let folder = home.path().join(".config/lockscope");
    fs::create_dir_all(&folder).unwrap();
    let text = "[[recipe]]\nname = 'mine'\npattern = 'zlock#{uuid}#{sequence}'\nkind = 'exclusive'\n\
                [context.prod]\nconnect = 'zk1/prod'\nproduction = true\n[context.test]\n";
    fs::write(folder.join("config.toml"), text).unwrap();
    let json = |arguments: &[&str], code| {
        let (ended, out, stderr) = ran(lockscope(home.path(), arguments));
        assert_eq!((ended, stderr.as_str()), (code, ""));
        serde_json::from_str::<serde_json::Value>(&out).unwrap()
    };
    let contexts = json(&["contexts"], 0);
    assert_eq!(contexts[0], serde_json::json!({ "name": "prod", "connect": "zk1/prod", "production": true }));
    assert_eq!(contexts[1]["connect"], "localhost:2181");
    let (_, table, _) = ran(lockscope(home.path(), &["contexts", "--format", "table"]));
    assert!(table.contains("prod     yes         zk1/prod"), "{table}");
    let recipes = json(&["recipes"], 0);
    assert_eq!((&recipes[0]["name"], &recipes[0]["own"]), (&"mine".into(), &true.into()));
    assert!(recipes.as_array().unwrap().len() > 20);
    let (_, table, _) = ran(lockscope(home.path(), &["recipes", "--format", "table"]));
    assert!(table.starts_with("[[recipe]]\nname = \"mine\"\npattern = \"zlock#{uuid}#{sequence}\"\n"), "{table}");
    let path = "/app/zlock#8c1f8b2e-3b1a-4e7e-9f00-0123456789ab#0000000003";
    let read = json(&["recipes", "--try", path], 0);
    assert_eq!((&read["recipe"], &read["kind"], &read["lock"]), (&"mine".into(), &"exclusive".into(), &"/app".into()));
    assert!(read["why"].as_str().unwrap().contains("config file's recipe mine"), "{read}");
    let read = json(&["recipes", "--try", "/app/config"], 1);
    assert_eq!((&read["recipe"], &read["node"]), (&serde_json::Value::Null, &"config".into()));
    let refusal = refused(lockscope(home.path(), &["snapshot", "--context", "nowhere"]));
    assert!(refusal.contains("it has prod, test"), "{refusal}");
}
