//! `lockscope doctor`: what a console with these options may see, and the line to add for each thing
//! that it may not.
//!
//! The session and the nodes are those of a console that starts: it reads everything below the roots
//! once. Each member is asked once by each interface.

use std::io;
use std::io::Write;

use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::colour::{WordTone, on_stdout};
use super::live_table::LiveTable;
use super::options::Format;
use super::output::{ExitAnswer, print, write_json};
use super::resolved::{ResolvedOptions, once_each};
use lockscope_base::znode::{ZnodePath, escaped};
use lockscope_live::zk;
use lockscope_live::zk::admin::AdminError;
use lockscope_live::zk::four_letter::{AskError, FourLetterWord, NEEDED_WORDS};
use lockscope_live::zk::survey::{EnsembleInterfaces, MemberInterfaces, ask_interfaces};
use lockscope_live::zk::{ConnectOptions, ShownAclEntry};
use lockscope_model::queue::{ConnectionState, LockTable};
use lockscope_model::server_view::{ServerMode, Software};
use lockscope_model::text::human::plural;

/// The most unreadable nodes that are looked at one by one.
const MAX_NODES: usize = 20;

/// One thing that a console wants to see.
#[derive(Clone, Debug, Default, Serialize)]
struct DoctorCheck {
    /// A fixed name.
    what: &'static str,
    /// The member that it is about.
    member: Option<String>,
    /// The node that it is about.
    path: Option<String>,
    /// `null` where it could not be found out.
    seen: Option<bool>,
    /// Whether nothing is lost without it, here.
    optional: bool,
    /// The evidence, as a sentence without a full stop.
    found: String,
    /// The lines to add.
    needs: Vec<String>,
    /// Where to add them.
    needs_in: Option<&'static str>,
}

impl DoctorCheck {
    fn new(what: &'static str, seen: Option<bool>, found: impl Into<String>) -> Self {
        Self { what, seen, found: found.into(), ..Self::default() }
    }

    /// Adds what is needed, where something is.
    fn needing(self, place: &'static str, needs: Vec<String>) -> Self {
        Self { needs_in: (!needs.is_empty()).then_some(place), needs, ..self }
    }

    fn is_lacking(&self) -> bool {
        self.seen != Some(true) && !self.optional
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (mark, tone) = match self.seen {
            Some(true) => ("seen", WordTone::Good),
            _ if self.optional => ("optional", WordTone::Good),
            Some(false) => ("not seen", WordTone::Bad),
            None => ("unknown", WordTone::Warning),
        };
        let place = self.member.as_deref().or(self.path.as_deref()).map(|place| format!("{}  ", escaped(place)));
        let mark = on_stdout(tone, &format!("{mark:<8}"));
        writeln!(out, "{mark}  {:<18}  {}{}", self.what, place.unwrap_or_default(), escaped(&self.found))?;
        let verb = if self.optional { "may add" } else { "add" };
        let place = self.needs_in.unwrap_or_default();
        self.needs.iter().try_for_each(|line| writeln!(out, "          {verb} to {place}: {}", escaped(line)))
    }
}

/// Looks once at everything and prints it. The answer is no when something is not seen; fails after
/// it is printed when there is no session.
pub async fn run(settings: &ResolvedOptions, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    let survey = settings.survey_options()?;
    let connection = survey.connection.clone();
    let mut live = LiveTable::start(settings)?;
    let asking = tokio::spawn(async move { ask_interfaces(&survey).await });
    let read = live.read_once().await;
    let state = live.table().connection().clone();
    let session = live.table().session();
    let (table, ..) = live.stop().await;
    let interfaces = asking.await??;
    let mut checks = vec![session_check(settings, &connection, read.as_ref().err(), session.is_some())];
    checks.push(transport_check(settings, session.is_some()));
    checks.push(watches_check(&state));
    checks.push(members_check(&interfaces));
    checks.extend(interfaces.members.iter().flat_map(member_checks));
    checks.extend(node_checks(settings, &connection, &table, read.is_ok()).await);
    let lacking = checks.iter().filter(|check| check.is_lacking()).count();
    print(out, |out| match settings.format {
        Format::Json => write_json(out, &checks),
        Format::Table => {
            checks.iter().try_for_each(|check| check.write(out))?;
            let what = plural(lacking, "thing is", "things are");
            if lacking == 0 { writeln!(out, "Nothing is lacking.") } else { writeln!(out, "{what} not seen.") }
        }
    })?;
    read?;
    Ok(if lacking == 0 { ExitAnswer::Yes } else { ExitAnswer::No })
}

fn session_check(
    settings: &ResolvedOptions,
    connection: &ConnectOptions,
    error: Option<&anyhow::Error>,
    has_session: bool,
) -> DoctorCheck {
    let schemes: Vec<&str> = connection.auth.iter().map(|auth| auth.scheme.as_str()).collect();
    let kerberos = connection.kerberos.is_some().then_some("kerberos");
    let certificate = has_certificate(connection).then_some("x509");
    let schemes = schemes.into_iter().chain(kerberos).chain(certificate).collect::<Vec<_>>().join(", ");
    let identity = if schemes.is_empty() { "without an identity".to_owned() } else { format!("as {schemes}") };
    match error {
        None => DoctorCheck::new("session", Some(true), format!("{}, {identity}", settings.ensemble_name())),
        Some(error) => DoctorCheck::new("session", Some(has_session), format!("{error:#}")),
    }
}

/// Returns whether servers know this console by its certificate.
fn has_certificate(connection: &ConnectOptions) -> bool {
    connection.tls.as_ref().is_some_and(|files| files.cert.is_some())
}

fn transport_check(settings: &ResolvedOptions, has_session: bool) -> DoctorCheck {
    let plain = zk::plain_servers(&settings.connect, settings.tls.is_some()).into_iter().next();
    match (&settings.tls, plain, settings.plain_password_to()) {
        (_, _, Some(server)) => {
            let found = format!("the password of a digest identity goes to {server} in plain text");
            DoctorCheck::new("tls", Some(false), found).needing("the command line", vec!["--tls-ca FILE".to_owned()])
        }
        (Some(_), None, None) if !has_session => DoctorCheck::new("tls", None, "not known without a session"),
        (Some(files), None, None) if !settings.connect.contains("tcp://") => {
            DoctorCheck::new("tls", Some(true), format!("the servers are checked by {}", files.ca.display()))
        }
        _ => DoctorCheck {
            optional: true,
            ..DoctorCheck::new("tls", Some(false), "plain text: no password goes over a network")
        },
    }
}

fn watches_check(state: &ConnectionState) -> DoctorCheck {
    let what = "persistent-watches";
    match state {
        ConnectionState::Connected { recursive: true, .. } => {
            DoctorCheck::new(what, Some(true), "one recursive watch follows each root")
        }
        ConnectionState::Connected { .. } => {
            let why = "the server has none that can be relied on, as ZooKeeper 3.6 has: short holds may be missed";
            DoctorCheck::new(what, Some(false), why)
        }
        _ => DoctorCheck::new(what, None, "not known without a session"),
    }
}

fn members_check(interfaces: &EnsembleInterfaces) -> DoctorCheck {
    let members = plural(interfaces.members.len(), "member", "members");
    if interfaces.are_all {
        return DoctorCheck::new("members", Some(true), format!("{members}, as the ensemble itself says"));
    }
    DoctorCheck::new(
        "members",
        None,
        format!("{members} of --connect; whether there are others is not known: name all"),
    )
}

/// What a console asks the servers for, and the words for it.
const ANSWERS: [(&str, &[FourLetterWord]); 5] = [
    ("clients", &[FourLetterWord::Cons]),
    ("sessions", &[FourLetterWord::Dump]),
    ("watches", &[FourLetterWord::Wchp]),
    ("figures", &[FourLetterWord::Mntr, FourLetterWord::Wchs]),
    ("settings", &[FourLetterWord::Conf]),
];

fn member_checks(member: &MemberInterfaces) -> Vec<DoctorCheck> {
    let at = |check: DoctorCheck| DoctorCheck { member: Some(member.address.clone()), ..check };
    let answers = member.words.iter().flatten().any(|one| one.answered.is_ok()) || member.version.is_some();
    if !answers {
        let why = problems(member).collect::<Vec<_>>().join("; ");
        let was_asked = member.words.is_ok() || member.admin.is_ok();
        return vec![at(DoctorCheck::new("member", was_asked.then_some(false), why))];
    }
    let software = match member.software() {
        Software::ZooKeeper => "ZooKeeper ",
        Software::Keeper | Software::Unknown => "",
    };
    let version = member.version.as_deref().and_then(|version| version.split(',').next()).unwrap_or("version not told");
    let mode = member.mode.map_or("role not told", ServerMode::name);
    let (words, by_admin) = (words_check(member), admin_check(member));
    // Nothing is lost without one of them where the other says everything.
    let [words, by_admin] = [(&words, &by_admin), (&by_admin, &words)]
        .map(|(this, other)| DoctorCheck { optional: other.seen == Some(true), ..this.clone() });
    let answers = ANSWERS.map(|(what, words)| {
        let is_seen = |say: &dyn Fn(FourLetterWord) -> bool| words.iter().all(|word| say(*word));
        let names = words.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(" and ");
        if is_seen(&|word| member.says(word)) {
            DoctorCheck::new(what, Some(true), format!("by {names}"))
        } else if is_seen(&|word| member.tells(word)) {
            DoctorCheck::new(what, Some(true), "by AdminServer")
        } else {
            let why = format!("neither by {names} nor by AdminServer");
            needing_words(DoctorCheck::new(what, Some(false), why), member)
        }
    });
    let first = DoctorCheck::new("member", Some(true), format!("{mode}, {software}{version}"));
    [first, words, by_admin].into_iter().chain(answers).map(at).collect()
}

/// Returns why questions to a member had no answer, one reason for each interface.
fn problems(member: &MemberInterfaces) -> impl Iterator<Item = String> {
    let words = member.words.iter().flatten().find_map(|one| one.answered.as_ref().err().map(ToString::to_string));
    let told = member.admin.iter().flatten().find_map(|one| one.answered.as_ref().err().map(ToString::to_string));
    let unasked = member.words.as_ref().err().into_iter().chain(member.admin.as_ref().err()).cloned();
    words.into_iter().chain(told).chain(unasked)
}

/// Adds the line that allows the words, where the server refused one of them.
fn needing_words(check: DoctorCheck, member: &MemberInterfaces) -> DoctorCheck {
    let refused = member.words.iter().flatten().find_map(|one| match &one.answered {
        Err(AskError::NotAllowed { .. }) => Some(("zoo.cfg", format!("4lw.commands.whitelist={NEEDED_WORDS}"))),
        Err(AskError::NotAllowedByKeeper { .. }) => Some((
            "the keeper_server part of the config",
            format!("<four_letter_word_white_list>{NEEDED_WORDS}</four_letter_word_white_list>"),
        )),
        _ => None,
    });
    match refused {
        Some((place, line)) => check.needing(place, vec![line]),
        None => check,
    }
}

/// What is said of answers that anybody on the way may have written.
const PROVES_NOTHING: &str = "it answers in plain text while the session uses TLS, which proves nothing";

fn words_check(member: &MemberInterfaces) -> DoctorCheck {
    let what = "words";
    let all = match &member.words {
        Err(why) => return DoctorCheck::new(what, None, why.clone()),
        Ok(all) => all,
    };
    let refused: Vec<&str> = all.iter().filter(|one| one.answered.is_err()).map(|one| one.word.as_str()).collect();
    match all.iter().find_map(|one| one.answered.as_ref().err()) {
        None if !member.provenance[0].can_prove() => DoctorCheck::new(what, Some(false), PROVES_NOTHING)
            .needing("the command line", vec!["--connect HOST:SECURE_PORT,...".to_owned()]),
        None => DoctorCheck::new(what, Some(true), format!("{} are answered", NEEDED_WORDS.replace(',', ", "))),
        Some(first) => {
            let why = format!("no answer to {}: {first}", refused.join(", "));
            needing_words(DoctorCheck::new(what, Some(false), why), member)
        }
    }
}

fn admin_check(member: &MemberInterfaces) -> DoctorCheck {
    let what = "admin-server";
    if member.software() == Software::Keeper {
        return DoctorCheck::new(what, Some(false), "Keeper has none");
    }
    let all = match &member.admin {
        Err(why) => return DoctorCheck::new(what, None, why.clone()),
        Ok(all) => all,
    };
    match all.iter().find_map(|one| one.answered.as_ref().err()) {
        None if !member.provenance[1].can_prove() => DoctorCheck::new(what, Some(false), PROVES_NOTHING)
            .needing("the command line", vec!["--admin-url https://HOST:8080/commands".to_owned()]),
        None => DoctorCheck::new(what, Some(true), member.admin_address.clone().unwrap_or_default()),
        Some(error) => {
            let is_off = matches!(error, AdminError::Refused(_));
            let port = member.admin_address.as_deref().and_then(port_of).unwrap_or("8080");
            let lines = ["admin.enableServer=true".to_owned(), format!("admin.serverPort={port}")];
            DoctorCheck::new(what, Some(false), error.to_string())
                .needing("zoo.cfg", lines.into_iter().filter(|_| is_off).collect())
        }
    }
}

/// Returns the port in an address like `http://HOST:PORT/commands`.
fn port_of(address: &str) -> Option<&str> {
    let authority = address.split_once("://")?.1.split('/').next()?;
    authority.rsplit_once(':').map(|(_, port)| port).filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns a check for each root, and for each node below that may not be read.
async fn node_checks(
    settings: &ResolvedOptions,
    connection: &ConnectOptions,
    table: &LockTable,
    is_read: bool,
) -> Vec<DoctorCheck> {
    let places = once_each(settings.roots.iter().chain(&settings.locks).cloned().collect());
    let at = |path: &ZnodePath, check: DoctorCheck| DoctorCheck { path: Some(path.to_string()), ..check };
    if !is_read {
        let unknown = |path| at(path, DoctorCheck::new("nodes", None, "not known: they were not read"));
        return places.iter().map(unknown).collect();
    }
    let unreadable = table.unreadable();
    let seen = |place: &ZnodePath| {
        let locks = table.locks().filter(|lock| lock.path().is_within(place)).count();
        let closed = unreadable.keys().filter(|closed| closed.is_within(place)).count();
        let but = if closed == 0 { String::new() } else { format!(", but for {}", plural(closed, "node", "nodes")) };
        format!("everything below is read{but}: {}", plural(locks, "lock", "locks"))
    };
    let open = places.iter().filter(|place| !unreadable.keys().any(|closed| place.is_within(closed)));
    let mut checks: Vec<_> = open.map(|place| at(place, DoctorCheck::new("nodes", Some(true), seen(place)))).collect();
    if unreadable.is_empty() {
        return checks;
    }
    let until = Instant::now() + settings.timeout;
    let client = timeout_at(until, zk::connect(connection)).await.ok().and_then(Result::ok);
    for (path, why) in unreadable.iter().take(MAX_NODES) {
        let reading = match &client {
            Some(client) => timeout_at(until, zk::read_node(client, path)).await.ok().and_then(Result::ok).flatten(),
            None => None,
        };
        let check = DoctorCheck::new("nodes", Some(false), why.clone());
        // Other reasons than a missing permission have no line that helps.
        let needs = reading
            .filter(|node| node.data.is_err())
            .and_then(|node| set_acl(settings, connection, path, node.acl.ok()));
        checks.push(at(path, check.needing("zkCli.sh", needs.into_iter().collect())));
    }
    if let Some(client) = client {
        zk::close_session(client).await;
    }
    if let Some(more) = unreadable.len().checked_sub(MAX_NODES).filter(|more| *more > 0) {
        checks.push(DoctorCheck::new(
            "nodes",
            Some(false),
            format!("{} may not be read", plural(more, "more node", "more nodes")),
        ));
    }
    checks
}

/// Returns the line for ZooKeeper's shell that lets this console read a node, and leaves all others
/// their permissions. `ENTRIES` stands for an ACL that may not be seen, `HASH` for the hash of our
/// password, `SUBJECT` for that of our certificate. No line where ZooKeeper's shell would take a part
/// for something else: it splits at blanks and, within the ACL, at commas.
fn set_acl(
    settings: &ResolvedOptions,
    connection: &ConnectOptions,
    path: &ZnodePath,
    acl: Option<(Vec<ShownAclEntry>, usize)>,
) -> Option<String> {
    let is_word = |text: &str| text.chars().all(|one| one.is_ascii_graphic() && !matches!(one, '"' | '\'' | '\\'));
    let is_entry = |text: &str| is_word(text) && !text.contains(',');
    let (scheme, id) = acl_identity(connection);
    let path = match zk::servers(&settings.connect).ok().and_then(|(_, chroot)| chroot) {
        Some(chroot) if path.is_root() => chroot,
        Some(chroot) => format!("{chroot}{path}"),
        None => path.to_string(),
    };
    if !is_word(&path) || !is_entry(&id) {
        return None;
    }
    let whole = acl.filter(|(entries, all)| entries.len() == *all);
    let Some((mut entries, _)) = whole else { return Some(format!("setAcl {path} ENTRIES,{scheme}:{id}:r")) };
    match entries.iter_mut().find(|entry| entry.scheme == scheme && entry.id == id) {
        Some(own) => {
            own.permissions =
                "cdrwa".chars().filter(|letter| *letter == 'r' || own.permissions.contains(*letter)).collect();
        }
        None => entries.push(ShownAclEntry { scheme: scheme.to_owned(), id, permissions: "r".to_owned() }),
    }
    if !entries.iter().all(|entry| is_entry(&entry.scheme) && is_entry(&entry.id)) {
        return None;
    }
    let entries = entries.iter().map(|entry| format!("{}:{}:{}", entry.scheme, entry.id, entry.permissions));
    Some(format!("setAcl {path} {}", entries.collect::<Vec<_>>().join(",")))
}

/// Returns who this console is, as an ACL names it.
fn acl_identity(connection: &ConnectOptions) -> (&'static str, String) {
    let user = |scheme: &str| {
        let auth = connection.auth.iter().find(|auth| auth.scheme == scheme)?;
        let user = auth.credentials.split(|byte| *byte == b':').next()?;
        Some(String::from_utf8_lossy(user).into_owned())
    };
    let kerberos = connection.kerberos.as_ref().map(|login| login.principal.clone().unwrap_or("PRINCIPAL".to_owned()));
    if let Some(user) = user("digest") {
        return ("digest", format!("{user}:HASH"));
    }
    if let Some(user) = user("sasl").or(kerberos) {
        return ("sasl", user);
    }
    if has_certificate(connection) { ("x509", "SUBJECT".to_owned()) } else { ("world", "anyone".to_owned()) }
}
