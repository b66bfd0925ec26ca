//! What each step does.

use std::rc::Rc;

use edgelock::TransportError;

use super::{Delay, Message, Stage, Step, What};
use crate::bridge::Dialect;
use crate::explore::server;
use crate::explore::step::Fault;
use crate::host::Heard;
use crate::script::Script;
use crate::world::MS;

impl Stage {
    /// Lets `step` happen, and all that follows at once.
    pub(in crate::explore) fn take(&self, step: Step) {
        match step {
            Step::Go(client) => self.go(client.into(), false),
            Step::Rest(client) => self.go(client.into(), true),
            Step::Deliver(id) => self.deliver(self.remove(id)),
            Step::Lose(id) => self.lose(self.remove(id)),
            Step::Refuse(id) => self.refuse(self.remove(id)),
            Step::Repeat(id) => self.repeat(id),
            Step::Delay(id) => self.delay(id),
            Step::Restart(server) => self.restart(server.into()),
            Step::Empty(server) => self.come_back_empty(server.into()),
            Step::Pass => self.pass(),
        }
        self.world.poll_ready();
        self.messages.borrow_mut().retain(|message| !message.is_moot());
        self.check.step(self.world.now());
        if self.servers.len() == 1 {
            for name in self.plan.names() {
                self.check.have(name, &self.db(0), self.world.now());
            }
        }
    }

    fn go(&self, client: usize, rests: bool) {
        let seat = &self.seats[client];
        if rests {
            self.spend(Fault::Expiry);
            self.tell(|| format!("{} stands still until what it has is over", seat.name));
        }
        seat.note((self.world.now(), rests));
        seat.go.put(rests);
    }

    fn remove(&self, id: u8) -> Message {
        let mut messages = self.messages.borrow_mut();
        let at = messages.iter().position(|message| message.id == id);
        messages.remove(at.expect("a message"))
    }

    fn deliver(&self, message: Message) {
        let Message { client, server, what, .. } = message;
        match what {
            What::Request { words, digest, answer, .. } => {
                let ran = self.execute(client, server, &words);
                if answer.strong_count() > 0 {
                    let response = Dialect::Upstash.response(&words[0], &ran.reply, None);
                    let digest = ran.digest ^ digest.rotate_left(1);
                    let place = ran.place();
                    self.put(client, server, What::Reply { response, digest, answer, place });
                }
            }
            What::Reply { response, digest, answer, place } => {
                let seat = &self.seats[client];
                seat.place.set(place);
                self.tell(|| format!("{} gets its reply", seat.name));
                match self.servers.len() {
                    1 => seat.note((self.world.now(), digest)),
                    _ => seat.count((self.world.now(), server, digest)),
                }
                if let Some(answer) = answer.upgrade() {
                    answer.put(Ok(response));
                }
            }
            What::Subscribe { stream } => self.listen(client, server, stream),
            What::Push { stream, piece } => {
                let seat = &self.seats[client];
                self.tell(|| {
                    format!("{} hears {:?}", seat.name, String::from_utf8_lossy(&piece).trim())
                });
                seat.note((self.world.now(), &piece));
                self.hear(stream, Heard::Piece(piece));
            }
            What::HangUp { stream } => self.change(server, |db| db.table.hang_up(stream)),
        }
    }

    fn execute(&self, client: usize, server: usize, words: &[String]) -> Rc<server::Ran> {
        let db = self.db(server);
        let ran = self.servers[server].execute(&db, words);
        *self.held[server].borrow_mut() = ran.after.clone();
        let run = server::run(ran.script, words);
        self.tell(|| {
            let run = run.map_or_else(|| words[0].clone(), |run| run.to_string());
            let at =
                if self.servers.len() > 1 { format!(" at server {server}") } else { String::new() };
            format!("{}'s request arrives{at}: {run} -> {}", self.seats[client].name, ran.reply)
        });
        if let Some(run) = run {
            self.judge(server, &run, &db, &ran);
        }
        for (stream, text) in &ran.told {
            let streams = self.streams.borrow();
            let Some(open) = streams.get(stream) else {
                continue;
            };
            let piece = Dialect::Upstash.message(&open.channel, text);
            let client = (*stream / 100) as usize;
            drop(streams);
            self.put(client, server, What::Push { stream: *stream, piece });
        }
        ran
    }

    fn listen(&self, client: usize, server: usize, stream: u64) {
        let streams = self.streams.borrow();
        let Some(open) = streams.get(&stream) else {
            return;
        };
        let channel = open.channel.clone();
        drop(streams);
        self.tell(|| format!("{} listens", self.seats[client].name));
        let piece = Dialect::Upstash.begun(&channel);
        self.change(server, |db| db.table.listen_as(stream, &channel));
        self.put(client, server, What::Push { stream, piece });
    }

    fn hear(&self, stream: u64, heard: Heard) {
        let inbox = self.streams.borrow().get(&stream).and_then(|open| open.inbox.upgrade());
        if let Some(inbox) = inbox {
            inbox.put(heard);
        }
    }

    fn lose(&self, message: Message) {
        let seat = &self.seats[message.client];
        self.note_lost(&message);
        match message.what {
            What::Reply { answer, .. } => {
                self.spend(Fault::LostReply);
                self.tell(|| format!("{}'s reply is lost, and the connection is reset", seat.name));
                seat.note((self.world.now(), "reset"));
                if let Some(answer) = answer.upgrade() {
                    answer.put(Err(TransportError::Interrupted("connection reset".into())));
                }
            }
            What::Push { .. } => {
                self.spend(Fault::LostMessage);
                self.tell(|| format!("what {} was to hear is lost", seat.name));
            }
            What::Request { .. } | What::Subscribe { .. } | What::HangUp { .. } => {
                self.spend(Fault::LostRequest);
                self.tell(|| format!("{}'s request is lost", seat.name));
            }
        }
    }

    fn refuse(&self, message: Message) {
        let seat = &self.seats[message.client];
        self.spend(Fault::Refused);
        self.note_lost(&message);
        self.tell(|| format!("{}'s request finds no connection", seat.name));
        seat.note((self.world.now(), "refused"));
        if let What::Request { answer, .. } = message.what
            && let Some(answer) = answer.upgrade()
        {
            answer.put(Err(TransportError::NotSent("connection refused".into())));
        }
    }

    fn note_lost(&self, message: &Message) {
        if let What::Request { words, .. } = &message.what
            && self.servers[message.server].script(words) == Some(Script::Abandon)
        {
            self.lost_abandons.set(self.lost_abandons.get() + 1);
        }
    }

    fn repeat(&self, id: u8) {
        self.spend(Fault::Twice);
        let messages = self.messages.borrow();
        let one = messages.iter().find(|message| message.id == id).expect("a message");
        let (client, server, mut what) = (one.client, one.server, one.what.clone());
        drop(messages);
        self.tell(|| format!("{}'s request will arrive twice", self.seats[client].name));
        if let What::Request { is_copy, .. } = &mut what {
            *is_copy = true;
        }
        self.put(client, server, what);
    }

    fn delay(&self, id: u8) {
        self.spend(Fault::Late);
        let mut messages = self.messages.borrow_mut();
        let at = messages.iter().position(|message| message.id == id);
        let at = at.expect("a message");
        for other in at + 1..messages.len() {
            if messages[other].is_behind(&messages[at]) {
                messages[other].delay = Delay::Stays;
            }
        }
        let late = &mut messages[at];
        late.delay = Delay::Stays;
        let what = if late.is_request() { "from" } else { "to" };
        let name = self.seats[late.client].name;
        self.tell(|| format!("a message {what} {name} stays on its way"));
    }

    /// Messages that are late are not lost with it, since they have not arrived yet.
    fn restart(&self, server: usize) {
        self.spend(Fault::Restart);
        self.tell(|| "the bridge restarts: what is under way there is lost".to_owned());
        let is_there =
            |message: &mut Message| message.server == server && message.delay == Delay::InTime;
        let lost: Vec<Message> = (self.messages.borrow_mut()).extract_if(.., is_there).collect();
        for message in lost {
            self.note_lost(&message);
            let (What::Request { answer, .. } | What::Reply { answer, .. }) = message.what else {
                continue;
            };
            self.seats[message.client].note((self.world.now(), "restart"));
            if let Some(answer) = answer.upgrade() {
                answer.put(Err(TransportError::NoResponse("connection reset".into())));
            }
        }
        let open: Vec<u64> = self.streams.borrow().keys().copied().collect();
        for stream in open {
            self.seats[(stream / 100) as usize].note((self.world.now(), "ended"));
            let error = TransportError::Interrupted("the bridge stopped".into());
            self.hear(stream, Heard::End(Err(error)));
        }
        self.change(server, |db| db.keep_listeners(|_| false));
    }

    /// The server has lost all its data, and knows when it was started.
    fn come_back_empty(&self, server: usize) {
        self.spend(Fault::Empty);
        self.tell(|| format!("server {server} comes back empty"));
        if self.servers.len() == 1 {
            // A start takes time. So its clock never shows the same time twice.
            self.world.go_on_to(self.world.now() + MS);
        }
        let (now_us, mut empty) = (self.now_us(), self.servers[server].fresh(self.now_us()));
        empty.table.start(now_us);
        *self.held[server].borrow_mut() = Rc::new(empty);
        if self.servers.len() == 1 {
            let db = self.db(server);
            self.check.lose_data(&db, self.world.now(), true);
        }
        self.votes.borrow_mut().forget(server);
    }

    fn pass(&self) {
        let then = self.world.next_timer().expect("a timer");
        for message in self.messages.borrow_mut().iter_mut() {
            if message.delay == Delay::Stays {
                message.delay = Delay::Late;
            }
        }
        self.world.go_on_to(then);
    }
}
