//! Whatever a bridge answers, the client neither panics nor hangs, and tells no secret.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::fmt::Write as _;

use edgelock::Error;
use edgelock_fuzz::{INPUTS, Mutants, Text, check};

use crate::calls::{BRIDGES, CALLS, KINDS, call, client};
use crate::host::{BASIC, CREDENTIAL, Host, TOKEN};

const CORPUS: &str = include_str!("../../corpus/replies.txt");

/// The code that a call comes to. Checks that its error and its events have no secret.
fn outcome(answers: &[Text], (bridge, which, kind, piece): (u8, u8, u8, usize)) -> &'static str {
    let host = Host::answering(answers, piece);
    let client = client(bridge, &host);
    let outcome = host.run(call(which, kind, &client));
    let told = outcome.as_ref().err().map(all_of).unwrap_or_default() + &host.told();
    // An inspection, a forced release and a read have no token of their own. Only webdis gets the
    // name of a user.
    let has_token = !(4..=6).contains(&which);
    for (secret, is_ours) in [(CREDENTIAL, true), (TOKEN, has_token), (BASIC, bridge == 2)] {
        assert!(!is_ours || !told.contains(secret), "a secret is told: {told}");
    }
    outcome.unwrap_or_else(|error| error.code())
}

/// Everything about an error that a log could show.
fn all_of(error: &Error) -> String {
    let mut told = format!("{error} {error:?} {error:#?}");
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(told, " {cause} {cause:?}");
        source = cause.source();
    }
    told
}

#[test]
fn no_answer_makes_the_client_panic_or_hang_or_tell_a_secret() {
    let calls = (0..BRIDGES, 0..CALLS, 0..KINDS, 1..100_usize);
    check!()
        .with_iterations(INPUTS)
        .with_generator((Mutants::of(CORPUS).up_to(4), calls))
        .for_each(|(answers, call)| {
            outcome(answers, *call);
        });
}

const OUTCOMES: [&str; 27] = [
    "acquired",
    "command_failed",
    "committed",
    "downgraded",
    "executed once",
    "fingerprint_mismatch",
    "held",
    "inspected",
    "invalid_argument",
    "lost",
    "not_json",
    "passed",
    "quarantined",
    "read",
    "redirected",
    "refused",
    "released",
    "replayed",
    "replicated",
    "run",
    "throttled",
    "timed_out",
    "too_large",
    "truncated",
    "unauthorized",
    "unavailable",
    "wrong_type",
];

/// Otherwise the corpus would be of little worth.
#[test]
fn the_answers_of_the_corpus_lead_to_every_outcome() {
    let mutants = Mutants::of(CORPUS);
    let mut seen = BTreeSet::new();
    let [granted, ..] = mutants.texts() else {
        panic!("it is empty");
    };
    for text in mutants.texts() {
        for answers in [vec![text.clone()], vec![granted.clone(), text.clone()]] {
            for which in 0..CALLS {
                seen.extend([0, 2].map(|bridge| outcome(&answers, (bridge, which, 0, 7))));
            }
        }
    }
    for outcome in OUTCOMES {
        assert!(seen.contains(outcome), "{outcome}");
    }
}
