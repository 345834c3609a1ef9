run --rounds many
