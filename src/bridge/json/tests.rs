use super::*;
use crate::command::Reply;

#[cfg(npm)]
use crate::web::test;

const IS_HOST: bool = cfg!(npm);

fn found(json: &str) -> Option<[Reply; 2]> {
    members(json).map(|members| [members.result, members.error])
}

/// The result in an answer.
fn value(json: &str) -> Option<Reply> {
    let answer = format!(r#"{{"other": {{"a": [1.5, "]"]}}, "result": {json}}}"#);
    found(&answer).map(|[value, _]| value)
}

fn text(text: &str) -> Reply {
    Reply::Bytes(text.as_bytes().to_vec())
}

/// Results that bridges send, or could.
fn values() -> Vec<(&'static str, Reply)> {
    let array = Reply::Array;
    vec![
        ("7", Reply::Int(7)),
        ("0", Reply::Int(0)),
        ("-15", Reply::Int(-15)),
        ("null", Reply::Nil),
        ("false", Reply::Error(String::new())),
        (r#""""#, text("")),
        (r#""OK""#, text("OK")),
        (r#""a\u00e9\n%\"\\""#, text("aé\n%\"\\")),
        (r#""\ud83d\uDE00\/\b\f\r\t""#, text("😀/\u{8}\u{c}\r\t")),
        (r#""\u0000\u2028\uffff""#, text("\0\u{2028}\u{ffff}")),
        ("\"é€😀\u{7f}\u{2028}\u{fffd}\"", text("é€😀\u{7f}\u{2028}\u{fffd}")),
        (" [ ] ", array(vec![])),
        (
            r#"[1,"x%0A",null,"",-2]"#,
            array(vec![Reply::Int(1), text("x%0A"), Reply::Nil, text(""), Reply::Int(-2)]),
        ),
        (r#"[false,"ERR no"]"#, array(vec![Reply::Error(String::new()), text("ERR no")])),
    ]
}

/// Results that no bridge sends, and malformed ones.
const REFUSED: [&str; 30] = [
    "[[1]]",
    "[[]]",
    "{}",
    "[{}]",
    "true",
    "[true]",
    "01",
    "-",
    "+1",
    "--1",
    "0x1",
    "NaN",
    "undefined",
    "[1,]",
    "[,1]",
    "[1 2]",
    "nul",
    "nulls",
    "\"\n\"",
    "\"\t\"",
    "'a'",
    "\"a",
    r#""\x""#,
    r#""\u12g4""#,
    r#""\ud800""#,
    r#""\udc00""#,
    r#""\ud800\u0041""#,
    r#"["\ud800"]"#,
    "7 // seven",
    "",
];

/// Whole answers, and their members.
fn answers() -> Vec<(&'static str, Option<[Reply; 2]>)> {
    let nothing = || Some([Reply::Nil, Reply::Nil]);
    let result = |number| Some([Reply::Int(number), Reply::Nil]);
    vec![
        ("{}", nothing()),
        (
            r#" {"error":"no" , "more":[{"result":1},true,null], "result" : null}"#,
            Some([Reply::Nil, text("no")]),
        ),
        (r#"{"result":1,"result":2}"#, result(2)),
        (r#"{"\u0072esult":1}"#, result(1)),
        (r#"{"Result":1,"result ":2,"":3}"#, nothing()),
        (r#"{"__proto__":{"result":1}}"#, nothing()),
        (r#"{"a":"\ud800","result":1}"#, result(1)),
        ("\t\r\n{\"result\":1}\n", result(1)),
        ("", None),
        ("[]", None),
        ("[{}]", None),
        ("null", None),
        ("false", None),
        ("7", None),
        (r#""result""#, None),
        ("{", None),
        ("}", None),
        ("{}{}", None),
        ("{}x", None),
        ("\u{feff}{}", None),
        ("\u{a0}{}", None),
        ("{}\0", None),
        (r#"{"result"}"#, None),
        (r#"{"result":}"#, None),
        (r#"{"result":1,}"#, None),
        (r#"{,"result":1}"#, None),
        (r#"{result:1}"#, None),
        (r#"{1:1}"#, None),
        (r#"{"a":]}"#, None),
        (r#"{"a":[1}"#, None),
        (r#"{"a":"b"#, None),
    ]
}

#[test]
fn what_bridges_send_is_read_exactly() {
    for (json, reply) in values() {
        assert_eq!(value(json), Some(reply), "{json}");
    }
}

#[test]
fn what_no_bridge_sends_is_refused() {
    for json in
        REFUSED.into_iter().chain(["1.5", "[1.5]", "1.", ".5", "1e400", "18446744073709551616"])
    {
        assert_eq!(value(json), None, "{json}");
    }
}

#[test]
fn members_are_found_among_others() {
    for (json, expected) in answers() {
        assert_eq!(found(json), expected, "{json}");
    }
}

#[test]
fn a_list_of_objects_is_read_one_by_one() {
    let list = |json| {
        let each = members_of_each(json)?;
        Some(each.into_iter().map(|members| members.result).collect())
    };
    let results = vec![Reply::Int(1), Reply::Nil, text("}")];
    let json = r#" [{"result": 1}, {"b": [{}]}, {"result": "}"}] "#;
    assert_eq!(list(json), Some(results));
    assert_eq!(list("[]"), Some(vec![]));
    for json in
        ["", "[", "[{}", "[{},]", "[1]", "[null]", "[[{}]]", "{}", "[{}] x", r#"[{"result":{}}]"#]
    {
        assert_eq!(list(json), None, "{json}");
    }
}

#[test]
fn no_nesting_is_too_deep() {
    let [open, close] = ["[", "]"].map(|bracket| bracket.repeat(1 << 16));
    assert_eq!(
        found(&format!(r#"{{"a":{open}{close},"result":1}}"#)),
        Some([Reply::Int(1), Reply::Nil])
    );
    assert_eq!(value(&format!("{open}{close}")), None);
    assert_eq!(value(&open), None);
    assert_eq!(found(&open), None);
    assert_eq!(members_of_each(&open), None);
}

/// A host keeps all numbers as doubles. It cannot tell how one was written, and says so of a whole
/// number that may have been another.
#[test]
fn a_host_reads_other_numbers_as_doubles() {
    use Reply::{Int, Rounded};
    const SAFE: i64 = 9_007_199_254_740_991;
    for (json, exactly, as_double) in [
        ("9007199254740991", Some(Int(SAFE)), Some(Int(SAFE))),
        ("-9007199254740993", Some(Int(-SAFE - 2)), Some(Rounded(-SAFE - 1))),
        ("-9223372036854775808", Some(Int(i64::MIN)), Some(Rounded(i64::MIN))),
        ("9223372036854775808", None, Some(Rounded(i64::MAX))),
        ("18446744073709551615", None, None),
        ("1e3", None, Some(Int(1000))),
        ("1.0", None, Some(Int(1))),
        ("-0", None, Some(Int(0))),
    ] {
        let number = if IS_HOST { as_double } else { exactly };
        assert_eq!(value(json), number, "{json}");
    }
}

#[test]
fn every_string_survives() {
    let words = ["", "EVAL", "\"\\/\n\r\t\0\u{1f} \u{7f}", "aé€😀", "\u{2028}"];
    let json = array(&words);
    assert_eq!(value(&json), Some(Reply::Array(words.map(text).to_vec())));
    assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), words);
}

#[test]
fn what_must_be_escaped_is_found_wherever_it_stands() {
    for place in 0..=24 {
        for special in ['"', '\\', '\n', '\0', '\u{1f}'] {
            let (before, behind) = ("a".repeat(place), "é".repeat(24 - place));
            let word = format!("{before}{special}{behind}");
            let json = array(&[&word]);
            assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [word]);
        }
    }
}

/// On all of these texts, and on each of them with one character more or less.
#[cfg(npm)]
#[test]
fn the_host_reads_what_the_library_reads() {
    let answer = |json: &str| format!(r#"{{"result":{json}}}"#);
    let values = values().into_iter().map(|(json, _)| json).chain(REFUSED);
    let answers = answers().into_iter().map(|(json, _)| json.to_owned());
    for json in values.map(answer).chain(answers) {
        agree(&json);
        for (at, char) in json.char_indices() {
            let (before, behind) = json.split_at(at);
            agree(&[before, &behind[char.len_utf8()..]].concat());
            for more in r#""\[]{},:017-nf /"#.chars() {
                agree(&format!("{before}{more}{behind}"));
            }
        }
    }
}

#[cfg(npm)]
#[track_caller]
fn agree(json: &str) {
    assert_eq!(array(&["EVAL", json]), library::array(&["EVAL", json]));
    // A host reads this as 0.
    if json.contains("-0") {
        return;
    }
    let list = format!("[{json}]");
    assert_eq!(members(json), library::members(json), "{json}");
    assert_eq!(members_of_each(&list), library::members_of_each(&list), "{list}");
}
