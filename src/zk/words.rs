//! Four-letter words: one question to one server, bounded in time and in bytes.

use std::io::ErrorKind;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::server_view::{Monitor, WatchEventTotals};

/// The words that only read, which is all that this crate ever sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// Version, mode, counts. Cheap, and allowed by default.
    Srvr,
    /// Every connection. As long as there are connections.
    Cons,
    /// Every session with its ephemeral nodes.
    Dump,
    /// How many watches there are. Cheap.
    Wchs,
    /// Every watched path with the sessions that watch it. Dear: as long as there are watches.
    Wchp,
    /// The server's figures. Cheap.
    Mntr,
}

impl Word {
    /// As it is sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Srvr => "srvr",
            Self::Cons => "cons",
            Self::Dump => "dump",
            Self::Wchs => "wchs",
            Self::Wchp => "wchp",
            Self::Mntr => "mntr",
        }
    }
}

/// How much one question may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the first packet to the last.
    pub within: Duration,
    /// What is read of the answer. What follows is left with the server.
    pub bytes: usize,
}

impl Default for Limits {
    /// Two seconds and 32 MiB.
    fn default() -> Self {
        Self { within: Duration::from_secs(2), bytes: 32 << 20 }
    }
}

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The text; what was no UTF-8 in it is replaced.
    pub text: String,
    /// Whether a limit ended it, so that there is more than this.
    pub cut: bool,
}

/// Why there is no answer. Each message is one sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Nobody listens there.
    #[error("{address} refused the connection: check the port, and that the server runs")]
    Refused {
        /// Who.
        address: String,
    },
    /// Nothing came in time.
    #[error("{address} did not answer within {}: it hangs, is overloaded, or a firewall stands between", humantime::format_duration(*.within))]
    Silent {
        /// Who.
        address: String,
        /// How long it was waited.
        within: Duration,
    },
    /// The operating system says something else.
    #[error("{address} cannot be asked: {why}; check the address and the network")]
    Io {
        /// Who.
        address: String,
        /// What the operating system says.
        why: String,
    },
    /// It closed the connection without a word.
    #[error("{address} closed the connection without an answer: check that it is ZooKeeper's plain client port")]
    Closed {
        /// Who.
        address: String,
    },
    /// The word is not on its list.
    #[error("{address} does not allow {word}: put 4lw.commands.whitelist={needed} into its zoo.cfg and restart it", word = .word.as_str())]
    NotAllowed {
        /// Who.
        address: String,
        /// Which word.
        word: Word,
        /// Every word that this crate may ask for, as the option takes them.
        needed: &'static str,
    },
    /// It has no quorum.
    #[error("{address} serves nobody now: look whether a majority of the ensemble runs")]
    NotServing {
        /// Who.
        address: String,
    },
    /// The answer is none to this question.
    #[error("{address} gave no sensible answer to {word}: check that it is a ZooKeeper server, from 3.6.0", word = .word.as_str())]
    Foreign {
        /// Who.
        address: String,
        /// Which word.
        word: Word,
    },
}

/// The words that a server must allow for all that is asked, as `4lw.commands.whitelist` takes them.
pub const NEEDED_WORDS: &str = "cons,dump,mntr,srvr,wchp,wchs";

/// Asks one server one word, over a plain connection of its own. Cancel safe.
///
/// `address` is `HOST:PORT`. An answer that a limit ends is given as far as it came, marked as cut; when not even its
/// beginning came, it is an error.
pub async fn ask(address: &str, word: Word, limits: Limits) -> Result<Answer, AskError> {
    let deadline = Instant::now() + limits.within;
    let silent = || AskError::Silent { address: address.to_owned(), within: limits.within };
    let mut stream = match timeout_at(deadline, TcpStream::connect(address)).await {
        Err(_) => return Err(silent()),
        Ok(Err(error)) => return Err(refusal(address, &error)),
        Ok(Ok(stream)) => stream,
    };
    match timeout_at(deadline, stream.write_all(word.as_str().as_bytes())).await {
        Err(_) => return Err(silent()),
        Ok(Err(error)) => return Err(refusal(address, &error)),
        Ok(Ok(())) => {}
    }
    let (bytes, cut) = match read(&mut stream, limits.bytes, deadline).await {
        Ok(read) => read,
        // A server that resets the connection has closed it.
        Err(_) => return Err(AskError::Closed { address: address.to_owned() }),
    };
    if bytes.is_empty() {
        return Err(if cut { silent() } else { AskError::Closed { address: address.to_owned() } });
    }
    understood(address, word, Answer { text: String::from_utf8_lossy(&bytes).into_owned(), cut })
}

/// How many watch events a server sent since it started, by one `mntr` of at most two seconds. Cancel safe.
///
/// `address` is `HOST:PORT`, a plain client port.
pub async fn watch_events(address: &str) -> Result<WatchEventTotals, AskError> {
    let answer = ask(address, Word::Mntr, Limits::default()).await?;
    let foreign = || AskError::Foreign { address: address.to_owned(), word: Word::Mntr };
    Monitor::from_words(&answer.text).fired.ok_or_else(foreign)
}

/// Reads to the end or to a limit; whether it was a limit. An error after the first bytes is a cut.
async fn read(stream: &mut TcpStream, most: usize, deadline: Instant) -> std::io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    let mut part = vec![0; 16 << 10];
    loop {
        match timeout_at(deadline, stream.read(&mut part)).await {
            Err(_) => return Ok((bytes, true)),
            Ok(Err(error)) if bytes.is_empty() => return Err(error),
            Ok(Err(_)) => return Ok((bytes, true)),
            Ok(Ok(0)) => return Ok((bytes, false)),
            Ok(Ok(read)) => {
                let room = most - bytes.len();
                bytes.extend_from_slice(&part[..read.min(room)]);
                if read > room {
                    return Ok((bytes, true));
                }
            }
        }
    }
}

fn understood(address: &str, word: Word, answer: Answer) -> Result<Answer, AskError> {
    let address = address.to_owned();
    // Both sentences are the servers' own, in all versions from 3.5.3.
    let first = answer.text.lines().next().unwrap_or_default();
    if first.contains("is not executed because it is not in the whitelist") {
        Err(AskError::NotAllowed { address, word, needed: NEEDED_WORDS })
    } else if first.contains("is not currently serving requests") {
        Err(AskError::NotServing { address })
    } else {
        Ok(answer)
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

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Answers each connection with these bytes, and closes it or stays.
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

    fn limits(bytes: usize) -> Limits {
        Limits { within: Duration::from_millis(300), bytes }
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_or_never_ends_is_cut_and_says_so() {
        let address = serve(b"0123456789", true).await;
        let answer = ask(&address, Word::Mntr, limits(4)).await.expect("an answer");
        assert_eq!(answer, Answer { text: "0123".to_owned(), cut: true });
        let answer = ask(&address, Word::Mntr, limits(10)).await.expect("an answer");
        assert!(!answer.cut);

        let endless = serve(b"0123456789", false).await;
        let answer = ask(&endless, Word::Mntr, limits(100)).await.expect("an answer");
        assert_eq!(answer, Answer { text: "0123456789".to_owned(), cut: true });
    }

    #[tokio::test]
    async fn a_server_that_hangs_is_given_up_in_time() {
        let address = serve(b"", false).await;
        let began = Instant::now();
        let error = ask(&address, Word::Srvr, limits(100)).await.expect_err("silence");
        assert!(matches!(error, AskError::Silent { .. }), "{error}");
        assert!(began.elapsed() < Duration::from_secs(2));
    }

    #[tokio::test]
    async fn a_word_that_is_not_allowed_is_answered_by_what_to_change() {
        let address = serve(b"wchp is not executed because it is not in the whitelist.\n", true).await;
        let error = ask(&address, Word::Wchp, limits(100)).await.expect_err("a refusal").to_string();
        assert!(error.contains("4lw.commands.whitelist=cons,dump,mntr,srvr,wchp,wchs"), "{error}");
    }

    #[tokio::test]
    async fn an_answer_without_watch_events_is_no_answer() {
        let address = serve(b"zk_version\t3.4.14\n", true).await;
        let error = watch_events(&address).await.expect_err("too old");
        assert!(matches!(error, AskError::Foreign { .. }), "{error}");
    }
}
