// What happens to locks, as OpenTelemetry has it: a span for each wait and each hold, and metrics
// of all.
import { context, metrics, SpanStatusCode, trace } from "@opentelemetry/api";
import type { LockEvent } from "edgelock";

/**
 * For a client's `onEvent`. Make it where the request is handled, as the client: its spans are then
 * children of the request's span.
 *
 * Spans name the lock. Metrics do not, since each name would be a time series of its own.
 */
export function telemetry(parent = context.active()): (event: LockEvent) => void {
  const tracer = trace.getTracer("edgelock");
  const meter = metrics.getMeter("edgelock");
  // Instruments of the same name are the same.
  const waits = meter.createHistogram("edgelock.wait.duration", { unit: "s", description: "From the call to the lock, or to giving up" });
  const holds = meter.createHistogram("edgelock.hold.duration", { unit: "s", description: "From the lock to its release, or to its loss" });
  const retries = meter.createCounter("edgelock.retries", { description: "Requests that got lost, and were sent again" });

  /** A span of what took so many milliseconds until now. */
  const span = (name: string, { lock }: LockEvent, ms: number, attributes: Record<string, number>, failure?: string): void => {
    const end = Date.now();
    const span = tracer.startSpan(name, { startTime: end - ms, attributes: { "edgelock.lock": lock, ...attributes } }, parent);
    if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
    span.end(end);
  };

  return (event) => {
    switch (event.type) {
      case "acquired":
      case "gave_up":
        waits.record(event.waited / 1_000, { outcome: event.type });
        return span("edgelock.wait", event, event.waited, { "edgelock.requests": event.requests }, event.type === "gave_up" ? "gave up" : undefined);
      case "released":
      case "lost":
        holds.record(event.held / 1_000, { outcome: event.type });
        return span("edgelock.hold", event, event.held, {}, event.type === "lost" ? "the lease was lost" : undefined);
      case "retried":
        return retries.add(1, { code: event.error.code });
    }
  };
}
