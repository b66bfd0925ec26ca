//! The Redis behind the bridge: one server, or a cluster of them.

use std::sync::Arc;

use redis::{Pipeline, Value};

use crate::cluster::Cluster;
use crate::command::{self, Command};
use crate::hub::{Listener, NotListening};
use crate::no_reply::NoReply;
use crate::node::Node;
use crate::topic::Topic;

pub(crate) enum Upstream {
    One(Box<Node>),
    Cluster(Box<Cluster>),
}

/// What either of the two answers to the same question.
macro_rules! ask {
    ($upstream:expr, $question:ident($($about:expr)?)) => {
        match $upstream {
            Upstream::One(node) => node.$question($($about)?).await,
            Upstream::Cluster(cluster) => cluster.$question($($about)?).await,
        }
    };
}

impl Upstream {
    /// Sends the commands and returns a reply for each.
    pub(crate) async fn run(&self, commands: &Arc<Pipeline>) -> Result<Vec<Value>, NoReply> {
        ask!(self, run(commands))
    }

    /// Runs the commands between MULTI and EXEC. The replies are those of the commands when they
    /// were queued, then EXEC's.
    pub(crate) async fn transact(&self, commands: Pipeline) -> Result<Vec<Value>, NoReply> {
        ask!(self, transact(commands))
    }

    pub(crate) async fn listen(&self, topic: Topic) -> Result<Listener, NotListening> {
        ask!(self, listen(topic))
    }

    pub(crate) async fn reads_only(&self, command: &Command<'_>) -> Result<bool, NoReply> {
        ask!(self, reads_only(command))
    }

    pub(crate) const fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// Why Redis does not answer now, if it does not.
    pub(crate) async fn trouble(&self) -> Option<String> {
        ask!(self, trouble())
    }

    /// Ends scripts of the bridge that keep Redis busy.
    pub(crate) async fn end_overdue_scripts(&self) {
        ask!(self, end_overdue_scripts())
    }

    /// Notices the loss and the return of Redis.
    pub(crate) async fn keep_watch(&self) {
        match self {
            Self::One(node) => drop(node.run(&command::one(&["PING"])).await),
            Self::Cluster(cluster) => cluster.keep_watch().await,
        }
    }
}
