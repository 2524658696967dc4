//! Tells ensembles apart: by the addresses of their members, and by nodes that only one of them has.
//!
//! A name is no identity. `localhost`, `127.1`, `[::ffff:127.0.0.1]` and a member that a connect
//! string leaves out lead to the same ensemble. Addresses are not enough either: a proxy hides them,
//! and another ensemble may get an address that was free. A node with its path, the transaction that
//! created it and the time of its creation is of one ensemble, or of a copy of its data.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use futures::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use zookeeper_client::{Client, Error};

use super::options::ConnectString;
use super::survey::{CONFIG_PATH, above_chroot, client_address, resolve};
use super::{ConnectOptions, EnsembleAddress, close_session, connect};
use lockscope_base::znode::ZnodePath;
use lockscope_model::server_view::EnsembleConfig;

/// The most nodes that tell an ensemble from others. One would do; others may be deleted.
const MAX_LANDMARKS: usize = 16;

/// The most children of a node that are looked at for landmarks.
const MAX_LOOKED_AT: usize = 64;

/// The time limit for reading an identity, once there is a session.
const LOOK_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest session for a look: it should end soon when it is abandoned.
const MAX_LOOK_SESSION: Duration = Duration::from_secs(10);

/// A node that tells its ensemble from others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Landmark {
    /// The path from the top of the tree, whatever the chroot.
    pub path: String,
    /// The transaction that created the node.
    pub czxid: i64,
    /// When it was created, by the clock of the ensemble's leader, in milliseconds since 1970.
    pub created_at: i64,
}

/// What identifies an ensemble, so that it is recognized later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnsembleIdentity {
    /// The addresses of its servers: those of the connect string, and the members that its own
    /// config names.
    pub addresses: BTreeSet<SocketAddr>,
    /// Up to 16 of its oldest nodes at the top of the part of the tree that the connect string
    /// leads to.
    pub landmarks: Vec<Landmark>,
}

/// An ensemble as a connect string names it, and the addresses that its servers have now.
#[derive(Debug)]
pub struct NamedEnsemble {
    name: EnsembleAddress,
    addresses: BTreeSet<SocketAddr>,
    /// A server without an address now.
    unresolved: Option<String>,
}

impl NamedEnsemble {
    /// Resolves the servers of a connect string. Takes a second at most.
    pub async fn resolve(connect: &str) -> Self {
        let name = EnsembleAddress::of(connect);
        let found = join_all(name.servers().map(|server| addresses_of(server.to_owned()))).await;
        let unresolved = name.servers().zip(&found).find(|(_, found)| found.is_empty());
        let unresolved = unresolved.map(|(server, _)| server.to_owned());
        Self { addresses: found.into_iter().flatten().collect(), unresolved, name }
    }
}

/// Whether an ensemble is one that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kinship {
    /// It is.
    Same,
    /// It may be, for this reason: a clause.
    Doubtful(String),
    /// It is another one.
    Other,
}

/// An ensemble that there is a session with.
#[derive(Debug)]
pub struct ReachedEnsemble {
    named: NamedEnsemble,
    /// The addresses of the members that only the ensemble's own config names.
    configured: BTreeSet<SocketAddr>,
    /// Whether the config was read and names all members.
    has_config: bool,
    own: Vec<Landmark>,
    /// The landmarks of others that were looked for below our chroot, and whether each is here.
    compared: BTreeMap<Landmark, bool>,
}

impl ReachedEnsemble {
    /// Looks at an ensemble on a session of its own, above the chroot, and for landmarks of others
    /// at or below it.
    ///
    /// Costs a session, up to 67 reads, and one more for each landmark; changes nothing and leaves
    /// no watch. Cancel safe. An error is a clause.
    pub async fn look(options: &ConnectOptions, others: &[Landmark]) -> Result<Self, String> {
        let target = ConnectString::parse(&options.connect, options.tls.is_some()).map_err(|bad| bad.to_string())?;
        let named = NamedEnsemble::resolve(&options.connect).await;
        let session_timeout = options.session_timeout.min(MAX_LOOK_SESSION);
        let options = ConnectOptions { session_timeout, ..above_chroot(options, &target) };
        let client = connect(&options).await.map_err(|error| error.to_string())?;
        let looked = timeout(LOOK_TIMEOUT, Self::read(&client, &target, named, others)).await;
        close_session(client).await;
        match looked {
            Ok(looked) => looked.map_err(|error| error.to_string()),
            Err(_) => Err("the servers gave no answer in time".to_owned()),
        }
    }

    async fn read(
        client: &Client,
        target: &ConnectString,
        named: NamedEnsemble,
        others: &[Landmark],
    ) -> Result<Self, Error> {
        let config = match client.get_data(CONFIG_PATH).await {
            Ok((data, _)) => Some(EnsembleConfig::read(&data)),
            Err(Error::NoAuth | Error::NoNode) => None,
            Err(error) => return Err(error),
        };
        let top = target.chroot.as_ref().map_or("", ZnodePath::as_str);
        let is_below = |other: &&Landmark| {
            other.path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let visible: Vec<&Landmark> = others.iter().filter(is_below).collect();
        let own = landmarks(client, top);
        let compared = join_all(visible.iter().map(|other| landmark(client, other.path.clone())));
        let (own, compared) = tokio::join!(own, compared);
        let found: Vec<Option<Landmark>> = compared.into_iter().collect::<Result<_, _>>()?;
        let is_here = |(other, found): (&Landmark, Option<Landmark>)| (other.clone(), found.as_ref() == Some(other));
        Ok(Self {
            configured: configured(config.as_ref(), target, &named.addresses).await,
            has_config: config.is_some_and(|config| !config.incomplete && !config.servers.is_empty()),
            own: own?,
            compared: visible.into_iter().zip(found).map(is_here).collect(),
            named,
        })
    }

    /// Returns what to keep of this ensemble.
    pub fn identity(&self) -> EnsembleIdentity {
        EnsembleIdentity {
            addresses: self.named.addresses.union(&self.configured).copied().collect(),
            landmarks: self.own.clone(),
        }
    }

    /// Returns whether this is the ensemble that `other` names, of which `kept` was known earlier.
    ///
    /// A common address of now is proof, and so are nodes without one: a proxy may stand between. An
    /// address of earlier is proof unless the nodes are others: then either may have changed since.
    pub fn kinship(&self, other: &NamedEnsemble, kept: Option<&EnsembleIdentity>) -> Kinship {
        if !self.named.name.overlaps(&other.name) {
            return Kinship::Other;
        }
        let is_ours =
            |address: &SocketAddr| self.named.addresses.contains(address) || self.configured.contains(address);
        if self.named.name.shares_nodes(&other.name) || other.addresses.iter().any(is_ours) {
            return Kinship::Same;
        }
        let landmarks = kept.map_or(&[][..], |kept| &kept.landmarks);
        let compared: Vec<bool> =
            landmarks.iter().filter_map(|landmark| self.compared.get(landmark)).copied().collect();
        let had_address = kept.is_some_and(|kept| kept.addresses.iter().any(is_ours));
        match (compared.contains(&true), had_address, compared.is_empty()) {
            (true, ..) | (false, true, true) => Kinship::Same,
            (false, true, false) => {
                Kinship::Doubtful("an address here was one of its, and the nodes are others".to_owned())
            }
            (false, false, false) => Kinship::Other,
            (false, false, true) => self.doubt(other, kept.is_some()).map_or(Kinship::Other, Kinship::Doubtful),
        }
    }

    /// Returns why it cannot be told whether this is the other ensemble.
    fn doubt(&self, other: &NamedEnsemble, is_known: bool) -> Option<String> {
        let ports: BTreeSet<u16> = local_ports(&self.named.addresses);
        if let Some(port) = local_ports(&other.addresses).intersection(&ports).next() {
            return Some(format!("both are at port {port} of this machine"));
        }
        let unresolved = other.unresolved.as_ref().filter(|_| !is_known)?;
        (other.addresses.is_empty() || !self.has_config)
            .then(|| format!("its server {unresolved} has no address here, and it was never connected to"))
    }
}

/// Returns the addresses of the members that an ensemble's config names.
///
/// A loopback address is that of the server's own machine. Elsewhere it means nothing.
async fn configured(
    config: Option<&EnsembleConfig>,
    target: &ConnectString,
    named: &BTreeSet<SocketAddr>,
) -> BTreeSet<SocketAddr> {
    let members = config.iter().flat_map(|config| &config.servers);
    let members = members.filter_map(|server| client_address(server, target));
    let found = join_all(members.map(addresses_of)).await;
    let is_here = named.iter().any(|address| is_local(address.ip()));
    found.into_iter().flatten().filter(|address| is_here || !address.ip().is_loopback()).collect()
}

/// Returns the oldest persistent nodes at the top of the tree, or of the part of it below a chroot.
async fn landmarks(client: &Client, top: &str) -> Result<Vec<Landmark>, Error> {
    let children = match client.list_children(if top.is_empty() { "/" } else { top }).await {
        Ok(children) => children,
        Err(Error::NoAuth | Error::NoNode) => Vec::new(),
        Err(error) => return Err(error),
    };
    let mut paths: Vec<String> = children.iter().map(|child| format!("{top}/{child}")).collect();
    paths.retain(|path| path != "/zookeeper");
    paths.sort_unstable();
    paths.truncate(MAX_LOOKED_AT);
    // All ensembles have the root, from no transaction.
    paths.extend((!top.is_empty()).then(|| top.to_owned()));
    let found = join_all(paths.into_iter().map(|path| landmark(client, path))).await;
    let mut found: Vec<Landmark> = found.into_iter().filter_map(Result::transpose).collect::<Result<_, _>>()?;
    found.sort_unstable_by_key(|landmark| (landmark.created_at, landmark.czxid));
    found.truncate(MAX_LANDMARKS);
    Ok(found)
}

/// Reads a node as a landmark; `None` if it is missing, or goes with its session.
async fn landmark(client: &Client, path: String) -> Result<Option<Landmark>, Error> {
    let stat = client.check_stat(&path).await?.filter(|stat| stat.ephemeral_owner == 0);
    Ok(stat.map(|stat| Landmark { path, czxid: stat.czxid, created_at: stat.ctime }))
}

/// Resolves `HOST:PORT` to addresses that can be compared: an IPv4 address within IPv6 is that IPv4
/// address, and a server at no address is at loopback.
async fn addresses_of(server: String) -> BTreeSet<SocketAddr> {
    let comparable = |address: SocketAddr| {
        let ip = match address.ip().to_canonical() {
            ip if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            ip => ip,
        };
        SocketAddr::new(ip, address.port())
    };
    resolve(server).await.into_iter().map(comparable).collect()
}

fn local_ports(addresses: &BTreeSet<SocketAddr>) -> BTreeSet<u16> {
    addresses.iter().filter(|address| is_local(address.ip())).map(SocketAddr::port).collect()
}

/// Returns whether an address is one of this machine: only then can a socket have it.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}
