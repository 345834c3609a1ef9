report --results results --headline results/nvidia-h200
