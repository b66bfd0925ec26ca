//! A bridge that is far away: what is sent there, and back, comes later.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use xtask::stack::Bridge;

/// How long it takes to get there, and back.
const EACH_WAY: Duration = Duration::from_millis(10);

/// Starts a way to `bridge`, and returns its address.
pub(crate) async fn start(bridge: &Bridge) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let far = bridge.address().expect("the bridge's address");
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            tokio::spawn(async move {
                let Ok(far) = TcpStream::connect(far).await else {
                    return;
                };
                let ((from, to), (from_far, to_far)) = (near.into_split(), far.into_split());
                tokio::join!(pass(from, to_far), pass(from_far, to));
            });
        }
    });
    format!("http://{address}")
}

/// Passes on what is read, and the end, each as much later.
async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let (on_the_way, mut arriving) = mpsc::unbounded_channel();
    let depart = async move {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = from.read(&mut buffer).await.unwrap_or(0);
            let due = Instant::now() + EACH_WAY;
            if on_the_way.send((due, buffer[..read].to_vec())).is_err() || read == 0 {
                return;
            }
        }
    };
    let arrive = async move {
        while let Some((due, bytes)) = arriving.recv().await {
            sleep_until(due).await;
            if bytes.is_empty() || to.write_all(&bytes).await.is_err() {
                break;
            }
        }
        let _ = to.shutdown().await;
    };
    tokio::join!(depart, arrive);
}
