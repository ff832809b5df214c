-- Version 7: the object store says to which cluster its objects belong.

-- The identity of the cluster, which the object 'cluster-id' repeats, and whether that object was written. A copy of the database has the same identity.
ALTER TABLE sven_cluster ADD COLUMN identity uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE sven_cluster ADD COLUMN is_store_marked boolean NOT NULL DEFAULT false;

-- No row names that object. Earlier programs, which remove what this table has, must not remove it.
CREATE FUNCTION sven_skip_garbage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN NULL;
END
$$;
CREATE TRIGGER sven_garbage_marker BEFORE INSERT ON sven_garbage
    FOR EACH ROW WHEN (NEW.name = 'cluster-id') EXECUTE FUNCTION sven_skip_garbage();
