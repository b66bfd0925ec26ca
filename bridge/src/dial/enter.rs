//! What the bridge sends first on a connection, and how Redis may refuse it.

use std::sync::Arc;

use redis::{Pipeline, ServerError, Value};

use super::{NoConnection, Server};
use crate::link::{Link, Unanswered};
use crate::server_error;

impl Server {
    /// Sends user and database. A server that hangs still accepts connections. Only an answer to
    /// `PING`, whatever it says, shows that the server works.
    pub(super) async fn enter(&self, link: &Link) -> Result<(), NoConnection> {
        if let Some(password) = self.settings.password() {
            self.authenticate(link, password).await?;
        }
        if self.settings.db() != 0 {
            let mut select = Pipeline::new();
            select.cmd("SELECT").arg(self.settings.db());
            if let Some(refused) = refused(link, select).await? {
                return Err(NoConnection::said(&refused));
            }
        }
        let mut ping = Pipeline::new();
        ping.cmd("PING");
        match refused(link, ping).await? {
            // If it is full, Redis says so and closes.
            Some(refused) if refused.code() == "NOAUTH" || server_error::is_full(&refused) => {
                Err(NoConnection::said(&refused))
            }
            _ => Ok(()),
        }
    }

    async fn authenticate(&self, link: &Link, password: &str) -> Result<(), NoConnection> {
        let asked = |name: Option<&str>| {
            let mut asked = Pipeline::new();
            asked.cmd("AUTH").arg(name).arg(password);
            refused(link, asked)
        };
        let mut said = asked(self.settings.username()).await?;
        // Redis 5 has passwords, but no user names.
        if said.as_ref().is_some_and(knows_no_names) {
            said = asked(None).await?;
        }
        match said {
            None => Ok(()),
            Some(refused) if server_error::is_full(&refused) => Err(NoConnection::said(&refused)),
            Some(_) => Err(NoConnection::WrongPassword),
        }
    }
}

impl NoConnection {
    fn said(refused: &ServerError) -> Self {
        match refused.code() {
            "NOAUTH" => Self::NoPassword,
            _ if server_error::is_passing(refused, false) => {
                Self::NotNow(server_error::raw(refused))
            }
            _ => Self::Other(server_error::raw(refused)),
        }
    }
}

/// The error with which Redis refuses a command, if it does.
async fn refused(link: &Link, command: Pipeline) -> Result<Option<ServerError>, Unanswered> {
    let mut replies = link.ask(Arc::new(command)).await?;
    Ok(match replies.pop() {
        Some(Value::ServerError(refused)) => Some(refused),
        _ => None,
    })
}

fn knows_no_names(refused: &ServerError) -> bool {
    let said = refused.details().unwrap_or_default();
    said.starts_with("wrong number of arguments for 'auth' command")
}
