//! Requests, and what becomes of them and of their replies.

use std::rc::Rc;

use edgelock::{Response, TransportError};

use super::{no_response, not_sent};
use crate::bridge::{self, Asked, Wait};
use crate::case::Case;
use crate::check::holders;
use crate::fate::Fate;
use crate::host::Inbox;
use crate::redis::Reply;
use crate::script::Run;
use crate::world::{MS, Machine, Time};

type Answer = Rc<Inbox<Result<Response, TransportError>>>;

/// How many replicas Redis has.
pub(crate) const REPLICAS: u32 = 2;

/// A reply of Redis, and how long it took.
struct Served {
    response: Response,
    took: Time,
}

impl From<Response> for Served {
    fn from(response: Response) -> Self {
        Self { response, took: 0 }
    }
}

impl Case {
    /// Sends a request, once or twice.
    pub(crate) fn send(self: &Rc<Self>, from: &Rc<Machine>, asked: Asked, answer: &Answer) {
        let net = self.net.get();
        let asked = Rc::new(asked);
        let copies = 1 + usize::from(self.rng.chance(net.duplicate));
        let is_refused = self.rng.chance(net.refuse);
        let fate = match self.network.fates.take() {
            Fate::Passed if self.rng.chance(net.shed) => self.shed(),
            fate => fate,
        };
        if matches!(fate, Fate::NotSent) {
            return answer.put(Err(not_sent()));
        }
        for _ in 0..copies {
            if self.rng.chance(net.lose_request) {
                self.trace.note(self.world.now(), || "a request is lost".to_owned());
                continue;
            }
            let (case, from) = (self.clone(), from.clone());
            let (asked, answer, fate) = (asked.clone(), answer.clone(), fate.clone());
            let delay = match fate {
                Fate::Late(delay) => delay,
                _ => net.delay(&self.rng),
            };
            self.carry(delay, move || {
                let serve = || match is_refused {
                    true => case.dialect.get().unauthorized().into(),
                    false => case.serve(&from, &asked),
                };
                match fate {
                    Fate::Lost => drop(serve()),
                    Fate::Executed(response) => {
                        let serve = || {
                            serve();
                            response.clone().into()
                        };
                        case.arrive(serve, copies == 1, &answer);
                    }
                    Fate::Shed(response) => {
                        case.arrive(|| response.clone().into(), true, &answer);
                    }
                    _ => case.arrive(serve, copies == 1, &answer),
                }
            });
        }
    }

    /// The bridge is too busy, and says when to come back. Status 429 says that nothing was
    /// executed, 503 leaves that open.
    fn shed(&self) -> Fate {
        let status = self.rng.pick(&[429, 503]);
        let seconds = self.rng.pick(&["0", "1", "2", "7", "31", "86400"]);
        let said = || format!("status {status}, to come back in {seconds} s");
        self.trace.note(self.world.now(), said);
        let response = bridge::overloaded(status, seconds);
        match status == 503 && self.rng.chance(500) {
            true => Fate::Executed(response),
            false => Fate::Shed(response),
        }
    }

    /// While another copy of the request is under way, nobody can say that it was not executed.
    fn arrive(self: &Rc<Self>, serve: impl Fn() -> Served, is_alone: bool, answer: &Answer) {
        let dialect = self.dialect.get();
        let net = self.net.get();
        let now = self.world.now();
        let mut took = 0;
        let response = if now < self.network.bridge_away_until.get() {
            Err(match is_alone {
                true => not_sent(),
                false => no_response(),
            })
        } else if now < self.network.redis_away_until.get() {
            Ok(match is_alone {
                true => dialect.unreachable(),
                false => dialect.unavailable(&self.rng),
            })
        } else {
            let served = serve();
            took = served.took;
            // The other copy may have come before Redis forgot the script.
            Ok(match !is_alone && bridge::knows_no_script(&served.response) {
                true => dialect.unavailable(&self.rng),
                false => served.response,
            })
        };
        let response = match response {
            Ok(_) if self.rng.chance(net.fail) => {
                Ok(self.bent.failed(dialect, dialect.unavailable(&self.rng)))
            }
            // Errors have no nonce, so the client could not tell that one is not its own.
            Ok(own) if bridge::has_nonce(&own) && self.rng.chance(net.cross) => {
                Ok(self.network.last.replace(Some(own.clone())).unwrap_or(own))
            }
            response if self.loses_grant(&response) => {
                self.trace.note(now, || "a grant is lost".to_owned());
                return;
            }
            Ok(_) if self.rng.chance(net.lose_reply) => {
                self.trace.note(now, || "the reply is lost".to_owned());
                if self.rng.chance(500) {
                    return;
                }
                Err(TransportError::Interrupted("connection reset".into()))
            }
            response => response,
        };
        let life = self.network.lives.get();
        let (case, answer) = (self.clone(), answer.clone());
        self.carry(took + net.delay(&self.rng), move || {
            let is_alive = life == case.network.lives.get();
            answer.put(if is_alive { response } else { Err(no_response()) });
        });
    }

    fn loses_grant(&self, response: &Result<Response, TransportError>) -> bool {
        let lose = &self.network.lose_next_grant;
        lose.get()
            && (response.as_ref()).is_ok_and(|response| self.dialect.get().is_yes(response))
            && lose.replace(false)
    }

    /// Has a request executed, and delivers what it published.
    fn serve(self: &Rc<Self>, from: &Rc<Machine>, asked: &Asked) -> Served {
        let words = &asked.words;
        self.redis.db_mut().table.set_time(self.now_us());
        let text = match words[0].as_str() {
            "EVALSHA" => self.redis.text(&words[1]).unwrap_or_default(),
            _ => words[1].clone(),
        };
        // A script of which only the digest is known here was never executed.
        let run = Run::of(&text, words);
        let locks = run.map_or_else(Vec::new, |run| run.locks());
        let held = |lock: &&str| holders(lock, &self.redis.db());
        let before: Vec<_> = locks.iter().map(held).collect();
        let raw: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        let written = self.redis.db().written;
        let reply = self.redis.execute(&raw);
        if let Some(run) = run {
            (self.trace).note(self.world.now(), || format!("{run} -> {reply}"));
            let db = self.redis.db();
            let now = self.world.now();
            for (lock, before) in locks.into_iter().zip(before) {
                let granted = self.check.command(&run, lock, &before, &reply, &db, now);
                self.quiet.executed(self, from, &run, granted);
            }
            self.check.has_no_part(&run, &db);
            if let Some(ran) = &*self.ran.borrow() {
                ran(&run, &reply, &db);
            }
        }
        for (listener, message) in std::mem::take(&mut self.redis.db_mut().outbox) {
            self.push(listener, &message);
        }
        let has_written = self.redis.db().written != written;
        let (waited, took) = asked.wait.map(|wait| self.wait(wait, has_written)).unzip();
        Served {
            response: self.dialect.get().response(&words[0], &reply, waited.as_ref()),
            took: took.unwrap_or_default(),
        }
    }

    /// The reply of `WAIT`, and how long it took.
    fn wait(&self, wait: Wait, has_written: bool) -> (Reply, Time) {
        let within = wait.ms * MS;
        // The replica that is about to be promoted receives nothing any more.
        let most = REPLICAS - u32::from(self.network.fail_overs.get() > 0);
        let acknowledged = match self.rng.chance(self.net.get().lag) {
            _ if !has_written || !self.bent.counts_replicas() => REPLICAS,
            true => self.rng.between(0, most.into()) as u32,
            false => most,
        };
        let took = match acknowledged < wait.count {
            true => within,
            false => self.rng.between(0, within / 2),
        };
        let note = || format!("{acknowledged} replicas acknowledge");
        self.trace.note(self.world.now(), note);
        (Reply::Int(acknowledged.into()), took)
    }
}
