//! Operations that JavaScript drives. It has requests, timers and signals itself, so the wasm needs
//! no futures.
//!
//! A driver tells [`Steps`] what happened, and gets their wishes. It is `npm/ts/driver.ts`.

use std::sync::Arc;

use wasm_bindgen::prelude::*;

use super::callback::timer_ms;
use super::driven::{Outside, Sent};
use super::fetch::{THROWN, answer, to_object};
use crate::command::Command;
use crate::drive;
use crate::error::Error;
use crate::operation::{Background, Cx, Id, Input, Operation, Wish};
use crate::runtime::Runtime;

/// What a driver is told at the end: what its caller gets, or is thrown.
pub type JsOutcome = Result<JsValue, JsValue>;

/// Says to JavaScript what an operation came to.
pub type Report<P> = fn(Result<P, Error>) -> JsOutcome;

type Reported = Box<dyn Operation<Outcome = JsOutcome>>;

pub(super) type JsHost = Arc<drive::Host<Sent, Outside>>;

/// An operation, as far as it has come.
#[wasm_bindgen]
pub struct Steps {
    operation: Reported,
    place: JsHost,
    reads: Box<dyn FnMut() -> Vec<Command>>,
    /// The last id that was given out.
    ids: u32,
}

#[wasm_bindgen]
extern "C" {
    /// It acts only once the call in which it was told has returned: a `fetch` may call anything.
    pub type Driver;
    #[wasm_bindgen(method)]
    fn send(
        this: &Driver,
        id: u32,
        url: &str,
        headers: &js_sys::Object,
        body: &str,
        body_limit: usize,
        timeout_ms: f64,
    );
    #[wasm_bindgen(method)]
    fn listen(
        this: &Driver,
        id: u32,
        url: &str,
        headers: &js_sys::Object,
        body: &str,
        timeout_ms: f64,
    );
    #[wasm_bindgen(method)]
    fn wake(this: &Driver, id: u32, ms: f64);
    #[wasm_bindgen(method)]
    fn stop(this: &Driver, id: u32);
    /// Has others go on in the background with what has these ids, or from their beginning. The ids
    /// are moved out. A slice would be a view of this module's memory, which may hold something
    /// else by the time it is read.
    #[wasm_bindgen(method)]
    fn detach(this: &Driver, steps: Steps, ids: Vec<u32>);
    #[wasm_bindgen(method)]
    fn done(this: &Driver, value: JsValue);
    #[wasm_bindgen(method)]
    fn fail(this: &Driver, failure: JsValue);
}

#[wasm_bindgen]
impl Steps {
    /// Begins.
    pub fn start(&mut self, driver: &Driver) {
        self.tell(driver, Input::Started);
    }

    /// A request was answered, or got lost. The arguments are those of `exchange.js`.
    #[allow(
        clippy::too_many_arguments,
        reason = "one crossing for each is dearer than eight words"
    )]
    pub fn answered(
        &mut self,
        driver: &Driver,
        id: u32,
        failure: u8,
        status: u16,
        header: Option<String>,
        text: String,
        thrown: JsValue,
    ) {
        THROWN.set(thrown);
        let answer = answer(failure, status, header, text);
        self.tell(driver, Input::Answered(Id::of(id), answer));
        THROWN.take();
    }

    /// The time of a timer is over.
    pub fn woken(&mut self, driver: &Driver, id: u32) {
        self.tell(driver, Input::Woken(Id::of(id)));
    }

    /// A piece of a response that goes on.
    pub fn heard(&mut self, driver: &Driver, id: u32, piece: Vec<u8>) {
        self.tell(driver, Input::Received(Id::of(id), piece));
    }

    /// It has ended, as `exchange.js` says it.
    pub fn ended(&mut self, driver: &Driver, id: u32, failure: u8, status: u16, text: String) {
        let ended = answer(failure, status, None, text).map(|response| response.status);
        self.tell(driver, Input::Ended(Id::of(id), ended));
    }

    /// Nobody waits for it any more, and what it waited for was aborted.
    pub fn cancel(&mut self, driver: &Driver) {
        self.with(driver, |operation, cx| operation.cancel(cx));
    }
}

impl Steps {
    /// `read` reads what the operation came to, and `report` says it to JavaScript. They capture
    /// nothing, so that the code is there once for each kind of operation, not for each caller.
    pub(super) fn new<O: Operation + 'static, P: 'static>(
        place: &JsHost,
        operation: Result<O, Error>,
        read: fn(&JsHost, O::Outcome) -> Result<P, Error>,
        report: Report<P>,
    ) -> Self {
        let operation: Reported = match operation {
            Ok(operation) => Box::new(Reporting {
                operation,
                place: place.clone(),
                read,
                report,
            }),
            Err(error) => Box::new(NotBegun(report(Err(error)))),
        };
        Self::of(place, 0, operation)
    }

    /// Nobody is told what `operation` comes to.
    pub(super) fn silent(place: &JsHost, operation: Background) -> Self {
        Self::of(place, 0, Box::new(Silent(operation)))
    }

    /// They ask `reads` for their reads each time.
    pub(super) fn inquiring(mut self, reads: impl FnMut() -> Vec<Command> + 'static) -> Self {
        self.reads = Box::new(reads);
        self
    }

    fn of(place: &JsHost, ids: u32, operation: Reported) -> Self {
        Self {
            operation,
            place: place.clone(),
            reads: Box::new(Vec::new),
            ids,
        }
    }

    fn tell(&mut self, driver: &Driver, input: Input) {
        let told = self.with(driver, |operation, cx| operation.on(cx, input));
        match told {
            Some(Ok(value)) => driver.done(value),
            Some(Err(failure)) => driver.fail(failure),
            None => {}
        }
    }

    fn with<P>(
        &mut self,
        driver: &Driver,
        tell: impl FnOnce(&mut dyn Operation<Outcome = JsOutcome>, &mut Cx<'_>) -> P,
    ) -> P {
        let mut wishes = Vec::new();
        let runtime = &self.place.runtime;
        let now = runtime.now();
        let mut cx = Cx::new(now, runtime, &mut *self.reads, &mut self.ids, &mut wishes);
        let told = tell(&mut *self.operation, &mut cx);
        for wish in wishes {
            self.pass_on(driver, wish);
        }
        told
    }

    fn pass_on(&self, driver: &Driver, wish: Wish) {
        match wish {
            Wish::Send(id, mut mail) => {
                let request = mail.request();
                driver.send(
                    id.number(),
                    request.url,
                    &self.place.transport.0.object(request.headers),
                    &request.body,
                    request.body_limit,
                    timer_ms(request.timeout),
                );
            }
            Wish::Listen(id, mut mail) => {
                let request = mail.request();
                driver.listen(
                    id.number(),
                    request.url,
                    &to_object(request.headers),
                    &request.body,
                    timer_ms(request.timeout),
                );
            }
            Wish::Wake(id, time) => driver.wake(id.number(), time.as_secs_f64() * 1000.0),
            Wish::Stop(id) => driver.stop(id.number()),
            Wish::Detach(operation, ids) => {
                let ids: Vec<u32> = ids.into_iter().map(Id::number).collect();
                let silent = Box::new(Silent(operation));
                driver.detach(Self::of(&self.place, self.ids, silent), ids);
            }
        }
    }
}

/// An operation whose outcome is reported.
struct Reporting<O: Operation, P> {
    operation: O,
    place: JsHost,
    read: fn(&JsHost, O::Outcome) -> Result<P, Error>,
    report: Report<P>,
}

impl<O: Operation, P> Operation for Reporting<O, P> {
    type Outcome = JsOutcome;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<JsOutcome> {
        let outcome = self.operation.on(cx, input)?;
        Some((self.report)((self.read)(&self.place, outcome)))
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.operation.cancel(cx);
    }
}

/// The reason why there is no operation.
struct NotBegun(JsOutcome);

impl Operation for NotBegun {
    type Outcome = JsOutcome;

    fn on(&mut self, _: &mut Cx<'_>, _: Input) -> Option<JsOutcome> {
        Some(self.0.clone())
    }
}

/// An operation of whose outcome nobody is told.
struct Silent(Background);

impl Operation for Silent {
    type Outcome = JsOutcome;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<JsOutcome> {
        self.0.on(cx, input)?;
        Some(Ok(JsValue::UNDEFINED))
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.0.cancel(cx);
    }
}
