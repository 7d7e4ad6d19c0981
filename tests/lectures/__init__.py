"""What lectures show, in a few lines of the library each."""
