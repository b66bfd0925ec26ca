// `edgelock doctor`: whether locks work from here, and if not, what to do.
import { EdgelockError } from "edgelock";
import { COMMON, JSON_OPTION, parse } from "./args.js";
import { type Check, CHECKS, type Finding, Patient } from "./checks.js";
import { NO, OK, UsageError } from "./exit.js";

export async function doctor(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { ...COMMON, ...JSON_OPTION, prefix: { type: "string" } });
  if (positionals.length > 0) throw new UsageError("doctor takes no name");
  const patient = new Patient(values);
  const findings: Array<Finding & { readonly check: string }> = [];
  for (const [check, examine] of Object.entries(CHECKS)) {
    const finding = await examined(examine, patient);
    findings.push({ check, ...finding });
    if (!values.json) process.stdout.write(line(check, finding));
    if (!finding.ok && finding.isFatal) break;
  }
  const ok = findings.every((finding) => finding.ok);
  if (values.json) process.stdout.write(`${JSON.stringify({ ok, checks: findings.map(told) })}\n`);
  return ok ? OK : NO;
}

async function examined(check: Check, patient: Patient): Promise<Finding> {
  try {
    return await check(patient);
  } catch (error) {
    if (!(error instanceof EdgelockError || error instanceof UsageError)) throw error;
    return { ok: false, isFatal: true, found: error.message, advice: patient.advice(error) };
  }
}

/** What a machine is told. What is well needs no advice. */
function told({ check, ok, found, advice }: Finding & { readonly check: string }): object {
  return ok ? { check, ok, found } : { check, ok, found, advice };
}

function line(check: string, { ok, found, advice }: Finding): string {
  return `${ok ? "ok  " : "FAIL"} ${check}: ${found}\n${ok || advice === undefined ? "" : `     ${advice}\n`}`;
}
