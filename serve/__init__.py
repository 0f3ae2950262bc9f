"""Services: thin entry points over `memsif_ray`, for `serve run`."""
