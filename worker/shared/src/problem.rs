//! Why a request was not done, in the shape of RFC 9457.

use std::borrow::Cow;
use std::time::Duration;

use edgelock::Error;
use serde_json::{Map, Value, json};

/// How long a caller whose turn did not come is asked to stay away: long enough not to join the
/// same queue again, and shorter than a holder that never ends would say.
const STAYS_AWAY: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];
const SOON: Duration = Duration::from_secs(1);

/// A refusal. Its `code` is for programs and does not change. Its `detail` is for people.
#[derive(Debug)]
pub struct Problem {
    pub status: u16,
    pub code: &'static str,
    detail: Cow<'static, str>,
    /// What else a program may want to know.
    more: Map<String, Value>,
    pub header: Option<(&'static str, Box<str>)>,
    /// For the log. Callers are not told what our bridge says, nor how this Worker is set up.
    cause: Option<Box<str>>,
}

impl Problem {
    pub fn new(status: u16, code: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        let (detail, more) = (detail.into(), Map::new());
        Self { status, code, detail, more, header: None, cause: None }
    }

    /// The value in `field` is not allowed.
    pub fn invalid(field: impl Into<String>, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(422, "invalid_input", detail).with("field", field.into())
    }

    /// As many are served as may be at the same time.
    pub fn crowded() -> Self {
        let told = "too many ask for this at the same time; send it again";
        Self::new(503, "crowded", told).retry_after(SOON)
    }

    /// Redis holds something that this Worker did not write.
    pub fn corrupt() -> Self {
        let told = "the records are not what this Worker writes; nothing was changed";
        Self::new(500, "corrupt_record", told)
    }

    /// This Worker's configuration is wrong. `cause` says why, for the log only.
    pub fn not_configured(cause: impl Into<Box<str>>) -> Self {
        let told = "this Worker is not set up; its log says why";
        Self::new(500, "not_configured", told).because(cause)
    }

    /// The host failed. `cause` says how, for the log only.
    pub fn failed(cause: impl Into<Box<str>>) -> Self {
        Self::new(500, "failed", "this Worker failed; its log says why").because(cause)
    }

    /// Why there is no lock, or nothing could be read.
    pub fn of(error: Error) -> Self {
        let soon = error.retry_after().unwrap_or(SOON);
        let problem = match &error {
            Error::Held { ahead, retry_after, .. } => {
                let stay = (*retry_after).clamp(STAYS_AWAY[0], STAYS_AWAY[1]);
                let told =
                    "others were served for as long as this request could wait; send it again";
                let held = Self::new(503, "lock_held", told).with("ahead", *ahead);
                held.with("retry_after_ms", millis(stay)).retry_after(stay)
            }
            Error::Lost { .. } | Error::Expired { .. } => {
                let told = "the lock was lost before anything was changed; send the request again";
                Self::new(503, "lock_lost", told).retry_after(SOON)
            }
            Error::NotReplicated { .. } => {
                let told = "whether it was done might be forgotten; send the same request again, it is not done twice";
                Self::new(503, "not_replicated", told).retry_after(SOON)
            }
            Error::InvalidArgument { message, .. } => Self::invalid("name", message.clone()),
            Error::WrongType { .. } => {
                let told = "the lock's key holds something else; nothing was changed";
                Self::new(500, "wrong_type", told)
            }
            Error::CommandFailed { .. } => {
                let told = "Redis refused a command; the records' keys may hold something else";
                Self::new(500, "command_failed", told)
            }
            error if is_away(error) => {
                let told = "the locks cannot be reached; nothing was changed";
                Self::new(503, "bridge_unavailable", told).retry_after(soon)
            }
            _ => {
                let told = "the bridge does not let this Worker work; nothing was changed";
                Self::new(502, "bridge_refused", told)
            }
        };
        problem.because(error.to_string())
    }

    /// As [`Problem::of`], for a request that would have changed something.
    pub fn of_write(error: Error) -> Self {
        if !error.is_outcome_unknown() {
            return Self::of(error);
        }
        let told = "whether it was done could not be learned; send the same request again, it is not done twice";
        let unknown = Self::new(503, "outcome_unknown", told);
        unknown.retry_after(error.retry_after().unwrap_or(SOON)).because(error.to_string())
    }

    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// What [`Problem::with`] added.
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.more.get(name)
    }

    pub fn header(mut self, name: &'static str, value: impl Into<Box<str>>) -> Self {
        self.header = Some((name, value.into()));
        self
    }

    /// In whole seconds, as HTTP has them, and at least one.
    pub fn retry_after(self, after: Duration) -> Self {
        self.header("retry-after", millis(after).div_ceil(1000).max(1).to_string())
    }

    fn because(mut self, cause: impl Into<Box<str>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    pub fn body(&self) -> Value {
        // There are no pages about each kind. The title is then that of the status (RFC 9457
        // §4.2.1).
        let mut body = json!({
            "type": "about:blank", "title": title(self.status), "status": self.status,
            "code": self.code, "detail": self.detail,
        });
        if let Some(body) = body.as_object_mut() {
            body.extend(self.more.clone());
        }
        body
    }

    /// The log line of a failure that is ours, in JSON. `None` if the caller is told all there is.
    pub fn log(&self) -> Option<String> {
        let cause = self.cause.as_deref().unwrap_or(&self.detail);
        let line = json!({
            "event": "failed", "status": self.status, "code": self.code, "cause": cause,
        });
        (self.status >= 500).then(|| line.to_string())
    }
}

fn is_away(error: &Error) -> bool {
    matches!(error, Error::Unavailable { .. } | Error::Quarantined { .. })
        || error.is_outcome_unknown()
}

pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn title(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        410 => "Gone",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
