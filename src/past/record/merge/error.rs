//! Why a recording cannot be completed.

use std::path::PathBuf;

use crate::record::{Damage, StoreError};

/// Why a recording was not completed. It is then as it was. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The recording cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The recorder saw nodes that the logs should have, and they have none of them.
    #[error("{} saw other nodes than those in the transaction logs: name the files of its ensemble, and the same --root and --lock", .0.display())]
    OtherEnsemble(PathBuf),
    /// The recording has locks that the import leaves out.
    #[error("{} has the lock {lock}, which lies below no --root of this import: name the same --root as in the recording", path.display())]
    OtherRoots {
        /// The path of the recording.
        path: PathBuf,
        /// The lock, escaped.
        lock: String,
    },
    /// The paths of the recording begin at a chroot.
    #[error("{} was recorded below {chroot}, and the logs have whole paths: name a new file with --store", path.display())]
    Chroot {
        /// The path of the recording.
        path: PathBuf,
        /// The chroot, escaped.
        chroot: String,
    },
    /// The recording has too many gaps.
    #[error("{} has too many gaps to fill at once: name a shorter time with --from and --to", .0.display())]
    TooManyGaps(PathBuf),
    /// A part of the recording beside a gap cannot be read.
    #[error("{} is damaged beside a gap: {damage}; cut out what is not with `lockscope cut`, and complete that", path.display())]
    Damaged {
        /// The path of the recording.
        path: PathBuf,
        /// The kind of damage.
        damage: Damage,
    },
    /// The caller cancelled it.
    #[error("interrupted: nothing was changed")]
    Interrupted,
}
