"""A module with an array at its top level, for gpu_import_pool.py."""
import jax.numpy as jnp

TABLE = jnp.arange(100.0)
