//! What `cargo xtask explore` asks for.

use std::env;
use std::str::FromStr;
use std::time::Duration;

use super::plan::{self, PLANS, Plan};
use super::search::{Bend, Bounds};
use super::step::{self, Fault, Step};

pub(super) struct Asked {
    world: String,
    clients: Option<usize>,
    faults: plan::Asked,
    pub(super) bend: Bend,
    pub(super) steps: Option<Vec<Step>>,
    pub(super) bounds: Bounds,
}

impl Asked {
    /// Reads the environment; `None` if nothing is asked for.
    pub(super) fn of_environment() -> Option<Self> {
        let in_all = asked_for("FAULTS")?;
        let each = asked_for("EACH").unwrap_or(in_all);
        let only: Option<String> = asked_for("ONLY");
        let world: String = asked_for("WORLD").unwrap_or_default();
        let sabotage: Option<String> = asked_for("SABOTAGE");
        let steps: Option<String> = asked_for("STEPS");
        let bend = sabotage.map(|name| {
            let is_there = |broken: &&crate::sabotage::Broken| {
                let plan = Plan::named(&world);
                broken.name == name && plan.is_none_or(|plan| plan.locks == broken.locks)
            };
            super::caught::broken()
                .find(is_there)
                .unwrap_or_else(|| panic!("no sabotage {name:?}; there are{}", names()))
        });
        Some(Self {
            clients: asked_for("CLIENTS"),
            faults: only.map_or(plan::Asked::Sorts { each, in_all }, |only| these(&only)),
            bend,
            steps: steps.map(|word| step::steps(&word).expect("steps")),
            bounds: Bounds {
                time: Duration::from_secs(60 * asked_for::<u64>("MINUTES").unwrap_or(60)),
                states: usize::MAX,
                shows_progress: true,
            },
            world,
        })
    }

    /// The worlds that are asked for, or all.
    pub(super) fn plans(&self) -> Vec<Plan> {
        let fits = |plan: &Plan| {
            self.bend.is_none_or(|broken| broken.locks == plan.locks && plan.servers == 1)
        };
        let plans = match self.world.as_str() {
            "" => PLANS.iter().copied().filter(fits).collect(),
            name => vec![
                Plan::named(name)
                    .unwrap_or_else(|| panic!("no world {name:?}; there are{}", worlds())),
            ],
        };
        let asked = |plan: Plan| {
            let clients = self.clients.unwrap_or(plan.clients).clamp(1, 4);
            plan.among(clients).failing(self.faults)
        };
        plans.into_iter().map(asked).collect()
    }
}

/// The command that looks at `plan` again.
pub(super) fn command(plan: &Plan, bend: Bend) -> String {
    let sabotage = bend.map_or_else(String::new, |broken| format!(" --sabotage {}", broken.name));
    let faults = match plan.asked {
        plan::Asked::Sorts { each, in_all } => format!("--faults {in_all} --each {each}"),
        plan::Asked::These(faults) => {
            let names: Vec<_> = faults.iter().map(ToString::to_string).collect();
            format!("--only {}", names.join(","))
        }
    };
    let Plan { name, clients, .. } = plan;
    format!("cargo xtask explore {name} --clients {clients} {faults}{sabotage}")
}

/// The named faults. They live as long as the process, which looks at them all the time.
fn these(names: &str) -> plan::Asked {
    let faults: Result<Vec<Fault>, _> = names.split(',').map(str::parse).collect();
    plan::Asked::These(faults.expect("faults").leak())
}

fn asked_for<V: FromStr>(name: &str) -> Option<V> {
    let value = env::var(format!("EDGELOCK_EXPLORE_{name}")).ok()?;
    Some(value.parse().ok().unwrap_or_else(|| panic!("{name} is {value:?}")))
}

fn names() -> String {
    super::caught::broken().map(|broken| format!("\n  {}", broken.name)).collect()
}

fn worlds() -> String {
    PLANS.iter().map(|plan| format!("\n  {}: {}", plan.name, plan.about)).collect()
}
