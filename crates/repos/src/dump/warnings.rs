//! Warnings about obstacles to loading a dump.

use base::Revnum;

use crate::dump::DumpObserver;

/// A condition that makes loading difficult.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Warning {
    OldSource { rev: Revnum },
    OldMergeinfo,
}

/// Passes warnings to the observer and records which kinds there were.
pub(super) struct WarningLog<'a> {
    oldest: Revnum,
    pub observer: &'a mut dyn DumpObserver,
    old_source: bool,
    old_mergeinfo: bool,
}

impl<'a> WarningLog<'a> {
    pub fn new(oldest: Revnum, observer: &'a mut dyn DumpObserver) -> Self {
        WarningLog {
            oldest,
            observer,
            old_source: false,
            old_mergeinfo: false,
        }
    }

    pub fn warn(&mut self, warnings: &[Warning]) {
        let oldest = self.oldest;
        for warning in warnings {
            match warning {
                Warning::OldSource { rev } => {
                    self.old_source = true;
                    let text = format!(
                        "Referencing data in revision {rev}, which is older than the oldest dumped revision \
                         (r{oldest}).  Loading this dump into an empty repository will fail."
                    );
                    self.observer.warning(OLD_SOURCE, &text);
                }
                Warning::OldMergeinfo => {
                    self.old_mergeinfo = true;
                    let text = format!(
                        "Mergeinfo referencing revision(s) prior to the oldest dumped revision (r{oldest}). \
                         Loading this dump may result in invalid mergeinfo."
                    );
                    self.observer.warning(OLD_MERGEINFO, &text);
                }
            }
        }
    }

    /// Reports the summaries, after the last revision.
    pub fn close(self) {
        if self.old_source {
            let text =
                "The range of revisions dumped contained references to copy sources outside that range.";
            self.observer.warning(OLD_SOURCE, text);
        }
        if self.old_mergeinfo {
            let text = "The range of revisions dumped contained mergeinfo which reference revisions outside that \
                        range.";
            self.observer.warning(OLD_MERGEINFO, text);
        }
    }
}

const OLD_SOURCE: u16 = 0x0000;
const OLD_MERGEINFO: u16 = 0x0001;
