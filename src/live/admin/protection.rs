//! Which ensembles people depend on, and whether a session is with one of them.
//!
//! The user's contexts name ensembles that are protected: people depend on them, changes to them
//! belong into an audit log of their own, or they are read-only. [`ProtectionGuard`] finds out which
//! of that holds for an ensemble, however its address is spelled, and grants the [`Permission`] to
//! change it. It reads the contexts and looks at the ensemble anew each time, because both may change
//! while a question stands.
//!
//! What is learnt of an ensemble while its context is in force is kept in a file, so that it is
//! recognized later behind another address.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::audit;
use super::guard::{Confirmed, Permission};
use super::plan::{DeletePlan, ProductionMark};
use crate::zk::identity::{EnsembleIdentity, Kinship, Landmark, NamedEnsemble, ReachedEnsemble};
use crate::zk::{ConnectOptions, EnsembleAddress};
use lockscope_files as files;
use lockscope_files::{Readers, Sensitivity};
use lockscope_model::report::json;

/// Returns the default path of the known ensembles, `$XDG_STATE_HOME/lockscope/ensembles.json`, or
/// `None` for a user without a home, or whose home is missing: the user of a service may have none.
pub fn usual_path() -> Option<PathBuf> {
    let has_home = etcetera::home_dir().is_ok_and(|home| home.is_dir());
    Some(audit::usual_path().filter(|_| has_home)?.with_file_name("ensembles.json"))
}

/// The largest file of known ensembles that is read, in bytes.
const MAX_KNOWN_BYTES: u64 = 1 << 20;

/// The most ensembles that are known from earlier, unless one config file has more.
const MAX_KNOWN: usize = 64;

/// A context of the user's settings that protects its ensemble.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedContext {
    /// The name of the context.
    pub name: String,
    /// The servers and the part of their tree.
    pub connect: String,
    /// Whether people depend on the ensemble.
    pub production: bool,
    /// Whether the console may not change it.
    pub read_only: bool,
    /// The log for changes to it, if it has its own.
    pub audit_log: Option<PathBuf>,
}

/// Knows the protecting contexts.
pub trait ProtectionSource: Debug + Send + Sync {
    /// Reads the contexts as they are now. Blocks the thread during disk I/O. An error is a clause.
    fn contexts(&self) -> Result<Vec<ProtectedContext>, String>;
}

/// How an ensemble is protected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    /// The context that says that people depend on it.
    pub production: Option<ProductionMark>,
    /// The context that makes it read-only.
    pub read_only: Option<String>,
    /// The context with a log of its own for changes to it, and the log.
    pub audit_log: Option<(String, PathBuf)>,
}

impl Protection {
    /// Returns itself, unless a context makes the ensemble read-only.
    pub fn writable(self) -> Result<Self, NotPermitted> {
        match self.read_only {
            Some(context) => Err(NotPermitted::ReadOnly(context)),
            None => Ok(self),
        }
    }
}

/// Why an ensemble may not be changed now. Each message is one sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPermitted {
    /// It is unknown how the ensemble is protected.
    #[error("nothing was done: whether people depend on this ensemble cannot be found out: {0}; try again")]
    Unknown(String),
    /// The plan was confirmed for another protection.
    #[error("nothing was done: {0}, which was not so when you were asked; look again")]
    Changed(String),
    /// A context makes the ensemble read-only.
    #[error("nothing was done: the context {0} makes this ensemble read-only; open it with --context {0} --write")]
    ReadOnly(String),
}

/// Finds out how the ensemble of a connection is protected.
#[derive(Clone, Debug)]
pub struct ProtectionGuard {
    source: Arc<dyn ProtectionSource>,
    /// The context in force.
    in_force: Option<String>,
    /// The file of known ensembles; `None` for a user without a home.
    known: Option<PathBuf>,
}

impl ProtectionGuard {
    /// Creates a guard that keeps what it learns in the file `known`.
    pub fn new(source: Arc<dyn ProtectionSource>, in_force: Option<String>, known: Option<PathBuf>) -> Self {
        Self { source, in_force, known }
    }

    /// Creates a guard of an ensemble that nobody else uses, such as a sandbox.
    pub fn of_nothing() -> Self {
        Self { source: Arc::new(Unprotected), in_force: None, known: None }
    }

    /// Returns whether a change may belong into the log of a context that is not in force. Asks
    /// nobody.
    pub async fn may_log_elsewhere(&self) -> Result<bool, NotPermitted> {
        let contexts = self.read(|source: &dyn ProtectionSource| source.contexts()).await?;
        Ok(contexts.iter().any(|context| context.audit_log.is_some() && !self.is_in_force(context)))
    }

    /// Reads from the source in a thread of its own.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn ProtectionSource) -> Result<T, String> + Send + 'static,
    ) -> Result<T, NotPermitted> {
        let source = Arc::clone(&self.source);
        let read = spawn_blocking(move || read(&*source)).await;
        read.unwrap_or_else(|error| Err(error.to_string())).map_err(NotPermitted::Unknown)
    }

    /// Returns how the ensemble is protected, and keeps its identity if its context is in force.
    ///
    /// Without a context that protects, it asks nobody. Otherwise it costs what
    /// [`ReachedEnsemble::look`] costs. Cancel safe.
    pub async fn find(&self, options: &ConnectOptions) -> Result<Protection, NotPermitted> {
        let path = self.known.clone();
        let read = move |source: &dyn ProtectionSource| {
            Ok((source.contexts()?, path.as_deref().map(read_known).unwrap_or_default()))
        };
        let (contexts, known) = self.read(read).await?;
        if contexts.is_empty() {
            return Ok(Protection::default());
        }
        let looked = self.look(options, &contexts, known).await;
        looked.or_else(|why| {
            // The names alone prove enough where they agree.
            let here = EnsembleAddress::of(&options.connect);
            let is_named = |context: &&ProtectedContext| {
                self.is_in_force(context) || EnsembleAddress::of(&context.connect).shares_nodes(&here)
            };
            let named: Vec<_> = contexts.iter().filter(is_named).map(|context| (context, Kinship::Same)).collect();
            let protection = self.combined(&named);
            if protection.production.is_some() { Ok(protection) } else { Err(NotPermitted::Unknown(why)) }
        })
    }

    async fn look(
        &self,
        options: &ConnectOptions,
        contexts: &[ProtectedContext],
        known: KnownEnsembles,
    ) -> Result<Protection, String> {
        let kept = |context: &ProtectedContext| {
            let known = known.0.get(&context.name).filter(|known| known.connect == context.connect)?;
            Some(&known.identity)
        };
        let landmarks: Vec<Landmark> =
            contexts.iter().filter_map(kept).flat_map(|kept| kept.landmarks.clone()).collect();
        let here = ReachedEnsemble::look(options, &landmarks).await?;
        let named = contexts.iter().map(|context| NamedEnsemble::resolve(&context.connect));
        let named = futures::future::join_all(named).await;
        let kinship = |(context, named)| {
            let kinship = if self.is_in_force(context) { Kinship::Same } else { here.kinship(named, kept(context)) };
            (context, kinship)
        };
        let found: Vec<_> = contexts.iter().zip(&named).map(kinship).collect();
        let protection = self.combined(&found);
        let own = contexts.iter().find(|context| self.is_in_force(context) && context.connect == options.connect);
        if let Some(own) = own {
            self.keep(own, contexts, here.identity(), known).await;
        }
        Ok(protection)
    }

    /// Keeps the identity of the ensemble of the context in force.
    async fn keep(
        &self,
        own: &ProtectedContext,
        contexts: &[ProtectedContext],
        identity: EnsembleIdentity,
        mut known: KnownEnsembles,
    ) {
        let seen = KnownEnsemble { connect: own.connect.clone(), identity };
        let Some(path) = self.known.clone().filter(|_| known.0.get(&own.name) != Some(&seen)) else { return };
        known.0.insert(own.name.clone(), seen);
        if known.0.len() > MAX_KNOWN {
            // Those of other config files go first.
            known.0.retain(|name, _| contexts.iter().any(|context| context.name == *name));
        }
        let kept = spawn_blocking(move || write_known(&path, &known)).await;
        if let Some(why) = kept.map_err(|error| error.to_string()).and_then(|kept| kept).err() {
            tracing::info!(why, "the identity of the ensemble is not kept");
        }
    }

    fn is_in_force(&self, context: &ProtectedContext) -> bool {
        self.in_force.as_ref() == Some(&context.name)
    }

    /// Returns the protection by the contexts of the same ensemble, or of one that may be the same.
    ///
    /// The context in force comes first. Its own choices of a log and of reading only stand, because
    /// its user has chosen it.
    fn combined(&self, found: &[(&ProtectedContext, Kinship)]) -> Protection {
        let mut related: Vec<_> = found.iter().filter(|(_, kinship)| *kinship != Kinship::Other).collect();
        related.sort_by_key(|(context, kinship)| (!self.is_in_force(context), *kinship != Kinship::Same));
        let mark = |(context, kinship): &&(&ProtectedContext, Kinship)| {
            let doubt = if let Kinship::Doubtful(why) = kinship { Some(why.clone()) } else { None };
            ProductionMark { context: context.name.clone(), doubt }
        };
        let production = related.iter().find(|(context, _)| context.production).map(mark);
        let has_own = related.iter().any(|(context, _)| self.is_in_force(context));
        // A doubt asks a question. It refuses nothing, and chooses no log.
        let others = || {
            let same = related.iter().filter(|(_, kinship)| *kinship == Kinship::Same);
            same.map(|(context, _)| context).filter(|_| !has_own)
        };
        Protection {
            production,
            read_only: others().find(|context| context.read_only).map(|context| context.name.clone()),
            audit_log: others().find_map(|context| Some((context.name.clone(), context.audit_log.clone()?))),
        }
    }

    /// Grants the permission to carry out a plan that was confirmed: its ensemble is looked at again,
    /// and people must not depend on it by another context than when the question was asked. Cancel
    /// safe.
    pub async fn permit(
        &self,
        plan: &Confirmed<DeletePlan>,
        options: &ConnectOptions,
    ) -> Result<(Permission, Protection), NotPermitted> {
        let now = self.find(options).await?;
        let context = |mark: Option<&ProductionMark>| mark.map(|mark| mark.context.clone());
        match &now.production {
            Some(mark) if context(Some(mark)) != context(plan.what().production()) => {
                Err(NotPermitted::Changed(mark.sentence()))
            }
            _ => Ok((Permission::granted(), now)),
        }
    }
}

/// No context at all.
#[derive(Debug)]
struct Unprotected;

impl ProtectionSource for Unprotected {
    fn contexts(&self) -> Result<Vec<ProtectedContext>, String> {
        Ok(Vec::new())
    }
}

/// The ensembles of the contexts, by the contexts' names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct KnownEnsembles(BTreeMap<String, KnownEnsemble>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KnownEnsemble {
    /// The connect string that led there. Another one may lead elsewhere.
    connect: String,
    #[serde(flatten)]
    identity: EnsembleIdentity,
}

/// Reads the known ensembles. A file that cannot be read is as good as none: nobody is recognized by
/// it, and the next connection writes it again.
fn read_known(path: &Path) -> KnownEnsembles {
    let read = files::read_text(path, Sensitivity::Steering, MAX_KNOWN_BYTES);
    let known = read.map_err(|error| error.to_string());
    let known = known.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
    known.unwrap_or_else(|why: String| {
        tracing::info!(why, path = %path.display(), "no ensemble is known from earlier");
        KnownEnsembles::default()
    })
}

fn write_known(path: &Path, known: &KnownEnsembles) -> Result<(), String> {
    let text = json::to_string(known).map_err(|error| error.to_string())?;
    files::create_folders_above(path).map_err(|error| error.to_string())?;
    files::replace_for(path, text.as_bytes(), Readers::Owner).map_err(|error| error.to_string())
}
