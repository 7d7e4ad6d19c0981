"""Random tables and random options, for every estimator: each fits or is refused in one line."""
