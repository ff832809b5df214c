//! Namespaces of the protocol's XML.

/// WebDAV's own.
pub const DAV: &str = "DAV:";
/// Elements of reports.
pub const SVN: &str = "svn:";
/// Properties whose names begin with `svn:`; the local name is what follows.
pub const SVN_PROP: &str = "http://subversion.tigris.org/xmlns/svn/";
/// All other properties; the local name is the whole name, colons included.
pub const CUSTOM_PROP: &str = "http://subversion.tigris.org/xmlns/custom/";
/// Live properties and attributes that Subversion adds to WebDAV.
pub const SVN_DAV: &str = "http://subversion.tigris.org/xmlns/dav/";
/// The text of an error.
pub const APACHE: &str = "http://apache.org/dav/xmlns";
