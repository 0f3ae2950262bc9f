"""`python -m memsif_ray` is the command `memsif`."""

from memsif_ray.cli import main

if __name__ == "__main__":
    main()
