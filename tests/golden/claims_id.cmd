claims results/nvidia-h200 --id 'C1[01]'
