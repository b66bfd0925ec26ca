// Names and texts that others chose, as a message may show them.
const LONGEST_NAME = 100;
const LAYOUT = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** As in src/redact.rs: cut short, and without characters that change how the text around looks. */
export function quoted(name: string): string {
  const chars = [...name];
  const shown = chars.slice(0, LONGEST_NAME).join("");
  const plain = shown
    .replace(/["\\]/g, "\\$&")
    .replace(LAYOUT, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
  return `"${plain}${chars.length > LONGEST_NAME ? "…" : ""}"`;
}

/** A sentence of others. As in src/redact.rs: with blanks in place of such characters. */
export const inOneLine = (text: string): string => text.replace(LAYOUT, " ").trim();
