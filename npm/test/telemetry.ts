// The recipe for OpenTelemetry, with its real SDK, in Node.
import { context, metrics, SpanStatusCode, trace } from "@opentelemetry/api";
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { telemetry } from "../examples/telemetry.js";
import { check, equal, eventually, fails, Network, run, type Stack, type Suite, take } from "./harness.js";

const spans = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
const reader = new PeriodicExportingMetricReader({ exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE) });
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));

/** The spans of this test's locks, as soon as there are so many. */
async function spansOf({ mark }: Stack, count: number): Promise<ReadableSpan[]> {
  const own = () => spans.getFinishedSpans().filter(({ attributes }) => String(attributes["edgelock.lock"]).startsWith(mark));
  await eventually(() => own().length >= count);
  return own();
}

/** How often something was counted or measured, by its attributes. */
async function metric(name: string): Promise<Record<string, number>> {
  const { resourceMetrics } = await reader.collect();
  const found = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics).find(({ descriptor }) => descriptor.name === name);
  const points = (found?.dataPoints ?? []) as ReadonlyArray<{ readonly attributes: object; readonly value: number | { readonly count: number } }>;
  return Object.fromEntries(points.map(({ attributes, value }) => [Object.values(attributes).join(), typeof value === "number" ? value : value.count]));
}

const millis = ([seconds, nanos]: readonly [number, number]): number => seconds * 1_000 + nanos / 1e6;

const suite: Suite = {
  async a_wait_and_a_hold_are_spans_of_the_request(stack) {
    const request = trace.getTracer("test").startSpan("request");
    const client = stack.client({ onEvent: telemetry(trace.setSpan(context.active(), request)) });
    await client.lock("a").run(() => {});
    request.end();
    const own = await spansOf(stack, 2);
    equal(own.map(({ name }) => name), ["edgelock.wait", "edgelock.hold"]);
    for (const { attributes, parentSpanContext, startTime, endTime, status } of own) {
      equal([attributes["edgelock.lock"], parentSpanContext?.spanId], [`${stack.mark}a`, request.spanContext().spanId]);
      check(millis(endTime) > millis(startTime), "it lasts");
      equal(status.code, SpanStatusCode.UNSET);
    }
  },

  async a_lost_lease_and_a_wait_in_vain_are_spans_with_an_error(stack) {
    const client = stack.client({ onEvent: telemetry() });
    const lease = await take(client.lock("a"));
    await fails("held", client.lock("a", { wait: 50 }).acquire());
    await stack.lock("a").forceRelease();
    await fails("lost", lease.renew());
    const failed = (await spansOf(stack, 3)).filter(({ status }) => status.code === SpanStatusCode.ERROR);
    equal(failed.map(({ name, status }) => [name, status.message]), [["edgelock.wait", "gave up"], ["edgelock.hold", "the lease was lost"]]);
  },

  async waits_holds_and_retries_are_counted_under_their_outcomes(stack) {
    const [waits, holds, retries] = await Promise.all(["edgelock.wait.duration", "edgelock.hold.duration", "edgelock.retries"].map(metric));
    const network = new Network("lose the request");
    const client = stack.client({ ...network, onEvent: telemetry() });
    const lease = await take(client.lock("a"));
    await lease.release();
    await spansOf(stack, 2);
    const more = async (name: string, before: Record<string, number> | undefined, outcome: string) => ((await metric(name))[outcome] ?? 0) - (before?.[outcome] ?? 0);
    equal(await more("edgelock.wait.duration", waits, "acquired"), 1);
    equal(await more("edgelock.hold.duration", holds, "released"), 1);
    equal(await more("edgelock.retries", retries, "unavailable"), 1);
  },
};

const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
run({ url, credential }, [suite], console.log).then((passed) => process.exit(passed ? 0 : 1));
