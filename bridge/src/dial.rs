//! Opens connections to Redis: TCP, TLS or a unix socket.
//!
//! The library could do this too. Here a connection knows when it has ended, and the trusted
//! certificates are read once, not for each connection.

mod enter;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use redis::{ConnectionAddr, IntoConnectionInfo as _, Pipeline, RedisConnectionInfo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::link::{Link, Message, Terms, Unanswered};

/// Where Redis is, and what a connection sends first.
pub(crate) struct Server {
    address: Address,
    settings: RedisConnectionInfo,
    largest_reply: usize,
}

enum Address {
    Unix(PathBuf),
    Tcp(String, u16),
    Tls(String, u16, TlsConnector),
}

/// Why there is no connection.
pub(crate) enum NoConnection {
    /// Redis wants a password, and none was configured.
    NoPassword,
    /// Redis does not accept the configured password or user.
    WrongPassword,
    /// Redis has no place for another client, or is busy.
    NotNow(String),
    Other(String),
}

trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Wire for S {}

impl Server {
    /// The errors name no part of the URL, since it may hold a password.
    pub(crate) fn at(url: &str) -> Result<Self, String> {
        let info = with_scheme(url).into_connection_info().map_err(|_| {
            "--redis is not a usable URL; write redis://HOST:PORT, \
             redis://USER:PASSWORD@HOST:PORT/DB, rediss://HOST:PORT or unix:///PATH"
        })?;
        let address = match info.addr().clone() {
            ConnectionAddr::Tcp(host, port) => Address::Tcp(host, port),
            ConnectionAddr::Unix(path) => Address::Unix(path),
            ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                ..
            } => Address::Tls(host, port, tls()?),
            _ => {
                return Err(
                    "--redis: TLS without a check of the certificate is not offered".into(),
                );
            }
        };
        let settings = info.redis_settings().clone();
        Ok(Self {
            address,
            settings,
            largest_reply: usize::MAX,
        })
    }

    pub(crate) fn with_largest_reply(mut self, bytes: usize) -> Self {
        self.largest_reply = bytes;
        self
    }

    pub(crate) const fn largest_reply(&self) -> usize {
        self.largest_reply
    }

    /// Another server, with the same settings.
    pub(crate) fn elsewhere(&self, host: &str, port: u16) -> Self {
        let address = match &self.address {
            Address::Tls(_, _, tls) => Address::Tls(host.to_owned(), port, tls.clone()),
            Address::Tcp(..) | Address::Unix(_) => Address::Tcp(host.to_owned(), port),
        };
        Self {
            address,
            settings: self.settings.clone(),
            largest_reply: self.largest_reply,
        }
    }

    /// Host and port; `None` for a unix socket.
    pub(crate) fn place(&self) -> Option<(&str, u16)> {
        match &self.address {
            Address::Tcp(host, port) | Address::Tls(host, port, _) => Some((host, *port)),
            Address::Unix(_) => None,
        }
    }

    /// For the log: where it is, without its password.
    pub(crate) fn shown(&self) -> String {
        match &self.address {
            Address::Tcp(host, port) | Address::Tls(host, port, _) => format!("{host}:{port}"),
            Address::Unix(path) => path.display().to_string(),
        }
    }

    /// With a user and a password, or without.
    pub(crate) fn on_socket(path: PathBuf, user: Option<(&str, &str)>) -> Self {
        let settings = RedisConnectionInfo::default();
        let settings = match user {
            Some((name, password)) => settings.set_username(name).set_password(password),
            None => settings,
        };
        Self {
            address: Address::Unix(path),
            settings,
            largest_reply: usize::MAX,
        }
    }

    pub(crate) async fn connection(&self, timeout: Duration) -> Result<Link, NoConnection> {
        let link = Link::on(self.open().await?, &self.terms(timeout));
        self.enter(&link).await?;
        Ok(link)
    }

    /// A connection for messages.
    pub(crate) async fn messages(
        &self,
        timeout: Duration,
    ) -> Result<(Link, UnboundedReceiver<Message>), NoConnection> {
        let (link, messages) = Link::of_messages(self.open().await?, &self.terms(timeout));
        self.enter(&link).await?;
        Ok((link, messages))
    }

    const fn terms(&self, timeout: Duration) -> Terms {
        Terms {
            timeout,
            largest: self.largest_reply,
        }
    }

    async fn open(&self) -> io::Result<Box<dyn Wire>> {
        Ok(match &self.address {
            Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
            Address::Tcp(host, port) => Box::new(tcp(host, *port).await?),
            Address::Tls(host, port, tls) => {
                let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
                Box::new(tls.connect(name, tcp(host, *port).await?).await?)
            }
        })
    }
}

impl From<io::Error> for NoConnection {
    fn from(error: io::Error) -> Self {
        Self::Other(error.to_string())
    }
}

impl From<Unanswered> for NoConnection {
    fn from(unanswered: Unanswered) -> Self {
        Self::Other(unanswered.to_string())
    }
}

/// For the log.
impl fmt::Display for NoConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPassword => f.write_str(
                "it wants a password: give one in EDGELOCK_BRIDGE_REDIS, as \
                 redis://:PASSWORD@HOST:PORT or unix:///PATH?pass=PASSWORD",
            ),
            Self::WrongPassword => {
                f.write_str("it does not accept the user and password in EDGELOCK_BRIDGE_REDIS")
            }
            Self::NotNow(reason) | Self::Other(reason) => f.write_str(reason),
        }
    }
}

/// A command without arguments.
pub(crate) fn of_one(name: &str) -> Arc<Pipeline> {
    let mut commands = Pipeline::new();
    commands.cmd(name);
    Arc::new(commands)
}

/// `host:port` is an address of Redis' own; a URL's parser would take the host for a scheme.
fn with_scheme(url: &str) -> Cow<'_, str> {
    let is_address = !url.contains(['/', '@'])
        && (url.rsplit_once(':')).is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    match is_address {
        true => Cow::Owned(format!("redis://{url}")),
        false => Cow::Borrowed(url),
    }
}

async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn tls() -> Result<TlsConnector, String> {
    let mut trusted = RootCertStore::empty();
    trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if trusted.is_empty() {
        return Err(
            "no certificate to trust Redis by: install ca-certificates, or let SSL_CERT_FILE name \
             the PEM file of the authority that signed its certificate"
                .into(),
        );
    }
    let config = ClientConfig::builder()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
