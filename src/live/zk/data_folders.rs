//! Finds the files of servers that run on this machine.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::path::PathBuf;

use tokio::fs;
use tokio::net::lookup_host;

use super::connect_string::{BadConnectString, servers};
use super::four_letter::{QuestionLimits, Word, ask};

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
        let Ok(answer) = ask(&server, Word::Conf, limits).await else { continue };
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
    use super::*;

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
