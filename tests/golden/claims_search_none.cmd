claims host.json --search 'never said'
