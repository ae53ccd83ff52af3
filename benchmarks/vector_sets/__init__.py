"""Makes the sets of vectors of ``frontier/`` from packages of registries; the README names every package."""
