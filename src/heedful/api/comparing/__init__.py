"""What `heedful.compare` is made of: its data, its designs, what runs answer and cost, and examples."""
