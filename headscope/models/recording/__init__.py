"""What heads compute while a model runs: attention maps, statistics of them, outputs of heads."""
