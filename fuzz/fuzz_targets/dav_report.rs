//! Bytes as the body of an HTTP report: every kind is refused or parsed, in bounded memory.

#![no_main]

use base::Revnum;
use libfuzzer_sys::fuzz_target;
use wire::dav::report::{
    FileRevs, GetDeletedRev, GetLocations, InheritedProps, ListReport, LocationSegments, LogReport,
    MergeinfoReport, ReplayReport, ReportKind, dated_rev, locks_depth,
};
use wire::dav::stream::ElementStream;
use wire::dav::xml::XmlLimits;

fuzz_target!(|data: &[u8]| {
    let Ok(Some(stream)) = ElementStream::open(data, XmlLimits::default()) else {
        return;
    };
    let Some(kind) = stream.root().and_then(|root| ReportKind::of(&root.name)) else {
        return;
    };
    let Ok(root) = stream.rest() else {
        return;
    };
    match kind {
        ReportKind::Update => {}
        ReportKind::DatedRev => _ = dated_rev(&root),
        ReportKind::Log => _ = LogReport::parse(&root),
        ReportKind::GetLocations => _ = GetLocations::parse(&root),
        ReportKind::GetLocationSegments => _ = LocationSegments::parse(&root),
        ReportKind::FileRevs => _ = FileRevs::parse(&root),
        ReportKind::GetDeletedRev => _ = GetDeletedRev::parse(&root),
        ReportKind::GetLocks => _ = locks_depth(&root),
        ReportKind::Mergeinfo => _ = MergeinfoReport::parse(&root),
        ReportKind::InheritedProps => _ = InheritedProps::parse(&root),
        ReportKind::List => _ = ListReport::parse(&root),
        ReportKind::Replay => {
            _ = ReplayReport::parse(&root, None);
            _ = ReplayReport::parse(&root, Some(Revnum(1)));
        }
    }
});
