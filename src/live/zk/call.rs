//! Connects to a server to ask it about itself. The address may come from the ensemble's config
//! instead of the user.
//!
//! An attacker who writes the ensemble's config, or changes data on a plain connection, could
//! otherwise make this machine connect to any local service, or send HTTP to the metadata service
//! of a cloud.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{TcpStream, lookup_host};

/// The source of a server's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NamedBy {
    /// The user named it in the connect string: any address is allowed.
    User,
    /// Only the ensemble's config names it.
    Config {
        /// Whether the address may be on this machine: only when a server named by the user is
        /// there too.
        on_this_machine: bool,
    },
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum NotCalled {
    /// The operating system's reason.
    Io(io::Error),
    /// The address comes only from the config, and is one that a config must not lead to.
    NotFollowed,
}

/// Explains why a server is not asked, and what to do about it.
pub(super) const NOT_FOLLOWED: &str = "only the ensemble's config names it, and its address is this machine's own, link-local or \
                                       that of a cloud's metadata service: to ask it anyway, add it to the connect string";

/// Metadata services of clouds that are not link-local: those of Oracle, Alibaba and Azure, and
/// Amazon's over IPv6.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// Connects to `HOST:PORT`. The check is made on the addresses that are then called, not on the
/// name: a name could resolve to other addresses in between. Cancel safe.
pub(super) async fn call(address: &str, named_by: NamedBy) -> Result<TcpStream, NotCalled> {
    let NamedBy::Config { on_this_machine } = named_by else {
        return TcpStream::connect(address).await.map_err(NotCalled::Io);
    };
    let found: Vec<SocketAddr> = lookup_host(address).await.map_err(NotCalled::Io)?.collect();
    let followed: Vec<SocketAddr> =
        found.into_iter().filter(|found| is_followed(found.ip(), on_this_machine)).collect();
    if followed.is_empty() {
        return Err(NotCalled::NotFollowed);
    }
    TcpStream::connect(followed.as_slice()).await.map_err(NotCalled::Io)
}

fn is_followed(address: IpAddr, on_this_machine: bool) -> bool {
    let address = embedded(address);
    if address.is_loopback() {
        return on_this_machine;
    }
    let special = match address {
        IpAddr::V4(address) => address.octets()[0] == 0 || address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unspecified() || address.is_unicast_link_local(),
    };
    !special && !address.is_multicast() && !METADATA.contains(&address)
}

/// Returns the IPv4 address embedded in an IPv6 address that routes to it: mapped, compatible, 6to4
/// or NAT64.
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else { return address };
    if six.is_loopback() || six.is_unspecified() {
        return address;
    }
    let parts = six.segments();
    let four = |at: usize| IpAddr::V4(Ipv4Addr::from(u32::from(parts[at]) << 16 | u32::from(parts[at + 1])));
    match parts {
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => four(6),
        [0x2002, ..] => four(1),
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn config_addresses_of_this_machine_its_link_or_cloud_metadata_are_not_followed() {
        for (address, followed) in [
            ("10.0.0.7", true),
            ("192.168.1.7", true),
            ("203.0.113.7", true),
            ("fd00::7", true),
            ("2001:db8::7", true),
            ("127.0.0.1", false),
            ("127.9.9.9", false),
            ("::1", false),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("::", false),
            ("169.254.169.254", false),
            ("fe80::1", false),
            ("::ffff:169.254.169.254", false),
            ("::ffff:127.0.0.1", false),
            ("::169.254.169.254", false),
            ("64:ff9b::169.254.169.254", false),
            ("2002:a9fe:a9fe::", false),
            ("fd00:ec2::254", false),
            ("100.100.100.200", false),
            ("168.63.129.16", false),
            ("192.0.0.192", false),
            ("224.0.0.1", false),
            ("ff02::1", false),
            ("255.255.255.255", false),
        ] {
            assert_eq!(is_followed(address.parse().expect("an address"), false), followed, "{address}");
        }
        assert!(is_followed(Ipv4Addr::new(127, 0, 0, 2).into(), true));
        assert!(!is_followed(Ipv4Addr::new(169, 254, 169, 254).into(), true));
    }

    #[tokio::test]
    async fn a_config_address_on_this_machine_is_called_only_when_the_ensemble_is_there() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("a bound listener").to_string();
        let away = NamedBy::Config { on_this_machine: false };
        for address in [&address, &address.replace("127.0.0.1", "localhost")] {
            assert!(matches!(call(address, away).await, Err(NotCalled::NotFollowed)), "{address}");
        }
        for named_by in [NamedBy::User, NamedBy::Config { on_this_machine: true }] {
            call(&address, named_by).await.expect("a listener");
        }
    }

    proptest! {
        #[test]
        fn no_way_to_write_a_link_local_or_loopback_address_is_followed(low in any::<u32>(), way in 0..4) {
            let four = Ipv4Addr::from(if way % 2 == 0 { 0xa9fe_0000 | low & 0xffff } else { 0x7f00_0000 | low & 0xff_ffff });
            let nat = Ipv6Addr::from(0x0064_ff9b_u128 << 96 | u128::from(u32::from(four)));
            for address in [IpAddr::V4(four), four.to_ipv6_mapped().into(), four.to_ipv6_compatible().into(), nat.into()] {
                prop_assert!(!is_followed(address, false), "{}", address);
            }
        }
    }
}
