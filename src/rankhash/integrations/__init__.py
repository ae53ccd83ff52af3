"""rankhash under the interfaces of other libraries: one module per library, each imported by its own name only."""
