//! The Docker file builds this package, and starts it with options that it has. Docker itself is
//! not run.

use std::fs;
use std::path::Path;

use tokio::process::Command;

/// The words behind each line that begins with `instruction`.
fn instructions<'a>(file: &'a str, instruction: &str) -> Vec<&'a str> {
    let lines = file.lines();
    lines.filter_map(|line| line.strip_prefix(instruction)?.strip_prefix(' ')).collect()
}

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join(path)).expect(path)
}

#[tokio::test]
async fn the_docker_file_builds_the_bridge_and_starts_it_with_options_that_it_has() {
    let file = read("bridge/Dockerfile");
    let workspace = read("Cargo.toml");

    let build = instructions(&file, "RUN")[0];
    let of = |option: &str| {
        let mut words = build.split(' ').skip_while(|word| *word != option);
        words.nth(1).expect(option).to_owned()
    };
    let (profile, package) = (of("--profile"), of("--package"));
    assert_eq!(package, env!("CARGO_PKG_NAME"));
    assert!(workspace.contains(&format!("[profile.{profile}]")));

    let oldest = format!("rust:{}-", env!("CARGO_PKG_RUST_VERSION"));
    assert!(instructions(&file, "FROM")[0].starts_with(&oldest));

    let copied = instructions(&file, "COPY")[1];
    let built = format!("/target/{profile}/edgelock-bridge ");
    assert!(copied.contains(&built), "{copied}");

    let entry = instructions(&file, "ENTRYPOINT")[0];
    let entry: Vec<String> = serde_json::from_str(entry).expect("a list of words");
    assert!(copied.ends_with(&entry[0]), "{copied}");
    // The bridge refuses unknown options before it looks for missing ones.
    let mut command = Command::new(env!("CARGO_BIN_EXE_edgelock-bridge"));
    command.env_clear().args(&entry[1..]);
    let ended = command.output().await.expect("it starts");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("EDGELOCK_BRIDGE_CREDENTIAL"), "{said}");
}
