//! Redis behind TLS, with a user and a password.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use crate::support::{Bridge, Redis, answer, until};

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

async fn redis() -> (Redis, u16) {
    let redis = Redis::with(|folder, port| {
        certify(folder);
        let file = |name| folder.path().join(name).display().to_string();
        let mut args: Vec<String> = ["--tls-port", &port.to_string(), "--tls-auth-clients", "no"]
            .map(str::to_owned)
            .into();
        for (option, name) in [
            ("--tls-ca-cert-file", "ca.pem"),
            ("--tls-cert-file", "server.pem"),
            ("--tls-key-file", "server.key"),
        ] {
            args.extend([option.to_owned(), file(name)]);
        }
        args.extend(["--user", "default", "off"].map(str::to_owned));
        args.extend(
            ["--user", "ann", "on", ">open@sesame", "+@all", "~*", "&*"].map(str::to_owned),
        );
        args
    })
    .await;
    let port = redis.port();
    (redis, port)
}

#[tokio::test]
async fn redis_may_be_behind_tls_with_a_user_and_a_password() {
    let (redis, port) = redis().await;
    let url = format!("rediss://ann:open%40sesame@127.0.0.1:{port}/3");
    let authority = redis.socket().with_file_name("ca.pem");
    let bridge = Bridge::start(["--redis", &url, "--redis-ca", authority.to_str().unwrap()]).await;
    assert_eq!(
        bridge.run(r#"["SET","k","v"]"#).await,
        (200, r#"{"result":"OK"}"#.to_owned())
    );
    assert_eq!(
        answer(bridge.post("/multi-exec", r#"[["GET","k"]]"#))
            .await
            .1,
        r#"[{"result":"v"}]"#
    );
    let mut events = bridge.post("/subscribe/c", "").send().await.unwrap();
    assert_eq!(
        events.chunk().await.unwrap().unwrap(),
        "data: subscribe,c,1\n\n"
    );
    assert!(
        bridge
            .run(r#"["CLIENT","INFO"]"#)
            .await
            .1
            .contains(" db=3 ")
    );
}

#[tokio::test]
async fn a_certificate_or_a_password_that_does_not_fit_is_an_outage() {
    let (redis, port) = redis().await;
    let authority = redis.socket().with_file_name("ca.pem");
    let authority = ["--redis-ca", authority.to_str().unwrap()];
    let right = format!("rediss://ann:open%40sesame@127.0.0.1:{port}");
    for (url, args, reason) in [
        (right.clone(), &[][..], "UnknownIssuer"),
        (
            right.replace("127.0.0.1", "localhost"),
            &authority,
            "certificate not valid for name",
        ),
        (
            right.replace("open", "shut"),
            &authority,
            "it does not accept the user and password",
        ),
        (
            right.replace("ann:open%40sesame@", ""),
            &authority,
            "it wants a password",
        ),
    ] {
        let bridge = Bridge::start(["--redis", &url].iter().chain(args)).await;
        let (status, body) = bridge.run(r#"["PING"]"#).await;
        assert!(status >= 400 && !body.contains("PONG"), "{url}: {body}");
        until(reason, async || (bridge.log() + &body).contains(reason)).await;
    }
}
