//! Random authz files about the paths of a history.

use testkit::history::Random;
use testkit::random_history::RandomHistory;

/// Generates a file that grants access to a part of the paths to everyone.
pub fn random(random: &mut Random, history: &RandomHistory) -> String {
    let mut used = Vec::new();
    let mut text = String::from("[groups]\nstaff = alice, bob\n");
    let open = random.below(5) > 0;
    text.push_str(if open { "[/]\n* = r\n" } else { "[/]\n* =\n" });
    for nth in 0..1 + random.below(5) {
        let path = &history.paths[random.below(history.paths.len())];
        // Without any readable path all requests are refused.
        let grants = if !open && nth == 0 {
            true
        } else {
            random.below(3) == 0
        };
        let section = match random.below(8) {
            0..=4 => path.clone(),
            5 => format!("repo:{path}"),
            6 => {
                let name = path.rsplit('/').next().unwrap_or_default();
                format!(":glob:/**/{name}")
            }
            _ => match path.rsplit_once('/') {
                Some((parent, _)) if !parent.is_empty() => format!(":glob:{parent}/*"),
                _ => format!(":glob:{path}/**"),
            },
        };
        if used.contains(&section) {
            continue;
        }
        let who = [
            "*",
            "*",
            "*",
            "$anonymous",
            "alice",
            "@staff",
            "~alice",
            "$authenticated",
        ][random.below(8)];
        let who = if grants && nth == 0 { "*" } else { who };
        let rights = match (grants, random.below(4)) {
            (false, _) => "",
            (true, 0) => "rw",
            (true, _) => "r",
        };
        text.push_str(&format!("[{section}]\n{who} = {rights}\n"));
        used.push(section);
    }
    text
}
