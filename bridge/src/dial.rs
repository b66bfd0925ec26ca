//! Opens connections to Redis: TCP, TLS or a unix socket.
//!
//! The library could do this too. Here a connection knows when it has ended, and the trusted
//! certificates are read once, not for each connection.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use redis::{ConnectionAddr, IntoConnectionInfo as _, RedisConnectionInfo, ServerError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc::UnboundedSender;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use crate::budget::Limits;
use crate::command;
use crate::link::Link;
use crate::no_reply::NoReply;
use crate::server_error;
use crate::topic::Message;

/// Where Redis is, and what a connection sends first.
pub(crate) struct Server {
    address: Address,
    settings: RedisConnectionInfo,
}

enum Address {
    Unix(PathBuf),
    Tcp(NodeAddr, Option<TlsConnector>),
}

/// Where a node is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeAddr {
    /// Empty: the host of the node that said so.
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Why there is no connection.
pub(crate) struct NoConnection {
    /// What clients are told.
    pub(crate) told: NoReply,
    /// For the log.
    pub(crate) reason: String,
    /// What to look at first.
    pub(crate) advice: &'static str,
}

const NO_PASSWORD: &str = "it wants a password: give one in EDGELOCK_BRIDGE_REDIS, as \
     redis://:PASSWORD@HOST:PORT or unix:///PATH?pass=PASSWORD";
const WRONG_PASSWORD: &str = "it does not accept the user and password in EDGELOCK_BRIDGE_REDIS";

const CERTIFICATE: &str = "see that its certificate is for the host in --redis, has not expired, \
     and is of an authority that SSL_CERT_FILE names or the system trusts";

trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Wire for S {}

impl Server {
    /// The errors name no part of the URL, since it may hold a password.
    pub(crate) fn at(url: &str) -> Result<Self, String> {
        if url.split_once('#').is_some_and(|(_, rest)| rest != "insecure") {
            return Err("--redis: write a # in a password as %23".into());
        }
        let info = with_scheme(url).into_connection_info().map_err(|_| {
            "--redis is not a usable URL; write redis://HOST:PORT, \
             redis://USER:PASSWORD@HOST:PORT/DB, rediss://HOST:PORT or unix:///PATH"
        })?;
        if has_strange_query(url) {
            return Err("--redis: only unix:///PATH has a query, of db, user and pass; \
                        write redis://USER:PASSWORD@HOST:PORT/DB"
                .into());
        }
        let address = match info.addr().clone() {
            ConnectionAddr::Tcp(host, port) => Address::Tcp(NodeAddr { host, port }, None),
            ConnectionAddr::Unix(path) => Address::Unix(path),
            ConnectionAddr::TcpTls { host, port, insecure: false, .. } => {
                Address::Tcp(NodeAddr { host, port }, Some(tls()?))
            }
            _ => {
                return Err("--redis: TLS without a check of the certificate is not offered".into());
            }
        };
        let settings = info.redis_settings().clone();
        Ok(Self { address, settings })
    }

    /// Another server, with the same settings.
    pub(crate) fn elsewhere(&self, place: NodeAddr) -> Self {
        let tls = match &self.address {
            Address::Tcp(_, tls) => tls.clone(),
            Address::Unix(_) => None,
        };
        let (address, settings) = (Address::Tcp(place, tls), self.settings.clone());
        Self { address, settings }
    }

    /// `None` for a unix socket.
    pub(crate) const fn place(&self) -> Option<&NodeAddr> {
        match &self.address {
            Address::Tcp(place, _) => Some(place),
            Address::Unix(_) => None,
        }
    }

    /// For the log: where it is, without its password.
    pub(crate) fn shown(&self) -> String {
        match &self.address {
            Address::Tcp(NodeAddr { host, port }, _) => format!("{host}:{port}"),
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
        let address = Address::Unix(path);
        Self { address, settings }
    }

    /// Redis sends messages on it, besides answers, if they have a receiver.
    pub(crate) async fn connection(
        &self,
        limits: &Limits,
        messages: Option<UnboundedSender<Message>>,
    ) -> Result<Link, NoConnection> {
        let link = Link::on(self.open().await?, limits, messages);
        self.enter(&link).await?;
        Ok(link)
    }

    /// Sends user and database. A server that hangs still accepts connections. Only an answer to
    /// `PING`, whatever it says, shows that the server works.
    async fn enter(&self, link: &Link) -> Result<(), NoConnection> {
        // Without it, a user that needs no password would be the default user, who may do more.
        let user = self.settings.username().filter(|name| !name.is_empty());
        if let Some(password) = self.settings.password().or_else(|| user.map(|_| "")) {
            self.authenticate(link, password).await?;
        }
        if self.settings.db() != 0 {
            let database = self.settings.db().to_string();
            if let Some(refused) = refused(link, &["SELECT", &database]).await? {
                return Err(NoConnection::said(&refused));
            }
        }
        match refused(link, &["PING"]).await? {
            // If it is full, Redis says so and closes.
            Some(refused) if refused.code() == "NOAUTH" || server_error::is_full(&refused) => {
                Err(NoConnection::said(&refused))
            }
            _ => Ok(()),
        }
    }

    async fn authenticate(&self, link: &Link, password: &str) -> Result<(), NoConnection> {
        let mut said = match self.settings.username() {
            Some(name) => refused(link, &["AUTH", name, password]).await?,
            None => refused(link, &["AUTH", password]).await?,
        };
        // Redis 5 has passwords, but no user names.
        if said.as_ref().is_some_and(knows_no_names) {
            said = refused(link, &["AUTH", password]).await?;
        }
        match said {
            None => Ok(()),
            Some(refused) if server_error::is_full(&refused) => Err(NoConnection::said(&refused)),
            Some(_) => Err(NoConnection::wrong(WRONG_PASSWORD)),
        }
    }

    async fn open(&self) -> io::Result<Box<dyn Wire>> {
        Ok(match &self.address {
            Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
            Address::Tcp(NodeAddr { host, port }, tls) => {
                let stream = TcpStream::connect((&**host, *port)).await?;
                stream.set_nodelay(true)?;
                let Some(tls) = tls else {
                    return Ok(Box::new(stream));
                };
                let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
                Box::new(tls.connect(name, stream).await?)
            }
        })
    }
}

impl NodeAddr {
    /// `host:port`. An IPv6 host has colons too.
    pub(crate) fn parse(address: &str) -> Option<Self> {
        let (host, port) = address.rsplit_once(':')?;
        let (host, port) = (host.to_owned(), port.parse().ok()?);
        Some(Self { host, port })
    }

    /// As seen from `other`, which named it.
    pub(crate) fn beside(&mut self, other: &Self) {
        // Redis says `?` if it does not know its own host name.
        if matches!(self.host.as_str(), "" | "?") {
            self.host.clone_from(&other.host);
        }
    }
}

impl From<String> for NoConnection {
    fn from(reason: String) -> Self {
        let advice = "see that it runs, and that --redis is its address";
        Self { told: NoReply::Unreachable, reason, advice }
    }
}

impl From<io::Error> for NoConnection {
    fn from(error: io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        let lost = Self::from(error.to_string());
        match inner {
            Some(rustls::Error::InvalidCertificate(_)) => Self { advice: CERTIFICATE, ..lost },
            _ => lost,
        }
    }
}

impl NoConnection {
    fn wrong(reason: &str) -> Self {
        Self::answered(NoReply::NotLetIn, reason.to_owned())
    }

    fn answered(told: NoReply, reason: String) -> Self {
        let advice = match told {
            NoReply::NotNow => {
                "it runs; if this does not pass, see how many clients it has and allows"
            }
            _ => "it runs; see the user, the password and the database in --redis",
        };
        Self { told, reason, advice }
    }

    pub(crate) fn said(refused: &ServerError) -> Self {
        let told = match refused.code() {
            "NOAUTH" => return Self::wrong(NO_PASSWORD),
            _ if server_error::is_passing(refused, false) => NoReply::NotNow,
            _ => NoReply::Unreachable,
        };
        Self::answered(told, server_error::raw(refused))
    }
}

/// The error with which Redis refuses a command, if it does.
async fn refused(link: &Link, command: &[&str]) -> io::Result<Option<ServerError>> {
    let replies = link.ask(command::one(command)).await?;
    Ok(replies.first().and_then(server_error::of).cloned())
}

fn knows_no_names(refused: &ServerError) -> bool {
    let said = refused.details().unwrap_or_default();
    said.starts_with("wrong number of arguments for 'auth' command")
}

/// `host:port` is an address of Redis' own; a URL's parser would take the host for a scheme.
fn with_scheme(url: &str) -> Cow<'_, str> {
    match !url.contains(['/', '@']) && NodeAddr::parse(url).is_some() {
        true => Cow::Owned(format!("redis://{url}")),
        false => Cow::Borrowed(url),
    }
}

/// The library passes over what it does not know. The user, or the database, would be another one.
fn has_strange_query(url: &str) -> bool {
    let Some((_, query)) = url.split_once('?') else {
        return false;
    };
    let of_socket = ["db", "user", "pass"];
    let known = if url.contains("unix:") { &of_socket[..] } else { &[] };
    let mut names =
        query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
    names.any(|name| !name.is_empty() && name != "protocol" && !known.contains(&name))
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
    let config = ClientConfig::builder().with_root_certificates(trusted).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
