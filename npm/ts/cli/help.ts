// What `--help` says. docs/cli.md shows the same.
const BRIDGE = `The bridge:
  --url ADDRESS      in place of EDGELOCK_BRIDGE_URL
  --webdis USER      the bridge is a webdis; the credential is this user's password
  --plain-http       allow http: to another machine, which shows the credential
                     to the network
The credential is EDGELOCK_BRIDGE_CREDENTIAL, and never an argument. Without these
variables those of Upstash and Vercel are read, as by Client.fromEnv.
`;

const DURATIONS = `A duration has a unit: 500ms, 30s, 5m, 1h.
`;

export const HELP = `usage: edgelock COMMAND [OPTIONS]

  run NAME -- COMMAND   run a command under a lock
  inspect NAME          show who holds a lock, and how many wait
  watch NAME            show it as it changes
  release --force NAME  free a lock, whoever holds it
  doctor                check whether locks work from here

edgelock COMMAND --help says more. NAME is the whole key in Redis, prefix included.

Exit codes:
  0    done
  1    doctor: a check failed; release: the answer was no
  64   the arguments cannot work; nothing was done
  69   the bridge or Redis is away, or refuses
  70   a fault in edgelock
  74   the output cannot be written
  75   another holder has the lock
  77   the credential is wrong
  79   run: the lease was lost while the command ran
  126  run: the command cannot be executed
  127  run: there is no such command
  128+ a signal of this number ended it
run exits with the command's own code if that ran to its end.
`;

export const HELP_OF: Readonly<Record<string, string>> = {
  run: `usage: edgelock run [OPTIONS] NAME -- COMMAND [ARGUMENTS]

Takes the lock, runs the command, renews the lease for as long as that takes, and
releases it. The command gets the lease's fence as EDGELOCK_FENCE, and the signals
that edgelock gets.
A NAME that begins with - needs a -- before it: edgelock run -- NAME -- COMMAND

If the lease is lost, the command gets SIGTERM, and the exit code is 79.

  --ttl DURATION         how long the lease lasts unless it is renewed; default 10s
  --wait DURATION        how long to wait for another holder; default 5s.
                         0 tries once, and forever has no end
  --label TEXT           what others see of the holder; default HOST:PID
  --kill-after DURATION  if the lease is lost, SIGKILL follows SIGTERM after
                         this time; default 10s
${DURATIONS}
${BRIDGE}`,
  inspect: `usage: edgelock inspect [OPTIONS] NAME

Shows who holds a lock, the time left, the last fence, and how many wait. The lock
can be of any kind. Its tokens are not shown.

  --json             as JSON: name, state (free, held or read), holders (label,
                     remaining in ms, count), fence, waiters

${BRIDGE}`,
  watch: `usage: edgelock watch [OPTIONS] NAME

Shows who holds a lock and how many wait, until Ctrl-C. Asks once a second. On a
terminal it redraws; elsewhere it prints a line for each change.

  --json             each change as a line of JSON, as inspect has it, with the time

${BRIDGE}`,
  release: `usage: edgelock release --force [OPTIONS] NAME

Shows who holds a lock, asks, and frees it. All holders of a semaphore and all
readers lose it. They learn of it at once if they listen, else at their next
call or renewal.

  --force            needed, since the lock is another's
  --yes              do not ask; needed without a terminal
  --endless          with --yes: also what never ends, which may be data

${BRIDGE}`,
  doctor: `usage: edgelock doctor [OPTIONS]

Checks the settings, the bridge and its dialect, the round trip, the clock, a lock,
whether Redis evicts keys, and whether waiters are told of a release. Takes three
locks of random names.

  --prefix TEXT      what those names begin with, if the bridge's user may not have
                     other keys
  --json             as JSON: ok, checks (check, ok, found; advice if not ok)

${BRIDGE}`,
};
