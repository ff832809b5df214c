//! Cycles between the top-level modules of a crate.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::SourceFile;

/// The modules of a crate and the modules of the same crate that each names.
type ModuleGraph = BTreeMap<String, BTreeSet<String>>;

/// Reports product crates whose top-level modules use each other in a circle.
pub fn module_cycles(files: &[SourceFile]) -> Vec<String> {
    let mut graphs: BTreeMap<String, ModuleGraph> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_product()) {
        let path = file.path.to_string_lossy();
        let Some((name, below)) = path
            .strip_prefix("crates/")
            .and_then(|path| path.split_once("/src/"))
        else {
            continue;
        };
        let lines = file.product_lines();
        let code: Vec<&str> = lines
            .map(|(_, line)| line.split("//").next().unwrap_or_default())
            .collect();
        add_uses(
            graphs.entry(name.to_owned()).or_default(),
            below,
            &code.join("\n"),
        );
    }
    let cycles = graphs.iter().map(|(name, graph)| (name, in_cycles(graph)));
    cycles
        .filter(|(_, modules)| !modules.is_empty())
        .map(|(name, modules)| {
            format!(
                "crates/{name}: modules in or above a cycle: {}",
                modules.join(", ")
            )
        })
        .collect()
}

/// Adds what the file at `path` (relative to `src/`) names to the graph of its crate. `code` has no comments.
fn add_uses(graph: &mut ModuleGraph, path: &str, code: &str) {
    let module = path.split('/').next().unwrap_or(path).trim_end_matches(".rs");
    if ["lib", "main"].contains(&module) {
        return;
    }
    let uses = graph.entry(module.to_owned()).or_default();
    for rest in code.split("crate::").skip(1) {
        let (list, is_list) = match rest.strip_prefix('{') {
            Some(list) => (list.split('}').next().unwrap_or_default(), true),
            None => (rest, false),
        };
        let word = |text: &str| -> String {
            let text = text.trim_start();
            text.chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect()
        };
        match is_list {
            true => uses.extend(list.split(',').map(word)),
            false => _ = uses.insert(word(list)),
        }
    }
    uses.remove(module);
}

/// Returns the modules that are in a cycle, or use one that is.
fn in_cycles(graph: &ModuleGraph) -> Vec<String> {
    let mut left = graph.clone();
    loop {
        let known: BTreeSet<String> = left.keys().cloned().collect();
        let before = left.len();
        left.retain(|_, uses| uses.iter().any(|used| known.contains(used)));
        if left.len() == before {
            return left.into_keys().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_and_a_chain_is_none() {
        let mut graph = ModuleGraph::new();
        add_uses(&mut graph, "a.rs", "use crate::b::X;\n");
        add_uses(&mut graph, "b/mod.rs", "use crate::{c, d::Y};\n");
        add_uses(&mut graph, "c.rs", "");
        assert!(in_cycles(&graph).is_empty());
        add_uses(&mut graph, "d.rs", "fn f() { crate::a::g() }");
        assert_eq!(in_cycles(&graph), ["a", "b", "d"]);
    }
}
