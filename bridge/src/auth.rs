//! Who may ask: bearer credentials, compared in constant time.

use hyper::{HeaderMap, header};
use percent_encoding::percent_decode_str;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// 16 hexadecimal digits are 64 random bits, too many to guess over a network.
const SHORTEST: usize = 16;
const MAKE_ONE: &str =
    "16 ASCII characters or more, without blanks; make one with: openssl rand -hex 32";

/// All that the bridge was given.
pub(crate) struct Given {
    pub(crate) clients: Credentials,
    /// For those who read the metrics, and nothing else.
    pub(crate) metrics: Option<Credentials>,
}

impl Given {
    /// The clients' credential, the read-only one, and that for the metrics, each behind its
    /// option.
    ///
    /// White space around a secret comes from files and consoles, never from the person who chose
    /// it.
    pub(crate) fn of(options: [(&str, Option<&str>); 3]) -> Result<Self, String> {
        let given = options.map(|(option, secret)| (option, secret.map(str::trim)));
        for (at, (option, secret)) in given.iter().enumerate() {
            let Some(secret) = secret else { continue };
            let is_token = secret.bytes().all(|byte| byte.is_ascii_graphic());
            if !is_token || secret.len() < SHORTEST {
                let variable = option.trim_start_matches('-').replace('-', "_");
                let variable = variable.to_uppercase();
                return Err(format!("{option} (EDGELOCK_BRIDGE_{variable}) must be {MAKE_ONE}"));
            }
            if let Some((other, _)) = given[..at].iter().find(|(_, other)| *other == Some(secret)) {
                return Err(format!("{other} and {option} must differ"));
            }
        }
        let [(_, Some(standard)), (_, read_only), (_, metrics)] = given else {
            return Err(format!(
                "which credential do clients send? Set EDGELOCK_BRIDGE_CREDENTIAL to {MAKE_ONE}"
            ));
        };
        Ok(Self {
            clients: Credentials::new(standard, read_only),
            metrics: metrics.map(|secret| Credentials::new(secret, None)),
        })
    }
}

/// What the holder of a credential may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Standard,
    ReadOnly,
}

// Both begin with `WRONGPASS`, as Upstash's do: clients look for that.
const MISSING: &str = "WRONGPASS missing auth token: send it as `Authorization: Bearer <token>`";
const WRONG: &str = "WRONGPASS invalid auth token";

/// Digests have one length. So a comparison tells nothing about the length of the secret either.
pub(crate) struct Credentials {
    standard: [u8; 32],
    read_only: Option<[u8; 32]>,
}

impl Credentials {
    pub(crate) fn new(standard: &str, read_only: Option<&str>) -> Self {
        Self {
            standard: digest(standard.as_bytes()),
            read_only: read_only.map(|secret| digest(secret.as_bytes())),
        }
    }

    /// Looks at `Authorization: Bearer …`, or, if that header is absent, at `_token=…` in the
    /// query. The error says why a request is not let in.
    pub(crate) fn check(&self, headers: &HeaderMap, query: &str) -> Result<Access, &'static str> {
        let given = match headers.get(header::AUTHORIZATION) {
            Some(value) => bearer(value.as_bytes()).map(digest),
            None => query
                .split('&')
                .find_map(|pair| pair.strip_prefix("_token="))
                .map(|token| digest(&percent_decode_str(token).collect::<Vec<u8>>())),
        };
        let given = given.ok_or(MISSING)?;
        let is = |expected: &[u8; 32]| bool::from(given.ct_eq(expected));
        match (is(&self.standard), self.read_only.as_ref().is_some_and(is)) {
            (true, _) => Ok(Access::Standard),
            (_, true) => Ok(Access::ReadOnly),
            _ => Err(WRONG),
        }
    }
}

/// The scheme's name has no case (RFC 9110 §11.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, credential) = value.split_at_checked("Bearer ".len())?;
    let credential = credential.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"Bearer ") && !credential.is_empty()).then_some(credential)
}

fn digest(secret: &[u8]) -> [u8; 32] {
    Sha256::digest(secret).into()
}
