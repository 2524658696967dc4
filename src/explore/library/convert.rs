//! Between the simulated servers' types and those of the client library.

use lockscope_base::wire::ErrorCode;
use lockscope_requests::{NewNode, Read, Write};
use lockscope_sandbox::parts::Stat as ServerStat;
use zookeeper_client::{CreateMode, Error, MultiReadResult, MultiWriteError, MultiWriteResult, Stat};

use crate::ensemble::{Answer, Create, ReadOp, Refusal, WriteOp};

pub(super) fn error_of(code: ErrorCode) -> Error {
    match code {
        ErrorCode::NoNode => Error::NoNode,
        ErrorCode::NodeExists => Error::NodeExists,
        ErrorCode::BadVersion => Error::BadVersion,
        ErrorCode::NotEmpty => Error::NotEmpty,
        ErrorCode::NoChildrenForEphemerals => Error::NoChildrenForEphemerals,
        ErrorCode::SessionExpired => Error::SessionExpired,
        ErrorCode::SessionMoved => Error::SessionMoved,
        ErrorCode::NoAuth => Error::NoAuth,
        ErrorCode::Unimplemented => Error::Unimplemented,
        ErrorCode::BadArguments => Error::BadArguments(&"the server refuses an argument"),
        other => unreachable!("the simulated servers do not refuse with {other:?}"),
    }
}

pub(super) fn refused(why: Refusal) -> Error {
    match why {
        Refusal::Throttled => Error::Throttled,
        Refusal::Quota => Error::QuotaExceeded,
        Refusal::Garbled => Error::UnexpectedError("the reply cannot be read".to_owned()),
    }
}

pub(super) fn stat_of(stat: &ServerStat) -> Stat {
    Stat {
        czxid: stat.czxid,
        mzxid: stat.mzxid,
        pzxid: stat.pzxid,
        ctime: stat.ctime,
        mtime: stat.mtime,
        version: stat.version,
        cversion: stat.cversion,
        aversion: stat.aversion,
        ephemeral_owner: stat.ephemeral_owner,
        data_length: stat.data_length,
        num_children: stat.num_children,
    }
}

pub(super) fn create_of(node: &NewNode<'_>) -> Create {
    Create {
        path: node.path.into(),
        data: node.data.into(),
        ephemeral: matches!(node.mode, CreateMode::Ephemeral | CreateMode::EphemeralSequential),
        sequential: matches!(node.mode, CreateMode::PersistentSequential | CreateMode::EphemeralSequential),
        container: node.mode == CreateMode::Container,
    }
}

pub(super) fn write_of(write: &Write<'_>) -> WriteOp {
    match *write {
        Write::Create(ref node) => WriteOp::Create(create_of(node)),
        Write::Delete(path, version) => WriteOp::Delete { path: path.into(), version },
        Write::SetData(path, data, version) => WriteOp::SetData { path: path.into(), data: data.into(), version },
        Write::Check(path, version) => WriteOp::Check { path: path.into(), version },
    }
}

pub(super) fn read_of(read: &Read<'_>) -> ReadOp {
    match *read {
        Read::Data(path) => ReadOp::Data(path.into()),
        Read::Children(path) => ReadOp::Children(path.into()),
    }
}

pub(super) fn data_of(answer: Answer) -> (Vec<u8>, Stat) {
    match answer {
        Answer::Data { data, stat } => (data.to_vec(), stat_of(&stat)),
        other => unreachable!("not data: {other:?}"),
    }
}

pub(super) fn children_of(answer: Answer) -> (Vec<String>, Stat) {
    match answer {
        Answer::Children { names, stat } => (names.iter().map(|name| (**name).to_owned()).collect(), stat_of(&stat)),
        other => unreachable!("not children: {other:?}"),
    }
}

pub(super) fn written(writes: &[WriteOp], answer: Answer) -> Result<Vec<MultiWriteResult>, MultiWriteError> {
    match answer {
        Answer::Failed { index, code } => Err(MultiWriteError::OperationFailed { index, source: error_of(code) }),
        Answer::Results(results) => Ok(writes.iter().zip(results).map(|(write, result)| one(write, result)).collect()),
        other => unreachable!("not the results of a transaction: {other:?}"),
    }
}

fn one(write: &WriteOp, result: Result<Answer, ErrorCode>) -> MultiWriteResult {
    match (write, result) {
        (WriteOp::Create(_), Ok(Answer::Created { path, stat })) => {
            MultiWriteResult::Create { path: (*path).to_owned(), stat: stat_of(&stat) }
        }
        (WriteOp::SetData { .. }, Ok(Answer::Stat(Some(stat)))) => MultiWriteResult::SetData { stat: stat_of(&stat) },
        (WriteOp::Delete { .. }, _) => MultiWriteResult::Delete,
        (WriteOp::Check { .. }, _) => MultiWriteResult::Check,
        (write, result) => unreachable!("not the result of {write:?}: {result:?}"),
    }
}

pub(super) fn reads(answer: Answer) -> Vec<MultiReadResult> {
    let Answer::Results(results) = answer else { unreachable!("not the results of reads: {answer:?}") };
    let read = |result| match result {
        Ok(Answer::Data { data, stat }) => MultiReadResult::Data { data: data.to_vec(), stat: stat_of(&stat) },
        Ok(answer) => MultiReadResult::Children { children: children_of(answer).0 },
        Err(code) => MultiReadResult::Error { err: error_of(code) },
    };
    results.into_iter().map(read).collect()
}
