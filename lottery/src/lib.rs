//! A lottery each day: people enter by HTTP, and at noon ten of them win. It is drawn once, however
//! many instances fire.

mod day;
mod draw;
mod drawing;
mod entering;
mod rules;
mod tickets;

use shared::call::{self, Answer, Call, decoded, told, wrong_method};
use shared::problem::Problem;
use worker::{
    Context, Env, Method, Request, Response, Result, ScheduleContext, ScheduledEvent, console_log,
    event,
};

use crate::day::Day;

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    let (method, path) = (request.method(), request.path());
    let call = match Call::new(&request, &env, context) {
        Ok(call) => call,
        Err(problem) => return told(problem),
    };
    let answer = answer(request, call.clone(), &path).await;
    call.finish(answer, &method)
}

async fn answer(request: Request, call: Call, path: &str) -> Answer {
    use Method::{Get, Head, Post};
    let path: Vec<&str> = path.split('/').skip(1).collect();
    match (request.method(), &*path) {
        (Get | Head, ["lottery", id]) => entering::show(call, day(id)?).await,
        (Post, ["lottery", id, "entrants"]) => entering::enter(request, call, day(id)?).await,
        (_, ["lottery", _]) => Err(wrong_method("GET, HEAD")),
        (_, ["lottery", _, "entrants"]) => Err(wrong_method("POST")),
        _ => {
            let told = "there is /lottery/{id} and /lottery/{id}/entrants";
            Err(Problem::new(404, "no_such_route", told))
        }
    }
}

/// The day in the path.
fn day(id: &str) -> std::result::Result<Day, Problem> {
    let text = decoded("id", id)?;
    let told = "a lottery's id is its day in UTC, as in 2026-11-21";
    Day::parse(&text).ok_or_else(|| Problem::invalid("id", told))
}

/// Noon of a lottery, called on all instances at once.
#[event(scheduled)]
async fn scheduled(event: ScheduledEvent, env: Env, context: ScheduleContext) {
    match drawing::draw(event.schedule() as i64, &env, &context).await {
        Ok(draw) => console_log!("{draw}"),
        Err(problem) => call::log(&problem),
    }
}
