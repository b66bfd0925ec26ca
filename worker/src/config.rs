//! The Worker's variables and secrets.

use edgelock::Bridge;
use subtle::ConstantTimeEq;

use crate::problem::Problem;

/// Where the bridge is, and which credential allows what.
#[derive(Clone)]
pub struct Config {
    pub(crate) bridge: Bridge,
    pub(crate) admin: Credential,
    pub(crate) locks: Credential,
    pub(crate) replicas: Option<u32>,
}

/// The names of the bridge's address and credential: this Worker's own, edgelock's, Upstash's and
/// Vercel's. The first address that is set counts, with its own credential and no other.
const BRIDGES: [(&str, &str); 4] = [
    ("BRIDGE_URL", "BRIDGE_CREDENTIAL"),
    ("EDGELOCK_BRIDGE_URL", "EDGELOCK_BRIDGE_CREDENTIAL"),
    ("UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"),
    ("KV_REST_API_URL", "KV_REST_API_TOKEN"),
];

impl Config {
    /// Reads the configuration from `variable`.
    ///
    /// # Errors
    /// 500 `not_configured` if there is no bridge, if its address or credential cannot be one, or
    /// if `WAIT_FOR_REPLICAS` is no number.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Problem> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let Some((url, credential)) = BRIDGES.into_iter().find(|(url, _)| set(url).is_some())
        else {
            return Err(Problem::not_configured(
                "this Worker has no bridge: set the variable EDGELOCK_BRIDGE_URL and the secret EDGELOCK_BRIDGE_CREDENTIAL (in .dev.vars, or by `npx wrangler secret put`)"
                    .to_owned(),
            ));
        };
        let Some(secret) = set(credential) else {
            let cause = format!("{url} is set, and {credential} is not: set both, of one bridge");
            return Err(Problem::not_configured(cause));
        };
        let bridge = Bridge::upstash(&set(url).unwrap_or_default(), &secret)
            .map_err(|error| Problem::not_configured(format!("{url}, {credential}: {error}")))?;
        Ok(Self {
            bridge,
            admin: Credential(set("ADMIN_CREDENTIAL")),
            locks: Credential(set("LOCKS_CREDENTIAL")),
            replicas: set(REPLICAS).map(|count| replicas(&count)).transpose()?,
        })
    }
}

/// How many replicas of Redis must have what was written, before callers are told of it.
const REPLICAS: &str = "WAIT_FOR_REPLICAS";

fn replicas(count: &str) -> Result<u32, Problem> {
    let is_number = count.trim().parse().ok().filter(|count| *count > 0);
    let told = || format!("{REPLICAS} is a number from 1 on, and not {count:?}");
    is_number.ok_or_else(|| Problem::not_configured(told()))
}

/// A secret that a caller must send. If it is not set, nobody is let in. Callers are not told the
/// name of its variable.
#[derive(Clone)]
pub(crate) struct Credential(Option<String>);

impl Credential {
    /// Lets in a caller that sent it as a bearer token. The time that this takes does not tell how
    /// much of a guess was right.
    ///
    /// # Errors
    /// 403 `closed` if none is set, 401 `unauthorized` if none or another was sent.
    pub(crate) fn admit(&self, authorization: Option<&str>) -> Result<(), Problem> {
        let Some(credential) = &self.0 else {
            let told = "this route is closed until its secret is set; the Worker's README says which one that is";
            return Err(Problem::new(403, "closed", told));
        };
        let sent = authorization.and_then(bearer).unwrap_or_default();
        if credential.trim().as_bytes().ct_eq(sent.as_bytes()).into() {
            return Ok(());
        }
        let told = match sent {
            "" => "this route needs the header `Authorization: Bearer <credential>`",
            _ => "the credential in `Authorization` is not the one for this route",
        };
        Err(Problem::new(401, "unauthorized", told).header("www-authenticate", "Bearer"))
    }
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, credential) = authorization.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(credential.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variables: &[(&str, &str)]) -> Result<Config, Problem> {
        Config::from_variables(|wanted| {
            let found = variables.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_bridge_is_known_by_the_workers_names_edgelocks_upstashs_or_vercels_in_this_order() {
        let all = [
            ("KV_REST_API_URL", "https://vercel.example"),
            ("KV_REST_API_TOKEN", "v"),
            ("UPSTASH_REDIS_REST_URL", "https://upstash.example"),
            ("UPSTASH_REDIS_REST_TOKEN", "u"),
            ("EDGELOCK_BRIDGE_URL", "https://ours.example"),
            ("EDGELOCK_BRIDGE_CREDENTIAL", "o"),
            ("BRIDGE_URL", "https://own.example"),
            ("BRIDGE_CREDENTIAL", "w"),
        ];
        for (count, host) in [(2, "vercel"), (4, "upstash"), (6, "ours"), (8, "own")] {
            let config = config(&all[..count]).ok().unwrap();
            let bridge = format!("{:?}", config.bridge);
            assert!(
                bridge.contains(&format!("https://{host}.example")),
                "{bridge}"
            );
        }
    }

    #[test]
    fn a_bridge_without_its_own_credential_is_an_error_that_shows_none() {
        let error = config(&[
            ("EDGELOCK_BRIDGE_URL", "https://ours.example"),
            ("UPSTASH_REDIS_REST_URL", "https://upstash.example"),
            ("UPSTASH_REDIS_REST_TOKEN", "another's"),
        ])
        .err()
        .unwrap();
        let log = error.log().unwrap();
        let missing = "EDGELOCK_BRIDGE_URL is set, and EDGELOCK_BRIDGE_CREDENTIAL is not";
        assert!(log.contains(missing), "{log}");
        assert!(!log.contains("another's"), "{log}");
        let response = crate::http::Response::from(error);
        assert_eq!(response.status, 500);
        assert!(!response.body.contains("BRIDGE"), "{}", response.body);
        assert!(config(&[]).is_err());
        assert!(
            config(&[
                ("EDGELOCK_BRIDGE_URL", " "),
                ("EDGELOCK_BRIDGE_CREDENTIAL", "t")
            ])
            .is_err()
        );
    }

    #[test]
    fn replicas_are_a_number_or_nobody_waits_for_them() {
        let with = |count| {
            config(&[
                ("BRIDGE_URL", "https://own.example"),
                ("BRIDGE_CREDENTIAL", "w"),
                ("WAIT_FOR_REPLICAS", count),
            ])
        };
        for (count, replicas) in [("", None), ("1", Some(1)), (" 2 ", Some(2))] {
            assert_eq!(with(count).ok().unwrap().replicas, replicas);
        }
        for count in ["0", "-1", "all"] {
            let log = with(count).err().unwrap().log().unwrap();
            assert!(log.contains("WAIT_FOR_REPLICAS"), "{log}");
        }
    }

    #[test]
    fn only_the_right_bearer_token_is_let_in() {
        let credential = Credential(Some("secret".to_owned()));
        assert!(credential.admit(Some("Bearer secret")).is_ok());
        assert!(credential.admit(Some("bearer  secret ")).is_ok());
        let (missing, wrong) = (
            "needs the header `Authorization: Bearer",
            "is not the one for this route",
        );
        for (sent, told) in [
            (None, missing),
            (Some(""), missing),
            (Some("secret"), missing),
            (Some("Bearer "), missing),
            (Some("Basic secret"), missing),
            (Some("Bearer secre"), wrong),
            (Some("Bearer secret2"), wrong),
        ] {
            let refused = crate::http::Response::from(credential.admit(sent).unwrap_err());
            assert_eq!(refused.status, 401);
            assert!(refused.body.contains(told), "{sent:?}: {}", refused.body);
        }
    }

    #[test]
    fn nobody_is_let_in_where_no_credential_is_set() {
        for sent in [None, Some("Bearer "), Some("Bearer x"), Some("")] {
            let closed = Credential(None);
            let response = crate::http::Response::from(closed.admit(sent).unwrap_err());
            assert_eq!(response.status, 403);
            assert!(response.body.contains("until its secret is set"));
        }
    }
}
