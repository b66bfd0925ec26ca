// How a failure leaves the wasm module, before it is an error.

/** How an error leaves the wasm module. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly isOutcomeUnknown: boolean;
  readonly isRetryable?: boolean;
  /** What is known besides the code. Advice follows it. */
  readonly reason?: Reason | undefined;
  readonly lock?: string | undefined;
  readonly remaining?: number | null;
  readonly ahead?: number;
  readonly label?: string | null;
  readonly retryAfter?: number | null;
  readonly requests?: number;
  readonly index?: number;
  readonly command?: string;
  /** What `fetch` failed with. */
  readonly cause?: unknown;
  readonly asked?: number;
  readonly acknowledged?: number;
  readonly bytes?: number | null;
  readonly most?: number | null;
}

/** As in src/error/why.rs; the last three are of this side of the border. */
export type Reason =
  | "never_expires"
  | "forbidden_key"
  | "forbidden_command"
  | "no_scripts"
  | "no_password"
  | "no_bridge"
  | "path_is_command"
  | "no_environment"
  | "no_crypto"
  | "no_wasm";

/** The codes of the errors. They do not change between versions. */
export type ErrorCode =
  | "invalid_argument"
  | "entropy_unavailable"
  | "held"
  | "quarantined"
  | "not_replicated"
  | "fingerprint_mismatch"
  | "result_too_large"
  | "result_unreadable"
  | "sold_out"
  | "owner_limit"
  | "confirmed"
  | "lost"
  | "expired"
  | "max_hold_exceeded"
  | "released"
  | "busy"
  | "command_failed"
  | "wrong_type"
  | "unauthorized"
  | "refused"
  | "unavailable"
  | "timed_out"
  | "redirected"
  | "not_json"
  | "truncated"
  | "too_large"
  | "unexpected_reply"
  | "internal";
