//! `cargo xtask hosts`: compiles the examples for hosts that take Rust, each with its host's own
//! crate, and calls those that run without their host. The crates take minutes, so `test` only
//! checks that those for Lambda and Vercel compile.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use redis::{Commands, Connection};
use reqwest::Client;
use serde_json::{Value, json};
use testkit::stack::{Bridge, build_bridge, free_port};
use testkit::worker_build::{alone, copy_of};
use testkit::{component, interrupt, paths, programs};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::setup::{self, Needs};
use crate::terminal::Terminal;

/// For Fastly, whose programs are no components.
const MODULE: &str = "wasm32-wasip1";

pub(crate) fn run() -> Result<()> {
    setup::run(Needs::Stack)?;
    programs::run(paths::command("rustup").args(["target", "add", component::TARGET, MODULE]))?;
    cargo("spin", &["build", "--target", component::TARGET])?;
    cargo("fastly", &["build", "--target", MODULE])?;
    let vercel = cargo("vercel", &["build"])?.join("debug/ship-on-vercel");
    let lambda = cargo("lambda", &["build"])?.join("debug/ship-on-lambda");
    let bridge = build_bridge("dev")?;
    interrupt::or(async {
        let bridge = Bridge::options().binary(bridge).start()?;
        on_vercel(&bridge, vercel).await.context("vercel")?;
        on_lambda(&bridge, lambda).await.context("lambda")?;
        println!("vercel and lambda: both ship, and refuse");
        Ok(())
    })
}

/// Whether the recipes over edgelock's native client compile. Here they have no TLS, of which the
/// C takes a minute and no line of ours knows.
pub(crate) fn compiled() -> Result<()> {
    let path = format!("path = {:?}", paths::root());
    let changes = [
        (r#"path = "../..""#, path.as_str()),
        (r#"["native"]"#, r#"["native-no-tls"]"#),
        ("[dependencies]", "[workspace]\n[dependencies]"),
    ];
    for (name, sources) in [("vercel", "api"), ("lambda", "src")] {
        let (folder, copy) = (format!("examples/{name}"), paths::target().join("copied"));
        alone(&folder)?;
        let (parts, copy) = (["Cargo.toml", "Cargo.lock", sources], copy.join(name));
        copy_of(&folder, &parts, &copy, &changes)?;
        cargo_in(&copy, &["check"])?;
        println!("{name}: compiled");
    }
    Ok(())
}

/// Has cargo compile an example. Returns the folder of what was built.
fn cargo(name: &str, arguments: &[&str]) -> Result<&'static Path> {
    let folder = format!("examples/{name}");
    alone(&folder)?;
    cargo_in(&paths::root().join(folder), arguments)?;
    println!("{name}: compiled");
    Ok(paths::target())
}

fn cargo_in(folder: &Path, arguments: &[&str]) -> Result<()> {
    programs::run(
        paths::cargo()
            .args(arguments)
            .env("CARGO_TARGET_DIR", paths::target())
            // As in the workspace, so that crates of both are compiled once.
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .current_dir(folder),
    )
}

async fn on_vercel(bridge: &Bridge, program: PathBuf) -> Result<()> {
    let port = free_port()?;
    let mut terminal = terminal(bridge, &[("VERCEL_DEV_PORT", port.to_string())])?;
    let program = program.display().to_string();
    terminal.start(&program, "Dev server listening").await?;
    let http = Client::new();
    check(bridge.redis().get_connection()?, async |path| {
        let answer = http.post(format!("http://127.0.0.1:{port}{path}"));
        let answer = answer.send().await?;
        let status = answer.status().as_u16().into();
        Ok((status, answer.text().await?.into()))
    })
    .await
}

async fn on_lambda(bridge: &Bridge, program: PathBuf) -> Result<()> {
    let lambda = Lambda(TcpListener::bind("127.0.0.1:0").await?);
    let variables = [
        ("AWS_LAMBDA_RUNTIME_API", lambda.0.local_addr()?.to_string()),
        ("AWS_LAMBDA_FUNCTION_NAME", "ship".to_owned()),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128".to_owned()),
        ("AWS_LAMBDA_FUNCTION_VERSION", "1".to_owned()),
        ("AWS_LAMBDA_LOG_STREAM_NAME", String::new()),
        ("AWS_LAMBDA_LOG_GROUP_NAME", String::new()),
    ];
    let mut terminal = terminal(bridge, &variables)?;
    terminal.run(&format!("{} &", program.display())).await?;
    check(bridge.redis().get_connection()?, async |path| {
        let mut answer = lambda.call(path).await?;
        Ok((answer["statusCode"].take(), answer["body"].take()))
    })
    .await
}

fn terminal(bridge: &Bridge, variables: &[(&str, String)]) -> Result<Terminal> {
    let mut like = paths::command("sh");
    like.envs(bridge.variables()).envs(variables.iter().cloned());
    Terminal::open(paths::root(), &like)
}

/// Ships an order, and one that another request ships just now. `call` posts to a path, and returns
/// the status and the text of the answer.
async fn check(
    mut redis: Connection,
    call: impl AsyncFn(&str) -> Result<(Value, Value)>,
) -> Result<()> {
    let shipped = call("/orders/1").await?;
    ensure!(shipped == (200.into(), "shipped 1".into()), "{shipped:?}");
    let _: () = redis.pset_ex("order:2", "another", 60_000)?;
    let refused = call("/orders/2").await?;
    let _: i64 = redis.del("order:2")?;
    let expected = (409.into(), "another request is at it".into());
    ensure!(refused == expected, "{refused:?}");
    Ok(())
}

/// Lambda's side of the interface by which a function asks for its next call.
struct Lambda(TcpListener);

impl Lambda {
    /// Calls the function as its URL does. Returns what it answers.
    async fn call(&self, path: &str) -> Result<Value> {
        let event = json!({
            "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": "",
            "headers": {}, "isBase64Encoded": false,
            "requestContext": {
                "accountId": "1", "apiId": "1", "domainName": "localhost", "domainPrefix": "1",
                "http": { "method": "POST", "path": path, "protocol": "HTTP/1.1",
                          "sourceIp": "127.0.0.1", "userAgent": "" },
                "requestId": "1", "routeKey": "$default", "stage": "$default",
                "time": "26/Nov/2026:00:00:00 +0000", "timeEpoch": 1_795_651_200_000_i64,
            },
        });
        let head = "lambda-runtime-aws-request-id: 1\r\nlambda-runtime-deadline-ms: 9999999999999\r\nlambda-runtime-invoked-function-arn: arn:aws:lambda:eu-west-1:1:function:ship\r\n";
        self.serve("200 OK", head, &event.to_string()).await?;
        let answer = self.serve("202 Accepted", "", "{}").await?;
        serde_json::from_str(&answer).with_context(|| answer)
    }

    /// Answers one request on a connection of its own. Returns the request's body.
    async fn serve(&self, status: &str, head: &str, body: &str) -> Result<String> {
        const LIMIT: Duration = Duration::from_secs(20);
        let accepted = timeout(LIMIT, self.0.accept()).await;
        let mut stream = BufReader::new(accepted.context("the function says nothing")??.0);
        let mut length = 0;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await?;
            let line = line.trim_end().to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(bytes) = line.strip_prefix("content-length: ") {
                length = bytes.parse()?;
            }
        }
        let mut sent = vec![0; length];
        stream.read_exact(&mut sent).await?;
        let answer = format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\n{head}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).await?;
        Ok(String::from_utf8(sent)?)
    }
}
