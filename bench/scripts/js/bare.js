// The same requests by hand: the bodies that edgelock posts to acquire and to release, with other
// names and tokens.
export async function connect(url, token, imports) {
  const edgelock = await imports.edgelock();
  const [acquire, release] = await recordBodies(edgelock.connect(url, token));
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const post = async (body) => {
    const response = await fetch(url, { method: "POST", headers, body });
    const { result } = await response.json();
    if (result[0] !== 1) throw new Error(`the bridge says ${result}`);
  };
  return async (name) => {
    const token = randomToken();
    const named = (parts) => parts.join(token).replaceAll("recorded", name);
    await post(named(acquire));
    return () => post(named(release));
  };
}

// Each is cut where the token stands.
async function recordBodies(turn) {
  const bodies = [];
  const real = globalThis.fetch;
  globalThis.fetch = (url, init) => (bodies.push(init.body), real(url, init));
  const release = await turn("recorded");
  await release();
  globalThis.fetch = real;
  // EVAL, script, number of keys, the keys, nonce, token.
  const words = JSON.parse(bodies[0]);
  const token = words[3 + Number(words[2]) + 1];
  return bodies.map((body) => body.split(token));
}

function randomToken() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").slice(0, 22);
}
