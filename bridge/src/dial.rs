//! Opens connections to Redis: TCP, TLS or a unix socket.
//!
//! The library could do this too. Here the bytes pass [`Frames`] on their way to it, a connection knows when it has
//! ended, and the trusted certificates are read once rather than for every subscription.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use redis::aio::{MultiplexedConnection, PubSub};
use redis::{
    AsyncConnectionConfig, ConnectionAddr, ErrorKind, IntoConnectionInfo as _, Pipeline,
    ProtocolVersion, RedisConnectionInfo, RedisError, RedisResult, Value,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::bulk;
use crate::frames::{Awaited, Frames};
use crate::insist::Insist;
use crate::reply;
use crate::reused::Reusable;

/// How many requests may be about to be sent: more than ever are, so that none waits for that, and all are sent in the order in
/// which they were asked for.
const UNSENT: usize = 64 * 1024;

/// How much of requests that are not answered is held of one connection, in bytes, when there may be no more.
const UNANSWERED: usize = 32 * 1024 * 1024;

/// Where Redis is, and what to tell it first.
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

/// A connection that many share, each through its own clone. It closes when the last one is dropped.
#[derive(Clone)]
pub(crate) struct Connection {
    commands: MultiplexedConnection,
    driver: Arc<Driver>,
    awaited: Awaited,
}

/// Why there is no connection.
pub(crate) enum NoConnection {
    /// Redis wants a password, and was given none.
    NoPassword,
    /// Redis does not accept the password, or the user, that it was given.
    WrongPassword,
    Other(String),
}

struct Driver(JoinHandle<()>);

trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Wire for S {}

impl Server {
    /// The errors name no part of the URL, which may hold a password.
    pub(crate) fn at(url: &str, authority: Option<&Path>) -> Result<Self, String> {
        let info = with_scheme(url).into_connection_info().map_err(|error| {
            format!(
                "--redis is not a usable URL: {error}; write redis://HOST:PORT, \
                     redis://USER:PASSWORD@HOST:PORT/DB, rediss://HOST:PORT or unix:///PATH"
            )
        })?;
        let address = match info.addr().clone() {
            ConnectionAddr::Tcp(host, port) => Address::Tcp(host, port),
            ConnectionAddr::Unix(path) => Address::Unix(path),
            ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                ..
            } => Address::Tls(host, port, tls(authority)?),
            _ => {
                return Err(
                    "--redis: TLS without a check of the certificate is not offered".into(),
                );
            }
        };
        let settings = info.redis_settings().clone();
        Ok(Self {
            address,
            settings: plain(settings),
            largest_reply: usize::MAX,
        })
    }

    pub(crate) fn with_largest_reply(mut self, bytes: usize) -> Self {
        self.largest_reply = bytes;
        self
    }

    /// Another server, to be spoken to in the same way.
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

    /// Host and port, unless it is on this machine's file system.
    pub(crate) fn place(&self) -> Option<(&str, u16)> {
        match &self.address {
            Address::Tcp(host, port) | Address::Tls(host, port, _) => Some((host, *port)),
            Address::Unix(_) => None,
        }
    }

    /// As `user`, with a password, or as whoever is let in without.
    pub(crate) fn on_socket(path: PathBuf, user: Option<(&str, &str)>) -> Self {
        let settings = RedisConnectionInfo::default();
        let settings = match user {
            Some((name, password)) => settings.set_username(name).set_password(password),
            None => settings,
        };
        Self {
            address: Address::Unix(path),
            settings: plain(settings),
            largest_reply: usize::MAX,
        }
    }

    pub(crate) async fn connection(&self, timeout: Duration) -> Result<Connection, NoConnection> {
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(Some(timeout))
            .set_pipeline_buffer_size(UNSENT);
        let awaited = Awaited::default();
        let wire = Frames::new(self.open().await?, self.largest_reply, awaited.clone());
        let (commands, driver) =
            MultiplexedConnection::new_with_config(&self.settings, wire, config).await?;
        let connection = Connection {
            commands,
            driver: Arc::new(Driver(tokio::spawn(driver))),
            awaited,
        };
        // A server that hangs still accepts: only an answer, whatever it says, shows that there is somebody.
        let answer = connection.ask(of_one("PING")).await?;
        match &answer[..] {
            [Value::ServerError(refused)] if refused.code() == "NOAUTH" => {
                Err(NoConnection::NoPassword)
            }
            // It says so, and closes.
            [Value::ServerError(refused)] if reply::is_full(refused) => {
                Err(NoConnection::Other(reply::raw(refused)))
            }
            _ => Ok(connection),
        }
    }

    /// A connection for messages.
    pub(crate) async fn messages(&self) -> Result<PubSub, NoConnection> {
        let wire = Frames::of_messages(self.open().await?, self.largest_reply);
        Ok(PubSub::new(&self.settings, wire).await?)
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

impl From<RedisError> for NoConnection {
    fn from(error: RedisError) -> Self {
        match (error.kind(), error.code()) {
            (ErrorKind::AuthenticationFailed, _) => Self::WrongPassword,
            (_, Some("NOAUTH")) => Self::NoPassword,
            _ => Self::Other(error.to_string()),
        }
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
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

impl Connection {
    /// Whether as much of requests is unanswered as may be held, also of clients that are gone.
    pub(crate) fn is_full(&self) -> bool {
        self.awaited.bytes() > UNANSWERED
    }

    /// Sends the commands in one piece, and returns a reply for each.
    ///
    /// They are sent also if nobody waits for them any more: the library would leave them away, but their replies are counted on.
    pub(crate) async fn ask(&self, commands: Arc<Pipeline>) -> RedisResult<Vec<Value>> {
        self.go_on(commands, 0).await
    }

    /// The same for a piece of a request: the replies to those before it cost `spent`.
    pub(crate) async fn go_on(
        &self,
        commands: Arc<Pipeline>,
        spent: usize,
    ) -> RedisResult<Vec<Value>> {
        self.awaited
            .expect(commands.len(), bulk::size(&commands), spent);
        let mut connection = self.clone();
        Insist::on(async move {
            let count = commands.len();
            let asked = connection
                .commands
                .send_packed_commands(&commands, 0, count);
            asked.await
        })
        .await
    }
}

/// A command without arguments.
pub(crate) fn of_one(name: &str) -> Arc<Pipeline> {
    let mut commands = Pipeline::new();
    commands.cmd(name);
    Arc::new(commands)
}

impl Reusable for Connection {
    fn is_open(&self) -> bool {
        !self.driver.0.is_finished()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
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

/// The replies that this dialect shows are those of RESP2.
fn plain(settings: RedisConnectionInfo) -> RedisConnectionInfo {
    settings
        .set_protocol(ProtocolVersion::RESP2)
        .set_skip_set_lib_name()
}

async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn tls(authority: Option<&Path>) -> Result<TlsConnector, String> {
    let mut trusted = RootCertStore::empty();
    match authority {
        Some(path) => {
            let unusable =
                |error: &dyn std::fmt::Display| format!("--redis-ca {}: {error}", path.display());
            for certificate in
                CertificateDer::pem_file_iter(path).map_err(|error| unusable(&error))?
            {
                let certificate = certificate.map_err(|error| unusable(&error))?;
                trusted.add(certificate).map_err(|error| unusable(&error))?;
            }
        }
        None => {
            trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if trusted.is_empty() {
        return Err(
            "no certificate to trust Redis by: give --redis-ca, or install ca-certificates".into(),
        );
    }
    let config = ClientConfig::builder()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
