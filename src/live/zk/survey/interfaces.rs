//! Asks each member once by each of its interfaces, and tells what was answered and what was
//! refused: what a console may see there.
//!
//! A survey asks the second interface only where the first is incomplete, and keeps one sentence of
//! what is missing. Here each question has its answer.

use std::time::Duration;

use futures::future::join_all;
use tokio_rustls::TlsConnector;

use super::members::{MemberAddress, MemberList, find_members};
use super::own_session::SurveySession;
use super::{SurveyOptions, ViewBy};
use crate::zk::admin::{AdminError, AdminTls, get_from};
use crate::zk::four_letter::{AskError, FourLetterWord, QuestionLimits, ask_over};
use crate::zk::options::{BadConnectString, ConnectString};
use crate::zk::stream;
use lockscope_model::server_view::admin::BadAnswer;
use lockscope_model::server_view::four_letter::Srvr;
use lockscope_model::server_view::{Provenance, ServerMode, Software, WireSecurity, admin, four_letter};

/// The time limit of one question: nothing else waits for it.
const WITHIN: Duration = Duration::from_secs(4);

/// The most bytes that are read of the answer to a word.
const MAX_READ: usize = 64 << 10;

/// What a console asks of a server: a word, the command of AdminServer that says the same, and
/// whether its answer can be read.
type ServerQuestion = (FourLetterWord, &'static str, fn(&[u8]) -> Result<(), BadAnswer>);

/// The questions; the first is about the server's state.
const QUESTIONS: [ServerQuestion; 7] = [
    (FourLetterWord::Srvr, "server_stats", |told| admin::server_stats(told).map(drop)),
    (FourLetterWord::Cons, "connections", |told| admin::connections(told).map(drop)),
    (FourLetterWord::Dump, "dump", |told| admin::dump(told).map(drop)),
    (FourLetterWord::Wchp, "watches_by_path", |told| admin::watches_by_path(told).map(drop)),
    (FourLetterWord::Mntr, "monitor", |told| admin::monitor(told).map(drop)),
    (FourLetterWord::Wchs, "watch_summary", |told| admin::watch_summary(told).map(drop)),
    (FourLetterWord::Conf, "configuration", |told| admin::configuration(told).map(drop)),
];

/// What became of one question.
#[derive(Clone, Debug)]
pub struct QuestionResult<E> {
    /// The word, also where AdminServer was asked the same.
    pub word: FourLetterWord,
    /// Why there is no answer.
    pub answered: Result<(), E>,
}

/// What one member answers.
#[derive(Clone, Debug)]
pub struct MemberInterfaces {
    /// The server's address for clients, or its name in the ensemble's config.
    pub address: String,
    /// The server's role, by either interface.
    pub mode: Option<ServerMode>,
    /// The server's version, by either interface.
    pub version: Option<String>,
    /// The answers to the words; an error says why none was sent.
    pub words: Result<Vec<QuestionResult<AskError>>, String>,
    /// The answers of AdminServer; an error says why it was not asked.
    pub admin: Result<Vec<QuestionResult<AdminError>>, String>,
    /// What the answers to words can prove, and those of AdminServer.
    pub provenance: [Provenance; 2],
    /// The base address of its AdminServer's commands, if it is known.
    pub admin_address: Option<String>,
}

impl MemberInterfaces {
    /// Returns which software the server runs.
    pub fn software(&self) -> Software {
        Software::of_version(self.version.as_deref())
    }

    /// Returns whether a word was answered, so that the answer can prove something.
    pub fn says(&self, word: FourLetterWord) -> bool {
        self.provenance[0].can_prove()
            && self.words.as_ref().is_ok_and(|all| all.iter().any(|one| one.word == word && one.answered.is_ok()))
    }

    /// Returns whether AdminServer answered the question of a word, so that the answer can prove
    /// something.
    pub fn tells(&self, word: FourLetterWord) -> bool {
        self.provenance[1].can_prove()
            && self.admin.as_ref().is_ok_and(|all| all.iter().any(|one| one.word == word && one.answered.is_ok()))
    }
}

/// What all members answer.
#[derive(Clone, Debug)]
pub struct EnsembleInterfaces {
    /// The members of the connect string, then those that the ensemble's config names.
    pub members: Vec<MemberInterfaces>,
    /// Whether these are all members, as the ensemble's config or a standalone server says.
    pub are_all: bool,
}

/// Asks every member by every interface that the options allow, all members at the same time. Costs
/// one session and up to fifteen questions to each. Takes a few seconds at most. Cancel safe.
pub async fn ask_interfaces(options: &SurveyOptions) -> Result<EnsembleInterfaces, BadConnectString> {
    let target = ConnectString::parse(&options.connection.connect, options.connection.tls.is_some())?;
    let own = SurveySession::once(&options.connection, &target, options.limits.within).await;
    let MemberList { members, incomplete } = find_members(&target, &own.configured).await;
    let members = join_all(members.iter().map(|member| ask_member(member, options, target.transport()))).await;
    let is_alone = matches!(&*members, [member] if member.mode == Some(ServerMode::Standalone));
    Ok(EnsembleInterfaces { are_all: is_alone || !own.configured.servers.is_empty() && !incomplete, members })
}

async fn ask_member(member: &MemberAddress, options: &SurveyOptions, session: WireSecurity) -> MemberInterfaces {
    let words = async {
        match options.by {
            ViewBy::Http | ViewBy::Off => Err("words are not asked (--server-view)".to_owned()),
            _ => ask_words(member, options).await,
        }
    };
    let commands = async {
        match options.by {
            ViewBy::FourLetter | ViewBy::Off => Err("AdminServer is not asked (--server-view)".to_owned()),
            _ => ask_admin(member, options).await,
        }
    };
    let (words, told) = tokio::join!(words, commands);
    let (by_word, words) = words.map_or_else(|why| (None, Err(why)), |(state, all)| (state, Ok(all)));
    let (by_admin, told) = told.map_or_else(|why| (None, Err(why)), |(state, all)| (state, Ok(all)));
    let state = by_word.or(by_admin).unwrap_or_default();
    MemberInterfaces {
        address: member.label.clone(),
        mode: state.mode.as_deref().and_then(ServerMode::named),
        version: state.version,
        words,
        admin: told,
        provenance: [member.tls, options.admin.is_secure()]
            .map(|tls| Provenance::of(if tls { WireSecurity::Tls } else { WireSecurity::Plain }, session)),
        admin_address: member.admin_host.as_ref().map(|host| options.admin.at(host)),
    }
}

/// The state that a server reports, and what became of each question.
type Answers<E> = (Option<Srvr>, Vec<QuestionResult<E>>);

async fn ask_words(member: &MemberAddress, options: &SurveyOptions) -> Result<Answers<AskError>, String> {
    let Some(address) = &member.four_letter else { return Err(member.why_no_four_letter()) };
    let tls = connector(options, member.tls).await?;
    // The beginning shows whether the word is answered.
    let limits = QuestionLimits { within: WITHIN, bytes: MAX_READ };
    let asked = QUESTIONS.map(|(word, ..)| ask_over(tls.as_ref(), address, member.named_by, word, limits, None));
    let mut answers = join_all(asked).await;
    let mut state = None;
    if let Some(first @ Ok(_)) = answers.first_mut() {
        state = first.as_ref().ok().map(|answer| four_letter::srvr(&answer.text)).filter(|said| said.version.is_some());
        // What is no ZooKeeper may say anything to any word.
        if state.is_none() {
            for (answer, (word, ..)) in answers.iter_mut().zip(QUESTIONS).filter(|(answer, _)| answer.is_ok()) {
                *answer = Err(AskError::Foreign { address: address.clone(), word });
            }
        }
    }
    let version = state.as_ref().and_then(|state| state.version.as_deref());
    let is_keeper = Software::of_version(version) == Software::Keeper;
    let results = QUESTIONS.into_iter().zip(answers).map(|((word, ..), answer)| {
        let answered = answer.map(drop).map_err(|error| match error {
            AskError::Closed { address } if is_keeper => AskError::NotAllowedByKeeper { address, word },
            error => error,
        });
        QuestionResult { word, answered }
    });
    let results = results.collect();
    Ok((state, results))
}

async fn ask_admin(member: &MemberAddress, options: &SurveyOptions) -> Result<Answers<AdminError>, String> {
    let Some(host) = &member.admin_host else { return Err(member.why_no_http()) };
    let connector = connector(options, options.admin.is_secure()).await?;
    let has_certificate = options.connection.tls.as_ref().is_some_and(|files| files.cert.is_some());
    let tls = connector.as_ref().map(|connector| AdminTls { connector, has_certificate });
    let (tls, url, limits) = (tls.as_ref(), &options.admin, QuestionLimits { within: WITHIN, ..options.limits });
    let asked = QUESTIONS.map(|(_, command, _)| get_from(url, tls, host, member.named_by, command, limits));
    let replies = join_all(asked).await;
    let first = replies.first().and_then(|reply| reply.as_ref().ok());
    let state = first.and_then(|reply| admin::server_stats(&reply.bytes).ok());
    let results = QUESTIONS.into_iter().zip(replies).map(|((word, _, read), reply)| {
        let read = |bytes: &[u8]| read(bytes).map_err(|bad| AdminError::Bad { url: url.at(host), bad });
        QuestionResult { word, answered: reply.and_then(|reply| read(&reply.bytes)) }
    });
    Ok((state, results.collect()))
}

async fn connector(options: &SurveyOptions, is_wanted: bool) -> Result<Option<TlsConnector>, String> {
    let Some(files) = options.connection.tls.as_ref().filter(|_| is_wanted) else { return Ok(None) };
    stream::tls_connector(files).await.map(Some).map_err(|error| error.to_string())
}
