"""The language server: `sbatchlint server` (the extra `lsp`)."""
