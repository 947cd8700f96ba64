"""Online gradient descent: its losses, its sets, and the best vector in hindsight."""
