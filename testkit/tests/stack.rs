//! What the stack promises to the tests that use it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use testkit::stack::{Bridge, Worker, WorkerConfig};

#[test]
fn a_killed_worker_comes_back_on_its_port() {
    let build = tempfile::tempdir().expect("a temporary folder");
    let source = "export default { fetch: (request, env) => new Response(env.GREETING) }";
    fs::write(build.path().join("index.js"), source).expect("a file is written");
    let greeting = "quotes \" and \\ arrive";
    let mut worker = Worker::spawn(&WorkerConfig::bare(build.path()).bind("GREETING", greeting));
    let port = worker.port();
    assert!(get(port).ends_with(greeting));

    worker.kill();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());

    worker.restart().expect("it starts again");
    assert_eq!(worker.port(), port);
    assert!(get(port).ends_with(greeting));

    drop(worker);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_worker_that_is_not_there_is_an_error_that_says_where() {
    let error =
        Worker::start(&WorkerConfig::bare("/nowhere")).expect_err("there is no such folder");
    assert!(format!("{error:#}").contains("/nowhere"), "{error:#}");
}

#[test]
fn a_bridge_takes_its_redis_with_it() {
    let bridge = Bridge::spawn();
    let socket = bridge.redis_socket().to_owned();
    UnixStream::connect(&socket).expect("its Redis listens");
    assert!(!format!("{bridge:?}").contains(bridge.token()));
    assert!(!bridge.log().contains(bridge.token()));

    drop(bridge);
    assert!(UnixStream::connect(&socket).is_err());
}

#[test]
fn two_bridges_can_share_a_redis() {
    let bridge = Bridge::spawn();
    let other = Bridge::options()
        .listen("127.0.0.2:0")
        .redis(format!("unix://{}", bridge.redis_socket().display()))
        .start()
        .expect("it starts");
    assert!(other.url().starts_with("http://127.0.0.2:"));
    assert_ne!(other.token(), bridge.token());

    drop(other);
    UnixStream::connect(bridge.redis_socket()).expect("the Redis of the first still listens");
}

fn get(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}
