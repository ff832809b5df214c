-- Version 5: what was changed in the cluster is not lost in a later import.

-- The versions of locks and of property lists when the last import ended; null while none has ended, and if an earlier program has made it. If they
-- differ from those of today, locks or property lists were changed in the cluster.
ALTER TABLE sven_repository ADD COLUMN imported_locks bigint, ADD COLUMN imported_revprops bigint;
