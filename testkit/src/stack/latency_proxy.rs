//! A proxy that passes TCP on unchanged, but later, and a network before a server that fails.
//!
//! Each direction has one queue for all connections. What enters it is stamped with the time when
//! it is due. Everything takes equally long, so it leaves in the order in which it came: nothing
//! waits for anything else, and bandwidth is unlimited. It uses threads, not tasks, because tokio's
//! timers are only exact to a millisecond, and that would be a tenth of the way.

mod network;

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

pub use self::network::Network;

/// How many exchanges tell how late threads wake.
const EXCHANGES: usize = 40;

/// A listener that delays, as long as the process lives.
pub struct LatencyProxy {
    port: u16,
    requests: Arc<AtomicU64>,
    network: Network,
}

impl LatencyProxy {
    /// The same as [`LatencyProxy::to_address`], for the server at `url`.
    pub fn to(url: &str, round_trip: Duration) -> Result<Self> {
        let address = url
            .strip_prefix("http://")
            .and_then(|address| address.parse().ok())
            .context("the bridge is at an address of this machine")?;
        Self::to_address(address, round_trip)
    }

    /// An exchange with the server at `address` takes `round_trip` longer than without the proxy.
    /// So does the end of a connection.
    pub fn to_address(address: SocketAddr, round_trip: Duration) -> Result<Self> {
        // Threads wake late. That delay is part of the way, so it is measured first.
        let echo = echo()?;
        let way = Self::open(echo, round_trip / 2)?;
        let surplus = exchange(way.address(), round_trip)?
            .saturating_sub(exchange(echo, round_trip)? + round_trip);
        Self::open(address, (round_trip.saturating_sub(surplus)) / 2)
    }

    /// Every byte to the server at `far`, and every byte back, is written `each_way` after it was
    /// read. It takes longer by as much as threads wake late.
    pub fn open(far: SocketAddr, each_way: Duration) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let (network, requests) = (Network::to(far, each_way), Arc::new(AtomicU64::new(0)));
        let (there, back) = (line(&network), line(&network));
        let (net, counted) = (network.clone(), requests.clone());
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                // The client notices, since its connection ends.
                let Some((near, far)) = net.connect(near) else {
                    continue;
                };
                let (count, there, back) = (counted.clone(), there.clone(), back.clone());
                carry(near.clone(), far.clone(), there, &net, move |bytes| {
                    // What is read begins with a request's head, since nobody sends a second
                    // request before the first is answered.
                    if bytes.starts_with(b"POST ") {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                });
                carry(far, near, back, &net, |_| {});
            }
        });
        Ok(Self { port, requests, network })
    }

    /// How many `POST`s have entered the proxy.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The address of the near end.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The same, for HTTP.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// What fails between its two ends, for whoever breaks it.
    pub const fn network(&self) -> &Network {
        &self.network
    }
}

/// A server that sends everything back.
fn echo() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = stream.set_nodelay(true);
            thread::spawn(move || io::copy(&mut &stream, &mut &stream));
        }
    });
    Ok(address)
}

/// The median time to send a byte to an echo and to get it back, after pauses in which all threads
/// fall asleep.
fn exchange(address: SocketAddr, pause: Duration) -> Result<Duration> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut took = Vec::new();
    for _ in 0..EXCHANGES {
        thread::sleep(pause);
        let begun = Instant::now();
        stream.write_all(b"x")?;
        stream.read_exact(&mut [0])?;
        took.push(begun.elapsed());
    }
    took.sort();
    Ok(took[EXCHANGES / 2])
}

/// Bytes on their way. No bytes mean the end of the connection.
struct Parcel {
    due: Instant,
    to: Arc<TcpStream>,
    bytes: Vec<u8>,
}

fn line(network: &Network) -> Sender<Parcel> {
    let ((line, parcels), network) = (mpsc::channel::<Parcel>(), network.clone());
    thread::spawn(move || {
        for Parcel { due, to, bytes } in parcels {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            network.wait_until_open();
            // A connection that has already gone needs no end.
            let _ = if bytes.is_empty() {
                to.shutdown(Shutdown::Write)
            } else {
                to.as_ref().write_all(&bytes).or_else(|_| to.shutdown(Shutdown::Both))
            };
        }
    });
    line
}

fn carry(
    from: Arc<TcpStream>,
    to: Arc<TcpStream>,
    line: Sender<Parcel>,
    network: &Network,
    see: impl Fn(&[u8]) + Send + 'static,
) {
    let network = network.clone();
    thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        loop {
            // A connection that is reset has ended, too.
            let read = from.as_ref().read(&mut buffer).unwrap_or(0);
            see(&buffer[..read]);
            let parcel = Parcel {
                due: Instant::now() + network.each_way(),
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

    /// A connection whose reads end in any case.
    fn connection(proxy: &LatencyProxy) -> Result<TcpStream> {
        let stream = TcpStream::connect(proxy.address())?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(stream)
    }

    #[test]
    fn bytes_and_their_end_arrive_late_and_in_order() -> Result<()> {
        let proxy = LatencyProxy::open(echo()?, EACH_WAY)?;
        let begun = Instant::now();
        let mut streams = Vec::new();
        for _ in 0..20 {
            let mut stream = connection(&proxy)?;
            stream.write_all(b"one ")?;
            stream.write_all(b"two")?;
            stream.shutdown(Shutdown::Write)?;
            streams.push(stream);
        }
        for mut stream in streams {
            let mut heard = String::new();
            stream.read_to_string(&mut heard)?;
            assert_eq!(heard, "one two");
        }
        assert!(begun.elapsed() >= EACH_WAY * 2);
        Ok(())
    }

    #[test]
    fn what_is_held_arrives_when_it_is_released() -> Result<()> {
        let proxy = LatencyProxy::open(echo()?, Duration::ZERO)?;
        let mut stream = connection(&proxy)?;
        proxy.network().hold();
        stream.write_all(b"x")?;
        stream.set_read_timeout(Some(EACH_WAY))?;
        assert!(stream.read_exact(&mut [0]).is_err());

        proxy.network().release();
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(stream.read_exact(&mut [0])?)
    }

    #[test]
    fn a_cut_ends_connections_and_what_they_held_never_arrives() -> Result<()> {
        let proxy = LatencyProxy::open(echo()?, Duration::ZERO)?;
        let mut stream = connection(&proxy)?;
        stream.write_all(b"x")?;
        stream.read_exact(&mut [0])?;
        proxy.network().hold();
        stream.write_all(b"x")?;

        proxy.network().cut();
        proxy.network().release();
        let mut heard = Vec::new();
        // Its end may be a reset.
        let _ = stream.read_to_end(&mut heard);
        assert_eq!(heard, b"");

        let mut other = connection(&proxy)?;
        other.write_all(b"x")?;
        Ok(other.read_exact(&mut [0])?)
    }

    #[test]
    fn a_way_that_leads_elsewhere_ends_what_led_there_before() -> Result<()> {
        let proxy = LatencyProxy::open(echo()?, Duration::ZERO)?;
        let mut before = connection(&proxy)?;
        before.write_all(b"x")?;
        before.read_exact(&mut [0])?;
        let elsewhere = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;

        proxy.network().lead_to(elsewhere.local_addr()?);
        assert!(!matches!(before.read(&mut [0]), Ok(1..)));
        let _after = connection(&proxy)?;
        elsewhere.accept()?;
        Ok(())
    }
}
