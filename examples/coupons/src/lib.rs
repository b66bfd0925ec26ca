//! `GET /NAME` gives a customer one of 100 coupons, the same each time. Requests share turns.
use edgelock::{Command, Decision, Error, GroupCommit, Reply, Section, web::Client};
use worker::{Context, Env, Request, Response, Result, event};

struct Coupons;
thread_local!(static COUPONS: GroupCommit<Coupons> = GroupCommit::new(Coupons));

impl Section for Coupons {
    type Item = String;
    type Answer = String;
    type State = Vec<String>; // Whom the turn gave one so far.
    const USES_FENCE: bool = false; // So a turn is one request if nobody competes with it.

    fn reads(&self, name: &String) -> Vec<Command> {
        vec![
            Command::new("HLEN").key("{coupons}:given"),
            Command::new("HGET").key("{coupons}:given").arg(name),
        ]
    }

    fn decide(
        &self,
        name: &String,
        read: &[Reply],
        turn: &mut Vec<String>,
        _: u64,
    ) -> Decision<String> {
        let before = read[0].as_i64().unwrap_or(0);
        let now = turn.iter().position(|other| other == name).map(|at| before + at as i64 + 1);
        match (read[1].as_i64().or(now), before + turn.len() as i64 + 1) {
            (Some(number), _) => Decision::Leave(format!("coupon {number}\n")),
            (None, 101..) => Decision::Leave("none left\n".to_owned()),
            (None, next) => {
                turn.push(name.clone());
                let give = vec![Command::new("HSET").key("{coupons}:given").arg(name).arg(next)];
                Decision::Write(give, format!("coupon {next}\n"))
            }
        }
    }
}

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    let client = Client::from_env(&env, &context)?.signal(&request.inner().signal());
    match COUPONS.with(GroupCommit::clone).submit(&client.lock("coupons"), request.path()).await {
        Ok(answer) => Response::ok(answer),
        Err(Error::Held { .. }) => Response::error("too many at once, come again", 503),
        Err(error) => Err(error.into()),
    }
}
