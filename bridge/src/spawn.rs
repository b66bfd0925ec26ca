//! `--redis spawn`: a `redis-server` of the bridge's own, for local work.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{sleep, timeout};

/// Runs the server, and beside it a process that waits for the end of the bridge. The bridge holds
/// the pipe that this process reads. So the system closes it however the bridge ends, also by `kill
/// -9`.
const GUARD: &str = r#"
directory=$1
shift
exec 3<&0
"$@" 3<&- </dev/null &
server=$!
{ read -r _ <&3; rm -rf -- "$directory"; kill -9 "$server"; } &
guard=$!
wait "$server"
status=$?
kill "$guard"
exit "$status"
"#;

/// The user for locks, as `docs/bridges.md` tells operators to set it up.
const ACL: &str = include_str!("../redis/edgelock.acl");

/// That user's name, and the password that the file leaves to the operator to change. Nobody else
/// can open the private server's folder.
pub(crate) const USER: (&str, &str) = ("edgelock", "CHANGE-ME");

/// In the server's folder, where it changes to before it opens them.
const SOCKET: &str = "redis.sock";
const LOG: &str = "redis.log";

const START: Duration = Duration::from_secs(10);

pub(crate) struct PrivateRedis {
    shell: Child,
    /// Dropping it tells the guard to end the server.
    leash: Option<ChildStdin>,
    directory: TempDir,
}

impl PrivateRedis {
    pub(crate) async fn start(program: &Path) -> Result<Self, String> {
        let directory = tempfile::Builder::new()
            .prefix("edgelock-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .map_err(|error| format!("cannot make the private redis-server's folder: {error}"))?;
        let user = user(version(program).await.contains(" v=6."));
        let mut shell = command(program, directory.path(), user)
            .spawn()
            .map_err(|error| format!("cannot start the private redis-server's shell: {error}"))?;
        let leash = shell.stdin.take();
        let mut redis = Self { shell, leash, directory };
        let why = match timeout(START, redis.ready()).await {
            Ok(Ok(())) => return Ok(redis),
            Ok(Err(status)) => format!("did not start ({status})"),
            Err(_) => "does not answer".to_owned(),
        };
        Err(format!("{} {why}: {}", program.display(), redis.log()))
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join(SOCKET)
    }

    /// Waits for an unexpected end.
    pub(crate) async fn ended(&mut self) -> String {
        let ended = self.shell.wait().await;
        ended.map_or_else(|error| error.to_string(), |status| status.to_string())
    }

    pub(crate) async fn stop(mut self) {
        drop(self.leash.take());
        let _ = timeout(Duration::from_secs(2), self.shell.wait()).await;
    }

    /// Returns the exit status if the server ended before it was ready.
    async fn ready(&mut self) -> Result<(), ExitStatus> {
        loop {
            if let Ok(Some(status)) = self.shell.try_wait() {
                return Err(status);
            }
            if tokio::net::UnixStream::connect(self.socket()).await.is_ok() {
                return Ok(());
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn log(&self) -> String {
        let log = std::fs::read_to_string(self.directory.path().join(LOG)).unwrap_or_default();
        let none = "it left no log; is it installed? (Debian: apt install redis-server)";
        log.lines().last().unwrap_or(none).to_owned()
    }
}

/// The program's own version line. Empty if it cannot be run: starting it will say why.
async fn version(program: &Path) -> String {
    let said = Command::new(program).arg("--version").output().await;
    said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default()
}

/// As arguments. Redis refuses a user with any word that it does not know.
fn user(is_of_redis_6: bool) -> impl Iterator<Item = &'static str> {
    let rules = ACL.split_ascii_whitespace().skip(1);
    let is_newer = |rule: &str| rule.contains("function") || rule == "-lcs";
    let rules = rules.filter(move |rule| !(is_of_redis_6 && is_newer(rule)));
    ["--user"].into_iter().chain(rules)
}

fn command(program: &Path, directory: &Path, user: impl Iterator<Item = &'static str>) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", GUARD, "sh"]).arg(directory).arg(program);
    command.args(["--port", "0", "--unixsocketperm", "700"]);
    command.args(["--appendonly", "no", "--save", ""]);
    command.args(["--daemonize", "no", "--loglevel", "warning"]);
    // How long a script may keep the others waiting. Redis 6 knows the option only by this name.
    command.args(["--lua-time-limit", "1000"]);
    // How much may wait for a reader of messages: all that a script publishes, before any of it is
    // read.
    command.args(["--client-output-buffer-limit", "pubsub"]);
    command.args(["256mb", "64mb", "60"]);
    command.args(user);
    command.arg("--dir").arg(directory);
    command.args(["--unixsocket", SOCKET, "--logfile", LOG]);
    // A process group of its own. An interrupt from the terminal is for the bridge, which first
    // answers the requests under way.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
