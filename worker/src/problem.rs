//! Why a request was not done, in the shape of RFC 9457.

use std::borrow::Cow;
use std::time::Duration;

use edgelock::Error;
use serde::Serialize;

use crate::http::Response;
use crate::input::Id;

/// How long a caller whose turn did not come is asked to stay away: long enough not to join the
/// same queue again, and shorter than a holder that never ends would say.
const SHORTEST_STAY: Duration = Duration::from_secs(1);
const LONGEST_STAY: Duration = Duration::from_secs(30);

const SOLD_OUT: &str = "sold_out";

/// A refusal. Its `code` is for programs and does not change. Its `detail` is for people.
#[derive(Debug)]
pub struct Problem(Box<Parts>);

#[derive(Debug, Serialize)]
struct Parts {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    code: &'static str,
    detail: Cow<'static, str>,
    /// The field of the request that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// Which item of a cart is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    sku: Option<Id>,
    /// How many are left to sell.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<u64>,
    /// How many this buyer has bought.
    #[serde(skip_serializing_if = "Option::is_none")]
    bought: Option<u64>,
    /// How long the lock's holder has left, unless it renews.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining_ms: Option<u64>,
    /// How many waited for the lock ahead of this caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead: Option<u64>,
    /// How long to stay away. `Retry-After` says it in whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(skip)]
    header: Option<(&'static str, String)>,
    /// For the log. Callers are not told what our bridge says, nor how this Worker is set up.
    #[serde(skip)]
    cause: Option<String>,
}

impl Problem {
    pub(crate) fn new(
        status: u16,
        code: &'static str,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self(Box::new(Parts {
            // There are no pages about each kind. The title is then that of the status (RFC 9457
            // §4.2.1).
            r#type: "about:blank",
            title: title(status),
            status,
            code,
            detail: detail.into(),
            field: None,
            sku: None,
            remaining: None,
            bought: None,
            remaining_ms: None,
            ahead: None,
            retry_after_ms: None,
            header: None,
            cause: None,
        }))
    }

    /// The value in `field` is not allowed.
    pub(crate) fn invalid(field: impl Into<String>, detail: impl Into<Cow<'static, str>>) -> Self {
        let mut problem = Self::new(422, "invalid_input", detail);
        problem.0.field = Some(field.into());
        problem
    }

    pub(crate) fn no_such_sale() -> Self {
        Self::new(
            404,
            "no_such_sale",
            "there is no sale of this sku; PUT /sales/{sku} opens one",
        )
    }

    pub(crate) fn sold_out() -> Self {
        Self::new(409, SOLD_OUT, "nothing is left").remaining(0)
    }

    pub(crate) fn order_conflict() -> Self {
        Self::new(
            409,
            "order_conflict",
            "another order has this order_id; draw a new one at random",
        )
    }

    /// The lock was not looked at, to spare the bridge.
    pub(crate) fn look_later() -> Self {
        let told = "this lock is looked at once a second; come back";
        Self::new(429, "look_later", told).retry_after(Duration::from_secs(1))
    }

    pub(crate) fn is_sold_out(&self) -> bool {
        self.0.code == SOLD_OUT
    }

    /// Which item of a cart is sold out.
    pub(crate) fn sold_out_sku(&self) -> Option<&Id> {
        self.0.sku.as_ref().filter(|_| self.is_sold_out())
    }

    /// Nobody reads this answer.
    #[cfg(target_family = "wasm")]
    pub(crate) fn hung_up() -> Self {
        Self::new(499, "hung_up", "the caller has hung up")
    }

    /// This Worker's configuration is wrong. `cause` says why, for the log only.
    pub(crate) fn not_configured(cause: String) -> Self {
        let told = "this Worker is not set up; its log says why";
        let mut problem = Self::new(500, "not_configured", told);
        problem.0.cause = Some(cause);
        problem
    }

    /// Redis holds something that this Worker did not write.
    pub(crate) fn corrupt() -> Self {
        Self::new(
            500,
            "corrupt_record",
            "the records are not what this Worker writes; nothing was changed",
        )
    }

    /// Why there is no lock, or nothing could be read.
    pub(crate) fn of(error: Error) -> Self {
        let mut problem = match &error {
            Error::Held {
                ahead, retry_after, ..
            } => Self::new(
                503,
                "lock_held",
                "others were served for as long as this request could wait; send it again",
            )
            .ahead(*ahead)
            .stay_away((*retry_after).clamp(SHORTEST_STAY, LONGEST_STAY)),
            Error::Lost { .. } | Error::Expired { .. } => Self::new(
                503,
                "lock_lost",
                "the lock was lost before anything was changed; send the request again",
            )
            .retry_after(Duration::from_secs(1)),
            Error::NotReplicated { .. } => Self::new(
                503,
                "not_replicated",
                "whether it was done might be forgotten; send the same request again, it is not done twice",
            )
            .retry_after(Duration::from_secs(1)),
            Error::InvalidArgument { message, .. } => Self::invalid("name", message.clone()),
            Error::WrongType { .. } => Self::new(
                500,
                "wrong_type",
                "the lock's key holds something else; nothing was changed",
            ),
            Error::CommandFailed { .. } => Self::new(
                500,
                "command_failed",
                "Redis refused a command; the records' keys may hold something else",
            ),
            Error::Unavailable { .. } | Error::Quarantined { .. } => {
                Self::bridge_unavailable(come_back(&error))
            }
            error if error.is_outcome_unknown() => Self::bridge_unavailable(come_back(error)),
            _ => Self::new(
                502,
                "bridge_refused",
                "the bridge does not let this Worker work; nothing was changed",
            ),
        };
        problem.0.cause = Some(error.to_string());
        problem
    }

    /// As [`Problem::of`], for a request that would have changed something.
    pub(crate) fn of_write(error: Error) -> Self {
        if !error.is_outcome_unknown() {
            return Self::of(error);
        }
        let mut problem = Self::new(
            503,
            "outcome_unknown",
            "whether it was done could not be learned; send the same request again, it is not done twice",
        )
        .retry_after(come_back(&error));
        problem.0.cause = Some(error.to_string());
        problem
    }

    fn bridge_unavailable(retry_after: Duration) -> Self {
        Self::new(
            503,
            "bridge_unavailable",
            "the locks cannot be reached; nothing was changed",
        )
        .retry_after(retry_after)
    }

    pub(crate) fn sku(mut self, sku: &Id) -> Self {
        self.0.sku = Some(sku.clone());
        self
    }

    pub(crate) fn remaining(mut self, remaining: u64) -> Self {
        self.0.remaining = Some(remaining);
        self
    }

    pub(crate) fn bought(mut self, bought: u64) -> Self {
        self.0.bought = Some(bought);
        self
    }

    pub(crate) fn held_for(mut self, remaining: Option<Duration>) -> Self {
        self.0.remaining_ms = remaining.map(millis);
        self.retry_after(remaining.unwrap_or_default())
    }

    fn ahead(mut self, ahead: u64) -> Self {
        self.0.ahead = Some(ahead);
        self
    }

    fn stay_away(mut self, stay: Duration) -> Self {
        self.0.retry_after_ms = Some(millis(stay));
        self.retry_after(stay)
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.header = Some((name, value.into()));
        self
    }

    /// In whole seconds, as HTTP has them, and at least one.
    fn retry_after(self, after: Duration) -> Self {
        let seconds = millis(after).div_ceil(1000).max(1);
        self.header("retry-after", seconds.to_string())
    }

    /// The log line of a failure that is ours, in JSON. `None` if the caller is told all there is.
    pub fn log(&self) -> Option<String> {
        let parts = &self.0;
        let cause = parts.cause.clone();
        let failure = Failure {
            event: "failed",
            status: parts.status,
            code: parts.code,
            cause: cause.unwrap_or_else(|| parts.detail.to_string()),
        };
        (parts.status >= 500).then(|| serde_json::to_string(&failure).unwrap_or_default())
    }
}

#[derive(Serialize)]
struct Failure {
    event: &'static str,
    status: u16,
    code: &'static str,
    cause: String,
}

impl From<Problem> for Response {
    fn from(problem: Problem) -> Self {
        let parts = *problem.0;
        let mut response = Self::new(parts.status, "application/problem+json", &parts);
        response.headers.extend(parts.header);
        response
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
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
        499 => "Client Closed Request",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

/// When the caller may come back, if the bridge did not say: soon.
fn come_back(error: &Error) -> Duration {
    error.retry_after().unwrap_or(Duration::from_secs(1))
}

#[cfg(test)]
mod tests;
