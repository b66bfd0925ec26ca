//! Reads without a lock.

use std::sync::Arc;

use crate::command::{Command, Reply};
use crate::drive::{Host, drive};
use crate::error::Fault;
use crate::operation::{Ask, Completed, TimeLimit};
use crate::runtime::Runtime;
use crate::script::{self, Call};
use crate::token::Session;
use crate::topology::{Layout, Topology};
use crate::transport::Transport;

/// Runs commands that only read, together. With `tells_each` the reply to one that failed is its
/// error.
///
/// # Errors
/// As [`reading`]; those of the bridge.
pub(crate) async fn read<T: Transport, R: Runtime>(
    host: &Arc<Host<T, R>>,
    topology: &Arc<Topology>,
    reads: &[Command],
    tells_each: bool,
) -> Result<Vec<Reply>, Fault> {
    let reading = reading(&host.runtime, topology, reads, tells_each)?;
    replies(drive(host, reading).await)
}

/// What [`reading`] comes to.
pub(crate) fn replies(completed: Completed) -> Result<Vec<Reply>, Fault> {
    let replies = completed.outcome?.replies()?;
    replies.ok_or_else(script::shape)
}

/// The call for [`read`].
///
/// # Errors
/// [`Error::InvalidArgument`] if one may write, or there are several bridges to read from.
pub(crate) fn reading<R: Runtime>(
    runtime: &R,
    topology: &Arc<Topology>,
    reads: &[Command],
    tells_each: bool,
) -> Result<Ask, Fault> {
    script::check_reads(reads)?;
    let Layout::Single(_) = topology.layout else {
        return Err(Fault::invalid(if cfg!(all(target_family = "wasm", feature = "host-json")) {
            "there are several bridges to read from; name one by a lock behind it, with `shardOf`"
        } else {
            "there are several bridges to read from; name one by a lock behind it, with `shard_of`"
        }));
    };
    let session = Session::random(runtime)?;
    let call = Call::read(reads).telling_each(tells_each).into();
    Ok(Ask::new(topology, call, &session, TimeLimit::TIMEOUT))
}
