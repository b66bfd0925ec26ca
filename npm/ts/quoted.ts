// Names and texts that others chose, as a message may show them.
const LONGEST_NAME = 100;

/** As in src/redact.rs: cut short, and without characters that change how the text around looks. */
export function quoted(name: string): string {
  const chars = [...name];
  const shown = chars.slice(0, LONGEST_NAME).join("");
  const plain = shown
    .replace(/["\\]/g, "\\$&")
    .replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (char) => `\\u{${char.charCodeAt(0).toString(16)}}`);
  return `"${plain}${chars.length > LONGEST_NAME ? "…" : ""}"`;
}
