-- Shared: while readers have the lock, the name says 'readers', which is nobody's token. So
-- everybody who locks that name the common way finds it held. Who they are counts only then:
-- freeing the name ends all readers.
--
-- provides  HOLDERS IS_SHARED MORE says
-- needs     HOLDER
local MORE, HOLDERS = KEYS[6], KEYS[7]
local function says(text) return HOLDER == text end
local IS_SHARED = says('readers')
