//! The operations of an administrator, compared with the incumbent's.

use base::Revnum;
use fsfs::{Cache, Fs};
use testkit::Tool;
use testkit::repo::{build, matrix};

#[test]
fn rev_size_equals_the_incumbents() {
    for spec in matrix() {
        let repo = build(&spec);
        let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens");
        for rev in [0, 1, 2, 7, 8, 20, 35, 36, 44, 73] {
            let theirs = Tool::new("svnadmin")
                .args(["rev-size", "-q", "-r", &rev.to_string()])
                .arg(repo.path())
                .ok()
                .out();
            let ours = fs.rev_size(Revnum(rev)).expect("reads");
            assert_eq!(ours.to_string(), theirs.trim(), "{} r{rev}", spec.name);
        }
    }
}
