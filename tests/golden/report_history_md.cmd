report --history results/nvidia-h200 --metric 'launch.*' --format md
