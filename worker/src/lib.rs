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

use shared::call::{Answer, Call, id, told, wrong_method};
use shared::problem::Problem;
use worker::{Context, Env, Method, Request, Response, Result, event};

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    let (method, path) = (request.method(), request.path());
    let call = match Call::new(&request, &env, context) {
        Ok(call) => call,
        Err(problem) => return told(problem),
    };
    let answer = answer(request, &env, call.clone(), &path).await;
    call.finish(answer, &method)
}

/// A match, since the crate `worker` has a router made anew for each request.
async fn answer(request: Request, env: &Env, call: Call, path: &str) -> Answer {
    use Method::{Get, Head, Post, Put};
    let path: Vec<&str> = path.split('/').skip(1).collect();
    match (request.method(), &*path) {
        (Post, ["sales", sku, "orders"]) => orders::place(request, call, id("sku", sku)?).await,
        (Post, ["sales", sku, "reservations"]) => {
            reservations::reserve(request, call, id("sku", sku)?).await
        }
        (Post, ["sales", sku, "reservations", "confirm"]) => {
            reservations::confirm(request, call, id("sku", sku)?).await
        }
        (Post, ["sales", sku, "reservations", "release"]) => {
            reservations::release(request, call, id("sku", sku)?).await
        }
        (Post, ["orders"]) => cart::place(request, call).await,
        (Get | Head, [""]) => page::show(&call),
        (Put, ["sales", sku]) => sales::open(request, env, call, id("sku", sku)?).await,
        (Get | Head, ["sales", sku]) => sales::show(call, id("sku", sku)?).await,
        (Get | Head, ["sales", sku, "lock"]) => look::show(call, id("sku", sku)?).await,
        (_, path) => Err(no_route(path)),
    }
}

fn no_route(path: &[&str]) -> Problem {
    match path {
        [""] | ["sales", _, "lock"] => wrong_method("GET, HEAD"),
        ["sales", _] => wrong_method("GET, HEAD, PUT"),
        ["orders"]
        | ["sales", _, "orders" | "reservations"]
        | ["sales", _, "reservations", "confirm" | "release"] => wrong_method("POST"),
        _ => {
            let told =
                "there is /, /orders, and /sales/{sku} with /orders, /reservations and /lock";
            Problem::new(404, "no_such_route", told)
        }
    }
}
