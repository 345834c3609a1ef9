report run_document.json
