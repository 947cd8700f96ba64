"""Pictures of clusterings: trees, densities, silhouettes, scores and agreement of partitions."""
