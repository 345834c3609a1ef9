measure
