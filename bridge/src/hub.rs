//! One connection to Redis for all subscriptions.
//!
//! The hub subscribes when a channel's first listener comes, and unsubscribes as soon as the last
//! one goes. So Redis knows whether anybody listens, but not how many do. A listener that reads too
//! slowly is dropped: messages are not stored for it.

mod listener;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use hyper::body::Bytes;
use redis::{ServerError, Value};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::time::{Instant, interval_at, sleep};

pub(crate) use self::listener::Listener;
use self::listener::{Request, Subscriber};
use crate::budget::Limits;
use crate::command;
use crate::link::Link;
use crate::no_reply::NoReply;
use crate::rarely::Rarely;
use crate::reused::Reusable;
use crate::topic::{Message, Topic};

/// How often Redis is asked whether it is there. It is less than proxies between the bridge and its
/// clients wait.
pub(crate) const PING_EVERY: Duration = Duration::from_secs(10);

pub(crate) struct Hub {
    requests: UnboundedSender<Request>,
}

/// Why there is no listener.
pub(crate) enum NotListening {
    Refused(ServerError),
    NoReply(NoReply),
}

impl From<NoReply> for NotListening {
    fn from(lost: NoReply) -> Self {
        Self::NoReply(lost)
    }
}

/// What the hub knows of a topic.
#[derive(Default)]
struct Subscribed {
    subscribers: Vec<Subscriber>,
    /// What Redis said last.
    is_confirmed: bool,
    /// Redis was asked for a change, and has not answered yet.
    is_changing: bool,
}

/// If Redis refuses to forget a subscription, as when it is busy, it is asked again after this.
const FORGOTTEN_LATER: Duration = Duration::from_millis(100);

/// What Redis answered, or that it is time to ask it again.
enum Done {
    Changed(Topic, Result<Vec<Value>, io::ErrorKind>),
    Due(Topic),
    Pinged(Result<Vec<Value>, io::ErrorKind>),
}

struct Switchboard {
    link: Link,
    topics: HashMap<Topic, Subscribed>,
    under_way: FuturesUnordered<BoxFuture<'static, Done>>,
    limits: Limits,
}

impl Hub {
    pub(crate) fn on(link: Link, messages: UnboundedReceiver<Message>, limits: Limits) -> Self {
        let (requests, asked) = mpsc::unbounded_channel();
        let board = Switchboard {
            link,
            topics: HashMap::new(),
            under_way: FuturesUnordered::new(),
            limits,
        };
        tokio::spawn(board.run(messages, asked));
        Self { requests }
    }

    /// Returns once Redis has confirmed the subscription.
    pub(crate) async fn listen(&self, topic: Topic) -> Result<Listener, NotListening> {
        let (messages, heard) = mpsc::unbounded_channel();
        let (waits, joined) = oneshot::channel();
        let listener = Listener {
            topic,
            messages: heard,
            backlog: Arc::default(),
            requests: self.requests.clone(),
        };
        let subscriber =
            Subscriber { messages, backlog: Arc::clone(&listener.backlog), waits: Some(waits) };
        let _ = (self.requests).send(Request::Join(listener.topic.clone(), subscriber));
        match joined.await {
            Ok(Ok(())) => Ok(listener),
            Ok(Err(refused)) => Err(NotListening::Refused(refused)),
            Err(_) => Err(NoReply::Unreachable.into()),
        }
    }
}

impl Reusable for Hub {
    fn is_open(&self) -> bool {
        !self.requests.is_closed()
    }
}

impl Switchboard {
    /// Runs until the connection is lost, or nobody needs it. Then all streams end.
    async fn run(
        mut self,
        messages: UnboundedReceiver<Message>,
        requests: UnboundedReceiver<Request>,
    ) {
        self.serve(messages, requests).await;
        let streams = self.subscribers().count();
        if streams > 0 {
            tracing::warn!(streams, "the connection for messages was lost, and all streams ended");
            let comment = Bytes::from_static(b": the connection to redis was lost\n\n");
            for subscriber in self.subscribers() {
                subscriber.hear(&comment);
            }
        }
    }

    async fn serve(
        &mut self,
        mut messages: UnboundedReceiver<Message>,
        mut requests: UnboundedReceiver<Request>,
    ) {
        let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        loop {
            tokio::select! {
                message = messages.recv() => match message {
                    Some(message) => self.pass_on(message),
                    None => return,
                },
                request = requests.recv() => match request {
                    Some(request) => self.asked(request),
                    None => return,
                },
                Some(done) = self.under_way.next() => if !self.goes_on(done) {
                    return;
                },
                _ = pings.tick() => {
                    let link = self.link.clone();
                    let ping = async move { link.ask(command::one(&["PING"])).await };
                    self.under_way.push(ping.map(Done::Pinged).boxed());
                }
            }
        }
    }

    fn asked(&mut self, request: Request) {
        let (Request::Join(topic, _) | Request::Leave(topic, _)) = &request;
        let topic = topic.clone();
        let subscribers = &mut self.topics.entry(topic.clone()).or_default().subscribers;
        match request {
            Request::Join(_, subscriber) => subscribers.push(subscriber),
            Request::Leave(_, gone) => {
                subscribers.retain(|subscriber| !Arc::ptr_eq(&subscriber.backlog, &gone));
            }
        }
        self.settle(topic);
    }

    /// Subscribes to a topic or unsubscribes, as its listeners need, one request at a time.
    fn settle(&mut self, topic: Topic) {
        let Some(subscribed) = self.topics.get_mut(&topic) else {
            return;
        };
        let is_wanted = !subscribed.subscribers.is_empty();
        if subscribed.is_changing {
            return;
        }
        if subscribed.is_confirmed && is_wanted {
            for subscriber in &mut subscribed.subscribers {
                subscriber.told(Ok(()));
            }
        } else if subscribed.is_confirmed || is_wanted {
            subscribed.is_changing = true;
            let change = match (&topic, is_wanted) {
                (Topic::Channel(_), true) => "SUBSCRIBE",
                (Topic::Channel(_), false) => "UNSUBSCRIBE",
                (Topic::Pattern(_), true) => "PSUBSCRIBE",
                (Topic::Pattern(_), false) => "PUNSUBSCRIBE",
            };
            let change = command::one(&[change.as_bytes(), topic.name()]);
            let link = self.link.clone();
            let changed = async move { Done::Changed(topic, link.ask(change).await) };
            self.under_way.push(changed.boxed());
        } else {
            self.topics.remove(&topic);
        }
    }

    fn subscribers(&self) -> impl Iterator<Item = &Subscriber> {
        self.topics.values().flat_map(|subscribed| &subscribed.subscribers)
    }

    /// Returns whether the connection goes on.
    fn goes_on(&mut self, done: Done) -> bool {
        match done {
            Done::Changed(topic, Ok(replies)) => {
                if let [Value::ServerError(refused)] = &replies[..] {
                    self.refused(topic, refused);
                    return true;
                }
                if let Some(subscribed) = self.topics.get_mut(&topic) {
                    subscribed.is_changing = false;
                    subscribed.is_confirmed = !subscribed.is_confirmed;
                }
                self.settle(topic);
            }
            Done::Due(topic) => self.settle(topic),
            // The comment tells a client that the whole way to Redis is open, not only the way to
            // the bridge.
            Done::Pinged(Ok(_)) => {
                let comment = Bytes::from_static(b": ping\n\n");
                for subscriber in self.subscribers() {
                    if subscriber.backlog.load(Ordering::Relaxed) == 0 {
                        subscriber.hear(&comment);
                    }
                }
            }
            Done::Changed(_, Err(_)) | Done::Pinged(Err(_)) => return false,
        }
        true
    }

    /// An acl may forbid the bridge's user a channel, and a busy Redis refuses any change. It must
    /// not go on counting a listener that is gone: a release would hand that one its lock.
    fn refused(&mut self, topic: Topic, refused: &ServerError) {
        let known = self.topics.get_mut(&topic);
        if let Some(subscribed) = known.filter(|subscribed| subscribed.is_confirmed) {
            subscribed.is_changing = false;
            let due = async {
                sleep(FORGOTTEN_LATER).await;
                Done::Due(topic)
            };
            self.under_way.push(due.boxed());
        } else if let Some(subscribed) = self.topics.remove(&topic) {
            for mut subscriber in subscribed.subscribers {
                subscriber.told(Err(refused.clone()));
            }
        }
    }

    fn pass_on(&mut self, message: Message) {
        let Some(subscribed) = self.topics.get_mut(&message.topic) else {
            return;
        };
        let subscribers = &mut subscribed.subscribers;
        let before = subscribers.len();
        if before == 0 {
            return;
        }
        // A message that was too large to be read has no payload.
        let event = message.event();
        // Each line of a message becomes a line of its own, with a word before it.
        let event = event.filter(|event| event.len() <= self.limits.max_reply);
        match event.map(|event| self.limits.budget.carry(event)) {
            Some(Ok(event)) => subscribers.retain(|subscriber| subscriber.hear(&event)),
            _ => subscribers.clear(),
        }
        let let_go = before - subscribers.len();
        if let_go > 0 {
            static SAID: Rarely = Rarely::new();
            if let Some(left_out) = SAID.due() {
                tracing::warn!(
                    let_go,
                    left_out,
                    "streams ended that were read too slowly, or whose message was too large"
                );
            }
            self.settle(message.topic);
        }
    }
}
