//! A reader who does what a page says.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::desk::Desk;
use super::page::{Place, Step, steps};
use crate::terminal::Terminal;

/// Where pages say that servers listen. Here the system picks other ports.
const WORKER: &str = "http://localhost:8787";
const BRIDGE: &str = "http://127.0.0.1:8079";

/// A reader with a terminal in a folder, who may open others.
pub(super) struct Reader<'a> {
    desk: &'a Desk,
    /// What `cargo xtask dev` printed.
    dev: &'a str,
    terminal: Terminal,
    is_beside_clone: bool,
    is_in_clone: bool,
    /// The servers that the reader started, and where they listen.
    servers: Vec<Terminal>,
    listening: Vec<(&'static str, String)>,
}

impl<'a> Reader<'a> {
    pub(super) fn at(folder: &Path, desk: &'a Desk, dev: &'a str) -> Result<Self> {
        Ok(Self {
            desk,
            dev,
            terminal: Terminal::open(folder, desk.command())?,
            is_beside_clone: folder.parent() == desk.clone().parent()
                || folder.join("edgelock").exists(),
            is_in_clone: folder.ends_with("edgelock"),
            servers: Vec::new(),
            listening: Vec::new(),
        })
    }

    /// Follows the steps under a heading. The last line of the last command must begin with `last`.
    pub(super) async fn follow(&mut self, page: &str, heading: &str, last: &str) -> Result<()> {
        let followed = self.do_all(steps(page, heading)?).await;
        let printed = followed.with_context(|| format!("{page}, {heading:?}"))?;
        let line = printed.lines().last().unwrap_or_default();
        ensure!(line.starts_with(last), "{page}, {heading:?} ends with {printed}");
        eprintln!("followed {page}, {heading:?}");
        Ok(())
    }

    /// Does all steps, and returns what the last command printed.
    async fn do_all(&mut self, steps: Vec<Step>) -> Result<String> {
        let mut printed = String::new();
        for step in steps {
            match step {
                Step::Write { file, text } => self.write(&file, &self.adapted(&text)).await?,
                Step::PutVariables { file, all } => self.write(&file, &self.variables(all)).await?,
                Step::Type { command, at } => printed = self.enter(&command, at).await?,
            }
        }
        Ok(printed)
    }

    async fn write(&mut self, file: &str, text: &str) -> Result<()> {
        let path = self.here().await?.join(file);
        fs::create_dir_all(path.parent().context("a folder")?)?;
        if file == "Cargo.toml" {
            // Without the registry, cargo has only these versions.
            let lock = self.desk.clone().join("Cargo.lock");
            fs::copy(lock, path.with_file_name("Cargo.lock"))?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {file}"))
    }

    async fn here(&mut self) -> Result<PathBuf> {
        Ok(self.run("pwd").await?.trim_end().into())
    }

    /// The text as a reader writes it whose clone is elsewhere. It has no TLS, which takes minutes
    /// to compile, and which the bridge does not use here.
    fn adapted(&self, text: &str) -> String {
        let text = text.replace(r#"["native"]"#, r#"["native-no-tls"]"#);
        if self.is_beside_clone {
            return text;
        }
        text.replace("../edgelock", &self.desk.clone().to_string_lossy())
    }

    /// The lines for a file of variables, as they were printed: those of the bridge, or all.
    fn variables(&self, all: bool) -> String {
        let lines = self.dev.lines().filter(|line| {
            let name = line.trim_start().split_once('=').map(|(name, _)| name);
            name.is_some_and(|name| {
                name.starts_with("EDGELOCK_BRIDGE_") || all && name.ends_with("_CREDENTIAL")
            })
        });
        lines.flat_map(|line| [line, "\n"]).collect()
    }

    pub(super) async fn enter(&mut self, command: &str, at: Place) -> Result<String> {
        let command = self.filled_in(command.trim_end());
        if command == "npx wrangler dev" {
            let mut server = Terminal::open(&self.here().await?, self.desk.command())?;
            let printed = server.start(&format!("{command} --port 0"), "Ready on ").await?;
            self.listens(WORKER, &printed, "Ready on ")?;
            self.servers.push(server);
            return Ok(printed);
        }
        if command.ends_with('&') {
            let sign = "listening on ";
            let printed = self.terminal.start(&command, sign).await?;
            self.listens(BRIDGE, &printed, sign)?;
            return Ok(printed);
        }
        if at == Place::Clone && !self.is_in_clone {
            let mut terminal = Terminal::open(&self.desk.clone(), self.desk.command())?;
            return terminal.run(&command).await;
        }
        let mut printed = self.run(&command).await?;
        // The program of the first lock sells what there is, and no more.
        for left in (0..5).rev() {
            let line = printed.lines().last().unwrap_or_default();
            if left == 4 && !line.starts_with("sold one, ") {
                break;
            }
            let sold = format!("sold one, {left} left, fence ");
            ensure!(line.starts_with(&sold), "{command} printed {printed}");
            printed = self.run(&command).await?;
        }
        Ok(printed)
    }

    /// The command with values where the page has none, and with the addresses of the servers here.
    fn filled_in(&self, command: &str) -> String {
        let mut command = self.adapted(command);
        for line in self.dev.lines() {
            if let Some((name, value)) = line.trim_start().split_once('=') {
                command = command.replace(&format!("{name}=…"), &format!("{name}={value}"));
            }
        }
        let places = self.listening.iter();
        places.fold(command, |command, (page, here)| command.replace(page, here))
    }

    fn listens(&mut self, page: &'static str, printed: &str, sign: &str) -> Result<()> {
        let address = printed.lines().find_map(|line| Some(line.split_once(sign)?.1));
        let address = address.context("an address")?.trim_end().to_owned();
        self.listening.push((page, address));
        Ok(())
    }

    /// Types a command in the reader's own terminal.
    pub(super) async fn run(&mut self, command: &str) -> Result<String> {
        self.terminal.run(command).await
    }
}
