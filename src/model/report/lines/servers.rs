//! The servers that do not answer what they are asked about themselves.

use std::io::{self, Write};

use crate::server_view::ServerView;
use lockscope_base::znode::escaped;

/// Writes a line for each server that does not answer, or not everything.
pub(super) fn missing_answers(out: &mut impl Write, view: &ServerView) -> io::Result<()> {
    for (server, why) in view.silent() {
        writeln!(out, "No answer from {}: {}", escaped(server), escaped(why))?;
    }
    for (server, why) in view.refusing() {
        writeln!(out, "Not everything is answered by {}: {}", escaped(server), escaped(why))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_view::{MemberView, ServerMode};

    #[test]
    fn a_server_that_refuses_a_word_is_not_one_that_does_not_answer() {
        let member = |address: &str, mode, why: &str| MemberView {
            mode,
            error: Some(why.to_owned()),
            ..MemberView::unasked(address.to_owned())
        };
        let refusing = member("zk1:2181", Some(ServerMode::Leader), "cons is not in the whitelist");
        let members = vec![refusing, member("zk2:2181", None, "refused the connection")];
        let mut out = Vec::new();
        missing_answers(&mut out, &ServerView { members, ..ServerView::default() }).expect("memory takes it");
        let expected = "No answer from zk2:2181: refused the connection\n\
                        Not everything is answered by zk1:2181: cons is not in the whitelist\n";
        assert_eq!(String::from_utf8(out).expect("text"), expected);
    }
}
