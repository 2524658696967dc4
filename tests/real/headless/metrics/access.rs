//! Access to the metrics: a real Prometheus with and without the credentials of the web config.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::fixture::MetricsFixture;
use crate::harness::certificates::Certificates;
use crate::harness::prometheus::{Prometheus, get, promtool};
use crate::harness::wait::eventually;
use crate::headless::program::{lockscope, run};

const PASSWORD: &str = "a pass: word";

/// A hash of [`PASSWORD`] at the lowest cost.
const HASH: &str = "$2y$04$abcdefghijklmnopqrstuu22K2tG8/mM9ZXePc4tgFQ8ArZuAnkw2";

/// Writes a web config into a folder, beside new certificates.
fn web_config(folder: &Path) -> String {
    Certificates::make(folder);
    let path = folder.join("web.yml");
    let text = format!(
        "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n  client_ca_file: ca.pem\n  client_auth_type: \
         RequireAndVerifyClientCert\nbasic_auth_users:\n  prometheus: {HASH}\n"
    );
    fs::write(&path, text).expect("written");
    for secret in [&path, &folder.join("server.key")] {
        fs::set_permissions(secret, Permissions::from_mode(0o600)).expect("its owner's");
    }
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_the_metrics_needs_the_certificate_and_the_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = web_config(folder.path());
    promtool(&["check", "web-config", &config], "");
    let fixture = MetricsFixture::start(&["--metrics-config", &config]).await;
    let file = |name: &str| folder.path().join(name).display().to_string();
    let tls = format!("ca_file: '{}'", file("ca.pem"));
    let both = format!("{tls}, cert_file: '{}', key_file: '{}'", file("client.crt"), file("client.key"));
    let job = |name: &str, tls: &str, password: &str| {
        let login = format!("basic_auth: {{username: prometheus, password: '{password}'}}");
        let target = format!("static_configs: [{{targets: ['127.0.0.1:{}']}}]", fixture.port);
        format!("- {{job_name: {name}, scheme: https, tls_config: {{{tls}}}, {login}, {target}}}\n")
    };
    let jobs = [job("good", &both, PASSWORD), job("stranger", &tls, PASSWORD), job("guesser", &both, "another")];
    let prometheus = Prometheus::start(&format!("scrape_configs:\n{}", jobs.concat())).await;
    let up = eventually("three scrapes", async || {
        let mut up = prometheus.query("up").into_iter();
        let found = up.by_ref().map(|(labels, value)| (labels["job"].as_str().expect("a job").to_owned(), value));
        let mut found: Vec<_> = found.collect();
        found.sort();
        let is_settled = found.len() == 3 && found.iter().any(|(_, value)| value == "1");
        if is_settled { Ok(found) } else { Err(prometheus.api("targets")) }
    })
    .await;
    let expected = [("good", "1"), ("guesser", "0"), ("stranger", "0")];
    assert_eq!(up, expected.map(|(job, up)| (job.to_owned(), up.to_owned())));
    let health = get(fixture.port, "/healthz", &[]);
    assert!(health.is_err(), "nothing is said in plain text: {health:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_config_is_refused_at_the_start_and_ignored_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("web.yml");
    let write = |text: &str| {
        fs::write(&config, text).expect("written");
        fs::set_permissions(&config, Permissions::from_mode(0o600)).expect("its owner's");
    };
    write(&format!("basic_auth_users: {{ann: '{HASH}'}}\n"));
    let path = config.display().to_string();
    let fixture = MetricsFixture::start(&["--metrics-config", &path]).await;
    let status = |headers: &[&str]| get(fixture.port, "/metrics", headers).map_or(0, |(status, _)| status);
    // The user ann with her password.
    let login = "Authorization: Basic YW5uOmEgcGFzczogd29yZA==";
    assert_eq!([status(&[]), status(&[login])], [401, 200]);
    fixture.until_up_after(0.0, login).await;
    write("basic_auth_users: {ann: 'no hash'}\n");
    let refused = run(lockscope(&["record", "--metrics", "0", "--metrics-config", &path])).await.refused();
    assert!(refused.contains("ann") && refused.contains("htpasswd"), "{refused}");
    let taken = fixture.port.to_string();
    let ended = run(lockscope(&["record", "--metrics", &taken])).await;
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (Some(75), ""),
        "the port may be free at another time: {}",
        ended.stderr
    );
    assert!(ended.stderr.contains("cannot serve metrics") && ended.stderr.contains("--metrics"), "{}", ended.stderr);
    fixture.running.signal("HUP");
    // The second reading counts as a gap.
    fixture.until_up_after(1.0, login).await;
    assert_eq!([status(&[]), status(&[login])], [401, 200]);
    write("{}\n");
    fixture.running.signal("HUP");
    eventually("the new config", async || if status(&[]) == 200 { Ok(()) } else { Err("the old one") }).await;
}
