//! Scripts. The shipped ones run in `tests/it/sim/differential.rs`.

use edgelock_table::{Reply, Table};

use crate::{bulk, run};

#[track_caller]
fn check(script: &str, expected: &str) {
    let reply = run(&mut Table::default(), &["EVAL", script, "1", "key", "one", "2"]);
    assert_eq!(reply, bulk(expected), "{script}");
}

#[track_caller]
fn fails(script: &str, expected: &str) {
    let Reply::Error(text) = run(&mut Table::default(), &["EVAL", script, "0"]) else {
        panic!("no error: {script}");
    };
    assert!(text.contains(expected), "{text}");
}

#[test]
fn values_are_computed_as_lua_does() {
    for (script, expected) in [
        ("return 1 + 2 * 3 ^ 2 .. ''", "19"),
        ("return 2 ^ 3 ^ 2 .. ' ' .. -2 ^ 2 .. ' ' .. 7 % 3 .. ' ' .. -7 % 3", "512 -4 1 2"),
        (
            "return 1 / 3 .. ' ' .. 1e15 .. ' ' .. 123456 .. ' ' .. 1 / 0",
            "0.33333333333333 1e+15 123456 inf",
        ),
        (
            "return tostring('10' + 1) .. tostring(nil == false) .. tostring(1 == '1')",
            "11falsefalse",
        ),
        ("return #'abc' .. #{ 1, 2, nil, 4 } .. #{ n = 1 }", "340"),
        ("return (nil and 1 or false or 'x') .. tostring(not nil)", "xtrue"),
        ("return KEYS[1] .. ARGV[1] .. ARGV[2] * 2 .. #ARGV", "keyone42"),
        ("return 'a' < 'b' and 2 < 10 and 'x' or 'y'", "x"),
        ("return [[a\n]] .. 'b\\n\\65\\'' .. \"c\" .. 0x10", "a\nb\nA'c16"),
        (
            "return tostring(tonumber('0x1f')) .. tonumber('ff', 16) .. tostring(tonumber('1x'))",
            "31255nil",
        ),
    ] {
        check(script, expected);
    }
}

#[test]
fn statements_and_scopes_are_luas() {
    for (script, expected) in [
        ("local s = '' for i = 3, 1, -1 do s = s .. i end return s", "321"),
        (
            "local s = '' for i, v in ipairs({ 'a', 'b', nil, 'c' }) do s = s .. i .. v end return s",
            "1a2b",
        ),
        (
            "local t, s = { 'x', k = 'y' }, '' for k, v in pairs(t) do s = s .. k .. v end return s",
            "1xky",
        ),
        ("local i = 0 while true do i = i + 1 if i > 4 then break end end return i .. ''", "5"),
        ("local i = 0 repeat local j = i i = i + 1 until j == 2 return i .. ''", "3"),
        ("local x = 1 do local x = 2 end return x .. ''", "1"),
        ("local x = 'a' local function f() return x end local x = 'b' return f() .. x", "ab"),
        (
            "local f = {} for i = 1, 2 do f[i] = function() i = i + 1 return i end end f[1]() return f[1]() .. f[2]()",
            "33",
        ),
        ("local function f(n) if n == 0 then return 'z' end return f(n - 1) end return f(40)", "z"),
        (
            "local function f(...) return select('#', ...) .. (select(2, ...)) end return f(nil, 'b', nil)",
            "3b",
        ),
        ("local a, b, c = (function() return 1, 2, 3 end)() return a .. b .. c", "123"),
        (
            "local t = { (function() return 1, 2 end)(), (function() return 1, 2 end)() } return #t .. ''",
            "3",
        ),
        ("local t = { a = { b = 1 } } t.a.b, t.c = 2, 3 return t.a.b .. t['c']", "23"),
        ("local a, b = 1, 2 a, b = b, a return a .. b", "21"),
        ("local t = {} function t.f(x) return x end return t.f 'v' .. ('x'):rep(2)", "vxx"),
        ("local x = 1; -- a comment\n --[[ a long\n one ]] return x .. ''", "1"),
        ("local t = { 3, 1, 2 } table.sort(t) return table.concat(t, ',')", "1,2,3"),
        (
            "local t = { 3, 1, 2 } table.sort(t, function(a, b) return a > b end) return table.concat(t)",
            "321",
        ),
        (
            "local t = {} table.insert(t, 'b') table.insert(t, 1, 'a') return table.concat(t) .. table.remove(t) .. #t",
            "abb1",
        ),
        (
            "local t = {} t[2] = 'b' t[1] = 'a' t[3] = 'c' t[3] = nil return #t .. table.concat({ unpack(t) })",
            "2ab",
        ),
    ] {
        check(script, expected);
    }
}

#[test]
fn texts_are_searched_as_lua_does() {
    for (script, expected) in [
        (
            "return table.concat({ string.match('v1 12 a b,rest', '^v1 (%d+) ([^,]*),(.*)$') }, '|')",
            "12|a b|rest",
        ),
        ("return table.concat({ string.find('a.b', '.', 1, true) }, ' ')", "2 2"),
        ("return table.concat({ string.find('key=val', '(%w+)=(%w+)') }, ' ')", "1 7 key val"),
        (
            "return tostring(string.find('abc', 'x')) .. tostring(string.match('abc', '()c'))",
            "nil3",
        ),
        (
            "return string.gsub('a b', '%w', function(c) if c == 'a' then return 'X' end end) .. ''",
            "X b",
        ),
        (
            "return (string.gsub('héllo%', '[^ -$&-~]', function(b) return string.format('%%%02X', string.byte(b)) end))",
            "h%C3%A9llo%25",
        ),
        (
            "return (string.gsub('abc', '', '-')) .. (string.gsub('abc', 'b*', '%0.'))",
            "-a-b-c-.ab..c.",
        ),
        ("return (string.gsub('x = 1', '(%w) = (%w)', '%2 = %1'))", "1 = x"),
        (
            "local s = '' for at, t in string.gmatch('1 a;22 b;', '(%d+) ([^;]+);') do s = s .. at .. t end return s",
            "1a22b",
        ),
        (
            "return string.match('f(a(b)c)d', '%b()') .. string.match('THE (quick)', '%f[%a]%l+')",
            "(a(b)c)quick",
        ),
        ("return string.match('  x ', '^%s*(.-)%s*$') .. string.match('abab', '(ab)%1')", "xab"),
        (
            "return string.sub('hello', 2, -2) .. string.sub('hello', -3) .. string.upper('é') .. string.byte('A')",
            "ellllo\u{e9}65",
        ),
        (
            "return string.format('%.0f %d %5.1f|%-3s|%03d %s %x %%', 1e15 + 1, 7, 2.25, 'a', 5, true, 255)",
            "1000000000000001 7   2.2|a  |005 true ff %",
        ),
        (
            "return string.rep('ab', 2) .. string.char(72, 105) .. string.len('abc') .. string.reverse('ab')",
            "ababHi3ba",
        ),
    ] {
        check(script, expected);
    }
}

#[test]
fn errors_are_raised_and_caught_as_in_redis() {
    check("local ok, e = pcall(error, { err = 'MINE' }) return tostring(ok) .. e.err", "falseMINE");
    check("local ok, e = pcall(function() error('no') end) return e", "user_script:1: no");
    check(
        "return redis.pcall('INCR', 'key', 'x').err",
        "ERR Wrong number of args calling Redis command from script",
    );
    check(
        "redis.call('SET', 'key', 'x') return select(2, pcall(redis.call, 'INCR', 'key')).err",
        "ERR value is not an integer or out of range",
    );
    check("return redis.sha1hex('')", "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    fails("return nothing", "nonexistent global variable 'nothing'");
    fails("x = 1", "Attempt to modify a readonly table");
    fails("string.x = 1", "Attempt to modify a readonly table");
    fails("return {} .. 'x'", "attempt to concatenate a table value");
    fails("return 1 < 'x'", "attempt to compare number with string");
    fails("\n\nreturn nil + 1", "user_script:3: attempt to perform arithmetic on a nil value");
    fails("return ('x')()", "attempt to call a string value");
    fails("return (", "ERR Error compiling script (new function): user_script:1: ");
    fails(
        "redis.call('XADD', 'k')",
        "Unknown Redis command called from script: edgelock/testing knows APPEND, ",
    );
}

#[test]
fn nothing_that_a_script_does_brings_the_table_down() {
    fails("while true do end", "the script does not end");
    fails("local function f() return f() end f()", "stack overflow");
    let own = run(&mut Table::default(), &["EVAL", "local t = {} t[1] = t return t", "0"]);
    assert!(format!("{own:?}").contains("stack limit"));
    fails(&"(".repeat(5_000), "nested too deeply");
    fails(&format!("return {}1", "-".repeat(5_001).replace('-', "- ")), "nested too deeply");
    fails(&format!("return {}", "{".repeat(5_000)), "nested too deeply");
    fails("return string.rep('x', 1e12)", "too large");
    fails("return string.find(string.rep('a', 3000), string.rep('a?', 300) .. 'b')", "too complex");
    fails("return unpack({}, 1, 1e9)", "too many results");
    fails("table.sort({ 1, 2, 3 }, function() return nothing end)", "nonexistent");
    fails("table.insert({}, 0, 1)", "position out of bounds");
    fails("return string.format('%99999999999d', 1)", "invalid option");
    for odd in [
        "'",
        "[[",
        "return '\\300'",
        "return 1x",
        "local",
        "for",
        "if",
        "return @",
        "a.b",
        "f(",
        "%",
        "#!",
    ] {
        let reply = run(&mut Table::default(), &["EVAL", odd, "0"]);
        assert!(matches!(reply, Reply::Error(_) | Reply::Nil), "{odd}: {reply:?}");
    }
}
