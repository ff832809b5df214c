//! The machine that a table was measured on.

use std::fs;
use std::path::Path;

use serde_json::json;

/// The vector features that the measured programs choose kernels by: the kernel's name and the usual one.
const FEATURES: &[(&str, &str)] = &[
    ("avx2", "AVX2"),
    ("avx512f", "AVX-512F"),
    ("avx512vl", "AVX-512VL"),
    ("sha_ni", "SHA"),
    ("asimd", "Advanced SIMD"),
    ("sha1", "SHA-1"),
    ("sha2", "SHA-2"),
];

/// The facts of a machine.
#[derive(Clone, Debug)]
pub struct Machine {
    processor: String,
    features: Vec<&'static str>,
    cores: usize,
    memory_mib: u64,
    medium: String,
    kernel: String,
}

impl Machine {
    /// Returns the facts of this machine, with the medium of the data's directory.
    pub fn of(data: &Path) -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let cpu = read("/proc/cpuinfo");
        Machine {
            processor: cpu_field(&cpu, &["model name", "Model", "Hardware"])
                .unwrap_or(std::env::consts::ARCH)
                .to_owned(),
            features: features(&cpu),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mib: crate::procfs::number("/proc/meminfo", "MemTotal:") as u64 / 1024,
            medium: medium(&read("/proc/self/mountinfo"), data),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        }
    }

    /// Returns one sentence for headings.
    pub fn text(&self) -> String {
        let features = match &self.features[..] {
            [] => "no known vector features".to_owned(),
            list => list.join(", "),
        };
        format!(
            "Machine: {} ({features}), {} cores, {:.1} GiB of memory, data on {}, Linux {}.",
            self.processor,
            self.cores,
            self.memory_mib as f64 / 1024.0,
            self.medium,
            self.kernel
        )
    }

    /// Returns the facts as JSON.
    pub fn json(&self) -> serde_json::Value {
        json!({
            "processor": self.processor, "features": self.features, "cores": self.cores,
            "memory_mib": self.memory_mib, "medium": self.medium, "kernel": self.kernel,
        })
    }
}

/// Returns the first of these fields of `/proc/cpuinfo`.
fn cpu_field<'a>(cpuinfo: &'a str, names: &[&str]) -> Option<&'a str> {
    let fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let mut found = fields.filter(|(name, _)| names.contains(&name.trim()));
    found.next().map(|(_, value)| value.trim())
}

fn features(cpuinfo: &str) -> Vec<&'static str> {
    let flags = cpu_field(cpuinfo, &["flags", "Features"]).unwrap_or("");
    let has = |name: &str| flags.split(' ').any(|flag| flag == name);
    let found = FEATURES.iter().filter(|(name, _)| has(name));
    found.map(|(_, shown)| *shown).collect()
}

/// Returns the medium of a path: the file system that is mounted at the longest prefix of it.
fn medium(mountinfo: &str, path: &Path) -> String {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let point = unescape(mount.split(' ').nth(4)?);
        path.starts_with(&point)
            .then(|| (point.len(), system.split(' ').next().unwrap_or("unknown")))
    });
    // Of two mounts at the same place the later one is visible.
    match mounts.max_by_key(|(len, _)| *len) {
        Some((_, kind @ ("tmpfs" | "ramfs"))) => format!("a RAM disk ({kind})"),
        Some((_, kind)) => format!("a disk ({kind})"),
        None => "an unknown medium".to_owned(),
    }
}

/// Replaces `\040` and the like, which stand for spaces, tabs, line feeds and backslashes.
fn unescape(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(field.to_owned(), |text, (code, char)| text.replace(code, char))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_and_last_mount_is_the_medium() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/root rw\n2 1 0:5 / /dev/shm rw shared:3 - tmpfs tmpfs rw\n\
                      3 1 0:9 / /with\\040space rw - ext4 /dev/a rw\n4 1 0:9 / /with\\040space rw - xfs /dev/b rw\n";
        let is = |path: &str| medium(mounts, Path::new(path));
        assert_eq!(is("/dev/shm/x"), "a RAM disk (tmpfs)");
        assert_eq!(is("/dev/shmx"), "a disk (ext4)");
        assert_eq!(is("/with space/x"), "a disk (xfs)");
    }

    #[test]
    fn the_processor_has_a_name_and_features() {
        let cpu = "processor\t: 0\nmodel name\t: Fast CPU\nflags\t\t: fpu avx2 avx512f sha_ni\n\n";
        assert_eq!(cpu_field(cpu, &["model name"]), Some("Fast CPU"));
        assert_eq!(features(cpu), ["AVX2", "AVX-512F", "SHA"]);
    }
}
