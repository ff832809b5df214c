//! `[cluster]`: the settings of a node.

use cluster::ClusterSettings;
use rustix::system::uname;

use super::{Config, Mistakes};

impl Config {
    /// Returns the settings of the cluster, if the file has any.
    ///
    /// # Errors
    /// If the file with the secret key cannot be read.
    pub fn cluster(&self) -> Result<Option<ClusterSettings>, Mistakes> {
        let given = &self.file.cluster;
        let (Some(database), Some(objects), Some(directory)) =
            (&given.database, &given.objects, &given.directory)
        else {
            return Ok(None);
        };
        let mut settings = ClusterSettings::new(database, objects, self.absolute_path(directory));
        settings.endpoint.clone_from(&given.endpoint);
        settings.region.clone_from(&given.region);
        settings.access_key.clone_from(&given.access_key);
        if let Some(file) = &given.secret_key_file {
            let path = self.absolute_path(file);
            let text = std::fs::read_to_string(&path).map_err(|e| {
                let text = format!("Can't read '{}': {e}", path.display());
                self.wrong(vec![self.mistake("cluster.secret-key-file", text)])
            })?;
            settings.secret_key = Some(text.trim().to_owned());
        }
        let machine = || uname().nodename().to_string_lossy().into_owned();
        settings.node = given.node.clone().unwrap_or_else(machine);
        settings.url = given.url.clone().unwrap_or_default();
        if let Some(size) = given.cache {
            settings.cache_bytes = size.0;
        }
        for (value, field) in [
            (given.lease, &mut settings.lease_ms),
            (given.staleness, &mut settings.staleness_ms),
            (given.patience, &mut settings.patience_ms),
            (given.gc_grace, &mut settings.gc_grace_ms),
        ] {
            if let Some(time) = value.and_then(|period| period.0) {
                *field = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            }
        }
        for (value, field) in [
            (given.gc, &mut settings.gc_ms),
            (given.scrub, &mut settings.scrub_ms),
        ] {
            if let Some(period) = value {
                // 0 is never.
                let time = period.0.unwrap_or_default();
                *field = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            }
        }
        settings.fetch_from_nodes = given.fetch_from_nodes.unwrap_or_default();
        if let Some(pack) = given.pack {
            settings.pack = pack;
        }
        if let Some(rate) = given.job_rate {
            settings.job_rate = rate.0;
        }
        Ok(Some(settings))
    }
}
