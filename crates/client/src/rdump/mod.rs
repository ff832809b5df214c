//! `svnrdump`: dumps and loads repositories over the network.
