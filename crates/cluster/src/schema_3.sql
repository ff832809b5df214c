-- Version 3: configuration and hooks that change while nodes serve.

-- Grows with each change of the rows in sven_file. A node compares it with what its directory has.
ALTER TABLE sven_repository ADD COLUMN files_version bigint NOT NULL DEFAULT 0;

-- The path, if it is not UTF-8. Then `path` is a readable name that is unique, for programs that know an earlier version.
ALTER TABLE sven_file ADD COLUMN raw_path bytea;
