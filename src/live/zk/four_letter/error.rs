//! Errors of four-letter words.

use std::time::Duration;

use super::Word;
use crate::zk::call::NOT_FOLLOWED;

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
        word: Word,
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
        word: Word,
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
        word: Word,
    },
}

impl AskError {
    /// Returns whether nothing came from the server: nobody listens, or nobody answers.
    pub(in crate::zk) fn is_silence(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Silent { .. } | Self::Io { .. })
    }
}
