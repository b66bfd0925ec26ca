-- Shared: the end of a script that has made its reply.
--
-- needs     notify reply
notify()
return reply
