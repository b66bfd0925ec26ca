//! What `cargo xtask dev` promises.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const START_LIMIT: Duration = Duration::from_secs(600);
const STOP_LIMIT: Duration = Duration::from_secs(20);

#[test]
fn dev_says_where_everything_is_and_leaves_no_process() {
    let port = testkit::stack::free_port().expect("a free port").to_string();
    let dev = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["dev", "--port", &port, "--credential", "the-same-each-time"])
        .stdout(Stdio::piped())
        .spawn();
    let mut dev = Ended(dev.expect("it starts"));
    let stdout = BufReader::new(dev.0.stdout.take().expect("it has a standard output"));
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    let (mut ports, mut pages, mut hints) = (Vec::new(), 0, Vec::new());
    while let Ok(line) = lines.recv_timeout(START_LIMIT)
        && !line.starts_with("Ctrl-C")
    {
        if line.starts_with("  redis-cli ") || line.starts_with("  EDGELOCK_BRIDGE_") {
            hints.push(line.trim().to_owned());
        }
        if let Some((name, address)) = line.split_once("   http://127.0.0.1:") {
            let (port, path) = address.split_once('/').unwrap_or((address, ""));
            pages += usize::from(name.trim() == "page" && path == "?sku=lamp");
            ports.push(port.parse::<u16>().expect("a port"));
        }
    }
    let listening = |port: &u16| TcpStream::connect(("127.0.0.1", *port)).is_ok();
    assert_eq!(
        ports.iter().filter(|port| listening(port)).count(),
        4,
        "two Workers, one of them with the page, and a bridge"
    );
    assert_eq!(pages, 1);
    assert_eq!(hints[0], format!("EDGELOCK_BRIDGE_URL=http://127.0.0.1:{port}"));
    assert_eq!(hints[1], "EDGELOCK_BRIDGE_CREDENTIAL=the-same-each-time");
    for hint in &hints[2..] {
        let pasted = Command::new("sh").args(["-c", hint]).output().expect("sh");
        assert!(pasted.status.success(), "{hint}: {pasted:?}");
    }
    assert_eq!(hints.len(), 4, "{hints:?}");

    kill_process(Pid::from_child(&dev.0), Signal::INT).expect("it runs");
    let until = Instant::now() + STOP_LIMIT;
    let status = loop {
        match dev.0.try_wait().expect("its status") {
            Some(status) => break status,
            None => assert!(Instant::now() < until, "it does not end"),
        }
        thread::sleep(Duration::from_millis(10));
    };
    assert!(status.success(), "{status}");
    assert!(!ports.iter().any(listening), "something still listens");
}

/// A process that ends with the test, however the test ends.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
            let _ = self.0.wait();
        }
    }
}
