report counted_cut.json
