//! Random identifiers: the token that proves an acquisition, and the session that tells its
//! requests from all others.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::error::{Error, Fault};
use crate::runtime::Runtime;

const TOKEN_BYTES: usize = 16;
const TOKEN_CHARS: usize = 22;
const SESSION_BYTES: usize = 6;
const SESSION_CHARS: usize = 8;

/// Proof of one acquisition: 128 random bits, as 22 characters of base64url.
///
/// Anyone who has the token of a held lock can release it. So `Debug` does not show it, and no
/// error contains it.
///
/// A seat is held by one request, and booked by the next:
///
/// ```no_run
/// use std::time::Duration;
///
/// use edgelock::native::Client;
/// use edgelock::{Command, Error, Reply, Token};
///
/// async fn reserve(client: &Client, seat: &str) -> Result<Option<Token>, Error> {
///     let buyer = Command::new("GET").key(format!("{{seat:{seat}}}:buyer"));
///     let lock = client.lock(&format!("seat:{seat}")).ttl(Duration::from_secs(120));
///     let (lease, replies) = lock.wait_timeout(Duration::ZERO).acquire_and_read(&[buyer]).await?;
///     // Whoever has the token has the seat: it is a secret of this buyer.
///     if replies[0] == Reply::Nil {
///         return Ok(Some(lease.into_token()));
///     }
///     lease.release().await?;
///     Ok(None)
/// }
///
/// async fn book(client: &Client, seat: &str, token: Token, buyer: &str) -> Result<u64, Error> {
///     let lease = client.lock(&format!("seat:{seat}")).resume(token)?;
///     // Says whether the seat is still held. Until then `fence()` and `remaining()` are 0.
///     lease.renew().await?;
///     let key = format!("{{seat:{seat}}}:buyer");
///     lease.commit(&[Command::new("SET").key(&key).arg(buyer)]).await?;
///     Ok(lease.fence())
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Arc<str>);

impl Token {
    /// The token with the given `text`, which came from [`Token::expose`] in the handler that
    /// handed the lease over.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it is not 22 characters of base64url.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() == TOKEN_CHARS && text.bytes().all(|byte| ALPHABET.contains(&byte)) {
            Ok(Self(text.into()))
        } else {
            Err(Fault::invalid(format!(
                "a token is {TOKEN_CHARS} characters of base64url, and this one has {} bytes; pass on the token of a lease as it is",
                text.len()
            ))
            .into())
        }
    }

    /// Whatever a lock's key holds, even if another program stored it.
    pub(crate) fn foreign(text: &str) -> Self {
        Self(text.into())
    }

    /// The secret itself, for handing the lease to another handler: see [`crate::Lock::resume`].
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

/// Marks the requests of one acquisition or one lease: 48 random bits. One in 10^14 replies that
/// went astray passes for its own.
#[derive(Clone, Copy)]
pub(crate) struct Session([u8; SESSION_CHARS]);

impl Session {
    pub(crate) fn random(host: &dyn Runtime) -> Result<Self, Fault> {
        random_bytes::<SESSION_BYTES>(host).map(|bytes| Self::of(&bytes))
    }

    /// A session and its token, in one draw: a call to the host's random source is the most
    /// expensive step of a request.
    pub(crate) fn with_token(host: &dyn Runtime) -> Result<(Self, Token), Fault> {
        let bytes = random_bytes::<{ TOKEN_BYTES + SESSION_BYTES }>(host)?;
        let (token, session) = bytes.split_at(TOKEN_BYTES);
        let mut chars = [0; TOKEN_CHARS];
        encode(token, &mut chars);
        Ok((Self::of(session), Token(text(&chars).into())))
    }

    fn of(bytes: &[u8]) -> Self {
        let mut chars = [0; SESSION_CHARS];
        encode(bytes, &mut chars);
        Self(chars)
    }

    pub(crate) fn as_str(&self) -> &str {
        text(&self.0)
    }

    /// Text that only the reply to the request with this `number` contains.
    pub(crate) fn nonce(&self, number: u64) -> String {
        let mut nonce = String::with_capacity(24);
        // Writing to a text cannot fail.
        let _ = write!(nonce, "{}.{number}", self.as_str());
        nonce
    }
}

fn random_bytes<const BYTES: usize>(host: &dyn Runtime) -> Result<[u8; BYTES], Fault> {
    let mut bytes = [0; BYTES];
    host.random(&mut bytes).map_err(|_| Error::EntropyUnavailable)?;
    Ok(bytes)
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// RFC 4648 §5, without padding.
pub(crate) fn base64url(bytes: &[u8]) -> Vec<u8> {
    let mut chars = vec![0; (bytes.len() * 8).div_ceil(6)];
    encode(bytes, &mut chars);
    chars
}

/// As many characters as there is room for.
fn encode(bytes: &[u8], chars: &mut [u8]) {
    for (at, char) in chars.iter_mut().enumerate() {
        let (byte, bit) = (at * 6 / 8, at * 6 % 8);
        let [high, low] = [byte, byte + 1].map(|at| bytes.get(at).copied().unwrap_or_default());
        let bits = u16::from_be_bytes([high, low]) >> (10 - bit) & 0x3f;
        *char = ALPHABET[usize::from(bits)];
    }
}

/// The alphabet is ASCII.
fn text(chars: &[u8]) -> &str {
    str::from_utf8(chars).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64url_is_that_of_rfc_4648() {
        for (plain, coded) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg")]
        {
            assert_eq!(base64url(plain.as_bytes()), coded.as_bytes());
        }
        assert_eq!(base64url(&[0xfb, 0xff]), b"-_8");
    }

    #[test]
    fn a_token_is_hidden_from_debug() {
        let token = Token::parse("AAAAAAAAAAAAAAAAAAAAAA").unwrap();
        assert!(!format!("{token:?}").contains('A'));
    }

    #[test]
    fn a_token_of_another_shape_is_refused() {
        for text in ["", "short", "AAAAAAAAAAAAAAAAAAAAA!", "AAAAAAAAAAAAAAAAAAAAAAA"] {
            assert!(Token::parse(text).is_err(), "{text}");
        }
    }
}
