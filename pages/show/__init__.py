"""What draws: pictures, tables, sentences, controls, files."""
