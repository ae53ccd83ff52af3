"""Tables, figures and pages, drawn from raw results."""
