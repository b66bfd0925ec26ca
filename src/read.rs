//! Reads without a lock.

use std::sync::Arc;

use crate::command::{Command, Reply};
use crate::drive::{Host, drive};
use crate::error::Error;
use crate::operation::{Ask, TimeLimit};
use crate::runtime::Runtime;
use crate::script::{self, Call};
use crate::token::Session;
use crate::topology::{Layout, Topology};
use crate::transport::Transport;

/// Runs commands that only read, together.
///
/// # Errors
/// As [`reading`]; those of the bridge.
pub(crate) async fn read<T: Transport, R: Runtime>(
    host: &Arc<Host<T, R>>,
    topology: &Topology,
    reads: &[Command],
) -> Result<Vec<Reply>, Error> {
    let reading = reading(&host.runtime, topology, reads)?;
    drive(host, reading).await.outcome
}

/// The call that runs commands that only read.
///
/// # Errors
/// [`Error::InvalidArgument`] if one may write, or there are several bridges to read from.
pub(crate) fn reading<R: Runtime>(
    runtime: &R,
    topology: &Topology,
    reads: &[Command],
) -> Result<Ask<Vec<Reply>>, Error> {
    script::check_reads(reads)?;
    let Layout::Single(_) = topology.layout else {
        return Err(Error::invalid(
            "there are several bridges to read from; name one by a lock behind it, with `shard_of` (in JavaScript `shardOf`)",
        ));
    };
    let session = Session::random(runtime)?;
    let call = Call::read(reads).into();
    Ok(Ask::new(topology, call, &session, TimeLimit::TIMEOUT))
}
