//! Open transactions: their names and properties.

use base::Code;
use fsfs::{Cache, Fs};
use testkit::repo::{OPEN_TXN_LOG, Spec, build};

#[test]
fn open_transactions_are_listed_with_their_properties() {
    for version in ["1.3", "1.14"] {
        let repo = build(&Spec::new(version).busy());
        let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens");
        let names = fs.list_txns().expect("reads");
        assert_eq!(names.len(), 1);
        let props = fs.txn_props(&names[0]).expect("reads");
        assert_eq!(props["svn:log"], OPEN_TXN_LOG.as_bytes());
        assert_eq!(props["svn:author"], b"alice");
        for (name, code) in [
            ("73-zz", Code::FS_NO_SUCH_TRANSACTION),
            ("nosuch", Code::FS_MALFORMED_TXN_ID),
            ("../../x", Code::FS_MALFORMED_TXN_ID),
            ("", Code::FS_MALFORMED_TXN_ID),
        ] {
            assert_eq!(fs.txn_props(name).expect_err(name).code(), code);
        }
    }
}
