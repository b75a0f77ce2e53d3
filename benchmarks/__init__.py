"""Speed and memory of panlearn beside its peers, on the same data in the same process."""
