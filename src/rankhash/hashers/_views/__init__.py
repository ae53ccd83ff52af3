"""Parts of the hashers of several views: what they learn from, and the arrays that encode each view."""
