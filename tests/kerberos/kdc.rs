//! A real KDC with its own realm, run without privileges on a free loopback port.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::process::{Supervised, await_end_of};
use crate::harness::server::ports_free_on;
use crate::harness::wait::eventually_blocking;

/// The realm of every KDC here.
pub const REALM: &str = "LOCKSCOPE.TEST";

/// The folder in which Debian keeps the KDC's programs. It is not on every user's path.
const PROGRAMS: &str = "/usr/sbin";

/// A running KDC. On drop, the KDC ends and its folder is deleted.
#[derive(Debug)]
pub struct Kdc {
    process: Option<Supervised>,
    folder: PathBuf,
}

impl Kdc {
    /// Starts a KDC, and returns when it serves.
    pub fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("lockscope-kdc-").tempdir().expect("a folder").keep();
        let port = ports_free_on(&[Ipv4Addr::LOCALHOST]).next().expect("the ports are tried again and again");
        let mut kdc = Self { process: None, folder };
        kdc.configure("krb5.conf", port);
        let (database, stash) = (kdc.file("principals"), kdc.file("stash"));
        let text = format!(
            "[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n[realms]\n {REALM} = {{\n  \
             database_name = {}\n  key_stash_file = {}\n  max_life = 1h\n }}\n",
            database.display(),
            stash.display()
        );
        fs::write(kdc.file("kdc.conf"), text).expect("the folder is writable");
        kdc.run(&format!("{PROGRAMS}/kdb5_util"), &["create", "-s", "-r", REALM, "-P", "master"]);
        let krb5kdc = format!("{PROGRAMS}/krb5kdc");
        let environment = kdc.environment("krb5.conf").map(|(name, value)| format!("{name}={value}"));
        let command: Vec<String> =
            ["env".to_owned()].into_iter().chain(environment).chain([krb5kdc, "-n".to_owned()]).collect();
        kdc.process = Some(Supervised::start(&kdc.folder, &command));
        eventually_blocking("a KDC that serves", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map(drop));
        kdc
    }

    /// Returns the path of a file in the KDC's folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a `krb5.conf` that places the realm's KDC on this port.
    pub fn configure(&self, name: &str, port: u16) {
        let text = format!(
            "[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n rdns = false\n \
             dns_canonicalize_hostname = false\n udp_preference_limit = 1\n[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n\
             [domain_realm]\n localhost = {REALM}\n"
        );
        fs::write(self.file(name), text).expect("the folder is writable");
    }

    /// Adds a principal with a random key. Returns the path of its keytab.
    pub fn add(&self, principal: &str) -> PathBuf {
        let keytab = self.file(&format!("{}.keytab", principal.replace('/', "-")));
        self.kadmin(&format!("addprinc -randkey {principal}"));
        self.kadmin(&format!("ktadd -k {} {principal}", keytab.display()));
        keytab
    }

    /// Changes a principal's key. No keytab contains the new key.
    pub fn change_key(&self, principal: &str) {
        self.kadmin(&format!("cpw -randkey {principal}"));
    }

    /// Adds the principal `zookeeper/HOST`. Returns the system properties of a server on that host.
    pub fn server(&self, host: &str) -> Vec<String> {
        let principal = format!("zookeeper/{host}");
        let keytab = self.add(&principal);
        let jaas = self.file(&format!("{host}.jaas"));
        let text = format!(
            "Server {{\n  com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true\n  \
             useTicketCache=false keyTab=\"{}\" principal=\"{principal}@{REALM}\";\n}};\n",
            keytab.display()
        );
        fs::write(&jaas, text).expect("the folder is writable");
        vec![
            format!("java.security.auth.login.config={}", jaas.display()),
            format!("java.security.krb5.conf={}", self.file("krb5.conf").display()),
            "zookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider".to_owned(),
        ]
    }

    /// Returns the environment by which a client finds the KDC and a credential cache.
    pub fn client(&self, cache: &str) -> Vec<(String, String)> {
        let cache = ("KRB5CCNAME".to_owned(), format!("FILE:{}", self.file(cache).display()));
        self.environment("krb5.conf").into_iter().chain([cache]).collect()
    }

    /// Gets a ticket with a keytab, valid for the given seconds.
    pub fn kinit(&self, cache: &str, principal: &str, keytab: &Path, seconds: u32) {
        let mut kinit = Command::new("kinit");
        kinit.envs(self.client(cache)).args(["-l", &format!("{seconds}s"), "-k", "-t"]).arg(keytab).arg(principal);
        let done = kinit.output().expect("kinit starts");
        assert!(done.status.success(), "kinit {principal}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn environment(&self, config: &str) -> [(String, String); 2] {
        [("KRB5_CONFIG", config), ("KRB5_KDC_PROFILE", "kdc.conf")]
            .map(|(name, file)| (name.to_owned(), self.file(file).display().to_string()))
    }

    fn kadmin(&self, query: &str) {
        self.run(&format!("{PROGRAMS}/kadmin.local"), &["-r", REALM, "-q", query]);
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let done = Command::new(program).envs(self.environment("krb5.conf")).args(arguments).output();
        let done = done.unwrap_or_else(|error| {
            panic!("{program}: {error}; `tests/run --install-only security` installs what these tests need")
        });
        assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

impl Drop for Kdc {
    fn drop(&mut self) {
        let Some(process) = self.process.take() else { return };
        let pid = process.pid();
        drop(process);
        if !std::thread::panicking() {
            await_end_of(pid);
        }
    }
}
