claims full.json --search 'l1 CACHE'
