//! Four-letter words: one question to one server, bounded in time and bytes.
//!
//! One word alone tells how many watch events a server has sent, and where a server on this machine
//! has its files.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::time::Duration;

use tokio::fs;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::lookup_host;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::options::{BadConnectString, servers};
use super::stream::{NamedBy, NotCalled, call};
use crate::zk::stream::NOT_FOLLOWED;
use lockscope_model::server_view::{WatchEventTotals, four_letter as answer_of};

/// The longest text that a server sends instead of an answer, in bytes.
const MAX_REFUSAL_BYTES: usize = 512;

/// The limits of one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuestionLimits {
    /// The longest time from the first packet to the last.
    pub within: Duration,
    /// The most bytes read of the answer.
    pub bytes: usize,
}

impl Default for QuestionLimits {
    /// Returns 2 s and 32 MiB.
    fn default() -> Self {
        Self { within: Duration::from_secs(2), bytes: 32 << 20 }
    }
}

/// The answer of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FourLetterAnswer {
    /// The text, with invalid UTF-8 replaced. Empty when the answer was parsed while it arrived.
    pub text: String,
    /// The length of the answer, in bytes.
    pub bytes: usize,
    /// Whether a limit ended the answer, so that the rest is missing.
    pub cut: bool,
    /// The time from the word to the last byte, without one network round trip.
    pub took: Duration,
}

/// Sends one word to one server, over a plain connection of its own. Cancel safe.
///
/// `address` is `HOST:PORT`. An answer that reaches a limit is returned as far as it arrived and
/// marked as cut. It is an error when nothing arrived.
pub async fn ask(address: &str, word: FourLetterWord, limits: QuestionLimits) -> Result<FourLetterAnswer, AskError> {
    ask_over(None, address, NamedBy::User, word, limits, None).await
}

/// Takes an answer piece by piece, so that its text is never whole in memory.
pub(super) type Taker<'a> = &'a mut (dyn FnMut(&[u8]) + Send);

/// Sends a word like [`ask`], over TLS if given. With a taker the answer goes there and its text
/// stays empty.
pub(super) async fn ask_over(
    tls: Option<&TlsConnector>,
    address: &str,
    named_by: NamedBy,
    word: FourLetterWord,
    limits: QuestionLimits,
    taker: Option<Taker<'_>>,
) -> Result<FourLetterAnswer, AskError> {
    let deadline = Instant::now() + limits.within;
    let silent = |_| AskError::Silent { address: address.to_owned(), within: limits.within };
    let called = Instant::now();
    let stream = timeout_at(deadline, call(address, named_by)).await.map_err(silent)?;
    let stream = stream.map_err(|error| match error {
        NotCalled::Io(error) => refusal(address, &error),
        NotCalled::NotFollowed => AskError::NotFollowed { address: address.to_owned() },
    })?;
    let there_and_back = called.elapsed();
    let Some(connector) = tls else {
        return converse(stream, address, word, limits, deadline, there_and_back, taker).await;
    };
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
    let untrusted = |why: String| AskError::Untrusted { address: address.to_owned(), why };
    let name = ServerName::try_from(host.to_owned()).map_err(|_| untrusted("no certificate can name it".to_owned()))?;
    let stream = timeout_at(deadline, connector.connect(name, stream)).await.map_err(silent)?;
    let stream = stream.map_err(|error| untrusted(error.to_string()))?;
    converse(stream, address, word, limits, deadline, there_and_back, taker).await
}

/// Sends the word and reads the answer until `deadline`. The measured time leaves out one network
/// round trip.
async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    address: &str,
    word: FourLetterWord,
    limits: QuestionLimits,
    deadline: Instant,
    there_and_back: Duration,
    mut taker: Option<Taker<'_>>,
) -> Result<FourLetterAnswer, AskError> {
    let silent = || AskError::Silent { address: address.to_owned(), within: limits.within };
    let asked = Instant::now();
    match timeout_at(deadline, say(&mut stream, word)).await {
        Err(_) => return Err(silent()),
        Ok(Err(error)) => return Err(refusal(address, &error)),
        Ok(Ok(())) => {}
    }
    let (mut text, mut beginning) = (Vec::new(), Vec::new());
    let mut take = |part: &[u8]| {
        beginning.extend_from_slice(&part[..part.len().min(MAX_REFUSAL_BYTES - beginning.len())]);
        match &mut taker {
            Some(take) => take(part),
            None => text.extend_from_slice(part),
        }
    };
    let read = read(&mut stream, limits.bytes, deadline, &mut take).await;
    // A server that resets the connection has closed it.
    let Ok((bytes, cut)) = read else {
        return Err(AskError::Closed { address: address.to_owned() });
    };
    if bytes == 0 {
        return Err(if cut { silent() } else { AskError::Closed { address: address.to_owned() } });
    }
    let took = asked.elapsed().saturating_sub(there_and_back);
    let text = String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    if let Some(refused) = refused(address, word, &String::from_utf8_lossy(&beginning)) {
        return Err(refused);
    }
    Ok(FourLetterAnswer { text, bytes, cut, took })
}

async fn say(stream: &mut (impl AsyncWrite + Unpin), word: FourLetterWord) -> std::io::Result<()> {
    stream.write_all(word.as_str().as_bytes()).await?;
    stream.flush().await
}

/// Reads how many watch events a server has sent since it started. Costs one `mntr` of at most two
/// seconds. Cancel safe.
///
/// `address` is `HOST:PORT`, a plain client port.
pub async fn watch_events(address: &str) -> Result<WatchEventTotals, AskError> {
    let answer = ask(address, FourLetterWord::Mntr, QuestionLimits::default()).await?;
    let foreign = || AskError::Foreign { address: address.to_owned(), word: FourLetterWord::Mntr };
    answer_of::mntr(&answer.text).fired.ok_or_else(foreign)
}

/// Reads to the end or to a limit. Returns the number of bytes and whether a limit was reached. An
/// error after the first bytes counts as a limit.
async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    most: usize,
    deadline: Instant,
    take: Taker<'_>,
) -> std::io::Result<(usize, bool)> {
    let mut bytes = 0;
    let mut part = vec![0; 16 << 10];
    loop {
        match timeout_at(deadline, stream.read(&mut part)).await {
            Ok(Err(error)) if bytes == 0 => return Err(error),
            // Servers end a TLS connection without closing TLS first; the answer itself shows
            // whether it is complete.
            Ok(Err(error)) if error.kind() == ErrorKind::UnexpectedEof => return Ok((bytes, false)),
            Err(_) | Ok(Err(_)) => return Ok((bytes, true)),
            Ok(Ok(0)) => return Ok((bytes, false)),
            Ok(Ok(read)) => {
                let room = most - bytes;
                take(&part[..read.min(room)]);
                bytes += read.min(room);
                if read > room {
                    return Ok((bytes, true));
                }
            }
        }
    }
}

/// Recognizes a text that a server sends instead of an answer.
fn refused(address: &str, word: FourLetterWord, answer: &str) -> Option<AskError> {
    let address = address.to_owned();
    // Both sentences are the server's own, in all versions from 3.5.3.
    let first = answer.lines().next().unwrap_or_default();
    if first.contains("is not executed because it is not in the whitelist") {
        Some(AskError::NotAllowed { address, word, needed: NEEDED_WORDS })
    } else if first.contains("is not currently serving requests") {
        Some(AskError::NotServing { address })
    } else {
        None
    }
}

fn refusal(address: &str, error: &std::io::Error) -> AskError {
    let address = address.to_owned();
    match error.kind() {
        ErrorKind::ConnectionRefused => AskError::Refused { address },
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => AskError::Closed { address },
        _ => AskError::Io { address, why: error.to_string() },
    }
}

/// The words that only read; this crate sends no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FourLetterWord {
    /// Version, mode and counts. Cheap, and allowed by default.
    Srvr,
    /// All connections. The answer grows with their number.
    Cons,
    /// All sessions with their ephemeral nodes.
    Dump,
    /// The number of watches. Cheap.
    Wchs,
    /// All watched paths with the sessions that watch them. Expensive: the answer grows with the
    /// number of watches.
    Wchp,
    /// The server's statistics. Cheap.
    Mntr,
    /// The server's settings. Cheap.
    Conf,
}

impl FourLetterWord {
    /// Returns the word as it is sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Srvr => "srvr",
            Self::Cons => "cons",
            Self::Dump => "dump",
            Self::Wchs => "wchs",
            Self::Wchp => "wchp",
            Self::Mntr => "mntr",
            Self::Conf => "conf",
        }
    }
}

/// All words that this crate may send, in the syntax of `4lw.commands.whitelist`.
pub const NEEDED_WORDS: &str = "cons,dump,mntr,srvr,wchp,wchs,conf";

/// Why there is no answer. Each message is one sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// No process listens at the address.
    #[error("{address} refused the connection: check the port, and that the server runs")]
    Refused {
        /// The server's address.
        address: String,
    },
    /// No answer arrived in time.
    #[error("{address} did not answer within {}: it hangs or is overloaded, or a firewall is in the way", humantime::format_duration(*.within))]
    Silent {
        /// The server's address.
        address: String,
        /// The time limit of a question.
        within: Duration,
    },
    /// Another error of the operating system.
    #[error("{address} cannot be asked: {why}; check the address and the network")]
    Io {
        /// The server's address.
        address: String,
        /// The message of the operating system.
        why: String,
    },
    /// The address comes only from the ensemble's config, and is one that a config must not lead
    /// to.
    #[error("{address} is not asked: {NOT_FOLLOWED}")]
    NotFollowed {
        /// The server's address.
        address: String,
    },
    /// TLS with the server failed.
    #[error(
        "{address} cannot be trusted: {why}; check that its certificate is signed by the given authority and names this host"
    )]
    Untrusted {
        /// The server's address.
        address: String,
        /// The reason of the failure.
        why: String,
    },
    /// The server closed the connection without a reply.
    #[error("{address} closed the connection without an answer: check that it is ZooKeeper's client port")]
    Closed {
        /// The server's address.
        address: String,
    },
    /// The word is not in the server's whitelist.
    #[error("{address} does not allow {word}: put 4lw.commands.whitelist={needed} into its zoo.cfg and restart it", word = .word.as_str())]
    NotAllowed {
        /// The server's address.
        address: String,
        /// The word that was asked.
        word: FourLetterWord,
        /// All words that this crate may send, as the whitelist option takes them.
        needed: &'static str,
    },
    /// `ClickHouse` Keeper closed the connection without a reply, as it does for a word that is not
    /// in its list.
    #[error(
        "{address} does not allow {word}: put {word} into four_letter_word_white_list in the keeper_server part of its config",
        word = .word.as_str()
    )]
    NotAllowedByKeeper {
        /// The server's address.
        address: String,
        /// The word that was asked.
        word: FourLetterWord,
    },
    /// The server has no quorum.
    #[error("{address} serves no clients now: check that a majority of the ensemble runs")]
    NotServing {
        /// The server's address.
        address: String,
    },
    /// The answer does not match the word.
    #[error("{address} gave no sensible answer to {word}: check that it is a ZooKeeper server of version 3.6.0 or newer", word = .word.as_str())]
    Foreign {
        /// The server's address.
        address: String,
        /// The word that was asked.
        word: FourLetterWord,
    },
}

impl AskError {
    /// Returns whether nothing came from the server: nobody listens, or nobody answers.
    pub(super) fn is_silence(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Silent { .. } | Self::Io { .. })
    }
}

/// The most bytes of an answer.
const MAX_ANSWER: usize = 64 << 10;

/// Returns the folders with the transaction logs and snapshots of the servers in a connect string
/// that run on this machine, if they answer the four-letter word `conf` and this user may read the
/// folders. A server behind a tunnel looks like one on this machine: its answer may name a folder of
/// another one.
///
/// Costs one question to each server on this machine. Cancel safe.
pub async fn local_data_folders(connect: &str) -> Result<Vec<PathBuf>, BadConnectString> {
    let limits = QuestionLimits { bytes: MAX_ANSWER, ..QuestionLimits::default() };
    let mut folders = BTreeSet::new();
    for server in servers(connect)?.0 {
        if !is_here(&server).await {
            continue;
        }
        let Ok(answer) = ask(&server, FourLetterWord::Conf, limits).await else { continue };
        for folder in folders_in(&answer.text) {
            if fs::read_dir(&folder).await.is_ok() {
                folders.insert(folder);
            }
        }
    }
    Ok(folders.into_iter().collect())
}

/// Returns whether the address `HOST:PORT` is one of this machine.
async fn is_here(server: &str) -> bool {
    let Ok(addresses) = lookup_host(server).await else { return false };
    let mut addresses = addresses.peekable();
    // Only an address of this machine can be bound.
    addresses.peek().is_some() && addresses.all(|address| UdpSocket::bind((address.ip(), 0)).is_ok())
}

/// Returns the folders that an answer to `conf` names.
fn folders_in(answer: &str) -> impl Iterator<Item = PathBuf> {
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        ["dataDir", "dataLogDir"].contains(&name).then(|| PathBuf::from(value))
    };
    answer.lines().filter_map(value).filter(|folder| folder.is_absolute())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Answers each connection with `answer`, then closes it or keeps it open.
    async fn serve(answer: &'static [u8], closes: bool) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut word = [0; 4];
                    let _ = stream.read_exact(&mut word).await;
                    let _ = stream.write_all(answer).await;
                    if !closes {
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        address
    }

    fn limits(bytes: usize) -> QuestionLimits {
        QuestionLimits { within: Duration::from_millis(300), bytes }
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_or_never_ends_is_marked_as_cut() {
        let address = serve(b"0123456789", true).await;
        let answer = ask(&address, FourLetterWord::Mntr, limits(4)).await.expect("an answer");
        assert_eq!((answer.text.as_str(), answer.cut), ("0123", true));
        let answer = ask(&address, FourLetterWord::Mntr, limits(10)).await.expect("an answer");
        assert!(!answer.cut);

        let endless = serve(b"0123456789", false).await;
        let answer = ask(&endless, FourLetterWord::Mntr, limits(100)).await.expect("an answer");
        assert_eq!((answer.text.as_str(), answer.cut), ("0123456789", true));
    }

    #[tokio::test]
    async fn a_server_that_hangs_is_given_up_in_time() {
        let address = serve(b"", false).await;
        let began = Instant::now();
        let error = ask(&address, FourLetterWord::Srvr, limits(100)).await.expect_err("silence");
        assert!(matches!(error, AskError::Silent { .. }), "{error}");
        assert!(began.elapsed() < Duration::from_secs(2));
    }

    #[tokio::test]
    async fn a_word_that_is_not_allowed_yields_advice() {
        let address = serve(b"wchp is not executed because it is not in the whitelist.\n", true).await;
        let error = ask(&address, FourLetterWord::Wchp, limits(100)).await.expect_err("a refusal").to_string();
        assert!(error.contains("4lw.commands.whitelist=cons,dump,mntr,srvr,wchp,wchs,conf"), "{error}");
    }

    #[tokio::test]
    async fn an_answer_without_watch_events_is_no_answer() {
        let address = serve(b"zk_version\t3.4.14\n", true).await;
        let error = watch_events(&address).await.expect_err("too old");
        assert!(matches!(error, AskError::Foreign { .. }), "{error}");
    }

    #[test]
    fn an_answer_names_absolute_folders() {
        let answer =
            "clientPort=2181\ndataDir=/data/version-2\ndataDirSize=7\ndataLogDir=/log/version-2\ndataDir=data\n";
        assert_eq!(folders_in(answer).collect::<Vec<_>>(), ["/data/version-2", "/log/version-2"].map(PathBuf::from));
    }

    #[tokio::test]
    async fn only_addresses_of_this_machine_are_here() {
        assert!(is_here("127.0.0.1:2181").await);
        // An address for documentation.
        assert!(!is_here("192.0.2.1:2181").await && !is_here("no.such.host.invalid:2181").await);
    }
}
