"""Users' data on their way in: X becomes a table of columns, y and the weights become arrays."""
