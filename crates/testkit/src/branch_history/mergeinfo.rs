//! Changes of `svn:mergeinfo` in a random history of branches: as merges write it, and as no merge would.

use super::{BranchGenerator, BranchNode, RecordKind};

impl BranchGenerator {
    /// Returns random ranges, none of them without inheritance for files.
    fn ranges(&mut self, kind: RecordKind) -> String {
        let number = self.number();
        let mut ranges = Vec::new();
        let mut first = 1 + self.random.below(number);
        for _ in 0..1 + self.random.below(3) {
            let future = if self.one_in(12) { number } else { 0 };
            let last = first + self.random.below(4) + future;
            if last >= number && future == 0 {
                break;
            }
            let star = if kind == RecordKind::Dir && self.one_in(5) {
                "*"
            } else {
                ""
            };
            ranges.push(match first == last {
                true => format!("{first}{star}"),
                false => format!("{first}-{last}{star}"),
            });
            first = last + 2 + self.random.below(4);
        }
        if ranges.is_empty() {
            ranges.push(format!("{}", 1.max(number - 1)));
        }
        ranges.join(",")
    }

    /// Adds mergeinfo to `target` for some revisions of `source`.
    fn add_mergeinfo(&mut self, source: &str, target: &str) {
        let mut node = self.tree()[target].clone();
        let mut value = format!("/{source}:{}", self.ranges(node.kind));
        if let Some(old) = &node.mergeinfo {
            value = format!("{old}\n{value}");
        }
        let Ok(mergeinfo) = base::Mergeinfo::parse(value.as_bytes()) else {
            return;
        };
        node.mergeinfo = Some(mergeinfo.to_string());
        self.put(target, node);
        self.change_props(target);
    }

    pub(super) fn merge(&mut self) {
        let now = self.roots(self.number());
        let number = self.earlier();
        let before = self.roots(number);
        let (Some(target), Some(source)) = (self.pick(&now), self.pick(&before)) else {
            return;
        };
        let mut at = String::new();
        if self.one_in(3) {
            let nodes = self.nodes(None);
            let below = nodes.iter().filter_map(|path| path.strip_prefix(&target));
            let below: Vec<String> = below.map(str::to_owned).collect();
            at = self.pick(&below).unwrap_or_default();
        }
        let (source, target) = (format!("{source}{at}"), format!("{target}{at}"));
        if !self.tree().contains_key(&target) {
            return;
        }
        self.add_mergeinfo(&source, &target);
        let files = self.nodes(Some(RecordKind::File));
        let below = files.iter().filter_map(|path| path.strip_prefix(&target));
        let below: Vec<String> = below.map(str::to_owned).collect();
        for _ in 0..self.random.below(3) {
            let Some(file) = self.pick(&below) else {
                break;
            };
            let from = self.trees[number].get(&format!("{source}{file}")).cloned();
            let to = format!("{target}{file}");
            if let Some(from) = from
                && from.kind == RecordKind::File
                && self.tree()[&to].lines != from.lines
                && self.edited.insert(to.clone())
            {
                let node = BranchNode {
                    lines: from.lines,
                    ..self.tree()[&to].clone()
                };
                self.stream.edit(&to, node.text());
                self.put(&to, node);
            }
        }
        if let Some(file) = self.pick(&below)
            && self.one_in(3)
            && !file.is_empty()
        {
            self.add_mergeinfo(&format!("{source}{file}"), &format!("{target}{file}"));
        }
    }

    /// Sets mergeinfo that no merge would write, or removes it.
    pub(super) fn unusual_mergeinfo(&mut self) {
        let nodes = self.nodes(None);
        let Some(path) = self.pick(&nodes) else {
            return;
        };
        let all_paths: Vec<String> = self.all_paths.iter().cloned().collect();
        let kind = self.tree()[&path].kind;
        let mut lines = Vec::new();
        for _ in 0..self.random.below(4) {
            let source = match self.random.below(8) {
                0 => path.clone(),
                1 => "nowhere/A".to_owned(),
                2 => format!("{path}/A"),
                3 => path
                    .rsplit_once('/')
                    .map_or("trunk", |(parent, _)| parent)
                    .to_owned(),
                _ => self.pick(&all_paths).unwrap_or_default(),
            };
            lines.push(format!("/{source}:{}", self.ranges(kind)));
        }
        if let Ok(mergeinfo) = base::Mergeinfo::parse(lines.join("\n").as_bytes()) {
            let mut node = self.tree()[&path].clone();
            node.mergeinfo = (!self.one_in(6)).then(|| mergeinfo.to_string());
            self.put(&path, node);
            self.change_props(&path);
        }
    }
}
