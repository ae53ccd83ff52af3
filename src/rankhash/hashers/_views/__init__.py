"""The inside of the hashers of several views: training data, learning, and the arrays that encode each view."""
