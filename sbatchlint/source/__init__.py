"""Text with exact positions: bytes, encodings, newlines, spans, edits; finding scripts in folders."""
