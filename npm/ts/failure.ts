// How a failure leaves the wasm module, before it is an error.

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly isOutcomeUnknown: boolean;
  /** What is known besides the code. Advice follows it. */
  readonly reason?: Reason | undefined;
  readonly lock?: string | undefined;
  /** What `fetch` failed with. */
  readonly cause?: unknown;
  /** What the class of its code has besides. */
  readonly [detail: string]: unknown;
}

/** As in src/error/why.rs; the last four are of this side of the border. */
export type Reason =
  | "never_expires" | "forbidden_key" | "forbidden_command" | "no_scripts" | "no_password" | "forgotten"
  | "no_bridge" | "path_is_command" | "no_environment" | "no_crypto" | "no_wasm" | "no_text";

/** The codes of the errors. They do not change between versions. */
export type ErrorCode =
  | "invalid_argument" | "entropy_unavailable" | "held" | "quarantined" | "not_replicated"
  | "fingerprint_mismatch" | "result_too_large" | "result_unreadable" | "sold_out" | "owner_limit"
  | "confirmed" | "lost" | "expired" | "max_hold_exceeded" | "released" | "busy" | "command_failed"
  | "wrong_type" | "unauthorized" | "refused" | "unavailable" | "timed_out" | "redirected" | "not_json"
  | "truncated" | "too_large" | "unexpected_reply" | "internal";
