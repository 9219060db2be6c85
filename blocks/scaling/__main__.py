"""Train the runs of the scaling lab that ship, and write them down."""

import torch

from blocks.scaling import recorded, series
from blocks.scaling.critical_batch import BatchSizes
from blocks.scaling.depth import DepthOrWidth
from blocks.scaling.repeated import RepeatedData
from blocks.scaling.transfer import shipped_searches

if __name__ == "__main__":
    torch.set_num_threads(1)  # sums then do not depend on how many cores there are
    recorded.write()
    series.write([RepeatedData(), BatchSizes(), DepthOrWidth(), *shipped_searches()])
