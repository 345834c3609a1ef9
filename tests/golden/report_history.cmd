report --history results/nvidia-h200
