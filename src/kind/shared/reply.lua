-- Shared: the end of a script that has made its reply.
--
-- needs     reply save
pcall(save)
return reply
