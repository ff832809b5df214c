-- Version 2: jobs in the background.

-- Who does a job, and when it was done. All times are by the database's clock.
CREATE TABLE sven_job (
    -- pack, gc, scrub.
    kind text NOT NULL,
    -- 0 for a job of the whole cluster.
    repository bigint NOT NULL DEFAULT 0,
    -- A random number of the run. What the job changes is refused when the row has another one.
    holder uuid NOT NULL,
    -- The node that runs it; null for a command of an administrator. The job of a node that was declared dead is free.
    epoch bigint,
    -- Until then no other run begins, and this one may change what its job changes.
    lease_until timestamptz NOT NULL,
    begun timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The end of the last complete run.
    finished timestamptz,
    PRIMARY KEY (kind, repository)
);

-- Objects that no row named, and since when that is known. They are removed after the grace time.
CREATE TABLE sven_garbage (
    -- Without the prefix of the cluster.
    name text PRIMARY KEY,
    found timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The SHA-256 of an object; null if a program of version 1 has written it, until it is read the first time. When the object was written or
-- last read as a whole, and when it was last good: the same time unless it was found damaged.
ALTER TABLE sven_revision ADD COLUMN sha256 bytea, ADD COLUMN checked timestamptz, ADD COLUMN good timestamptz;
ALTER TABLE sven_pack ADD COLUMN sha256 bytea, ADD COLUMN checked timestamptz, ADD COLUMN good timestamptz;
CREATE INDEX sven_revision_checked ON sven_revision (checked NULLS FIRST, repository, rev) WHERE content IS NULL AND length > 0;
CREATE INDEX sven_pack_checked ON sven_pack (checked NULLS FIRST, repository, shard);

-- When the UUID was changed; null if it is the first one. Nodes that serve write it to their directories.
ALTER TABLE sven_repository ADD COLUMN uuid_changed timestamptz;

-- True if a run may still change what its job changes. The row stays locked: no other run takes the job before this transaction ends.
CREATE FUNCTION sven_holds_job(job_kind text, repo bigint, run uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM sven_job WHERE kind = job_kind AND repository = repo AND holder = run AND lease_until > clock_timestamp()
        AND NOT EXISTS (SELECT FROM sven_node n WHERE n.epoch = sven_job.epoch AND n.is_dead) FOR UPDATE;
    RETURN FOUND;
END
$$;

-- Puts a pack into the place of the revision files of a shard. Returns 0 if that is done, 1 if the shard is packed already or is not
-- the next one, 3 without the repository, 5 if the run has lost its lease.
CREATE FUNCTION sven_pack_1(
    repo bigint, run uuid, packed_shard bigint, first_rev bigint, next_rev bigint,
    publication_id uuid, pack_length bigint, pack_manifest bytea, pack_sha256 bytea
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    state record;
BEGIN
    SELECT youngest, min_unpacked INTO state FROM sven_repository WHERE id = repo FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 3;
    END IF;
    -- The statement was repeated because its answer was lost.
    PERFORM 1 FROM sven_pack WHERE repository = repo AND shard = packed_shard AND publication = publication_id;
    IF FOUND THEN
        RETURN 0;
    END IF;
    IF NOT sven_holds_job('pack', repo, run) THEN
        RETURN 5;
    END IF;
    IF state.min_unpacked <> first_rev OR state.youngest < next_rev - 1 THEN
        RETURN 1;
    END IF;
    -- An import that was interrupted may have left a pack of the same shard. Pack file and manifest belong together.
    INSERT INTO sven_pack (repository, shard, publication, length, manifest, sha256, checked, good)
        VALUES (repo, packed_shard, publication_id, pack_length, pack_manifest, pack_sha256, now(), now())
        ON CONFLICT (repository, shard) DO UPDATE SET publication = excluded.publication, length = excluded.length,
            manifest = excluded.manifest, sha256 = excluded.sha256, checked = excluded.checked, good = excluded.good;
    UPDATE sven_revision SET length = 0, content = NULL, sha256 = NULL, checked = NULL, good = NULL
        WHERE repository = repo AND rev >= first_rev AND rev < next_rev;
    UPDATE sven_repository SET min_unpacked = next_rev WHERE id = repo;
    PERFORM pg_notify('sven_head', repo::text);
    RETURN 0;
END
$$;

-- As sven_publish_1, with the digests of the revisions that are in the object store already.
CREATE FUNCTION sven_publish_2(
    repo bigint, from_youngest bigint, from_locks bigint, node_epoch bigint,
    revs bigint[], publication_id uuid, lengths bigint[], contents bytea[], lists bytea[],
    rep_sha1s bytea[], rep_revs bigint[], rep_items bigint[], rep_lengths bigint[], rep_expanded bigint[], sha256s bytea[]
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    outcome integer;
BEGIN
    outcome := sven_publish_1(repo, from_youngest, from_locks, node_epoch, revs, publication_id, lengths, contents, lists,
        rep_sha1s, rep_revs, rep_items, rep_lengths, rep_expanded);
    IF outcome = 0 THEN
        UPDATE sven_revision SET sha256 = new.d, checked = now(), good = now() FROM unnest(revs, sha256s) AS new (r, d)
            WHERE repository = repo AND rev = new.r AND new.d IS NOT NULL;
    END IF;
    RETURN outcome;
END
$$;
