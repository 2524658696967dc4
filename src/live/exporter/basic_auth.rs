//! Users with passwords, by HTTP's basic authentication.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bcrypt::HashParts;
use rustc_hash::FxHashMap;
use sha1::{Digest, Sha1};
use tokio::sync::Semaphore;
use uuid::Uuid;

/// The maximum work factor. With a higher one, checking a password would take longer than a
/// connection may last.
const MAX_COST: u32 = 16;

/// The maximum length of a header, in bytes.
const MAX_HEADER_BYTES: usize = 1_024;

/// The users with access, and the bcrypt hashes of their passwords.
pub(super) struct BasicAuth {
    hashes: Arc<BTreeMap<String, String>>,
    /// A hash that matches no password. Unknown users are checked against this hash, so that the
    /// response time does not reveal which users exist.
    nobody: String,
    /// Bounds the checks to one at a time, since each costs much CPU time.
    checking: Semaphore,
    /// The accepted passwords by user, as digests with `salt`, so that they are not checked again
    /// at each scrape.
    accepted: Mutex<FxHashMap<String, [u8; 20]>>,
    salt: [u8; 16],
}

impl fmt::Debug for BasicAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BasicAuth").field("users", &self.hashes.len()).finish_non_exhaustive()
    }
}

impl BasicAuth {
    /// Creates the users. Fails with a sentence if a hash is invalid.
    pub fn new(hashes: BTreeMap<String, String>) -> Result<Self, String> {
        let mut cost = 0;
        for (user, hash) in &hashes {
            let parts: HashParts = hash.parse().map_err(|_| {
                format!("the password of the user {user:?} is not a bcrypt hash: make one with htpasswd -nBC 10 USER")
            })?;
            if parts.get_cost() > MAX_COST {
                return Err(format!(
                    "the hash of the user {user:?} takes too long to check: make one of cost {MAX_COST} or less"
                ));
            }
            cost = cost.max(parts.get_cost());
        }
        let nobody = format!("$2b${cost:02}${}", ".".repeat(53));
        Ok(Self {
            hashes: Arc::new(hashes),
            nobody,
            checking: Semaphore::new(1),
            accepted: Mutex::default(),
            salt: *Uuid::new_v4().as_bytes(),
        })
    }

    /// Returns whether the `Authorization` header has a user and that user's password. Cancel safe.
    pub async fn admits(&self, header: Option<&[u8]>) -> bool {
        let Some((user, password)) = header.and_then(credentials) else { return false };
        let digest = self.digest(&user, &password);
        if self.accepted.lock().unwrap_or_else(PoisonError::into_inner).get(&user) == Some(&digest) {
            return true;
        }
        let Ok(_permit) = self.checking.acquire().await else { return false };
        let (is_known, hash) = match self.hashes.get(&user) {
            Some(hash) => (true, hash.clone()),
            None => (false, self.nobody.clone()),
        };
        let check = move || bcrypt::verify(password, &hash).unwrap_or(false);
        let admits = tokio::task::spawn_blocking(check).await.unwrap_or(false) && is_known;
        if admits {
            self.accepted.lock().unwrap_or_else(PoisonError::into_inner).insert(user, digest);
        }
        admits
    }

    /// Returns the digest to compare in place of the password. The secret salt keeps an attacker
    /// from guessing it byte by byte.
    fn digest(&self, user: &str, password: &str) -> [u8; 20] {
        let parts: [&[u8]; 4] = [&self.salt, user.as_bytes(), &[0], password.as_bytes()];
        parts.into_iter().fold(Sha1::new(), Sha1::chain_update).finalize().into()
    }
}

/// Returns the user and the password in a header.
fn credentials(header: &[u8]) -> Option<(String, String)> {
    let header = std::str::from_utf8(header).ok().filter(|header| header.len() <= MAX_HEADER_BYTES)?;
    let (scheme, encoded) = header.split_once(' ')?;
    let decoded = BASE64_STANDARD.decode(encoded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    let (user, password) =
        String::from_utf8(decoded).ok()?.split_once(':').map(|(user, rest)| (user.to_owned(), rest.to_owned()))?;
    Some((user, password))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(user: &str, password: &str) -> Vec<u8> {
        format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))).into_bytes()
    }

    #[tokio::test]
    async fn only_a_users_own_password_is_accepted_the_first_time_and_later() {
        let hash = bcrypt::hash_with_salt("right:pass", 4, [7; 16]).unwrap();
        let users = BTreeMap::from([("ann".to_owned(), hash.format_for_version(bcrypt::Version::TwoY))]);
        let auth = BasicAuth::new(users).unwrap();
        for _ in 0..2 {
            assert!(auth.admits(Some(&header("ann", "right:pass"))).await);
            assert!(!auth.admits(Some(&header("ann", "right"))).await);
            assert!(!auth.admits(Some(&header("bob", "right:pass"))).await);
            for other in [&b""[..], b"Basic", b"Basic ?", b"Bearer YTpi", b"Basic \xff", b"Basic YQ=="] {
                assert!(!auth.admits(Some(other)).await, "{other:?}");
            }
            assert!(!auth.admits(None).await);
        }
        let nobody: HashParts = auth.nobody.parse().expect("a valid hash");
        assert_eq!(nobody.get_cost(), 4);
    }
}
