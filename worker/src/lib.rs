//! A flash sale: it opens sales, shows them, and sells from one or several at once, or in two
//! steps. Each handler checks a request, calls edgelock, and shapes an answer.

mod cart;
mod input;
mod isolate;
mod ledger;
mod look;
mod orders;
mod page;
mod placement;
mod reservations;
mod sales;
mod sold_out;
mod turn;

use shared::call::{Call, answered, no_id, told};
use shared::problem::Problem;
use worker::{Context, Env, Request, Response, Result, Router, event};

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    let (method, path) = (request.method(), request.path());
    let call = match Call::new(&request, &env, context) {
        Ok(call) => call,
        Err(problem) => return told(problem),
    };
    let response = routes(call.clone()).run(request, env).await?;
    call.finish(response, &method, methods(&path))
}

fn routes<'a>(call: Call) -> Router<'a, Call> {
    Router::with_data(call)
        .post_async("/sales/:sku/orders", |request, route| answered(orders::place(request, route)))
        .post_async("/sales/:sku/reservations", |request, route| {
            answered(reservations::reserve(request, route))
        })
        .post_async("/sales/:sku/reservations/confirm", |request, route| {
            answered(reservations::confirm(request, route))
        })
        .post_async("/sales/:sku/reservations/release", |request, route| {
            answered(reservations::release(request, route))
        })
        .post_async("/orders", |request, route| answered(cart::place(request, route)))
        .get("/", |_, route| page::show(&route.data).or_else(told))
        .head("/", |_, route| page::show(&route.data).or_else(told))
        .put_async("/sales/:sku", |request, route| answered(sales::open(request, route)))
        .get_async("/sales/:sku", |_, route| answered(sales::show(route)))
        .head_async("/sales/:sku", |_, route| answered(sales::show(route)))
        .get_async("/sales/:sku/lock", |_, route| answered(look::show(route)))
        .head_async("/sales/:sku/lock", |_, route| answered(look::show(route)))
        .or_else_any_method("/*path", |request, _| told(no_route(&request.path())))
}

/// Which methods a path that is there has.
fn methods(path: &str) -> &'static str {
    match path.strip_prefix("/sales/") {
        Some(sku) if !sku.contains('/') => "GET, HEAD, PUT",
        Some(path) if path.contains("/reservations") => "POST",
        _ if path.ends_with("/orders") => "POST",
        _ => "GET, HEAD",
    }
}

fn no_route(path: &str) -> Problem {
    if path == "/sales/" {
        return no_id("sku");
    }
    let told = "there is /, /orders, and /sales/{sku} with /orders, /reservations and /lock";
    Problem::new(404, "no_such_route", told)
}
