// JSON of bridges, read by the host. It crosses to Rust as text: each part of an object or an array
// would be a call across the border.

// What Rust calls the `Members` of an object, or of each object in a list, in their order and in
// the form that src/resp.rs reads. Nothing if bridges do not send such an object.
export function read(text, each) {
  const members = (object) => {
    if (typeof object !== "object" || Array.isArray(object)) throw new TypeError("no object");
    const { result, error, executed, EVAL, EVALSHA, SUBSCRIBE } = object;
    return list([result, error, executed, EVAL ?? EVALSHA, SUBSCRIBE], member);
  };
  try {
    const answer = JSON.parse(text);
    return each ? list(answer, members) : members(answer);
  } catch {
    return "";
  }
}

function list(values, line) {
  return `*${values.length}\r\n${values.map(line).join("")}`;
}

function member(value = null) {
  return Array.isArray(value) ? list(value, scalar) : scalar(value);
}

function scalar(value) {
  if (value === null) return "$-1\r\n";
  if (value === false) return "-\r\n";
  // This throws on half of a surrogate pair.
  if (typeof value === "string") return `+${encodeURIComponent(value)}\r\n`;
  // A host's number is a double. Beyond a bound it may differ from the number that was sent.
  if (Number.isInteger(value)) return `${Number.isSafeInteger(value) ? ":" : ","}${BigInt(value)}\r\n`;
  throw new TypeError("no value of a bridge's");
}
