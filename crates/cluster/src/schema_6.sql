-- Version 6: the contents that revisions share, in the order of revisions: 'svnadmin verify' checks them.

-- Commits wait while it is built, about a second for a million contents.
CREATE INDEX sven_rep_place ON sven_rep (repository, rev, item, sha1);
