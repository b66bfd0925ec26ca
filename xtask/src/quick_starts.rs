//! Follows the quick starts of the pages to the letter, as a reader does who starts with an empty
//! folder. Each file and each command comes from the page, and the servers are those of `cargo
//! xtask dev`.

mod desk;
mod page;
mod reader;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use testkit::worker_build;

use self::desk::Desk;
use self::page::{Place, Step, steps};
use self::reader::Reader;
use crate::terminal::Terminal;

const GUIDE: &str = "docs/guide.md";
const SOLD_OUT: &str = "sold out";
/// How an answer about the sale begins that `cargo xtask dev` opened.
const LAMPS: &str = r#"{"ends_at_ms":"#;

/// Follows all of them, with Node 22 and not beside the clone.
pub(crate) async fn follow(xtask: &Path, bridge: &Path) -> Result<()> {
    desk::fetch_crates()?;
    let desk = Desk::set_up(xtask, bridge)?;
    follow_pages(&desk).await?;
    sell_in_a_folder_of_ones_own(&desk).await?;
    let followed = build_in_a_fresh_clone(&desk).await;
    followed.context("in a fresh clone")
}

/// Copies the flash sale's folder and follows its page there, as one does who starts with that.
async fn sell_in_a_folder_of_ones_own(desk: &Desk) -> Result<()> {
    let (_servers, printed) = dev(desk).await?;
    let folder = desk.place("far/sale")?;
    worker_build::copy_sale(&folder)?;
    let mut reader = Reader::at(&folder, desk, &printed)?;
    reader.follow("worker/README.md", "In a folder of your own", LAMPS).await
}

/// Follows the Worker's page, changes the Worker while it runs, and looks at how it was built.
async fn build_in_a_fresh_clone(desk: &Desk) -> Result<()> {
    let (_servers, printed) = dev(desk).await?;
    let clone = desk.fresh_clone()?;
    let mut reader = Reader::at(&clone, desk, &printed)?;
    let last = "--dry-run: exiting now.";
    reader.follow("worker/README.md", "In wrangler", last).await?;
    ensure!(is_built(&clone, "deployed")?, "what is deployed is not optimized");

    let page = clone.join("worker/src/page.html");
    let saved = fs::read_to_string(&page)?.replace("Flash sale", "Saved sale");
    fs::write(page, saved)?;
    let command = "until curl -s http://localhost:8787 | grep 'Saved sale'; do sleep 0.2; done";
    reader.enter(command, Place::Here).await?;
    ensure!(is_built(&clone, "worker")?, "a save is built for long");
    // As `npm install` left it.
    let modules = clone.join("node_modules").read_dir()?.count();
    ensure!(modules == 1, "{modules} entries in node_modules");
    eprintln!("built the Worker in a fresh clone, and again after a save");
    Ok(())
}

/// Whether wrangler has the Worker that was built in this way.
fn is_built(clone: &Path, way: &str) -> Result<bool> {
    let module = "index_bg.wasm";
    let built = desk::target().join("built").join(way);
    let wranglers = fs::read(clone.join("worker/build").join(module))?;
    Ok(wranglers == fs::read(built.join(module))?)
}

/// Follows the pages for users of the client, one after another, with one bridge.
async fn follow_pages(desk: &Desk) -> Result<()> {
    let (_servers, printed) = dev(desk).await?;
    let mut reader = Reader::at(&desk.clone(), desk, &printed)?;
    let asked = ask_the_worker(&mut reader, &printed).await;
    asked.context("the Worker of `cargo xtask dev`")?;
    let place = desk.place("far/away")?;

    let mut reader = Reader::at(&place, desk, &printed)?;
    reader.follow(GUIDE, "In a Worker, in Rust", SOLD_OUT).await?;
    // The editor and this command take the target from the same configuration. For release, all is
    // compiled by now.
    let seen = reader.run("cargo build --quiet --release").await;
    seen.context("what rust-analyzer sees")?;

    for heading in ["In a Worker, in TypeScript", "In a native program"] {
        let mut reader = Reader::at(&place, desk, &printed)?;
        reader.follow(GUIDE, heading, SOLD_OUT).await?;
    }

    let mut reader = Reader::at(&desk.place(place.join("project"))?, desk, &printed)?;
    let page = "npm/README.md";
    reader.follow(page, "edgelock", "nobody else is here, fence ").await?;
    use_the_command_line(&mut reader, page).await?;

    let mut reader = Reader::at(&desk.clone(), desk, &printed)?;
    let answer = r#"{"result":"OK"}"#;
    reader.follow("bridge/README.md", "edgelock-bridge", answer).await
}

/// Types the commands that `cargo xtask dev` printed, and then the cart of the Worker's page.
async fn ask_the_worker(reader: &mut Reader<'_>, printed: &str) -> Result<()> {
    let lines = printed.lines();
    let mut last = String::new();
    for command in lines.clone().filter(|line| line.starts_with("  curl ")) {
        last = answer(reader, command).await?;
    }
    ensure!(last.contains(r#""winners":["ann"]"#), "the lottery: {last}");
    let worker = lines.clone().find_map(|line| line.strip_prefix("Worker   "));
    let worker = worker.context("an address")?;
    reader.run(&format!("WORKER={worker}")).await?;
    for step in steps("worker/README.md", "Bodies")? {
        let Step::Type { command, .. } = step else {
            bail!("the Worker's page says {step:?}");
        };
        let cart = answer(reader, &command).await?;
        ensure!(cart.contains(r#""order_id":"c1""#), "the cart: {cart}");
    }
    Ok(())
}

/// What a command prints, which must not be a problem of the Worker.
async fn answer(reader: &mut Reader<'_>, command: &str) -> Result<String> {
    let printed = reader.run(command).await?;
    ensure!(!printed.contains(r#""code":"#), "{command} printed {printed}");
    Ok(printed)
}

/// Types all commands of the page, except those that never end or ask a question.
async fn use_the_command_line(reader: &mut Reader<'_>, page: &str) -> Result<()> {
    let commands = steps(page, "The command line")?;
    let [Step::Type { command, .. }] = commands.as_slice() else {
        bail!("{page} has other commands");
    };
    for command in command.lines() {
        if !command.contains(" watch ") && !command.contains(" --force ") {
            let printed = reader.run(command).await?;
            let runs = !command.contains("echo it runs") || printed.contains("it runs");
            ensure!(runs, "{command} printed {printed}");
        }
    }
    Ok(())
}

/// Types what the guide begins with. Returns its terminal, and what it printed.
async fn dev(desk: &Desk) -> Result<(Terminal, String)> {
    let steps = steps(GUIDE, "A first lock")?;
    let [Step::Type { command, at: Place::Clone }] = steps.as_slice() else {
        bail!("the guide begins with {steps:?}");
    };
    let mut terminal = Terminal::open(&desk.clone(), desk.command())?;
    let printed = terminal.start(command, "Ctrl-C").await?;
    Ok((terminal, printed))
}
