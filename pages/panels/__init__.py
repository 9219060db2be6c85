"""What the pages show, panel by panel: measuring, sentences, tables; pictures beside them."""
