"""What `train_step.py` and `scaling.py` measure: shapes, models, the usual loop, the floor, and peak memory."""
