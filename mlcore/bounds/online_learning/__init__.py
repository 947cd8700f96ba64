"""Online learners: mistake bounds, regret, and what both say of fresh examples."""
