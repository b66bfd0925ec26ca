// `edgelock/testing` on any host. testing.ts holds the table to what is promised over real bridges.
import { CommandFailedError, type Command } from "edgelock";
import { Table } from "edgelock/testing";
import { check, equal, fails, type Suite, take, thrown } from "./harness.js";

const incr: Command[] = [["INCR", { key: "n" }]];

export const tables: Suite = {
  async a_lock_of_a_table_needs_no_server() {
    const table = new Table();
    const lock = table.client({ prefix: "shop:" }).lock("a", { ttl: 30_000 });
    const lease = await take(lock);
    equal(table.run("GET", "shop:a"), lease.token);
    equal(await lock.tryAcquire(), null);
    equal(table.keys().includes("shop:a"), true);
    await lease.release();
    equal(table.run("EXISTS", "shop:a"), 0);
  },

  async a_table_does_what_it_is_told_to() {
    const table = new Table();
    const lock = table.client().lock("a", { ttl: 60_000 });
    const late = await take(lock);
    table.advance(60_001);
    const lease = await take(lock);
    await fails("lost", late.commit(incr));
    table.loseNextReply();
    equal(await lease.exec(incr), [1]);
    table.loseNextRequest();
    equal(await lease.exec(incr), [2]);
    table.expire("a");
    await fails("lost", lease.exec(incr));
    equal(table.run("GET", "n"), "2");
    table.failNext("LOADING Redis is loading the dataset in memory");
    await fails("unavailable", table.client({ maxAttempts: 1 }).lock("a").tryAcquire());
    await (await take(lock)).release();
  },

  async a_word_of_a_table_s_command_is_a_string_or_a_number() {
    const table = new Table();
    for (const word of [{ left: 3 }, { key: "k" }, ["v"], null, undefined, true, 1n]) {
      const error = await thrown(() => table.run("SET", "k", word as unknown as string));
      check(error instanceof TypeError && error.message.includes("JSON.stringify"), `${error}`);
    }
    equal([table.run("SET", "k", 7), table.run("GET", "k")], ["OK", "7"]);
  },

  async a_command_that_a_table_does_not_know_is_an_error_that_names_those_that_it_knows() {
    const table = new Table();
    const add: Command = ["XADD", { key: "k" }, "*", "f", "v"];
    const error = await thrown(() => table.run("XADD", "k"));
    check(error instanceof Error && error.message.startsWith("ERR unknown command 'XADD': edgelock/testing knows APPEND, "), `${error}`);
    const lease = await take(table.client().lock("a"));
    const failed = await fails("command_failed", lease.exec([add]));
    check(failed instanceof CommandFailedError && failed.message.includes("edgelock/testing knows"), `${failed}`);
  },

  async a_script_that_is_nested_too_deeply_does_not_exhaust_the_stack_of_the_host() {
    const table = new Table();
    const deep = "local function f(n) return (({ (function() return (((f(n + 1)))) end)() })[1]) end return f(0)";
    for (const script of [deep, "(".repeat(5_000)]) {
      const error = await thrown(() => table.run("EVAL", script, 0));
      check(error instanceof Error && error.message.startsWith("ERR "), `${error}`);
    }
    table.run("SET", "k", "v");
    equal(table.run("GET", "k"), "v");
  },

  async texts_come_out_of_a_table_as_they_went_in() {
    const table = new Table();
    for (const text of ["", "a\nb", "\\n", "\\", 'é"\u0001☃', "a\r\n"]) {
      table.run("SET", "k", text);
      equal(table.run("GET", "k"), text);
    }
    table.run("RPUSH", "l", 1, "b");
    equal(table.run("LRANGE", "l", 0, -1), ["1", "b"]);
    equal(table.run("GET", "none"), null);
  },
};
