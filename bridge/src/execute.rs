//! Executes commands: which ones pass, and what each gets as an answer.

use std::sync::Arc;

use hyper::StatusCode;
use redis::{Pipeline, ServerError, Value};

use crate::answer::Failure;
use crate::auth::Access;
use crate::command::Command;
use crate::refuse;
use crate::reply::{Encoding, Json};
use crate::server::{Bridge, within};
use crate::server_error;

/// Why a command is refused; or of one that goes to Redis the result to answer with, if Redis' own
/// would mean nothing to the client.
type Verdict = Result<Option<String>, String>;

impl Bridge {
    pub(crate) async fn single(
        &self,
        access: Access,
        command: Command<'_>,
        encoding: Encoding,
    ) -> Result<(StatusCode, Vec<u8>), Failure> {
        let mut batch = Pipeline::new();
        let runs_script = refuse::runs_script(command.name());
        let verdict = self.admit(access, command, &mut batch).await?;
        let verdict = verdict.map_err(Failure::bad_request)?;
        let replies = self.upstream.run(&Arc::new(batch)).await?;
        let refused = replies.first().and_then(server_error::of);
        if let Some(refused) =
            refused.filter(|refused| server_error::is_passing(refused, runs_script))
        {
            return Err(Failure::refused_for_now(&server_error::raw(refused)));
        }
        let is_refused = refused.is_some();
        let mut out = self.json();
        let fits = slots(&mut out, [Ok(verdict)], replies, encoding);
        let status = match is_refused || !fits {
            true => StatusCode::BAD_REQUEST,
            false => StatusCode::OK,
        };
        Ok((status, out.bytes))
    }

    /// Each command for itself: a refused one has its error in its place, and the others run.
    pub(crate) async fn pipeline(
        &self,
        access: Access,
        commands: Vec<Command<'_>>,
        encoding: Encoding,
    ) -> Result<(StatusCode, Vec<u8>), Failure> {
        let (verdicts, batch) = self.admit_all(access, commands).await?;
        let replies = match batch.is_empty() {
            true => Vec::new(),
            false => self.upstream.run(&Arc::new(batch)).await?,
        };
        Ok((StatusCode::OK, self.list(verdicts, replies, encoding)))
    }

    /// All or none. If one command is refused, here or by Redis when it is queued, all are.
    pub(crate) async fn transaction(
        &self,
        access: Access,
        commands: Vec<Command<'_>>,
        encoding: Encoding,
    ) -> Result<(StatusCode, Vec<u8>), Failure> {
        let (verdicts, batch) = self.admit_all(access, commands).await?;
        let verdicts: Result<Vec<_>, _> = verdicts.into_iter().collect();
        let verdicts = verdicts.map_err(Failure::bad_request)?;
        if verdicts.is_empty() {
            return Ok((StatusCode::OK, b"[]".to_vec()));
        }
        let mut replies = self.upstream.transact(batch).await?;
        match replies.pop() {
            Some(Value::Array(results)) => {
                let verdicts = verdicts.into_iter().map(Ok);
                Ok((StatusCode::OK, self.list(verdicts, results, encoding)))
            }
            Some(Value::ServerError(aborted)) => Err(discarded(&replies, &aborted)),
            _ => {
                let text = "ERR Redis gave no answer that the bridge understands";
                Err(Failure::new(StatusCode::BAD_GATEWAY, text))
            }
        }
    }

    fn list(
        &self,
        verdicts: impl IntoIterator<Item = Verdict>,
        replies: Vec<Value>,
        encoding: Encoding,
    ) -> Vec<u8> {
        let mut out = self.json();
        out.bytes.push(b'[');
        slots(&mut out, verdicts, replies, encoding);
        out.bytes.push(b']');
        out.bytes
    }

    fn json(&self) -> Json {
        let (bytes, largest) = (Vec::new(), self.settings.limits.max_reply);
        Json { bytes, largest }
    }

    async fn admit_all(
        &self,
        access: Access,
        commands: Vec<Command<'_>>,
    ) -> Result<(Vec<Verdict>, Pipeline), Failure> {
        let admitted = async {
            let (mut verdicts, mut batch) = (Vec::with_capacity(commands.len()), Pipeline::new());
            for command in commands {
                verdicts.push(self.admit(access, command, &mut batch).await?);
            }
            Ok((verdicts, batch))
        };
        // Redis may be asked about each command whether it only reads.
        let admitted = within(self.settings.limits.timeout, admitted).await;
        admitted.unwrap_or_else(|_| {
            let text =
                "ERR Redis did not say in time which commands only read; nothing was executed";
            Err(Failure::refused_for_now(text))
        })
    }

    async fn admit(
        &self,
        access: Access,
        mut command: Command<'_>,
        batch: &mut Pipeline,
    ) -> Result<Verdict, Failure> {
        let mut allowed = refuse::check(&command, self.settings.limits.timeout);
        if self.upstream.is_cluster() {
            let is_first = batch.is_empty();
            allowed = allowed.and_then(|()| refuse::check_in_cluster(&command, is_first));
        }
        if allowed.is_ok() && access == Access::ReadOnly && !self.readable(&command).await? {
            let name = String::from_utf8_lossy(command.name()).to_lowercase();
            allowed = Err(refuse::no_permission(&name));
        }
        if !self.settings.dangerous_commands {
            allowed = allowed.and_then(|()| refuse::check_dangerous(&command));
        }
        Ok(allowed.map(|()| {
            let answer = self.scripts.adapt(&mut command);
            command.append_to(batch);
            answer
        }))
    }

    /// As at Upstash, a credential that may only read must not make Redis walk through all keys
    /// either. Nor may it run scripts: Redis does nothing else while one runs.
    async fn readable(&self, command: &Command<'_>) -> Result<bool, Failure> {
        let name = command.name();
        Ok(!matches!(name, b"KEYS" | b"SCAN")
            && !refuse::runs_script(name)
            && self.upstream.reads_only(command).await?)
    }
}

/// Redis says only that there was an error. Its answer when the command was queued says which one.
/// Nothing ran, so this error is not a script's.
fn discarded(queued: &[Value], aborted: &ServerError) -> Failure {
    let cause = queued.iter().find_map(server_error::of);
    let said = server_error::raw(cause.unwrap_or(aborted));
    if server_error::is_passing(cause.unwrap_or(aborted), false) {
        return Failure::refused_for_now(&said);
    }
    Failure::bad_request(match cause {
        Some(_) => format!("EXECABORT Transaction discarded because of: {said}"),
        None => said,
    })
}

/// The answers in the order of the commands. `replies` are those to the commands that were sent.
/// Returns whether all of them fit.
fn slots(
    out: &mut Json,
    verdicts: impl IntoIterator<Item = Verdict>,
    replies: Vec<Value>,
    encoding: Encoding,
) -> bool {
    let (mut replies, mut fit) = (replies.into_iter(), true);
    for (index, verdict) in verdicts.into_iter().enumerate() {
        if index > 0 {
            out.bytes.push(b',');
        }
        match verdict {
            Err(reason) => out.error(&reason),
            Ok(answer) => match (replies.next(), answer) {
                (Some(Value::BulkString(_)), Some(answer)) => {
                    fit &= out.outcome(&Value::BulkString(answer.into_bytes()), encoding);
                }
                (Some(reply), _) => fit &= out.outcome(&reply, encoding),
                (None, _) => out.error("ERR Redis gave no answer to this command"),
            },
        }
    }
    fit
}
