run no_such_probe
