//! Other programs that write through the server: svnmucc, svnsync, svnrdump, git-svn.
