report results
