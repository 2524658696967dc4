//! Tests of `who`.

use super::*;

#[test]
fn only_the_name_of_a_digest_is_kept() {
    assert_eq!(identity("digest", "ann:c2VjcmV0"), "digest:ann");
    assert_eq!(identity("ip", "10.0.0.1"), "ip:10.0.0.1");
}

#[test]
fn a_password_in_the_connect_string_is_not_kept() {
    assert_eq!(Who::here("me:secret@zk1:2181,zk2/prod").ensemble, "zk1:2181,zk2/prod");
}

#[test]
fn a_users_name_is_found_by_the_number() {
    let passwd = "root:x:0:0:root:/root:/bin/sh\nbroken\n\nann:x:1000:1000::/home/ann:/bin/sh\n";
    assert_eq!(user_named(passwd, 1000).as_deref(), Some("ann"));
    assert_eq!(user_named(passwd, 7), None);
}
