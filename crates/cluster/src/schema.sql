-- The tables of a cluster, version 1.
--
-- Later versions add: tables, columns with defaults, functions with new names. A program that knows an older version goes on.

CREATE TABLE sven_cluster (
    -- One row.
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- The version of these tables.
    version integer NOT NULL,
    -- The oldest version that a program must know to use them.
    oldest integer NOT NULL,
    -- The key of the seals that nodes give each other.
    secret bytea NOT NULL
);

-- Each registration of a node gets the next number. It never comes again.
CREATE SEQUENCE sven_epoch;

CREATE TABLE sven_node (
    epoch bigint PRIMARY KEY,
    name text NOT NULL,
    -- The base URL of its HTTP service for other nodes; empty if it has none.
    url text NOT NULL,
    program text NOT NULL,
    registered timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Until then it counts as alive. By the database's clock, like all times here.
    lease_until timestamptz NOT NULL,
    -- It was declared dead. It does not come back under this epoch.
    is_dead boolean NOT NULL DEFAULT false
);

CREATE TABLE sven_repository (
    id bigserial PRIMARY KEY,
    name text NOT NULL UNIQUE,
    -- The contents of db/format, db/uuid and db/fsfs.conf.
    format text NOT NULL,
    uuid text NOT NULL,
    fsfs_conf bytea NOT NULL,
    -- The beginning of the names of its objects.
    instance uuid NOT NULL UNIQUE,
    -- -1 while it is being imported.
    youngest bigint NOT NULL DEFAULT -1,
    min_unpacked bigint NOT NULL DEFAULT 0,
    locks_version bigint NOT NULL DEFAULT 0,
    revprops_version bigint NOT NULL DEFAULT 0,
    created timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE sven_revision (
    repository bigint NOT NULL REFERENCES sven_repository ON DELETE CASCADE,
    rev bigint NOT NULL,
    -- The attempt that made it: tells a node whose connection was lost whether its attempt was the one. Part of the object's name.
    publication uuid NOT NULL,
    -- Bytes of the revision file; 0 if the revision was imported within a pack.
    length bigint NOT NULL,
    -- The revision file itself; null once it is in the object store.
    content bytea,
    -- The property list, in the form of a file in db/revprops.
    props bytea NOT NULL,
    PRIMARY KEY (repository, rev)
);

-- For the job that moves contents to the object store.
CREATE INDEX sven_revision_inline ON sven_revision (repository, rev) WHERE content IS NOT NULL;

-- Which property lists have changed since a version that a node has in memory.
CREATE TABLE sven_revprop_change (
    repository bigint NOT NULL REFERENCES sven_repository ON DELETE CASCADE,
    version bigint NOT NULL,
    rev bigint NOT NULL,
    PRIMARY KEY (repository, version)
);

CREATE TABLE sven_pack (
    repository bigint NOT NULL REFERENCES sven_repository ON DELETE CASCADE,
    shard bigint NOT NULL,
    publication uuid NOT NULL,
    length bigint NOT NULL,
    -- The manifest of a shard with physical addressing.
    manifest bytea,
    PRIMARY KEY (repository, shard)
);

CREATE TABLE sven_rep (
    repository bigint NOT NULL REFERENCES sven_repository ON DELETE CASCADE,
    sha1 bytea NOT NULL,
    rev bigint NOT NULL,
    item bigint NOT NULL,
    length bigint NOT NULL,
    expanded bigint NOT NULL,
    PRIMARY KEY (repository, sha1)
);

CREATE TABLE sven_lock (
    repository bigint NOT NULL REFERENCES sven_repository ON DELETE CASCADE,
    -- The path as bytes: it is compared as bytes, and may contain anything.
    path bytea NOT NULL,
    token text NOT NULL,
    owner text NOT NULL,
    comment text,
    is_dav_comment boolean NOT NULL,
    -- Microseconds since 1970, as Subversion counts.
    created bigint NOT NULL,
    expires bigint,
    PRIMARY KEY (repository, path)
);

-- The changes of locks and property lists of the last days, by a number that their node has given them. A node whose connection
-- was lost finds out here whether its change was made.
CREATE TABLE sven_change (
    id uuid PRIMARY KEY,
    made timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX sven_change_made ON sven_change (made);

CREATE TABLE sven_activity (
    repository bigint NOT NULL REFERENCES sven_repository ON DELETE CASCADE,
    activity text NOT NULL,
    txn text NOT NULL,
    changed timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (repository, activity)
);

-- Configuration and hooks, for the directories of nodes.
CREATE TABLE sven_file (
    repository bigint NOT NULL REFERENCES sven_repository ON DELETE CASCADE,
    -- Below the repository's directory: conf/authz, hooks/pre-commit.
    path text NOT NULL,
    mode integer NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (repository, path)
);

-- The class of the advisory locks by which a node keeps others from changing a repository.
CREATE FUNCTION sven_hold_class() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 21366';

-- Makes revisions. Returns 0 if they are made, 1 if the state was another one, 2 if the node counts as dead, 3 without a repository.
CREATE FUNCTION sven_publish_1(
    repo bigint, from_youngest bigint, from_locks bigint, node_epoch bigint,
    revs bigint[], publication_id uuid, lengths bigint[], contents bytea[], lists bytea[],
    rep_sha1s bytea[], rep_revs bigint[], rep_items bigint[], rep_lengths bigint[], rep_expanded bigint[]
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    state record;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(sven_hold_class(), repo::integer);
    SELECT youngest, locks_version INTO state FROM sven_repository WHERE id = repo FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 3;
    END IF;
    -- Who declares the node dead waits for this transaction.
    PERFORM 1 FROM sven_node WHERE epoch = node_epoch AND NOT is_dead AND lease_until > clock_timestamp() FOR SHARE;
    IF NOT FOUND THEN
        RETURN 2;
    END IF;
    IF state.youngest <> from_youngest OR state.locks_version <> from_locks THEN
        RETURN 1;
    END IF;
    INSERT INTO sven_revision (repository, rev, publication, length, content, props)
        SELECT repo, r, publication_id, l, c, p FROM unnest(revs, lengths, contents, lists) AS new (r, l, c, p);
    INSERT INTO sven_rep (repository, sha1, rev, item, length, expanded)
        SELECT repo, s, r, i, l, e FROM unnest(rep_sha1s, rep_revs, rep_items, rep_lengths, rep_expanded) AS new (s, r, i, l, e)
        ON CONFLICT DO NOTHING;
    UPDATE sven_repository SET youngest = revs[array_upper(revs, 1)] WHERE id = repo;
    PERFORM pg_notify('sven_head', repo::text);
    RETURN 0;
END
$$;

-- Makes and removes locks. Results as of sven_publish_1.
CREATE FUNCTION sven_change_locks_1(
    repo bigint, from_youngest bigint, from_locks bigint,
    removed bytea[], paths bytea[], tokens text[], owners text[], comments text[], dav_comments boolean[],
    created_times bigint[], expiry_times bigint[], change uuid
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    state record;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(sven_hold_class(), repo::integer);
    SELECT youngest, locks_version INTO state FROM sven_repository WHERE id = repo FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 3;
    END IF;
    IF state.youngest <> from_youngest OR state.locks_version <> from_locks THEN
        RETURN 1;
    END IF;
    DELETE FROM sven_lock WHERE repository = repo AND path = ANY (removed);
    INSERT INTO sven_lock (repository, path, token, owner, comment, is_dav_comment, created, expires)
        SELECT repo, p, t, o, c, d, m, e
        FROM unnest(paths, tokens, owners, comments, dav_comments, created_times, expiry_times) AS new (p, t, o, c, d, m, e)
        ON CONFLICT (repository, path) DO UPDATE SET token = excluded.token, owner = excluded.owner, comment = excluded.comment,
            is_dav_comment = excluded.is_dav_comment, created = excluded.created, expires = excluded.expires;
    UPDATE sven_repository SET locks_version = locks_version + 1 WHERE id = repo;
    INSERT INTO sven_change (id) VALUES (change);
    PERFORM pg_notify('sven_head', repo::text);
    RETURN 0;
END
$$;

-- Replaces a property list. Results as of sven_publish_1; 4 without such a revision.
CREATE FUNCTION sven_replace_props_1(
    repo bigint, from_version bigint, target bigint, old_list bytea, new_list bytea, change uuid
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    state record;
    list bytea;
BEGIN
    SELECT revprops_version INTO state FROM sven_repository WHERE id = repo FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 3;
    END IF;
    SELECT props INTO list FROM sven_revision WHERE repository = repo AND rev = target;
    IF NOT FOUND THEN
        RETURN 4;
    END IF;
    IF state.revprops_version <> from_version OR list <> old_list THEN
        RETURN 1;
    END IF;
    UPDATE sven_revision SET props = new_list WHERE repository = repo AND rev = target;
    UPDATE sven_repository SET revprops_version = revprops_version + 1 WHERE id = repo;
    INSERT INTO sven_revprop_change (repository, version, rev) VALUES (repo, state.revprops_version + 1, target);
    INSERT INTO sven_change (id) VALUES (change);
    PERFORM pg_notify('sven_head', repo::text);
    RETURN 0;
END
$$;
