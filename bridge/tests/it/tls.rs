//! Redis behind TLS, with a user and a password.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use testkit::stack::{RedisServer, free_port};

use crate::support::{Bridge, is, says, until};

/// Writes the authority's certificate, and the server's with its key, to `folder`.
fn certify(folder: &TempDir) {
    let mut authority = CertificateParams::new([]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let server = server.signed_by(&key, &authority).unwrap();
    for (name, content) in [
        ("ca.pem", authority.pem()),
        ("server.pem", server.pem()),
        ("server.key", key.serialize_pem()),
    ] {
        fs::write(folder.path().join(name), content).unwrap();
    }
}

/// The folder has the certificates; the port is that for TLS.
fn redis() -> (RedisServer, TempDir, u16) {
    let (folder, port) = (TempDir::new().unwrap(), free_port().unwrap());
    certify(&folder);
    let file = |name| folder.path().join(name).display().to_string();
    let (authority, server, key) = (file("ca.pem"), file("server.pem"), file("server.key"));
    let files = ["--tls-ca-cert-file", &authority, "--tls-cert-file", &server];
    let listens = ["--tls-key-file", &key, "--tls-auth-clients", "no"];
    let users = "--user default off --user ann on >open@sesame +@all ~* &*";
    let mut options = vec!["--tls-port"];
    let port_text = port.to_string();
    options.push(&port_text);
    options.extend(files.into_iter().chain(listens).chain(users.split(' ')));
    (RedisServer::start(&options), folder, port)
}

#[tokio::test]
async fn redis_may_be_behind_tls_with_a_user_and_a_password() {
    let (_redis, folder, port) = redis();
    let url = format!("rediss://ann:open%40sesame@127.0.0.1:{port}/3");
    let authority = folder.path().join("ca.pem");
    let bridge = Bridge::trusting(&authority, &url).await;
    let told = bridge.run(r#"["SET","k","v"]"#).await;
    is(told, 200, r#"{"result":"OK"}"#);
    let (_, body) = bridge.ask("/multi-exec", r#"[["GET","k"]]"#).await;
    assert_eq!(body, r#"[{"result":"v"}]"#);
    let mut events = bridge.post("/subscribe/c", "").send().await.unwrap();
    let begun = events.chunk().await.unwrap().unwrap();
    assert_eq!(begun, "data: subscribe,c,1\n\n");
    says(bridge.run(r#"["CLIENT","INFO"]"#).await, 200, " db=3 ");
}

#[tokio::test]
async fn a_certificate_that_does_not_fit_is_an_outage() {
    let (_redis, folder, port) = redis();
    let authority = folder.path().join("ca.pem");
    let right = format!("rediss://ann:open%40sesame@127.0.0.1:{port}");
    let other = TempDir::new().unwrap();
    certify(&other);
    let elsewhere = right.replace("127.0.0.1", "localhost");
    let stranger = other.path().join("ca.pem");
    for (url, authority, reason) in [
        (right, &stranger, "invalid peer certificate"),
        (elsewhere, &authority, "certificate not valid for name"),
    ] {
        let bridge = Bridge::trusting(authority, &url).await;
        let (status, body) = bridge.run(r#"["PING"]"#).await;
        assert!(status >= 400 && !body.contains("PONG"), "{url}: {body}");
        until(reason, async || (bridge.log() + &body).contains(reason)).await;
        bridge.until_logs("an authority that SSL_CERT_FILE names").await;
    }
}
