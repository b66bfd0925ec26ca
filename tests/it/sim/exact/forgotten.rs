//! What is kept of work is forgotten once, and not while the work is being done.

use edgelock::OnceOutcome;

use super::*;

fn client(case: &Rc<Case>) -> SimClient {
    let timeout = s(5);
    host::client(case, &machine(), Settings { timeout, ..SETTINGS })
}

/// Whether the work was executed by this call.
async fn works(case: &Rc<Case>, lasts: u64) -> bool {
    let work = async |_: &_| {
        sleep(case, lasts).await;
        Ok::<_, Error>(1)
    };
    let outcome = client(case).once("a").run(work).await;
    matches!(outcome, Ok(OnceOutcome::Executed(_)))
}

/// The same beside the story, `after` so long.
fn works_later(case: &Rc<Case>, after: u64, lasts: u64) -> Beside<bool> {
    let ours = case.clone();
    meanwhile(case, &machine(), async move {
        sleep(&ours, after).await;
        works(&ours, lasts).await
    })
}

/// The answer to a forget gets lost, and the work is done anew before the repeat arrives. Whether
/// its result is kept, and what the forget says.
fn forgets_twice(redis: Redis) -> (bool, bool) {
    play_on(redis, |case| async move {
        assert!(works(&case, 0).await);
        let lost = Fate::Executed(bridge::overloaded(503, "1"));
        case.network.fates.next(lost);
        let again = works_later(&case, 300, 0);
        let told = client(&case).once("a").forget().await.expect("an answer");
        sleep(&case, 5_000).await;
        assert!(again.told());
        (!works(&case, 0).await, told)
    })
}

/// The code of a forget while the work is being done.
fn forgets_meanwhile(redis: Redis) -> &'static str {
    play_on(redis, |case| async move {
        let working = works_later(&case, 0, 3_000);
        sleep(&case, 1_000).await;
        let forgotten = client(&case).once("a").forget().await;
        if let Err(Error::Held { remaining, .. }) = &forgotten {
            assert!(remaining.is_some_and(|left| left > s(5)));
        }
        sleep(&case, 5_000).await;
        assert!(working.told() && !works(&case, 0).await);
        forgotten.map_or_else(|error| error.code(), |_| "forgotten")
    })
}

stories! {
    a_repeat_of_a_forget_does_not_forget_the_next_result:
        forgets_twice(Redis::default()) => (true, true),
    /// A sabotage: the repeat forgets what there is by then.
    a_repeat_that_forgets_the_next_result_is_noticed:
        forgets_twice(Redis::with(
            "if DONE and DONE ~= '2' then return { tonumber(DONE), ARGV[1] } end",
            "",
        ))
        => (false, true),
    nothing_is_forgotten_while_the_work_is_being_done:
        forgets_meanwhile(Redis::default()) => "held",
    /// A sabotage: nobody looks whether it is being done.
    work_that_is_forgotten_while_it_is_being_done_is_noticed:
        forgets_meanwhile(Redis::with(
            "if DONE == '2' or HOLDER or redis.call('GET', NAME) then",
            "if false then",
        )) => "forgotten",
}
