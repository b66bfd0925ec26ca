//! Makes a configuration of `workerd` for a folder of modules.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::paths;

/// The text of a `config.capnp`, for `workerd serve` and `workerd test`. The files of all `modules`
/// must be beside it.
///
/// Each of `bindings` gets its value from the environment variable of the same name: so no value
/// needs quoting, and no credential is in a file or in a list of processes.
pub fn workerd_config<'a>(
    entry: &str,
    modules: &[String],
    bindings: impl IntoIterator<Item = &'a String>,
) -> Result<String> {
    let worker = worker(entry, modules, bindings, None, None)?;
    Ok(format!(
        r#"using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker), {INTERNET}],
  sockets = [{SOCKET}]
);
{worker}"#
    ))
}

/// The same as [`workerd_config`], with a second socket called `cron`. There, `GET` of
/// [`CRON_PATH`] calls the Worker's `scheduled` as the clock would, at `time` in milliseconds since
/// 1970. The answer is `ok` unless it throws. `object` is a class of the entry that is a Durable
/// Object, kept in memory and bound under its own name. `service` is the name of a service binding,
/// and the `host:port` that gets its requests.
pub(super) fn workerd_config_with_cron<'a>(
    entry: &str,
    modules: &[String],
    bindings: impl IntoIterator<Item = &'a String>,
    object: Option<&str>,
    service: Option<(&str, &str)>,
) -> Result<String> {
    let worker = worker(entry, modules, bindings, object, service.map(|(name, _)| name))?;
    let external = service.map_or_else(String::new, |(name, address)| {
        format!(r#", (name = "{name}", external = (address = "{address}", http = ()))"#)
    });
    let date = compatibility_date()?;
    Ok(format!(
        r#"using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker), (name = "cron", worker = .cron), {INTERNET}{external}],
  sockets = [{SOCKET}, (name = "cron", address = "127.0.0.1:0", http = (), service = "cron")]
);
const cron :Workerd.Worker = (
  modules = [(name = "cron.js", esModule = "{CRON}")],
  compatibilityDate = "{date}",
  bindings = [(name = "main", service = "main")]
);
{worker}"#
    ))
}

/// The path that `wrangler dev` uses.
pub(super) const CRON_PATH: &str = "/cdn-cgi/local/scheduled";

/// In one line and without double quotes, since it is quoted itself.
const CRON: &str = "export default { \
    async fetch(request, env) { \
        const time = Number(new URL(request.url).searchParams.get('time')); \
        await env.main.scheduled({ scheduledTime: new Date(time), cron: '0 12 * * *' }); \
        return new Response('ok'); \
    }, \
};";

const INTERNET: &str = r#"(name = "internet", network = (allow = ["public", "private"]))"#;
const SOCKET: &str = r#"(name = "http", address = "127.0.0.1:0", http = (), service = "main")"#;

fn worker<'a>(
    entry: &str,
    modules: &[String],
    bindings: impl IntoIterator<Item = &'a String>,
    object: Option<&str>,
    service: Option<&str>,
) -> Result<String> {
    ensure!(modules.iter().any(|name| name == entry), "there is no {entry}");
    let others = modules.iter().map(String::as_str).filter(|name| *name != entry);
    let modules: Vec<_> = [entry]
        .into_iter()
        .chain(others)
        .map(|name| {
            let kind = if name.ends_with(".wasm") { "wasm" } else { "esModule" };
            format!("(name = \"{name}\", {kind} = embed \"{name}\")")
        })
        .collect();
    let bindings: Vec<_> = bindings
        .into_iter()
        .map(|name| format!("(name = \"{name}\", fromEnvironment = \"{name}\")"))
        .chain(
            object
                .map(|class| format!("(name = \"{class}\", durableObjectNamespace = \"{class}\")")),
        )
        .chain(service.map(|name| format!("(name = \"{name}\", service = \"{name}\")")))
        .collect();
    let objects = object.map_or_else(String::new, |class| {
        format!(
            r#",
  durableObjectNamespaces = [(className = "{class}", uniqueKey = "{class}")],
  durableObjectStorage = (inMemory = void)"#
        )
    });
    Ok(format!(
        r#"const worker :Workerd.Worker = (
  modules = [{}],
  compatibilityDate = "{}",
  compatibilityFlags = {},
  bindings = [{}]{objects}
);
"#,
        modules.join(", "),
        compatibility_date()?,
        compatibility_flags()?,
        bindings.join(", ")
    ))
}

/// The modules in a folder and the folders in it, as paths relative to it.
pub fn workerd_modules(folder: &Path) -> Result<Vec<String>> {
    let mut modules = Vec::new();
    collect(folder, "", &mut modules)?;
    modules.sort();
    Ok(modules)
}

fn collect(folder: &Path, prefix: &str, modules: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().context("a file name is not UTF-8")?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{prefix}{name}/"), modules)?;
        } else if name.ends_with(".js") || name.ends_with(".wasm") {
            modules.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}

fn compatibility_date() -> Result<String> {
    let value = in_wrangler_toml("compatibility_date")?;
    let date = value.split('"').nth(1);
    Ok(date.context("that is no date")?.to_owned())
}

/// The flags as a list, which looks the same in both languages.
fn compatibility_flags() -> Result<String> {
    let value = in_wrangler_toml("compatibility_flags")?;
    let list = value.find('[').zip(value.find(']')).map(|(from, to)| &value[from..=to]);
    Ok(list.context("these are no flags")?.to_owned())
}

/// What people get, too: the value in wrangler.toml.
fn in_wrangler_toml(name: &str) -> Result<String> {
    let path = paths::root().join("wrangler.toml");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    let value = value.with_context(|| format!("wrangler.toml has no {name}"))?;
    Ok(value.to_owned())
}
