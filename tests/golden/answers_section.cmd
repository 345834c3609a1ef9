report --results results --section memory full.json
