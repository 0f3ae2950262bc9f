"""`memsif report`: one page about one or several finished runs."""
