"""Memory as a service, without Ray and without HTTP: who owns what, what is promised, and how it is kept.

`models` are the words of the API, shared by server and clients. `backend` is what a server asks of whoever
keeps the memories: one process (`Conversations`), or shard actors on a cluster.
"""
