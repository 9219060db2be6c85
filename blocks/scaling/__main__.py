"""Train the runs of the scaling lab that ship, and write them down."""

import torch

from blocks.scaling.recorded import write

if __name__ == "__main__":
    torch.set_num_threads(1)  # sums then do not depend on how many cores there are
    write()
