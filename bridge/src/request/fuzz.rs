//! Whatever a client asks for: it is the command that the client wrote, or it is refused.

use std::time::Duration;

use edgelock_fuzz::{INPUTS, Mutants, Text, check};
use redis::Pipeline;
use serde_json::Value as Json;

use super::{Command, command, commands, from_path, topic};
use crate::bulk::Bulk;
use crate::cluster::slot;
use crate::refuse;
use crate::script::Scripts;

const CORPUS: &str = include_str!("../../../fuzz/corpus/requests.txt");

const MOST: usize = 20;

/// All that is done with a command before Redis has it.
fn pass(mut command: Command<'_>) {
    let _ = refuse::check(&command, Duration::from_secs(1));
    let _ = refuse::check_dangerous(&command);
    let _ = refuse::check_in_cluster(&command, true);
    let _ = Scripts::default().adapt(&mut command);
    let mut batch = Pipeline::new();
    command.append_to(&mut batch);
    let _ = Bulk::default().expects(&batch);
    let _ = batch.cmd_iter().map(slot).count();
}

/// Whether the words of `command` are those in `list`, as another parser reads them.
fn is_same(list: &Json, command: &Command<'_>) -> bool {
    let list = list.as_array().map_or(&[][..], Vec::as_slice);
    let words: Vec<_> = command.args_from(0).collect();
    let same = |(json, word): (&Json, &&[u8])| match json {
        Json::String(text) => text.as_bytes() == *word,
        // They stay as they are written.
        Json::Number(_) => word.iter().any(u8::is_ascii_digit),
        Json::Bool(is_true) => is_true.to_string().as_bytes() == *word,
        _ => false,
    };
    list.len() == words.len() && list.iter().zip(&words).all(same)
}

#[test]
fn a_body_is_the_command_that_another_parser_reads_or_it_is_refused() {
    check!().with_iterations(INPUTS).with_generator(Mutants::of(CORPUS)).for_each(|Text(body)| {
        let json = serde_json::from_slice::<Json>(body).ok();
        if let Ok(command) = command(body) {
            assert!(json.as_ref().is_none_or(|json| is_same(json, &command)));
            pass(command);
        }
        if let Ok(commands) = commands(body, MOST) {
            assert!(commands.len() <= MOST);
            let lists = json.as_ref().and_then(Json::as_array);
            let mut both = lists.into_iter().flatten().zip(&commands);
            assert!(both.all(|(list, command)| is_same(list, command)));
            commands.into_iter().for_each(pass);
        }
    });
}

#[test]
fn an_address_is_a_command_without_the_credential() {
    check!()
        .with_iterations(INPUTS)
        .with_generator((Mutants::of(CORPUS), Mutants::of(CORPUS)))
        .for_each(|(address, Text(body))| {
            let address = address.lossy();
            let (path, query) = address.split_once('?').unwrap_or((&address, ""));
            let with_credential = format!("{query}&_token=CREDENTIAL");
            topic(path);
            let (Ok(without), Ok(command)) =
                (from_path(path, query, body), from_path(path, &with_credential, body))
            else {
                return;
            };
            assert!(without.args_from(0).eq(command.args_from(0)));
            pass(command);
        });
}
