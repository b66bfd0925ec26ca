//! The network before a server, and how it fails.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

/// How much later data arrives while the network is slow.
const SLOW: Duration = Duration::from_millis(300);

/// Passes TCP on to a server, as long as the runtime lives.
pub(super) struct Way {
    address: SocketAddr,
    weather: watch::Sender<Weather>,
}

/// The state of the network.
#[derive(Clone, Copy)]
pub(super) struct Weather {
    /// The server that it leads to.
    to: SocketAddr,
    /// Whether nothing arrives, without anybody being told.
    pub(super) is_still: bool,
    pub(super) is_slow: bool,
    /// How often it was cut. Connections from before a cut are gone.
    cuts: u64,
}

impl Way {
    pub(super) async fn to(server: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (weather, seen) = watch::channel(Weather {
            to: server,
            is_still: false,
            is_slow: false,
            cuts: 0,
        });
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(pass(near, seen.clone()));
            }
        });
        Ok(Self { address, weather })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// To change the weather from another thread.
    pub(super) fn weather(&self) -> watch::Sender<Weather> {
        self.weather.clone()
    }
}

impl Weather {
    pub(super) const fn cut(&mut self) {
        self.cuts += 1;
    }

    /// From now on the address leads to another server.
    pub(super) const fn lead_to(&mut self, server: SocketAddr) {
        self.to = server;
        self.cut();
    }
}

/// Passes on one connection until it ends or is cut. Both sides notice a cut, since their
/// connection ends.
async fn pass(near: TcpStream, mut weather: watch::Receiver<Weather>) {
    let Weather { to, cuts, .. } = *weather.borrow();
    let Ok(far) = TcpStream::connect(to).await else {
        return;
    };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    let (there, back) = (weather.clone(), weather.clone());
    tokio::select! {
        () = async { tokio::join!(carry(near_in, far_out, there), carry(far_in, near_out, back)); } => {}
        _ = weather.wait_for(|now| now.cuts != cuts) => {}
    }
}

async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut weather: watch::Receiver<Weather>,
) {
    let mut buffer = [0; 16 * 1024];
    // A connection that is reset has ended, too.
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if weather.borrow().is_slow {
            sleep(SLOW).await;
        }
        let arrives = weather.wait_for(|now| !now.is_still).await.is_ok();
        if !arrives || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
