//! Tests of conclusions from several members' answers, and of all parsers with damaged input.

use proptest::prelude::*;

use super::*;
use crate::testing::path;
use lockscope_base::znode::{SessionId, Timestamp};

const S: SessionId = SessionId(0x10);

fn connection(session: SessionId) -> Connection {
    let line = format!(" /10.0.0.1:7[1](queued=0,recved=1,sent=1,sid={session},est=0,to=4000,lresp=900)\n\n");
    four_letter::cons(&line).with_session.remove(0)
}

fn member(mode: ServerMode, sessions: &[SessionId]) -> MemberView {
    let at = Timestamp(60_000);
    let connections = sessions.iter().map(|session| connection(*session)).collect();
    MemberView {
        mode: Some(mode),
        asked_by: AskedBy::Words,
        connections: Some(Listing::new(connections, true, at)),
        watched: Some(Listing::new(Vec::new(), true, at)),
        ..MemberView::unasked("zk1:2181".to_owned())
    }
}

fn listed(sessions: &[SessionId], whole: bool) -> Listing<ListedSession> {
    let expiry = Expiry::Date { millis: 90_000, utc: true };
    let session = |id: &SessionId| ListedSession { id: *id, expiry, expires_at: Some(Timestamp(90_000)) };
    Listing::new(sessions.iter().map(session).collect(), whole, Timestamp(60_000))
}

fn view(members: Vec<MemberView>) -> ServerView {
    ServerView { members, members_known: true, ..ServerView::default() }
}

#[test]
fn a_session_with_a_connection_is_connected_even_if_no_other_member_answers() {
    let silent = MemberView::unasked("zk2:2181".to_owned());
    let view = view(vec![silent, member(ServerMode::Follower, &[S])]);
    assert_eq!(view.liveness(S), Liveness::Connected);
    assert!(!view.every_member_answered());
}

#[test]
fn a_session_without_a_connection_expires_only_if_every_member_says_so() {
    let mut leader = member(ServerMode::Leader, &[]);
    leader.sessions = Some(listed(&[S], true));
    let all = view(vec![leader.clone(), member(ServerMode::Follower, &[])]);
    let at = Some(Timestamp(90_000));
    assert_eq!(all.liveness(S), Liveness::Disconnected { expires_at: at });
    assert_eq!(all.liveness(S).expires_in(Timestamp(89_000)), Some(std::time::Duration::from_secs(1)));

    assert_eq!(all.connections_as_of(), Some(Timestamp(60_000)));

    let some = view(vec![leader.clone(), MemberView::unasked("zk2:2181".to_owned())]);
    assert_eq!(some.liveness(S), Liveness::Exists { expires_at: at });
    assert_eq!(some.connections_as_of(), None);
    let unknown = ServerView { members_known: false, ..view(vec![leader]) };
    assert_eq!(unknown.liveness(S), Liveness::Exists { expires_at: at });
}

#[test]
fn only_a_whole_list_of_sessions_proves_absence() {
    let mut leader = member(ServerMode::Leader, &[]);
    assert_eq!(view(vec![leader.clone()]).liveness(S), Liveness::Unknown);
    leader.sessions = Some(listed(&[SessionId(1)], false));
    assert_eq!(view(vec![leader.clone()]).liveness(S), Liveness::Unknown);
    leader.sessions = Some(listed(&[SessionId(1)], true));
    assert_eq!(view(vec![leader]).liveness(S), Liveness::NoSession { at: Timestamp(60_000) });
}

#[test]
fn plain_text_answers_beside_tls_prove_no_absence() {
    let mut leader = member(ServerMode::Leader, &[SessionId(7)]);
    leader.sessions = Some(listed(&[S], true));
    let plain = MemberView { provenance: Provenance::PlainBesideTls, ..member(ServerMode::Follower, &[]) };
    let view = view(vec![leader.clone(), plain.clone()]);
    assert_eq!(view.provenance(), Provenance::PlainBesideTls);
    assert_eq!(view.liveness(S), Liveness::Unproven, "it may be at the follower");
    assert_eq!(view.liveness(SessionId(1)), Liveness::Unproven, "in no list");
    assert_eq!(view.liveness(SessionId(7)), Liveness::Connected, "which only makes more careful");
    assert_eq!(view.liveness(S).expires_in(Timestamp(0)), None);

    for (answers, session, proves) in [
        (WireSecurity::Plain, WireSecurity::Plain, true),
        (WireSecurity::Tls, WireSecurity::Tls, true),
        (WireSecurity::Tls, WireSecurity::Plain, true),
        (WireSecurity::Plain, WireSecurity::Tls, false),
    ] {
        assert_eq!(Provenance::of(answers, session).can_prove(), proves, "{answers:?} beside {session:?}");
    }
}

#[test]
fn only_the_server_with_the_connection_proves_that_a_session_does_not_watch() {
    let (p, q) = (path("/lock/a"), path("/lock/ä"));
    let silent = MemberView::unasked("zk2:2181".to_owned());
    let view = view(vec![member(ServerMode::Leader, &[S]), silent]);
    assert_eq!(view.watches(S, &p), Some(false));
    assert_eq!(view.watches(S, &q), None, "the server may have written another letter");
    assert_eq!(view.watches(SessionId(7), &p), None, "it may be connected to the other one");
    assert_eq!(view.watchers_of(&p), Some(Watchers { sessions: Vec::new(), whole: false }));
}

#[test]
fn watches_listed_before_a_client_connected_prove_nothing() {
    let mut one = member(ServerMode::Leader, &[S]);
    one.watched = Some(Listing::new(Vec::new(), true, Timestamp(1_000)));
    assert_eq!(view(vec![one]).watches(S, &path("/lock")), None);
}

#[test]
fn watchers_are_found_by_path_and_by_session() {
    let mut one = member(ServerMode::Standalone, &[S]);
    let mut listed = four_letter::WatchedPathsReader::default();
    listed.push(b"/b\n\t0x11\n\t0x10\n/a\n\t0x11\n\n");
    let (watched, whole) = listed.end();
    one.watched = Some(Listing::new(watched, whole, Timestamp(60_000)));
    let view = view(vec![one]);
    let watchers = view.watchers_of(&path("/b")).expect("the path was listed");
    assert_eq!(watchers, Watchers { sessions: vec![S, SessionId(0x11)], whole: true });
    assert_eq!(view.watches(S, &path("/b")), Some(true));
    assert_eq!(view.watches(S, &path("/a")), Some(false));
}

#[test]
fn child_watches_are_all_watches_minus_the_data_and_exists_watches() {
    let mut one = member(ServerMode::Leader, &[]);
    one.watch_count = Some(9);
    one.watch_totals = Some(WatchTotals { connections: 2, paths: 2, watches: 4 });
    let other = member(ServerMode::Follower, &[]);
    assert_eq!(view(vec![one.clone()]).child_watches(), Some(5));
    assert_eq!(view(vec![one, other]).child_watches(), None);
}

#[test]
fn a_view_is_unchanged_after_a_round_trip_through_json() {
    let mut one = member(ServerMode::Leader, &[SessionId(3), S]);
    one.sessions = Some(listed(&[S], true));
    let view = view(vec![one]);
    let text = serde_json::to_string(&view).expect("a view is serializable");
    assert_eq!(serde_json::from_str::<ServerView>(&text).expect("a serialized view can be read"), view);
}

const CAPTURES: [&str; 12] = [
    include_str!("captures/standalone-cons.txt"),
    include_str!("captures/standalone-dump.txt"),
    include_str!("captures/follower-dump.txt"),
    include_str!("captures/standalone-wchp.txt"),
    include_str!("captures/standalone-wchs.txt"),
    include_str!("captures/standalone-srvr.txt"),
    include_str!("captures/standalone-connections.json"),
    include_str!("captures/standalone-dump.json"),
    include_str!("captures/standalone-watches_by_path.json"),
    include_str!("captures/standalone-watch_summary.json"),
    include_str!("captures/standalone-secure_connections.json"),
    include_str!("captures/standalone-mntr.txt"),
];

/// Feeds the bytes to every parser, and checks that no listing is larger than its input.
fn read_by_all(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    assert!(four_letter::cons(&text).with_session.len() <= bytes.len());
    assert!(four_letter::dump(&text).is_none_or(|(sessions, _)| sessions.len() <= bytes.len()));
    let mut watches = four_letter::WatchedPathsReader::default();
    watches.push(bytes);
    assert!(watches.end().0.len() <= bytes.len());
    let _ = (four_letter::wchs(&text), four_letter::srvr(&text), four_letter::mntr(&text));
    let _ = (admin::connections(bytes), admin::dump(bytes), admin::watches_by_path(bytes));
    let _ = (admin::watch_summary(bytes), admin::monitor(bytes), admin::server_stats(bytes));
    assert!(EnsembleConfig::read(bytes).servers.len() <= MAX_MEMBERS);
}

proptest! {
    #[test]
    fn whatever_a_server_answers_is_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        read_by_all(&bytes);
    }

    #[test]
    fn a_real_answer_with_a_hole_a_cut_and_foreign_bytes_is_read_without_a_panic(
        which in 0..CAPTURES.len(),
        from in 0_usize..3_000,
        length in 0_usize..200,
        cut in 0_usize..3_000,
        foreign in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = CAPTURES[which].as_bytes().to_vec();
        let from = from.min(bytes.len());
        let to = (from + length).min(bytes.len());
        bytes.splice(from..to, foreign);
        bytes.truncate(bytes.len().saturating_sub(cut.min(1_000)));
        read_by_all(&bytes);
    }
}

#[test]
fn numbers_out_of_all_ranges_are_left_out() {
    for number in ["-1", "99999999999999999999999", "1e400", "0x", "NaN", ""] {
        let line =
            format!(" /1.1.1.1:1[1](queued=0,recved=1,sent=1,sid=0x1,est={number},to={number},lresp={number})\n\n");
        read_by_all(line.as_bytes());
        let connection = four_letter::cons(&line).with_session.remove(0);
        assert_eq!((connection.timeout_ms, connection.received), (None, 1), "{number}");
        // These two values may be negative.
        let signed = number.parse().ok();
        assert_eq!((connection.established.map(|at| at.0), connection.last_response), (signed, signed), "{number}");
        let dump = format!("Session Sets (1)/({number}):\n{number} expire at {number}:\n\t{number}\n");
        read_by_all(dump.as_bytes());
        assert!(four_letter::dump(&dump).is_none(), "{number}");
        let summary = format!("{{\"num_connections\":{number},\"num_paths\":1,\"num_total_watches\":1}}");
        read_by_all(summary.as_bytes());
        assert!(admin::watch_summary(summary.as_bytes()).is_err(), "{number}");
    }
    let deep = format!("{{\"connections\":{}", "[".repeat(100_000));
    read_by_all(deep.as_bytes());
    assert!(admin::connections(deep.as_bytes()).is_err());
}
