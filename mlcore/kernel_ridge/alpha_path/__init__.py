"""Ridge functions of one Gram matrix for several penalties."""
