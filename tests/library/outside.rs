//! A program outside of the workspace, with the one dependency lockscope-lock, and Tokio for `main`.
//!
//! It uses all of the library's public interface. The test compiles it, and does not run it. Each method is named by its type, so that the
//! test finds it here: `Lock::acquire(&lock)` in place of `lock.acquire()`.

use std::error::Error;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lockscope_lock::activity::{ActivityRecorder, LockActivity, RequestKind, WatchPlace};
use lockscope_lock::blocking::{BlockingClient, BlockingGuard, BlockingLock};
use lockscope_lock::zookeeper_client::{self, Acls, Client, CreateMode};
use lockscope_lock::{
    Access, Algorithm, BadPath, BadTraceContext, Cost, CostCounter, Election, Guard, GuardedWriter, Leaders, Leadership,
    Lock, LockError, LockOptions, Loss, Multi, MultiGuard, Naming, NewNode, Parents, Participant, Reentrant,
    ReentrantGuard, Sequence, SessionId, SpanId, TraceContext, TraceId, Write, WriteError, ZnodePath, Zxid, cleaned_up,
};

type Failure = Box<dyn Error + Send + Sync>;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    every_type_can_be_shared();
    let Some(servers) = std::env::args().nth(1) else { return Ok(()) };
    let client: Client = zookeeper_client::Client::connect(&servers).await?;
    let guard = lock(&client)?.acquire().await?;
    held(guard).await?;
    several(&client).await?;
    reentrant(&client).await?;
    around(Lock::acquire(&lock(&client)?).await?).await?;
    writes(&Lock::acquire(&lock(&client)?).await?).await?;
    elections(&client).await?;
    cleaned_up(&client).await;
    tokio::task::spawn_blocking(move || blocking(&servers)).await?
}

fn every_type_can_be_shared() {
    fn shared<T: Send + Sync + 'static>() {}
    fn shown<T: Error + Send + Sync + Clone + 'static>() {}
    shared::<(Lock, Guard, Multi, MultiGuard, Reentrant, ReentrantGuard, LockOptions, CostCounter, Cost)>();
    shared::<(Algorithm, Access, Naming, Parents, Loss, TraceContext, TraceId, SpanId, ZnodePath, Sequence, Zxid)>();
    shared::<(BlockingClient, BlockingLock, BlockingGuard, LockActivity, RequestKind, WatchPlace)>();
    shared::<(Election, Leadership, Participant, SessionId, GuardedWriter<'static>, Write<'static>, NewNode<'static>)>();
    fn sent<T: Send + 'static>() {}
    sent::<Leaders>();
    shown::<LockError>();
    shown::<WriteError>();
    shown::<BadPath>();
    shown::<BadTraceContext>();
}

fn algorithms() -> Vec<Algorithm> {
    let shared = [Access::Read, Access::Write]
        .into_iter()
        .flat_map(|access| [Algorithm::SharedHerd(access), Algorithm::SharedChain(access)]);
    let alone = [Algorithm::Mutex, Algorithm::MutexParent, Algorithm::Herd, Algorithm::Chain, Algorithm::ChainAhead];
    let named = Algorithm::NAMES.iter().filter_map(|name| Algorithm::named(name, Access::Read, NonZeroU32::MIN));
    let all = alone.into_iter().chain(shared).chain([Algorithm::Semaphore(NonZeroU32::MIN)]).chain(named);
    all.filter(|algorithm| Algorithm::access(*algorithm).is_none() && !Algorithm::name(*algorithm).is_empty())
        .map(|algorithm| Algorithm::with_access(algorithm, Access::Write))
        .collect()
}

fn namings() -> Result<Vec<Naming>, LockError> {
    let named = Naming::NAMES.iter().filter_map(|name| Naming::named(name));
    let all = [Naming::Curator, Naming::Latch, Naming::Kazoo, Naming::WriteLock, Naming::Session, Naming::Named("red".to_owned())];
    let all: Vec<Naming> = all.into_iter().chain(named).collect();
    all.iter().try_for_each(|naming| Naming::check(naming, Algorithm::Chain))?;
    Ok(all)
}

/// Prints what a lock does.
#[derive(Debug)]
struct Printer;

impl ActivityRecorder for Printer {
    fn record(&self, activity: LockActivity) {
        let text = match activity {
            LockActivity::Sends(
                kind @ (RequestKind::Create
                | RequestKind::List
                | RequestKind::Read
                | RequestKind::Delete
                | RequestKind::RemoveWatch
                | RequestKind::Sync
                | RequestKind::Write),
            ) => format!("{kind:?}"),
            LockActivity::Watches(place) | LockActivity::Unwatches(place) | LockActivity::Woken(place) => match place {
                WatchPlace::Children(path) | WatchPlace::Node(path) => path.to_string(),
            },
            LockActivity::Waits => "waits".to_owned(),
            LockActivity::Created(node) | LockActivity::Deleted(node) => node.to_string(),
            _ => "more".to_owned(),
        };
        println!("{text}");
    }
}

fn lock(client: &Client) -> Result<Lock, Failure> {
    let counter = CostCounter::recorded_by(Arc::new(Printer));
    ActivityRecorder::record(&Printer, LockActivity::Waits);
    let options = LockOptions::naming(LockOptions::default(), namings()?.remove(0));
    let options = LockOptions::data(options, "anna");
    let options = LockOptions::acls(options, Acls::anyone_all().to_vec());
    let options =
        [Parents::Container, Parents::Persistent, Parents::Required].into_iter().fold(options, LockOptions::parents);
    let options = LockOptions::fence(LockOptions::counter(options, counter.clone()), "/locks-fence");
    let options = LockOptions::trace_context(options, context()?);
    let lock = Lock::with(client, "/locks/orders", algorithms().remove(3), options)?;
    let lock = Lock::traced(&Lock::with_access(&lock, Access::Read), context()?)?;
    let path: &ZnodePath = Lock::path(&lock);
    println!("{path} {:?} {:?}", Lock::algorithm(&lock), CostCounter::nodes(Lock::counter(&lock)));
    let Cost { requests, events } = Lock::cost(&lock) - CostCounter::cost(&counter);
    println!("{requests} {events}");
    CostCounter::forget_nodes(&counter);
    Ok(lock)
}

fn context() -> Result<TraceContext, Failure> {
    let read: TraceContext = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse()?;
    let trace = TraceId::new(TraceId::bytes(read.trace)).unwrap_or_else(TraceId::random);
    let span = SpanId::new(SpanId::bytes(read.span)).unwrap_or_else(SpanId::random);
    let context = TraceContext { trace, span, flags: read.flags };
    let data = TraceContext::added_to(context, b"anna".to_vec());
    assert_eq!(TraceContext::left_out(&data), b"anna");
    Ok(TraceContext::in_data(&data).unwrap_or(context))
}

fn paths() -> Result<(), BadPath> {
    let (root, path) = (ZnodePath::root(), ZnodePath::new("/locks/orders")?);
    assert!(ZnodePath::is_root(&root) && ZnodePath::is_within(&path, &root) && !ZnodePath::is_servers_own(&path));
    assert_eq!(ZnodePath::parent(&path).as_ref().map(ZnodePath::as_str), ZnodePath::parent_str(&path));
    let child = ZnodePath::child(&path, "lock-0000000042");
    let (_, number) = Sequence::split(ZnodePath::name(&child)).unwrap_or(("", Sequence(0)));
    assert_eq!(number.to_string().len(), Sequence::DIGITS);
    println!("{}", number.0);
    Ok(())
}

async fn held(guard: Guard) -> Result<(), LockError> {
    paths()?;
    let token: Zxid = Guard::token(&guard);
    println!("{token} {} {} {}", token.0, Zxid::epoch(token), Zxid::counter(token));
    let number: Option<Sequence> = Guard::sequence(&guard);
    println!("{} {} {number:?} {:?}", Guard::lock(&guard), Guard::path(&guard), Guard::cost(&guard));
    if let Some(Loss::Expired | Loss::Deleted) = Guard::is_lost(&guard) {
        return Guard::release(guard).await;
    }
    tokio::select! {
        loss = Guard::lost(&guard) => println!("{loss}"),
        loss = Guard::expired(&guard) => println!("{loss}"),
        () = std::future::ready(()) => {}
    }
    let guard = Guard::downgrade(guard).await?;
    Guard::release(guard).await
}

/// What there is around a hold.
async fn around(guard: Guard) -> Result<(), LockError> {
    match Guard::run(&guard, async { 7 }).await {
        Ok(output) => println!("{output}"),
        Err(loss) => println!("{loss}"),
    }
    println!("{:?}", Guard::presumed_lost_at(&guard));
    tokio::select! {
        suspended = Guard::suspended(&guard) => println!("{suspended:?}"),
        resumed = Guard::resumed(&guard) => println!("{resumed:?}"),
        asked = Guard::revoked(&guard) => println!("{asked:?}"),
    }
    Guard::release(guard).await
}

async fn writes(guard: &Guard) -> Result<(), WriteError> {
    let acls = || Acls::anyone_all();
    let (path, stat) = Guard::create(guard, "/orders/", b"", CreateMode::PersistentSequential, acls()).await?;
    let stat = Guard::set_data(guard, &path, b"1", Some(stat.version)).await?;
    let mut writer: GuardedWriter<'_> = Guard::check_writer(guard);
    GuardedWriter::add_check_version(&mut writer, &path, stat.version);
    GuardedWriter::add_create(&mut writer, "/orders/a", b"", CreateMode::Persistent, acls());
    GuardedWriter::add_set_data(&mut writer, "/orders/a", b"1", None);
    GuardedWriter::add_delete(&mut writer, "/orders/a", None);
    println!("{}", GuardedWriter::commit(writer).await?.len());
    let new = NewNode { path: "/orders/b", data: b"", mode: CreateMode::Persistent, acls: acls() };
    let all = [
        Write::Check(&path, stat.version),
        Write::Create(new),
        Write::SetData("/orders/b", b"2", None),
        Write::Delete("/orders/b", None),
    ];
    println!("{}", Guard::multi(guard, &all).await.map_err(why_not)?.len());
    Guard::delete(guard, &path, None).await
}

/// Reads each field of each error of a write.
fn why_not(error: WriteError) -> WriteError {
    match &error {
        WriteError::Lost(lost) => println!("{lost}"),
        WriteError::Fenced { fence, token } => println!("{fence} {token}"),
        WriteError::Refused { index, source } => println!("{index} {source}"),
        WriteError::Unknown { lock, source } | WriteError::Failed { lock, source } => println!("{lock} {source}"),
        WriteError::NeedsFence { lock } => println!("{lock}"),
        WriteError::BadFence { fence, why } => println!("{fence} {why}"),
        other => println!("{other}"),
    }
    error
}

async fn elections(client: &Client) -> Result<(), LockError> {
    let election = Election::new(client, "/election", "anna")?;
    let other = Election::with(client, "/election", LockOptions::default().naming(Naming::Kazoo))?;
    println!("{}", Lock::path(Election::lock(&other)));
    let leadership: Leadership = Election::campaign(&election).await?;
    println!("{}", leadership.token());
    Leadership::resign(leadership).await?;
    println!("{:?}", Election::lead(&election, |leadership: Arc<Leadership>| async move { leadership.token() }).await?);
    let mut leaders: Leaders = Election::observe(&election);
    println!("{:?} {:?}", Leaders::next(&mut leaders).await?, Election::leader(&election).await?);
    for one in Election::participants(&election).await? {
        let Participant { path, sequence, session, token, holds, data, .. } = one;
        let session: SessionId = session;
        println!("{path} {sequence:?} {session} {} {token} {holds} {}", session.0, data.len());
    }
    Ok(())
}

async fn several(client: &Client) -> Result<(), LockError> {
    let locks = [Lock::new(client, "/a", Algorithm::Chain)?, Lock::new(client, "/b", Algorithm::Chain)?];
    let multi = Multi::new(locks);
    let held: MultiGuard = Multi::acquire(&multi).await?;
    MultiGuard::release(held).await?;
    let held = Multi::acquire_within(&multi, SECOND).await?;
    println!("{}", MultiGuard::guards(&held).len());
    println!("{:?}", MultiGuard::is_lost(&held));
    drop(held);
    drop(Multi::acquire_by(&multi, Instant::now() + SECOND).await?);
    if let Some(held) = Multi::try_acquire(&multi).await? {
        let (which, loss) = tokio::select! {
            lost = MultiGuard::lost(&held) => lost,
            lost = MultiGuard::expired(&held) => lost,
        };
        println!("{which} {loss}");
    }
    Ok(())
}

async fn reentrant(client: &Client) -> Result<(), LockError> {
    let lock = Lock::new(client, "/a", Algorithm::SharedChain(Access::Write))?;
    drop(Lock::acquire(&lock).await?);
    drop(Lock::try_acquire(&lock).await?);
    drop(Lock::acquire_within(&lock, SECOND).await.map_err(told)?);
    drop(Lock::acquire_by(&lock, Instant::now() + SECOND).await?);
    println!("{:?} {:?}", Lock::participants(&lock).await?, Lock::position(&lock).await?);
    drop(Lock::acquire_many(&lock, NonZeroU32::MIN).await?);
    let owner = Reentrant::new(lock);
    drop(Reentrant::try_enter(&owner).await?);
    drop(Reentrant::enter_within(&owner, SECOND).await?);
    drop(Reentrant::enter_by(&owner, Instant::now() + SECOND).await?);
    let outer: ReentrantGuard = Reentrant::enter(&owner).await?;
    let inner = Reentrant::enter_for(&owner, Access::Read).await?;
    println!("{}", ReentrantGuard::guard(&inner).path());
    ReentrantGuard::leave(inner).await?;
    ReentrantGuard::leave(outer).await
}

/// Reads each field of each error.
fn told(error: LockError) -> LockError {
    match &error {
        LockError::TimedOut { path, within } => println!("{path} {within:?}"),
        LockError::SessionExpired { path }
        | LockError::ConnectionLost { path }
        | LockError::NoParent { path }
        | LockError::NumbersUsedUp { parent: path }
        | LockError::NodeDeleted { node: path }
        | LockError::ServerTooOld { path }
        | LockError::UpgradeRefused { path }
        | LockError::NoDowngrade { path }
        | LockError::Closed { path } => println!("{path}"),
        LockError::NotPermitted { act, path } | LockError::Unusable { path, why: act } => println!("{act} {path}"),
        LockError::BadPath(bad) => println!("{bad}"),
        LockError::BadOptions(why) => println!("{why}"),
        LockError::Unexpected { path, source } => println!("{path} {}", *source == zookeeper_client::Error::NoNode),
        other => println!("{other}"),
    }
    error
}

fn blocking(servers: &str) -> Result<(), Failure> {
    let connector = Client::connector().with_session_timeout(10 * SECOND);
    let client = BlockingClient::connect(servers).or_else(|_| BlockingClient::connect_with(connector, servers))?;
    let options = LockOptions::default().data("anna");
    let lock: BlockingLock = BlockingClient::lock_with(&client, "/a", Algorithm::Chain, options)?;
    println!("{}", BlockingLock::lock(&lock).path());
    drop(BlockingLock::try_acquire(&lock)?);
    drop(BlockingLock::acquire_within(&lock, SECOND)?);
    let guard: BlockingGuard = BlockingLock::acquire(&BlockingClient::lock(&client, "/b", Algorithm::Chain)?)?;
    println!("{} {:?}", BlockingGuard::token(&guard), BlockingGuard::is_lost(&guard));
    println!("{:?}", BlockingGuard::lost_within(&guard, SECOND));
    BlockingClient::block_on(
        &client,
        BlockingClient::client(&client).get_data(BlockingGuard::guard(&guard).path().as_str()),
    )?;
    BlockingGuard::release(guard)?;
    BlockingClient::cleaned_up(&client);
    Ok(())
}
