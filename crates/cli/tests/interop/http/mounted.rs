//! davfs2 mounts a location, and ordinary programs work in it.
//!
//! Only Sven is tested: with Apache's mod_dav_svn every write with locks fails (412), and so does a rename onto a
//! file (409).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use testkit::{Side, Tool, scratch};

use super::webdav_clients::WebDavServer;

/// A mounted directory. Dropping it unmounts it and waits until everything has been sent.
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        Tool::new("umount").arg(&self.0).run();
    }
}

/// Mounts a URL; `None` if the machine does not permit it.
fn mount(url: &str, home: &Path) -> Option<Mount> {
    if let Err(error) = fs::File::options().read(true).write(true).open("/dev/fuse") {
        eprintln!("NOT TESTED: davfs2 needs FUSE, and /dev/fuse cannot be opened here: {error}");
        return None;
    }
    if !Path::new("/etc/mtab").exists() {
        eprintln!("NOT TESTED: davfs2 looks for its mounts in /etc/mtab, which is not here");
        return None;
    }
    let (conf, secrets, at) = (home.join("conf"), home.join("secrets"), home.join("mounted"));
    // Newer kernels do not accept its default buffer of 16 KiB.
    let text = format!(
        "ask_auth 0\nsecrets {}\ndelay_upload 0\nuse_locks 1\nbuf_size 64\n",
        secrets.display()
    );
    fs::write(&conf, text).expect("because the folder is ours");
    fs::write(&secrets, format!("{url} alice secret\n")).expect("because the folder is ours");
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o600)).expect("because it is ours");
    fs::create_dir(&at).expect("because the folder is ours");
    let options = format!("conf={},uid=0,gid=0", conf.display());
    Tool::new("mount")
        .args(["-t", "davfs", "-o", &options, url])
        .arg(&at)
        .ok();
    Some(Mount(at))
}

const WORK: &str = r#"
set -ex
ls -A trunk; cat trunk/iota; cat 'trunk/ä & b.txt'
mkdir d; echo hello > d/up.txt; echo more >> d/up.txt; cat d/up.txt
cp d/up.txt d/copy.txt; mv d/copy.txt d/moved.txt; mv d e; cat e/moved.txt
sed -i s/hello/bye/ e/up.txt; sed -i s/iota/changed/ trunk/iota
cp -r e f; rm e/moved.txt; rm -r f
head -c 3000000 /dev/zero > e/big; truncate -s 100 e/big
mkdir 'e/a b ü'; echo x > 'e/a b ü/ö#%41&'; echo y > e/empty; : > e/empty
! rmdir e
mkdir g; echo 1 > g/1; mv g e/g; echo 2 > e/g/2
"#;

/// The output of the script, without the commands.
const SAID: &str = "iota\nä & b.txt\nthis is iota\nodd\nhello\nmore\nhello\nmore\n";

const TREE: &str = "/\ne/\ne/a b ü/\ne/a b ü/ö#%41&\ne/big\ne/empty\ne/g/\ne/g/1\ne/g/2\ne/up.txt\n\
                    trunk/\ntrunk/iota\ntrunk/ä & b.txt\n";

#[test]
fn davfs2_browses_and_writes() {
    let (place, home) = (WebDavServer::new(Side::Ours), scratch());
    let url = format!("file://{}", place.repository.display());
    fs::write(home.path().join("iota"), "this is iota\n").expect("because the folder is ours");
    fs::write(home.path().join("odd"), "odd\n").expect("because the folder is ours");
    Tool::new("svnmucc")
        .args([
            "-m",
            "start",
            "-U",
            &url,
            "mkdir",
            "trunk",
            "put",
            "iota",
            "trunk/iota",
        ])
        .args(["put", "odd", "trunk/ä & b.txt"])
        .env("LC_ALL", "C.UTF-8")
        .dir(home.path())
        .ok();
    let Some(mounted) = mount(&place.url(), home.path()) else {
        return;
    };
    let work = Tool::new("bash").args(["-c", WORK]).dir(&mounted.0).run();
    drop(mounted);
    place.server.storage().bring_back(&place.repository);
    let mut output_text: Vec<String> = work.out().lines().map(str::to_owned).collect();
    output_text[..2].sort();
    let mut expected: Vec<String> = SAID.lines().map(str::to_owned).collect();
    expected[..2].sort();
    assert_eq!(output_text, expected, "{}", work.err());
    let look = |args: &[&str]| {
        let tool = Tool::new("svnlook").args(args).env("LC_ALL", "C.UTF-8");
        tool.arg(&place.repository).ok().out()
    };
    let cat = |path: &str| {
        let tool = Tool::new("svnlook").arg("cat").arg(&place.repository);
        tool.arg(path).env("LC_ALL", "C.UTF-8").ok().out()
    };
    assert_eq!(look(&["tree", "--full-paths"]), TREE);
    assert_eq!(cat("trunk/iota"), "this is changed\n");
    assert_eq!(cat("e/up.txt"), "bye\nmore\n");
    assert_eq!(cat("e/big"), "\0".repeat(100));
    assert_eq!(cat("e/a b ü/ö#%41&"), "x\n");
    assert_eq!((cat("e/empty"), cat("e/g/2")), (String::new(), "2\n".to_owned()));
    assert_eq!(look(&["author"]), "alice\n");
    let log = "Autoversioning commit:  a non-deltaV client made a change to\n/e/g/2\n";
    assert_eq!(look(&["log"]), log);
    let locks = Tool::new("svnadmin").arg("lslocks").arg(&place.repository).ok();
    assert_eq!(locks.out(), "", "what was opened was locked, and is free again");
    Tool::new("svnadmin")
        .args(["verify", "-q"])
        .arg(&place.repository)
        .ok();
}
