//! Raises the data version of a node by writes that change nothing else.

use zookeeper_client::{Client, Error, MultiWriteError, MultiWriteResult, Stat};

use super::super::plan::{MAX_RAISE_BYTES, MAX_RAISES, MIN_RAISES};

/// One request that writes the same data several times, each on the condition of the version before it.
#[derive(Clone, Debug)]
pub(super) struct Raise {
    pub path: String,
    /// The creation of the node that is meant.
    pub czxid: i64,
    pub data: Vec<u8>,
    /// The version that the node has to have.
    pub version: i32,
    pub times: i32,
    /// What had the name right before the write, where that is known.
    pub read: Option<(Vec<u8>, Stat)>,
}

/// What came of raising a version.
pub(super) enum Raised {
    /// The node that is meant has this version, and something else was looked at right behind it.
    At { version: i32, behind: Result<Option<Stat>, Error> },
    /// Nothing was written: something changed.
    Again,
    /// Another node had the name, and got the data; what could be put back was.
    Other(Stat),
    /// It may not be written.
    NotPermitted,
}

/// How often a version is raised in all, and by one request of these data.
pub(super) fn counts(data: &[u8]) -> (i32, i32) {
    let times = fastrand::i32(MIN_RAISES..=MAX_RAISES);
    let at_once = i32::try_from(MAX_RAISE_BYTES / data.len().max(1)).unwrap_or(MAX_RAISES);
    (times, at_once.clamp(1, times))
}

impl Raise {
    /// The version that it leads to. Counted as the servers do.
    pub fn reached(&self) -> i32 {
        self.version.wrapping_add(self.times)
    }

    /// Hands the write over; `check` is the version that another node has to have.
    pub fn write<'a>(
        &self,
        client: &'a Client,
        check: Option<(&str, i32)>,
    ) -> Result<impl Future<Output = Result<Stat, MultiWriteError>> + use<'a>, Error> {
        let mut writer = client.new_multi_writer();
        for raised in 0..self.times {
            writer.add_set_data(&self.path, &self.data, Some(self.version.wrapping_add(raised)))?;
        }
        if let Some((path, version)) = check {
            writer.add_check_version(path, version)?;
        }
        let write = writer.commit();
        Ok(async move {
            let mut results = write.await?.into_iter().rev();
            results
                .find_map(|result| if let MultiWriteResult::SetData { stat } = result { Some(stat) } else { None })
                .ok_or_else(|| Error::UnexpectedError("a write was not answered".to_owned()).into())
        })
    }

    /// The data that another node had before the write, if they were read.
    pub fn data_of(&self, other: &Stat) -> Option<&[u8]> {
        self.read.as_ref().filter(|(_, read)| read.czxid == other.czxid).map(|(data, _)| data.as_slice())
    }

    /// Whether another node, as it is now, can bear the data of this write, whose reply was lost.
    pub fn may_have_hit(&self, data: &[u8], other: &Stat) -> bool {
        // Whoever wrote after it has undone it.
        other.mzxid != other.czxid && other.version == self.reached() && data == self.data
    }
}

/// Whether an error is the server's answer to a change, and so the change was not made.
pub(super) fn is_answer(error: &Error) -> bool {
    matches!(
        error,
        Error::NoNode
            | Error::NoAuth
            | Error::BadVersion
            | Error::NotEmpty
            | Error::NoChildrenForEphemerals
            | Error::NotReadOnly
            | Error::QuotaExceeded
            | Error::Throttled
            | Error::Unimplemented
            | Error::BadArguments(_)
            | Error::RuntimeInconsistent
    )
}
