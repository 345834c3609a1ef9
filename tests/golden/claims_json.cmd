claims results/nvidia-l40s --id C10 --format json
