"""Pictures: frames and arrays in, Plotly figures out."""
