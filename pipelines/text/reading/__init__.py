"""Documents as a model of answers reads them best, and answers as people write them."""
