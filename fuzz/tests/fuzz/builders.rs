//! Whatever a caller passes, there is an error without a secret in it, or a lock that works.

use std::time::Duration;

use edgelock::{Bridge, Command, Error, Lease, Lock, Token};
use edgelock_fuzz::{INPUTS, Mutants, Text, check, produce};

use crate::calls::client;
use crate::host::{CREDENTIAL, Host};

const CORPUS: &str = include_str!("../../corpus/arguments.txt");

const GRANTED: &[u8] = br#"200 {"result":[1,"NONCE",7,""]}"#;
const REPLICATED: &[u8] = br#"200 [{"result":[1,"NONCE",7,""]},{"result":9}]"#;

/// Numbers for options: close to a bound, or any.
type Numbers = (u64, u32, u8, bool);

/// A time in some unit, from nanoseconds to ages.
const fn time((number, _, unit, _): Numbers) -> Duration {
    match unit % 5 {
        0 => Duration::from_nanos(number),
        1 => Duration::from_millis(number),
        2 => Duration::from_millis(number % 10_000),
        3 => Duration::from_millis(number % 40_000_000_000),
        _ => Duration::new(number, 999_999_999),
    }
}

/// A lock of the kind that `unit` says.
fn lock(
    texts: &[String; 3],
    numbers: Numbers,
    client: &edgelock::Client<Host, Host>,
) -> Lock<Host, Host> {
    let [name, other, third] = texts;
    let (_, count, unit, is_on) = numbers;
    let lock = match unit / 5 % 6 {
        0 => client.lock(name),
        1 => client.reentrant(name, other),
        2 => client.semaphore(name, count % 4),
        3 => client.read_write(name).read(),
        4 => client.lock_all([name, other, third]),
        _ => client.clone().prefix(other).lock(name),
    };
    let lock = match unit / 30 % 5 {
        0 => lock,
        1 => lock.label(third),
        2 => lock.signal_list(third.as_str()),
        3 => lock.ttl(time(numbers)).max_hold(time(numbers)),
        _ => lock.wait_for_replicas(count % 9, time(numbers)),
    };
    lock.fair(is_on).wait_timeout(time(numbers)).max_requests(count)
}

fn check_refusal(error: &Error) {
    assert_eq!(error.code(), "invalid_argument", "{error}");
    let told = format!("{error} {error:?}");
    assert!(!told.contains(CREDENTIAL), "{told}");
    assert!(told.len() < 8_000, "{} bytes", told.len());
}

/// A text for an address or a credential. Names and words are no secrets, so they are not filled.
fn filled(text: &Text) -> String {
    text.lossy().replace("CREDENTIAL", CREDENTIAL)
}

#[test]
fn a_lock_of_whatever_name_and_options_is_refused_or_works() {
    let text = || Mutants::of(CORPUS);
    check!()
        .with_iterations(INPUTS)
        .with_generator((text(), text(), text(), produce::<Numbers>()))
        .for_each(|(name, other, third, numbers)| {
            let texts = [name, other, third].map(Text::lossy);
            let answers = [GRANTED, REPLICATED].map(|answer| Text(answer.to_vec()));
            let is_replicated = numbers.2 / 30 % 5 == 4;
            let host = Host::answering(&answers[usize::from(is_replicated)..][..1], 1);
            let lock = lock(&texts, *numbers, &client(0, &host));
            let Err(refused) = lock.check() else {
                // A dropped lease leaves work to the host, which must be done before the host ends.
                let fence = host.run(async { lock.try_acquire().await.map(|lease| lease.fence()) });
                assert_eq!(fence.expect("it was granted"), 7);
                return;
            };
            check_refusal(&refused);
            let again = host.run(lock.try_acquire()).err().map(|error| error.to_string());
            assert_eq!(again, Some(refused.to_string()));
        });
}

#[test]
fn an_address_a_credential_or_a_token_is_refused_without_saying_it_or_valid() {
    let text = || Mutants::of(CORPUS);
    check!().with_iterations(INPUTS).with_generator((text(), text(), 0..2_u8)).for_each(
        |(url, credential, is_secret)| {
            let (url, text) = (filled(url), filled(credential));
            let credential = format!("{}{text}", [CREDENTIAL, ""][usize::from(*is_secret)]);
            let bridges = [
                Bridge::upstash(&url, &credential),
                Bridge::upstash_over_plain_http(&url, &credential),
                Bridge::webdis(&url, &credential, CREDENTIAL),
                Bridge::webdis_over_plain_http(&url, "user", &credential),
            ];
            for bridge in bridges {
                match bridge {
                    Ok(bridge) => {
                        assert!(format!("{bridge:?}").contains(url.trim().trim_end_matches('/')))
                    }
                    Err(error) => check_refusal(&error),
                }
            }
            let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            let is_valid = text.len() == 22 && text.bytes().all(is_token);
            assert_eq!(Token::parse(&text).is_ok(), is_valid);
        },
    );
}

#[test]
fn commands_and_other_calls_of_whatever_words_are_refused_or_sent() {
    let text = || Mutants::of(CORPUS);
    check!()
        .with_iterations(INPUTS)
        .with_generator((text(), text(), produce::<Numbers>()))
        .for_each(|(name, word, numbers)| {
            let [name, word] = [name, word].map(Text::lossy);
            let host = Host::answering(&[], 1);
            let client = client(0, &host);
            let commands = [Command::new(&word).key(&name).arg(&word)];
            let work = async |_: &Lease<Host, Host>| Ok::<_, Error>(word.clone());
            let once = client.once(&name).keep(time(*numbers)).fingerprint(&word);
            let once = once.max_bytes(numbers.1 as usize).ttl(time(*numbers));
            let wait = Duration::from_millis(5);
            let outcomes = [
                host.run(client.read(&commands)).err(),
                host.run(client.lock(&name).try_acquire_and_read(&commands)).err(),
                host.run(once.wait_timeout(wait).max_requests(2).run_text(work)).err(),
                host.run(client.throttle(&name, time(*numbers)).try_pass()).err(),
            ];
            for error in outcomes {
                let error = error.expect("there is no answer");
                if error.code() != "unavailable" {
                    check_refusal(&error);
                }
            }
        });
}
