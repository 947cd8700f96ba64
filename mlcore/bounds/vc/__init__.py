"""Classes of finite VC dimension: growth, uniform bounds, sample sizes, known dimensions."""
