//! Repositories of all formats.

use super::{Spec, When};

/// Returns one repository of each kind: formats 1 to 8, linear and sharded, packed, half packed and unpacked,
/// physical and logical addressing, each compression, upgraded ones. All have the same content.
pub fn matrix() -> Vec<Spec> {
    let new = Spec::new;
    vec![
        new("1.3").named("f1"),
        new("1.4").named("f2"),
        new("1.5").shard(4).named("f3"),
        new("1.5").shard(0).named("f3-linear"),
        new("1.7").shard(7).named("f4"),
        new("1.7").shard(4).pack(When::After).named("f4-packed"),
        new("1.8")
            .shard(5)
            .pack(When::Halfway)
            .packed_revprops(1, false)
            .busy()
            .named("f6-half-packed"),
        new("1.8")
            .shard(5)
            .pack(When::After)
            .packed_revprops(1, true)
            .named("f6-packed"),
        new("1.9").shard(7).named("f7"),
        new("1.9")
            .shard(7)
            .pack(When::After)
            .compression("none")
            .named("f7-packed-uncompressed"),
        new("1.14").busy().named("f8"),
        new("1.14")
            .shard(4)
            .pack(When::Halfway)
            .packed_revprops(1, true)
            .busy()
            .named("f8-half-packed"),
        new("1.14")
            .shard(16)
            .pack(When::After)
            .compression("zlib-9")
            .busy()
            .named("f8-packed-zlib"),
        new("1.14").shard(3).compression("none").named("f8-uncompressed"),
        new("1.8")
            .shard(5)
            .upgrade(When::Before)
            .pack(When::Halfway)
            .named("f8-physical"),
        new("1.4").upgrade(When::Halfway).named("f2-to-f8-linear"),
        new("1.3").upgrade(When::After).named("f1-to-f8"),
        new("1.7")
            .shard(4)
            .pack(When::Halfway)
            .upgrade(When::After)
            .packed_revprops(1, true)
            .named("f4-packed-to-f8"),
    ]
}
