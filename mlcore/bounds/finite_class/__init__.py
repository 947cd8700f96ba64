"""Classes of finitely many hypotheses: their sizes, and union bounds over them."""
