-- Shared: begins what is done for each name. Up to `end` of the loop the parts of a semaphore know
-- that name alone, and hand what is to be done with it on in `all`.
--
-- `Client::limits` takes permits of up to 32 semaphores. The lease has all of them, or there is no
-- lease. Each is stored as that semaphore has it, so both count each other's permits. All that
-- docs/protocol.md and semaphore/storage.lua say holds. What differs:
-- - One script for all names. They are sorted, and receipt and `gone` are those of the first.
-- - Acquire looks at all names before it writes, and takes all or none, under one fence that is
--   higher than the last of each. A refusal says which name is full, the first of them.
-- - Renew, exec, release and commit count only if every name has the token. If one has not, the
--   lease is lost, and what is left of it is given back.
-- - A waiter has none of its permits, so no order of names deadlocks. It stands in one queue, that
--   of the name that it was refused for, as '<limit>/<permits>' behind an `a`, and is told to ask
--   when there is room for it (hand_on.lua). If it finds another name full by then, it moves to
--   that queue, and gives on what it leaves. It goes ahead of those that came later than it first
--   came, so among waiters that hear of it the oldest one is told first, wherever it stands. For
--   one that came 2 s ago the room is kept meanwhile (semaphore/besides.lua).
-- - It holds no room while it waits for another name. So nobody can be fair: one that waited its
--   turn in every queue would keep the other tenants out of a limit that they share with it.
-- - Redis Cluster, shards, inspect and forced releases: as in multi/names.lua.
--
-- provides  FENCE HOLDERS IS_SHARED KEPT MORE NAME QUEUE place
-- needs     BEHIND FOUND NAMES all
for at = 3, BEHIND - 1, 4 do
local NAME, FENCE, QUEUE, MORE = at == 3 and NAME or KEYS[at], unpack(KEYS, at + 1, at + 3)
local HOLDERS, KEPT, IS_SHARED, place = NAME, FOUND[at + 1], true, #all + 1
NAMES[NAME] = true
