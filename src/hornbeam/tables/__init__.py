"""Tables that come as files, and the class of all tables of `hb.datasets`."""
