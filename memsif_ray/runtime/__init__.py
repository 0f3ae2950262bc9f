"""Everything that knows Ray: how conversations are spread over processes, and nothing about memory itself."""
