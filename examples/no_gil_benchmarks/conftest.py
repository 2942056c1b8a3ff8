import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is imported: its own threads would hide what ours do
