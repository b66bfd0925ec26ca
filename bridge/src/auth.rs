//! Who may ask: bearer credentials, compared in constant time.

use axum::http::{HeaderMap, header};
use percent_encoding::percent_decode_str;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

/// What a credential allows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Standard,
    ReadOnly,
}

/// Digests, because two digests have one length: a comparison tells nothing about the length of the secret either.
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

    /// Looks at `Authorization: Bearer …`, or, where that header is absent, at `_token=…` in the query.
    pub(crate) fn check(&self, headers: &HeaderMap, query: &str) -> Option<Access> {
        let given = match headers.get(header::AUTHORIZATION) {
            Some(value) => digest(bearer(value.as_bytes())?),
            None => {
                let token = query
                    .split('&')
                    .find_map(|pair| pair.strip_prefix("_token="))?;
                digest(&percent_decode_str(token).collect::<Vec<u8>>())
            }
        };
        let standard = given.ct_eq(&self.standard);
        let read_only = self
            .read_only
            .map_or_else(|| Choice::from(0), |expected| given.ct_eq(&expected));
        match (bool::from(standard), bool::from(read_only)) {
            (true, _) => Some(Access::Standard),
            (_, true) => Some(Access::ReadOnly),
            _ => None,
        }
    }
}

/// The scheme's name has no case (RFC 9110 §11.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, credential) = value.split_at_checked("Bearer ".len())?;
    scheme
        .eq_ignore_ascii_case(b"Bearer ")
        .then(|| credential.trim_ascii())
}

fn digest(secret: &[u8]) -> [u8; 32] {
    Sha256::digest(secret).into()
}
