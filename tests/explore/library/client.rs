//! The simulated client: answers the requests of a program from the simulated library, in the types
//! of `zookeeper-client`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use tokio::sync::Notify;
use uuid::Uuid;
use zookeeper_client::{CreateMode, Error, MultiReadResult, MultiWriteError, MultiWriteResult, SessionState, Stat};

use super::{NewWatch, SharedLibrary, TIMEOUT, lock};
use crate::ensemble::{CreatedNode, ReadOp, Refusal, Request, Response, WriteOp, session_of};
use lockscope_base::wire::ErrorCode;
use lockscope_base::znode::SessionId;
use lockscope_requests::{Created, Events, NewNode, Read, Reply, Requests, SessionStates, Watch, Write};
use lockscope_sandbox::parts::Stat as ServerStat;

/// A client of the simulated ensemble.
#[derive(Clone)]
pub struct SimClient(pub SharedLibrary);

impl fmt::Debug for SimClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimClient")
    }
}

impl SimClient {
    fn ask<T>(&self, request: Request, read: impl FnOnce(Response) -> T + Send + 'static) -> Reply<'_, T> {
        let reply = lock(&self.0).request(request);
        Box::pin(async move {
            let (answer, _) = reply.await.unwrap_or(Err(Error::ClientClosed))?;
            Ok(read(answer))
        })
    }

    fn read(&self, read: ReadOp) -> Reply<'_, Response> {
        self.ask(Request::Read { read, watch: false }, |answer| answer)
    }

    fn watch<T>(&self, read: ReadOp, convert: impl FnOnce(Response) -> T + Send + 'static) -> Reply<'_, (T, Watch)> {
        let reply = lock(&self.0).request(Request::Read { read, watch: true });
        Box::pin(async move {
            match reply.await.unwrap_or(Err(Error::ClientClosed))? {
                (answer, Some(NewWatch::OneShot(watch))) => Ok((convert(answer), Box::pin(watch) as Watch)),
                (answer, _) => unreachable!("no watch was set: {answer:?}"),
            }
        })
    }
}

fn stat(answer: Response) -> Option<Stat> {
    match answer {
        Response::Stat(stat) => stat.as_ref().map(stat_of),
        other => unreachable!("not a stat: {other:?}"),
    }
}

impl Requests for SimClient {
    fn session(&self) -> SessionId {
        SessionId(session_of(lock(&self.0).index))
    }

    fn session_timeout(&self) -> Duration {
        Duration::from_secs(TIMEOUT.into())
    }

    fn chroot(&self) -> &'static str {
        "/"
    }

    fn attempt_id(&self) -> Uuid {
        let mut library = lock(&self.0);
        library.next_attempt += 1;
        Uuid::from_u64_pair(library.next_attempt, library.index as u64)
    }

    fn state(&self) -> SessionState {
        lock(&self.0).state
    }

    fn states(&self) -> Box<dyn SessionStates> {
        let library = lock(&self.0);
        let (changed, seen) = (Arc::clone(&library.changed), library.changes);
        Box::new(SimStates { library: Arc::clone(&self.0), changed, seen })
    }

    fn create<'a>(&'a self, node: NewNode<'a>) -> Reply<'a, Created> {
        let create = create_of(&node);
        let prefix = create.path.len();
        self.ask(Request::Write(WriteOp::Create(create)), move |answer| match answer {
            Response::Created { path, stat } => Created { stat: stat_of(&stat), number: path[prefix..].to_owned() },
            other => unreachable!("not the answer to a create: {other:?}"),
        })
    }

    fn delete<'a>(&'a self, path: &'a str, version: Option<i32>) -> Reply<'a, ()> {
        self.ask(Request::Write(WriteOp::Delete { path: path.into(), version }), drop)
    }

    fn set_data<'a>(&'a self, path: &'a str, data: &'a [u8], version: Option<i32>) -> Reply<'a, Stat> {
        let write = WriteOp::SetData { path: path.into(), data: data.into(), version };
        self.ask(Request::Write(write), |answer| stat(answer).expect("a write answers with the stat"))
    }

    fn data(&self, path: &str) -> Reply<'_, (Vec<u8>, Stat)> {
        self.ask(Request::Read { read: ReadOp::Data(path.into()), watch: false }, data_of)
    }

    fn watch_data<'a>(&'a self, path: &'a str) -> Reply<'a, (Vec<u8>, Stat, Watch)> {
        let reply = self.watch(ReadOp::Data(path.into()), data_of);
        Box::pin(async move { reply.await.map(|((data, stat), watch)| (data, stat, watch)) })
    }

    fn stat(&self, path: &str) -> Reply<'_, Option<Stat>> {
        let reply = SimClient::read(self, ReadOp::Stat(path.into()));
        Box::pin(async move { reply.await.map(stat) })
    }

    fn watch_stat<'a>(&'a self, path: &'a str) -> Reply<'a, (Option<Stat>, Watch)> {
        self.watch(ReadOp::Stat(path.into()), stat)
    }

    fn children(&self, path: &str) -> Reply<'_, (Vec<String>, Stat)> {
        self.ask(Request::Read { read: ReadOp::Children(path.into()), watch: false }, children_of)
    }

    fn watch_children<'a>(&'a self, path: &'a str) -> Reply<'a, (Vec<String>, Stat, Watch)> {
        let reply = self.watch(ReadOp::Children(path.into()), children_of);
        Box::pin(async move { reply.await.map(|((names, stat), watch)| (names, stat, watch)) })
    }

    fn sync<'a>(&'a self, _: &'a str) -> Reply<'a, ()> {
        self.ask(Request::Sync, drop)
    }

    fn write<'a>(&'a self, writes: &[Write<'_>]) -> Reply<'a, Vec<MultiWriteResult>, MultiWriteError> {
        let writes: Vec<WriteOp> = writes.iter().map(write_of).collect();
        let reply = self.ask(Request::Multi(writes.clone()), |answer| answer);
        Box::pin(async move { written(&writes, reply.await?) })
    }

    fn read<'a>(&'a self, wanted: &[Read<'_>]) -> Reply<'a, Vec<MultiReadResult>> {
        self.ask(Request::Reads(wanted.iter().map(read_of).collect()), reads)
    }

    fn count_descendants(&self, path: &str) -> Reply<'_, usize> {
        let reply = SimClient::read(self, ReadOp::Count(path.into()));
        Box::pin(async move {
            match reply.await? {
                Response::Count(count) => Ok(count),
                other => unreachable!("not a count: {other:?}"),
            }
        })
    }

    fn watch_recursively<'a>(&'a self, path: &'a str) -> Reply<'a, Events> {
        let reply = lock(&self.0).request(Request::WatchRecursively(path.into()));
        Box::pin(async move {
            match reply.await.unwrap_or(Err(Error::ClientClosed))? {
                (_, Some(NewWatch::Recursive(events))) => Ok(events.boxed()),
                (answer, _) => unreachable!("no watch was set: {answer:?}"),
            }
        })
    }
}

/// The states of the session. Not a `watch` channel of Tokio, which wakes its receivers in random
/// order.
#[derive(Debug)]
struct SimStates {
    library: SharedLibrary,
    changed: Arc<Notify>,
    /// The number of changes that were seen.
    seen: u64,
}

impl SessionStates for SimStates {
    fn state(&mut self) -> SessionState {
        let library = lock(&self.library);
        self.seen = library.changes;
        library.state
    }

    fn peek(&self) -> SessionState {
        lock(&self.library).state
    }

    fn changed(&mut self) -> BoxFuture<'_, SessionState> {
        Box::pin(async {
            loop {
                let changed = Arc::clone(&self.changed);
                let notified = changed.notified();
                if lock(&self.library).changes != self.seen {
                    return self.state();
                }
                notified.await;
            }
        })
    }
}

/// A client that others share.
pub fn shared(library: &SharedLibrary) -> Arc<dyn Requests> {
    Arc::new(SimClient(Arc::clone(library)))
}

pub fn error_of(code: ErrorCode) -> Error {
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

pub fn refused(why: Refusal) -> Error {
    match why {
        Refusal::Throttled => Error::Throttled,
        Refusal::Quota => Error::QuotaExceeded,
        Refusal::Garbled => Error::UnexpectedError("the reply cannot be read".to_owned()),
    }
}

fn stat_of(stat: &ServerStat) -> Stat {
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

fn create_of(node: &NewNode<'_>) -> CreatedNode {
    CreatedNode {
        path: node.path.into(),
        data: node.data.into(),
        ephemeral: matches!(node.mode, CreateMode::Ephemeral | CreateMode::EphemeralSequential),
        sequential: matches!(node.mode, CreateMode::PersistentSequential | CreateMode::EphemeralSequential),
        container: node.mode == CreateMode::Container,
    }
}

fn write_of(write: &Write<'_>) -> WriteOp {
    match *write {
        Write::Create(ref node) => WriteOp::Create(create_of(node)),
        Write::Delete(path, version) => WriteOp::Delete { path: path.into(), version },
        Write::SetData(path, data, version) => WriteOp::SetData { path: path.into(), data: data.into(), version },
        Write::Check(path, version) => WriteOp::Check { path: path.into(), version },
    }
}

fn read_of(read: &Read<'_>) -> ReadOp {
    match *read {
        Read::Data(path) => ReadOp::Data(path.into()),
        Read::Children(path) => ReadOp::Children(path.into()),
    }
}

fn data_of(answer: Response) -> (Vec<u8>, Stat) {
    match answer {
        Response::Data { data, stat } => (data.to_vec(), stat_of(&stat)),
        other => unreachable!("not data: {other:?}"),
    }
}

fn children_of(answer: Response) -> (Vec<String>, Stat) {
    match answer {
        Response::Children { names, stat } => (names.iter().map(|name| (**name).to_owned()).collect(), stat_of(&stat)),
        other => unreachable!("not children: {other:?}"),
    }
}

fn written(writes: &[WriteOp], answer: Response) -> Result<Vec<MultiWriteResult>, MultiWriteError> {
    match answer {
        Response::Failed { index, code } => Err(MultiWriteError::OperationFailed { index, source: error_of(code) }),
        Response::Results(results) => {
            Ok(writes.iter().zip(results).map(|(write, result)| one(write, result)).collect())
        }
        other => unreachable!("not the results of a transaction: {other:?}"),
    }
}

fn one(write: &WriteOp, result: Result<Response, ErrorCode>) -> MultiWriteResult {
    match (write, result) {
        (WriteOp::Create(_), Ok(Response::Created { path, stat })) => {
            MultiWriteResult::Create { path: (*path).to_owned(), stat: stat_of(&stat) }
        }
        (WriteOp::SetData { .. }, Ok(Response::Stat(Some(stat)))) => MultiWriteResult::SetData { stat: stat_of(&stat) },
        (WriteOp::Delete { .. }, _) => MultiWriteResult::Delete,
        (WriteOp::Check { .. }, _) => MultiWriteResult::Check,
        (write, result) => unreachable!("not the result of {write:?}: {result:?}"),
    }
}

fn reads(answer: Response) -> Vec<MultiReadResult> {
    let Response::Results(results) = answer else { unreachable!("not the results of reads: {answer:?}") };
    let read = |result| match result {
        Ok(Response::Data { data, stat }) => MultiReadResult::Data { data: data.to_vec(), stat: stat_of(&stat) },
        Ok(answer) => MultiReadResult::Children { children: children_of(answer).0 },
        Err(code) => MultiReadResult::Error { err: error_of(code) },
    };
    results.into_iter().map(read).collect()
}
