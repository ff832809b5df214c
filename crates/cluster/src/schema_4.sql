-- Version 4: what nodes read of an object is compared with checksums.

-- The CRC-32 of each MiB of the object, 4 bytes each, little-endian; null if an earlier program has written it, until a scrub reads it.
ALTER TABLE sven_revision ADD COLUMN blocks bytea;
ALTER TABLE sven_pack ADD COLUMN blocks bytea;

-- As sven_pack_1, with the checksums of the blocks.
CREATE FUNCTION sven_pack_4(
    repo bigint, run uuid, packed_shard bigint, first_rev bigint, next_rev bigint,
    publication_id uuid, pack_length bigint, pack_manifest bytea, pack_sha256 bytea, pack_blocks bytea
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
    -- An import that was interrupted may have left a pack of the same shard. Pack file, manifest and checksums belong together.
    INSERT INTO sven_pack (repository, shard, publication, length, manifest, sha256, blocks, checked, good)
        VALUES (repo, packed_shard, publication_id, pack_length, pack_manifest, pack_sha256, pack_blocks, now(), now())
        ON CONFLICT (repository, shard) DO UPDATE SET publication = excluded.publication, length = excluded.length,
            manifest = excluded.manifest, sha256 = excluded.sha256, blocks = excluded.blocks,
            checked = excluded.checked, good = excluded.good;
    UPDATE sven_revision SET length = 0, content = NULL, sha256 = NULL, blocks = NULL, checked = NULL, good = NULL
        WHERE repository = repo AND rev >= first_rev AND rev < next_rev;
    UPDATE sven_repository SET min_unpacked = next_rev WHERE id = repo;
    PERFORM pg_notify('sven_head', repo::text);
    RETURN 0;
END
$$;

-- A pack of an earlier program has no checksums, even if it takes the place of one that has.
CREATE OR REPLACE FUNCTION sven_pack_1(
    repo bigint, run uuid, packed_shard bigint, first_rev bigint, next_rev bigint,
    publication_id uuid, pack_length bigint, pack_manifest bytea, pack_sha256 bytea
) RETURNS integer LANGUAGE sql AS $$
    SELECT sven_pack_4(repo, run, packed_shard, first_rev, next_rev, publication_id, pack_length, pack_manifest, pack_sha256, NULL)
$$;

-- As sven_publish_2, with the checksums of the blocks of the revisions that are in the object store already.
CREATE FUNCTION sven_publish_4(
    repo bigint, from_youngest bigint, from_locks bigint, node_epoch bigint,
    revs bigint[], publication_id uuid, lengths bigint[], contents bytea[], lists bytea[],
    rep_sha1s bytea[], rep_revs bigint[], rep_items bigint[], rep_lengths bigint[], rep_expanded bigint[],
    sha256s bytea[], block_lists bytea[]
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    outcome integer;
BEGIN
    outcome := sven_publish_1(repo, from_youngest, from_locks, node_epoch, revs, publication_id, lengths, contents, lists,
        rep_sha1s, rep_revs, rep_items, rep_lengths, rep_expanded);
    IF outcome = 0 THEN
        UPDATE sven_revision SET sha256 = new.d, blocks = new.b, checked = now(), good = now()
            FROM unnest(revs, sha256s, block_lists) AS new (r, d, b)
            WHERE repository = repo AND rev = new.r AND new.d IS NOT NULL;
    END IF;
    RETURN outcome;
END
$$;
