//! The limit of a log, for servers that do not know limits.

use crate::answers::LogEntry;

/// Counts the entries of a log. Entries that were merged in another one do not count.
pub(crate) struct LogLimit {
    left: u64,
    /// The number of entries with merged ones below that have not ended.
    nested: u64,
}

impl LogLimit {
    /// `limit` entries; 0 is no limit.
    pub(crate) fn new(limit: u64) -> LogLimit {
        LogLimit {
            left: match limit {
                0 => u64::MAX,
                limit => limit,
            },
            nested: 0,
        }
    }

    /// Counts the next entry; false if it is beyond the limit.
    pub(crate) fn admits(&mut self, entry: &LogEntry) -> bool {
        if self.nested == 0 {
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
        }
        match entry.rev {
            Some(_) => self.nested += u64::from(entry.has_children),
            None => self.nested = self.nested.saturating_sub(1),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Revnum;

    #[test]
    fn merged_entries_do_not_count() {
        let entry = |rev: Option<u64>, has_children| LogEntry {
            rev: rev.map(Revnum),
            has_children,
            ..LogEntry::default()
        };
        let mut limit = LogLimit::new(2);
        // r9 with r5 (which merged r3) below it, then r8; r7 is beyond the limit.
        let entries = [
            (entry(Some(9), true), true),
            (entry(Some(5), true), true),
            (entry(Some(3), false), true),
            (entry(None, false), true),
            (entry(None, false), true),
            (entry(Some(8), false), true),
            (entry(Some(7), false), false),
        ];
        for (entry, expected) in entries {
            assert_eq!(limit.admits(&entry), expected, "{:?}", entry.rev);
        }
    }
}
