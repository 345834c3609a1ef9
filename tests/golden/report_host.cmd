report host.json
