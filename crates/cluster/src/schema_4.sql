-- Version 4: what nodes read of an object is compared with checksums.

-- The CRC-32 of each MiB of the object, 4 bytes each, little-endian; null if an earlier program has written it, until a scrub reads it.
ALTER TABLE sven_revision ADD COLUMN blocks bytea;
ALTER TABLE sven_pack ADD COLUMN blocks bytea;

-- A pack of an earlier program has no checksums, even if it takes the place of one that has: an import that was interrupted may have left one.
CREATE FUNCTION sven_forget_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.blocks := NULL;
    RETURN NEW;
END
$$;
CREATE TRIGGER sven_pack_blocks BEFORE UPDATE ON sven_pack
    FOR EACH ROW WHEN (NEW.publication <> OLD.publication) EXECUTE FUNCTION sven_forget_blocks();

-- As sven_pack_1, with the checksums of the blocks.
CREATE FUNCTION sven_pack_4(
    repo bigint, run uuid, packed_shard bigint, first_rev bigint, next_rev bigint,
    publication_id uuid, pack_length bigint, pack_manifest bytea, pack_sha256 bytea, pack_blocks bytea
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    outcome integer;
BEGIN
    outcome := sven_pack_1(repo, run, packed_shard, first_rev, next_rev, publication_id, pack_length, pack_manifest, pack_sha256);
    IF outcome = 0 THEN
        UPDATE sven_pack SET blocks = pack_blocks
            WHERE repository = repo AND shard = packed_shard AND publication = publication_id;
    END IF;
    RETURN outcome;
END
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
