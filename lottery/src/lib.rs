//! A lottery each day: people enter by HTTP, and at noon ten of them win. It is drawn once, however
//! many instances fire.

mod day;
mod draw;
mod drawing;
mod entering;
mod rules;
mod tickets;

use shared::call::{self, Call, answered, decoded, told};
use shared::problem::Problem;
use worker::{
    Context, Env, Request, Response, Result, RouteContext, Router, ScheduleContext, ScheduledEvent,
    console_log, event,
};

use crate::day::Day;

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    let (method, path) = (request.method(), request.path());
    let call = match Call::new(&request, &env, context) {
        Ok(call) => call,
        Err(problem) => return told(problem),
    };
    let response = routes(call.clone()).run(request, env).await?;
    let allow = if path.ends_with("/entrants") { "POST" } else { "GET, HEAD" };
    call.finish(response, &method, allow)
}

fn routes<'a>(call: Call) -> Router<'a, Call> {
    Router::with_data(call)
        .get_async("/lottery/:id", |_, route| answered(entering::show(route)))
        .head_async("/lottery/:id", |_, route| answered(entering::show(route)))
        .post_async("/lottery/:id/entrants", |request, route| {
            answered(entering::enter(request, route))
        })
        .or_else_any_method("/*path", |_, _| no_route())
        .or_else_any_method("/", |_, _| no_route())
}

fn no_route() -> Result<Response> {
    told(Problem::new(404, "no_such_route", "there is /lottery/{id} and /lottery/{id}/entrants"))
}

/// The day in the path.
fn day(route: &RouteContext<Call>) -> std::result::Result<Day, Problem> {
    let text = decoded("id", route.param("id"))?;
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
