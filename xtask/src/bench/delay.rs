//! A long way to the bridge: TCP passed on as it is, but later.
//!
//! Each way has one line for all connections. What enters it is stamped with when it is due, and since everything takes equally
//! long, it comes out in the order in which it went in: nothing waits for anything else, and bandwidth is not limited. Threads
//! rather than tasks, because tokio's timers are a millisecond coarse, and that would be a tenth of a way.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Listens, and delays, for as long as the process lives.
pub(super) struct LongWay {
    port: u16,
}

impl LongWay {
    /// Every byte to the server at `url`, and every byte back, takes `each_way` longer; so does the end of a connection.
    pub(super) fn to(url: &str, each_way: Duration) -> Result<Self> {
        let address = url
            .strip_prefix("http://")
            .context("the bridge speaks plain HTTP")?
            .to_owned();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let (there, back) = (line(), line());
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                // Whoever connected is told by the connection's end.
                let Ok(far) = TcpStream::connect(&address) else {
                    continue;
                };
                let _ = (near.set_nodelay(true), far.set_nodelay(true));
                let (near, far) = (Arc::new(near), Arc::new(far));
                carry(near.clone(), far.clone(), there.clone(), each_way);
                carry(far, near, back.clone(), each_way);
            }
        });
        Ok(Self { port })
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// On its way to `to`; no bytes are the end.
struct Parcel {
    due: Instant,
    to: Arc<TcpStream>,
    bytes: Vec<u8>,
}

fn line() -> Sender<Parcel> {
    let (line, parcels) = mpsc::channel::<Parcel>();
    thread::spawn(move || {
        for Parcel { due, to, bytes } in parcels {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            // A connection that is gone already needs no end.
            let _ = if bytes.is_empty() {
                to.shutdown(Shutdown::Write)
            } else {
                to.as_ref()
                    .write_all(&bytes)
                    .or_else(|_| to.shutdown(Shutdown::Both))
            };
        }
    });
    line
}

fn carry(from: Arc<TcpStream>, to: Arc<TcpStream>, line: Sender<Parcel>, each_way: Duration) {
    thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        loop {
            // One that is reset has ended, too.
            let read = from.as_ref().read(&mut buffer).unwrap_or(0);
            let parcel = Parcel {
                due: Instant::now() + each_way,
                to: to.clone(),
                bytes: buffer[..read].to_vec(),
            };
            if line.send(parcel).is_err() || read == 0 {
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const EACH_WAY: Duration = Duration::from_millis(20);

    /// A server that says everything back in capitals, and ends when its client does.
    fn echo() -> Result<String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let url = format!("http://{}", listener.local_addr()?);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    let mut heard = String::new();
                    let _ = stream.read_to_string(&mut heard);
                    let _ = stream.write_all(heard.to_uppercase().as_bytes());
                });
            }
        });
        Ok(url)
    }

    #[test]
    fn bytes_and_their_end_arrive_late_and_in_order() -> Result<()> {
        let way = LongWay::to(&echo()?, EACH_WAY)?;
        let mut streams = Vec::new();
        let begun = Instant::now();
        for _ in 0..20 {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, way.port))?;
            stream.set_read_timeout(Some(Duration::from_secs(10)))?;
            stream.write_all(b"one ")?;
            stream.write_all(b"two")?;
            stream.shutdown(Shutdown::Write)?;
            streams.push(stream);
        }
        for mut stream in streams {
            let mut heard = String::new();
            stream.read_to_string(&mut heard)?;
            assert_eq!(heard, "ONE TWO");
        }
        assert!(begun.elapsed() >= EACH_WAY * 2);
        Ok(())
    }
}
